package diagnose

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"whichlink/internal/evidence"
)

const (
	// sameMove is within what time many flows that move are one event.
	sameMove = time.Second
	// swingWithin is for how long a flow that comes back to a path it was on goes to and fro: that is one event, and counted.
	swingWithin = time.Minute
	// pathsOf is how many paths of a flow are remembered, and mostMovers of how many flows.
	pathsOf    = 8
	mostMovers = 1 << 16

	flowsMoved = "took another path"
	flowsSwing = "to and fro between paths"
)

// A moves keeps on which paths flows were, to tell a flow that takes another one from one whose path was found for the first time, or better than before.
type moves struct {
	of   map[mover]*moved
	seed maphash.Seed
	last time.Time // of the newest event of flows that moved

	swung    time.Time // of the event of flows that go to and fro
	swinging time.Time // when the last one did
	swingers map[mover]bool
}

// A mover is a flow as a host probes it.
type mover struct {
	by   string
	flow evidence.Flow
}

// A moved is where a flow was: the ways out and back that may be right now, by their hashes, and what they were before, the newest last.
type moved struct {
	ways   [2][]uint64
	before []uint64
	at     time.Time // of the last move
}

// look says what a record of a flow's path tells of it.
func (m *moves) look(r *evidence.Record) (took, swings bool) {
	if r.Flow == nil {
		return false, false
	}
	if m.of == nil || len(m.of) >= mostMovers {
		m.of, m.seed = map[mover]*moved{}, maphash.MakeSeed()
	}
	k := mover{r.By, *r.Flow}
	x := m.of[k]
	if x == nil {
		x = &moved{}
		m.of[k] = x
	}
	now := [2][]uint64{m.ways(r.Path, r.Candidates), m.ways(r.Back, r.CandidatesBack)}
	for leg := range now {
		took = took || apart(x.ways[leg], now[leg])
	}
	was := x.id()
	for leg := range now {
		if len(now[leg]) > 0 { // what is not known for a moment is not elsewhere
			x.ways[leg] = now[leg]
		}
	}
	if !took || !r.Changed {
		return false, false
	}
	swings = slices.Contains(x.before, x.id()) && r.Time.Sub(x.at) <= swingWithin
	if x.before = append(slices.DeleteFunc(x.before, func(id uint64) bool { return id == was }), was); len(x.before) > pathsOf {
		x.before = x.before[1:]
	}
	x.at = r.Time
	return !swings, swings
}

// ways are the hashes of a path, or of those of which one is right, in order.
func (m *moves) ways(path []string, candidates [][]string) []uint64 {
	if len(path) > 0 {
		candidates = [][]string{path}
	}
	out := make([]uint64, len(candidates))
	for i, c := range candidates {
		var h maphash.Hash
		h.SetSeed(m.seed)
		for _, name := range c {
			h.WriteString(name)
			h.WriteByte(' ')
		}
		out[i] = h.Sum64()
	}
	slices.Sort(out)
	return out
}

// apart reports whether two sets of ways are both known and have none in common.
func apart(a, b []uint64) bool {
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(b, func(x uint64) bool { return slices.Contains(a, x) })
}

// id tells one whereabouts of a flow from another.
func (x *moved) id() uint64 {
	id := uint64(17)
	for _, ways := range x.ways {
		for _, w := range ways {
			id = id*1_000_003 ^ w
		}
		id = id*1_000_003 ^ 5
	}
	return id
}

// path notes what a record of a flow's path tells: that it took another one, and many do at once when a link goes down; or that it goes to and fro between
// some, which is told once and then counted.
func (c *chronicle) path(r *evidence.Record) {
	took, swings := c.moves.look(r)
	switch {
	case took:
		c.move(r)
	case swings:
		c.swing(r)
	}
}

func pair(r *evidence.Record) string { return fmt.Sprintf("%s to %s", r.Flow.Src, r.Flow.Dst) }

func (c *chronicle) move(r *evidence.Record) {
	if e := c.newest(flowsMoved, c.moves.last); e != nil && r.Time.Sub(c.moves.last).Abs() <= sameMove {
		e.Count++
		e.About = fmt.Sprintf("%d flows", e.Count)
		return
	}
	c.moves.last = r.Time
	c.put(Event{r.Time, string(r.Source), flowsMoved, pair(r), 1})
}

func (c *chronicle) swing(r *evidence.Record) {
	m := &c.moves
	goesOn := r.Time.Sub(m.swinging).Abs() <= swingWithin
	m.swinging = r.Time
	if e := c.newest(flowsSwing, m.swung); e != nil && goesOn {
		e.Count++
		if m.swingers[mover{r.By, *r.Flow}] = true; len(m.swingers) > 1 {
			e.About = fmt.Sprintf("%d flows", len(m.swingers))
		}
		return
	}
	m.swung, m.swingers = r.Time, map[mover]bool{{r.By, *r.Flow}: true}
	c.put(Event{r.Time, string(r.Source), flowsSwing, pair(r), 1})
}

// newest returns the event of a moment that says something, to be changed; nil if it is not there any more.
func (c *chronicle) newest(what string, at time.Time) *Event {
	for i := len(c.events) - 1; i >= 0 && !c.events[i].At.Before(at); i-- {
		if e := &c.events[i]; e.What == what && e.At.Equal(at) {
			c.own()
			return &c.events[i]
		}
	}
	return nil
}
