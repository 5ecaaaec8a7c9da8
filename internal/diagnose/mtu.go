package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

const (
	// sizeTells is how many packets of a size there must be for it to tell anything.
	sizeTells = 10
	// sizePasses is the greatest share of packets that a size loses which passes, and one that does not loses all but as much.
	sizePasses = 0.05
	// defaultSize is the length of probes in bytes, from the IP header on, where records do not tell it.
	defaultSize = 160
)

// tellSizes turns what loses packets into what drops long ones, where it loses all from some length on and passes what is shorter (RFC 2923, section 2.1): other faults do not look
// at the length of a packet that hard.
func (s *Store) tellSizes(d *Diagnosis, seen *observer) {
	if !s.sized() {
		return
	}
	if _, ok := s.longSuffer(); ok {
		seen = s.observe(nil, time.Time{})
	}
	for i := range d.Suspects {
		x := &d.Suspects[i]
		c, ok := s.causeOf(x)
		if x.Symptom != Loss || x.Probability < Named || !ok {
			continue
		}
		if longest, shortest, long, ok := seen.mtuOf(c); ok {
			x.Symptom, x.Hit, x.passes, x.drops = MTU, nil, longest, shortest
			x.Until, x.Episodes, x.Duty, x.DutyLow, x.DutyHigh, x.when = nil, nil, 0, 0, 0, "" // which are when long packets were sent
			share, n := float64(long.lost)/float64(long.sent), float64(long.sent)
			low, high := aboutShare(share, n)
			x.loses(share, low, high)
			text := fmt.Sprintf("%s of %s packets of %s bytes and more that cross it were lost, and those of up to %s bytes pass", thousands(long.lost), thousands(long.sent), thousands(shortest), thousands(longest))
			x.For, x.Evidence = text, []Evidence{{s.instrument(), text}}
			x.Against, x.Doubts = fmt.Sprintf("%s of these crossed it", thousands(long.sent-long.lost)), nil // what else was told of it short packets tell
			x.Next = []Step{{Why: "one end of a link, or a tunnel on it, takes shorter packets than the hosts send", Do: "compare the MTU of the ports at both ends of " + x.ID + " with that of the hosts"}}
		}
	}
}

// longSuffer returns the shortest length of packets that was measured, if others were, too, and nearly all that was lost is of those: the short ones lose next to nothing.
func (s *Store) longSuffer() (short int, ok bool) {
	const most = 0.001
	if !s.sized() {
		return 0, false
	}
	sizes := map[int]passed{}
	for _, l := range s.order {
		x := sizes[cmp.Or(l.size, defaultSize)]
		for i := range l.echoes {
			x.sent, x.lost = x.sent+l.echoes[i].sent, x.lost+l.echoes[i].lost
		}
		sizes[cmp.Or(l.size, defaultSize)] = x
	}
	lost := 0
	for _, x := range sizes {
		lost += x.lost
	}
	short = slices.Min(slices.Collect(maps.Keys(sizes)))
	x := sizes[short]
	return short, x.sent >= LeastProbes && float64(x.lost) <= most*float64(x.sent) && float64(x.lost) <= sizePasses*float64(lost)
}

// sized reports whether anything was measured by packets of another length than the usual one.
func (s *Store) sized() bool {
	return slices.ContainsFunc(s.order, func(l *flowLog) bool { return l.size != 0 })
}

// longer sums up what was measured by packets that are longer than some.
func (s *Store) longer(than int) *observer {
	o := s.observe(nil, time.Time{})
	o.list = slices.DeleteFunc(o.list, func(obs localize.Observation) bool { return cmp.Or(o.flow(&obs).size, defaultSize) <= than })
	return o
}

// causeOf is the arc, link, switch or host that a suspect is.
func (s *Store) causeOf(x *Suspect) (localize.Cause, bool) {
	switch localize.Kind(x.Kind) {
	case localize.Arc:
		a, ok := s.fabric.ArcByName(x.ID)
		return localize.Cause{Kind: localize.Arc, ID: int32(a)}, ok
	case localize.Link:
		l, ok := s.fabric.LinkByName(x.ID)
		return localize.Cause{Kind: localize.Link, ID: int32(l)}, ok
	case localize.Node, localize.Host:
		n, ok := s.fabric.NodeByName(x.ID)
		return localize.Cause{Kind: localize.Kind(x.Kind), ID: int32(n)}, ok
	}
	return localize.Cause{}, false
}

// mtuOf returns the longest packets that pass a cause and the shortest that do not, and how many of those there were that do not, if length tells which do.
func (o *observer) mtuOf(c localize.Cause) (longest, shortest int, long passed, ok bool) {
	sizes := map[int]passed{}
	for i := range o.list {
		obs := &o.list[i]
		if surely, _ := o.crossing(obs, c); !surely || obs.Responder != graphs.None {
			continue
		}
		l := o.flow(obs)
		if l.size == 0 && (l.method != "" || len(l.captured) > 0) { // of any length
			continue
		}
		size := cmp.Or(l.size, defaultSize)
		sizes[size] = passed{sizes[size].sent + obs.Sent, sizes[size].lost + obs.Lost}
	}
	for _, size := range slices.Sorted(maps.Keys(sizes)) {
		x := sizes[size]
		switch share := float64(x.lost) / float64(max(1, x.sent)); {
		case x.sent < sizeTells:
		case share <= sizePasses && shortest == 0:
			longest = size
		case share >= 1-sizePasses && longest > 0:
			if shortest == 0 {
				shortest = size
			}
			long = passed{long.sent + x.sent, long.lost + x.lost}
		default:
			return 0, 0, passed{}, false
		}
	}
	return longest, shortest, long, shortest > 0
}
