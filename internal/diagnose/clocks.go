package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// Probers write down times by their own clocks. What flows of several of them lose at one moment is seen to be one outage only if these agree, and not all clocks are kept
// right. Every answer to a probe tells by how much the clock of who answers is ahead of the prober's, so where hosts probe each other it is known whose is off.

const (
	// clockOff is how far off a clock is told to be at least; less does not matter here.
	clockOff = 100 * time.Millisecond
	// clockMoves is by how many milliseconds what one host tells of another's clock may change for it to count: else one of them was set meanwhile.
	clockMoves = 200
	// clockMost is what a clock may be off at most, in milliseconds: one that was never set begins in 1970.
	clockMost = 100 * 365 * 24 * 3600 * 1000
	// clockStep is to what the times of a clock are set right.
	clockStep = 10 * time.Millisecond
)

// aheads is what one host tells of the clock of another, in milliseconds.
type aheads struct{ n, sum, least, most int }

func (x *aheads) add(ms int) {
	if x.n == 0 {
		x.least, x.most = ms, ms
	}
	*x = aheads{x.n + 1, x.sum + ms, min(x.least, ms), max(x.most, ms)}
}

// setClocks takes off all times of a prober by how much its clock is ahead of the others.
func (s *Store) setClocks() {
	fast := s.fastClocks()
	moved := map[string]time.Duration{}
	for by := range s.fast {
		moved[by] = -s.fast[by]
	}
	for by := range fast {
		moved[by] += fast[by]
	}
	maps.DeleteFunc(moved, func(_ string, d time.Duration) bool { return d == 0 })
	if len(moved) == 0 {
		return
	}
	s.fast = fast
	for _, l := range s.order {
		l.move(-moved[l.by])
	}
	for _, list := range [][]strain{s.strains, s.refusals} {
		for i := range list {
			list[i].stretch = list[i].moved(-moved[list[i].by])
		}
	}
	s.from, s.to, s.flowing = time.Time{}, time.Time{}, stretch{}
	for k, span := range s.spans {
		if d := moved[k.by]; d != 0 && k.source == string(evidence.SourceProbe) {
			span.stretch = span.moved(-d)
			if !span.flowsTo.IsZero() {
				span.flowsTo = span.flowsTo.Add(-d)
			}
			s.spans[k], s.sources[k].Newest = span, span.to
		}
		s.from, s.to = soonest(s.from, span.from), later(s.to, span.to)
		s.flowed(span)
	}
}

// setRight returns a record of a prober whose clock is off with its times as by the others' clocks.
func (s *Store) setRight(r *evidence.Record) *evidence.Record {
	d := s.fast[r.By]
	if d == 0 || r.Source != evidence.SourceProbe {
		return r
	}
	x := *r
	x.Time = x.Time.Add(-d)
	if r.PreviousTime != nil {
		previous := r.PreviousTime.Add(-d)
		x.PreviousTime = &previous
	}
	return &x
}

func (st stretch) moved(d time.Duration) stretch { return stretch{st.from.Add(d), st.to.Add(d)} }

// move moves all times of a flow, and those that were noted of it.
func (l *flowLog) move(d time.Duration) {
	if d == 0 {
		return
	}
	for i := range l.paths {
		p := &l.paths[i]
		p.at, p.previous = p.at.Add(d), p.previous.Add(d)
	}
	for i := range l.echoes {
		for e := &l.echoes[i]; e != nil; e = e.whole {
			e.start, e.end = e.start.Add(d), e.end.Add(d)
		}
	}
	for i := range l.hops {
		h := &l.hops[i]
		h.start, h.at = h.start.Add(d), h.at.Add(d)
	}
	noted := []*time.Time{&l.gone, &l.came}
	for _, x := range l.settled {
		noted = append(noted, &x.since)
	}
	for _, at := range noted {
		if !at.IsZero() {
			*at = at.Add(d)
		}
	}
}

// fastClocks returns by how much the clocks of probers are ahead of the others', below 0 where they are behind, of those that are off.
func (s *Store) fastClocks() map[string]time.Duration {
	told := s.clocksTold()
	ahead := map[graphs.NodeID]int{}
	for _, host := range slices.Sorted(maps.Keys(told)) {
		if _, known := ahead[host]; !known {
			compared(told, host, ahead)
		}
	}
	fast := map[string]time.Duration{}
	for _, l := range s.order {
		ms := ahead[l.src]
		if d := time.Duration(ms) * time.Millisecond; d.Abs() >= clockOff && int64(max(ms, -ms)) < clockMost {
			fast[l.by] = d.Round(clockStep)
		}
	}
	return fast
}

// clocksTold returns by how many milliseconds each host's clock is behind those of others, as they tell of each other.
func (s *Store) clocksTold() map[graphs.NodeID]map[graphs.NodeID]int {
	all := map[[2]graphs.NodeID]aheads{}
	for _, l := range s.order {
		k := [2]graphs.NodeID{l.src, l.dst}
		x := all[k]
		for i := range l.echoes {
			if ms := l.echoes[i].ahead; ms != nil {
				x.add(*ms)
			}
		}
		if x.n > 0 && l.src != graphs.None && l.dst != graphs.None && l.src != l.dst {
			all[k] = x
		}
	}
	told := map[graphs.NodeID]map[graphs.NodeID]int{}
	tell := func(of, by graphs.NodeID, ms int) {
		if told[of] == nil {
			told[of] = map[graphs.NodeID]int{}
		}
		told[of][by] = ms
	}
	for k, x := range all {
		if back, ok := all[[2]graphs.NodeID{k[1], k[0]}]; x.most-x.least > clockMoves || ok && k[0] > k[1] && back.most-back.least <= clockMoves {
			continue // one tells for both
		}
		tell(k[0], k[1], x.sum/x.n)
		tell(k[1], k[0], -x.sum/x.n)
	}
	return told
}

// compared enters by how much the clocks of all hosts that may be compared with one, of which any, are ahead of most of them.
func compared(told map[graphs.NodeID]map[graphs.NodeID]int, first graphs.NodeID, ahead map[graphs.NodeID]int) {
	ahead[first] = 0
	hosts := []graphs.NodeID{first}
	for i := 0; i < len(hosts); i++ {
		h := hosts[i]
		for _, other := range slices.Sorted(maps.Keys(told[h])) {
			if _, known := ahead[other]; !known {
				ahead[other] = ahead[h] + told[h][other]
				hosts = append(hosts, other)
			}
		}
	}
	values := make([]int, len(hosts))
	for i, h := range hosts {
		values[i] = ahead[h]
	}
	slices.Sort(values)
	for _, h := range hosts {
		ahead[h] -= values[(len(values)-1)/2]
	}
}

// clockNotes tells whose clocks are off.
func (s *Store) clockNotes() []string {
	const most = 4
	var list []string
	for _, by := range slices.Sorted(maps.Keys(s.fast)) {
		d, how := s.fast[by], "ahead of"
		if d < 0 {
			d, how = -d, "behind"
		}
		list = append(list, fmt.Sprintf("the clock of %s is %s %s those of the other hosts", graphs.Clean(by), d.Round(clockOff), how))
	}
	if len(list) == 0 {
		return nil
	}
	return []string{firstOf(list, most) + ": times are told by the others' clocks"}
}
