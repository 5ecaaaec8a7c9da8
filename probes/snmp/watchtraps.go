package snmp

import (
	"context"
	"slices"
	"time"

	"whichlink/internal/evidence"
)

const (
	// trapPause is how often what traps told is written down.
	trapPause = 250 * time.Millisecond
	// turnsTold is how many turns of a port are written one by one in a second; more are counted.
	turnsTold = 16
	// toldTwice is how close two traps that say the same are, if they are about the same.
	toldTwice = 50 * time.Millisecond
)

// A turning is what traps told of a port.
type turning struct {
	up      bool
	at      time.Time // of the newest
	name    string    // as the trap has it
	waiting []Turn
	// told counts turns since a moment, more those times it went down that were not told one by one.
	since time.Time
	told  int
	more  int
}

// trap takes in one trap. It is called by one goroutine.
func (w *Watch) trap(t Trap) {
	a := w.owner[t.From]
	if a == nil {
		return
	}
	switch t.Kind {
	case LinkDown, LinkUp:
		if t.Index != 0 {
			a.turn(t)
		}
	case SessionLost, SessionUp:
		a.session(t)
	}
	if t.Kind != OtherTrap {
		select {
		case a.kick <- struct{}{}:
		default:
		}
	}
}

// mostTurning bounds the ports of one agent that traps tell of.
const mostTurning = 50_000

// turn takes in what a trap tells of a port. The aggregate is what is kept, however many come.
func (a *watched) turn(t Trap) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.turned[t.Index]
	if x == nil {
		if len(a.turned) >= mostTurning {
			return
		}
		x = &turning{}
		a.turned[t.Index] = x
	}
	up := t.Kind == LinkUp
	if x.up == up && t.Time.Sub(x.at) < toldTwice {
		return
	}
	x.up, x.at = up, t.Time
	if t.Name != "" {
		x.name = t.Name
	}
	if t.Time.Sub(x.since) > time.Second {
		x.since, x.told = t.Time, 0
	}
	switch x.told++; {
	case x.told <= turnsTold:
		x.waiting = append(x.waiting, Turn{Index: t.Index, Up: up, Disabled: t.Admin == evidence.Down, At: t.Time})
	case !up:
		x.more++
	}
}

// session records that a BGP session was lost or is up, if it is known which port it is behind.
func (a *watched) session(t Trap) {
	if a.watch.cfg.PortTo == nil || !t.Peer.IsValid() {
		return
	}
	if port := a.watch.cfg.PortTo(a.by(), t.Peer); port != "" {
		event := evidence.SessionDown
		if t.Kind == SessionUp {
			event = evidence.SessionUp
		}
		a.event(t.Time, port, event, "trap", 0, 0)
	}
}

// flushTraps writes down what traps told, until ctx ends and once more.
func (w *Watch) flushTraps(ctx context.Context) {
	for alive := true; alive; {
		alive = sleep(ctx, trapPause)
		for _, a := range w.agents {
			a.flush(!alive)
		}
	}
}

// flush writes down what traps told. Of ports whose names are still to be read it waits for them, but for the last time.
func (a *watched) flush(last bool) {
	type told struct {
		turns []Turn
		name  string
		more  int
		at    time.Time
		index uint32
	}
	var list []told
	a.mu.Lock()
	unread := a.names == nil && a.failures == 0 && !last
	for index, x := range a.turned {
		if unread && x.name == "" {
			continue
		}
		if len(x.waiting) == 0 && x.more == 0 {
			continue
		}
		list = append(list, told{x.waiting, x.name, x.more, x.at, index})
		x.waiting, x.more = nil, 0
	}
	a.mu.Unlock()
	slices.SortFunc(list, func(x, y told) int { return int(int64(x.index) - int64(y.index)) })
	for _, x := range list {
		port := a.portName(x.index, x.name)
		for _, t := range x.turns {
			event := evidence.Down
			if t.Up {
				event = evidence.Up
			}
			a.event(t.At, port, event, "trap", 0, 0)
		}
		if x.more > 0 {
			a.event(x.at, port, evidence.Flapped, "linkDown traps", x.more, trapPause)
		}
	}
}

// turnIsNews reports whether a state that was polled says more than traps did. Agents show states that may be seconds old: what a trap told since, or
// shortly before, stands.
func (a *watched) turnIsNews(t Turn, before, after *States) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.turned[t.Index]
	switch {
	case x == nil || x.at.Before(before.Time.Add(-staleStatus)):
	case x.up == t.Up, after.Time.Sub(x.at) < staleStatus:
		return false
	}
	if x != nil {
		x.up = t.Up
	}
	return true
}
