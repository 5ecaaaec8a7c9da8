package lab

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"whichlink/graphs"
)

// An effect is what a fault does while it is in the lab. Calls are made one at a time.
type effect interface {
	// apply starts it; an effect that could not start has left nothing.
	apply() error
	// remove ends it.
	remove() error
	// hit counts packets dropped, changed or sent so far.
	hit() uint64
}

// faults are the faults that are in a lab.
type faults struct {
	mu     sync.Mutex // guards what follows and serialises effects
	last   FaultID
	active []*broken
}

type broken struct {
	ActiveFault
	target target
	effect effect
}

// ErrNoFault is returned by Heal for a fault that is not there, or not any more.
var ErrNoFault = errors.New("no such fault")

// Break puts a fault into the lab. Several may be there at once, at the same port too. It returns when the fault acts; routes
// follow later, as routing protocols do. After a miswire they have followed already when it returns.
func (l *Lab) Break(f Fault) (FaultID, error) {
	if err := f.check(l.fabric); err != nil {
		return 0, fmt.Errorf("break %s: %w", f.Kind, err)
	}
	t, err := f.resolve(l.fabric)
	if err != nil {
		return 0, err
	}
	l.faults.mu.Lock()
	defer l.faults.mu.Unlock()
	if err := l.admits(f, t); err != nil {
		return 0, fmt.Errorf("break %s: %w", f, err)
	}
	id := l.faults.last + 1
	b := &broken{ActiveFault: ActiveFault{ID: id, Fault: f, Text: f.String(), Since: time.Now().UTC()}, target: t, effect: l.effectOf(f, t, id)}
	if t.arc != graphs.None {
		b.Link = l.fabric.LinkName(t.link)
	}
	if err := b.effect.apply(); err != nil {
		return 0, fmt.Errorf("break %s: %w", f, err)
	}
	l.faults.last = id
	l.faults.active = append(l.faults.active, b)
	l.log.Info("fault", "id", int(id), "fault", b.Text)
	return id, nil
}

// admits finds what speaks against a fault beside those that are there: a cable that hangs elsewhere than planned cannot have
// other faults, which are named by the plan.
func (l *Lab) admits(f Fault, t target) error {
	if l.agents == nil && (f.Kind == Mute || f.Counted) {
		return errNoAgents
	}
	if f.Kind == Mute && l.fabric.Node(t.node).IsHost() {
		return fmt.Errorf("%s is a host and has no agent", l.fabric.NodeName(t.node))
	}
	for _, b := range l.faults.active {
		if f.Kind != Miswire && b.Kind != Miswire {
			continue
		}
		for _, x := range []graphs.LinkID{t.link, t.other} {
			if x != graphs.None && (x == b.target.link || x == b.target.other) {
				return fmt.Errorf("link %s has the fault %d (%s); heal that first", l.fabric.LinkName(x), b.ID, b.Kind)
			}
		}
	}
	return nil
}

func (l *Lab) effectOf(f Fault, t target, id FaultID) effect {
	filter := func(rules ...rule) *filter {
		return &filter{lab: l, table: fmt.Sprintf("whichlink-%d", id), rules: rules}
	}
	both := func(match ...[]expr.Any) []rule {
		e := l.fabric.Link(t.link).Ends
		return []rule{l.atPort(e[0], true, match...), l.atPort(e[1], true, match...)}
	}
	switch f.Kind {
	case Loss:
		var flows []expr.Any
		if f.Of > 0 {
			flows = ofFlows(f.Of)
		}
		r := l.atPort(l.fabric.HeadPort(t.arc), true, flows, atRandom(f.Share))
		r.broken = f.Counted
		return filter(r)
	case Corrupt:
		head := l.fabric.HeadPort(t.arc)
		return filter(
			l.atPort(head, false, protocol(unix.IPPROTO_UDP), atRandom(f.Share), corruption(id)),
			l.atPort(head, false, protocol(unix.IPPROTO_TCP), atRandom(f.Share), corruption(id)))
	case Silent:
		return filter(both()...)
	case MTU:
		return filter(both(longerThan(f.Size))...)
	case NodeLoss:
		var rules []rule
		for _, p := range l.fabric.Ports(t.node) {
			rules = append(rules, l.atPort(p, true, atRandom(f.Share)))
			if l.fabric.Node(t.node).IsHost() {
				out := l.atPort(p, true, atRandom(f.Share))
				out.egress = true
				rules = append(rules, out)
			}
		}
		return filter(rules...)
	case Police:
		return filter(
			rule{node: t.node, port: graphs.None, drop: true, match: slices.Concat(icmpErrors(false), overLimit(f.PerSecond))},
			rule{node: t.node, port: graphs.None, drop: true, match: slices.Concat(icmpErrors(true), overLimit(f.PerSecond))})
	case Mute:
		return filter(rule{node: t.node, port: graphs.None, input: true, drop: true, match: toAgent()})
	case Down:
		return &outage{lab: l, link: t.link, filter: filter(both()...)}
	case Flap:
		return &flap{outage: outage{lab: l, link: t.link, filter: filter(both()...)}, period: f.Period, downTime: f.DownTime}
	case Slow:
		return &shaper{lab: l, port: l.fabric.TailPort(t.arc), rate: f.Bandwidth}
	case Load:
		return &load{lab: l, id: id, src: t.node, dst: t.to, rate: f.Bandwidth, flows: f.Flows}
	default: // check has let no other kind pass
		return &swapped{lab: l, one: t.link, other: t.other}
	}
}

// Heal takes a fault out of the lab.
func (l *Lab) Heal(id FaultID) error {
	l.faults.mu.Lock()
	defer l.faults.mu.Unlock()
	i := slices.IndexFunc(l.faults.active, func(b *broken) bool { return b.ID == id })
	if i < 0 {
		return fmt.Errorf("heal fault %d: %w", id, ErrNoFault)
	}
	b := l.faults.active[i]
	if err := b.effect.remove(); err != nil {
		return fmt.Errorf("heal %s: %w", b.Text, err)
	}
	l.faults.active = slices.Delete(l.faults.active, i, i+1)
	l.log.Info("healed", "id", int(id), "fault", b.Text)
	return nil
}

// HealAll takes all faults out, the last first.
func (l *Lab) HealAll() error {
	var all error
	for _, f := range slices.Backward(l.Truth()) {
		if err := l.Heal(f.ID); err != nil && !errors.Is(err, ErrNoFault) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// Truth returns the faults that are in the lab, the oldest first, with what they have hit so far.
func (l *Lab) Truth() []ActiveFault {
	l.faults.mu.Lock()
	defer l.faults.mu.Unlock()
	truth := make([]ActiveFault, len(l.faults.active))
	for i, b := range l.faults.active {
		truth[i] = b.ActiveFault
		truth[i].Hit = b.effect.hit()
		if f, ok := b.effect.(*flap); ok {
			truth[i].DownNow = f.isDown()
		}
	}
	return truth
}

// stop ends what faults run by themselves; the rest goes with the namespaces.
func (f *faults) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.active {
		switch b.effect.(type) {
		case *flap, *load:
			_ = b.effect.remove()
		}
	}
	f.active = nil
}
