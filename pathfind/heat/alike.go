package heat

import (
	"math"

	"whichlink/graphs"
)

// alike returns the switches that hash alike, nil if the loads do not show it.
//
// Switches that share a hash function and have as many next hops choose the same one again: the flows that a switch gets were chosen by the same
// rule, and all leave by one of its ports. So where flows are first divided, at their own switches, they are divided evenly, and at the switches that pass them on
// they are not, over and over: some ports that should be used are not used at all. A few great flows that collide are uneven at both.
func (s *solver) alike() []graphs.NodeID {
	var uneven []graphs.NodeID
	passing := 0
	first, n := 0.0, 0
	for _, v := range s.f.Switches() {
		spread, arcs, own := s.unevenness(v)
		switch {
		case arcs < 2:
		case own > 0.5:
			first += spread
			n++
		default:
			passing++
			if spread > 0.5 {
				uneven = append(uneven, v)
			}
		}
	}
	if n == 0 || len(uneven) < 2 || 2*len(uneven) < passing || first/float64(n) > 0.3 {
		return nil
	}
	return uneven
}

// unevenness is how unevenly a switch divides what it should divide: the mean distance of the loads of its arcs from what is expected, relative to that, among
// arcs that carry traffic to switches and have equals. Own is the share of it that its hosts send.
func (s *solver) unevenness(v graphs.NodeID) (spread float64, arcs int, own float64) {
	load, expected, fromHosts := 0.0, 0.0, 0.0
	var out []graphs.ArcID
	for _, a := range s.f.Out(v) {
		if s.f.IsHostArc(a) {
			fromHosts += known(s.in.Load[a.Reverse()])
			continue
		}
		if math.IsNaN(s.in.Load[a]) || s.expected[a] <= 0 || !s.divided(a) {
			continue
		}
		out = append(out, a)
		load += s.in.Load[a]
		expected += s.expected[a]
	}
	if len(out) < 2 || load <= 0 {
		return 0, 0, 0
	}
	for _, a := range out {
		spread += math.Abs(s.in.Load[a]/load - s.expected[a]/expected)
	}
	return spread, len(out), min(1, fromHosts/load)
}

// divided reports whether most of what is expected on an arc could have left its switch by another.
func (s *solver) divided(a graphs.ArcID) bool {
	if s.wide != nil {
		return s.wide.free[a] > 0.5*s.expected[a]
	}
	all, free := 0.0, 0.0
	for i := range s.pairs {
		p := &s.pairs[i]
		share := p.on(a)
		if share == 0 {
			continue
		}
		all += p.rate * share
		for _, b := range s.f.Out(s.f.Tail(a)) {
			if b != a && !s.f.IsHostArc(b) && math.Abs(p.on(b)-share) < 1e-9 {
				free += p.rate * share
				break
			}
		}
	}
	return free > 0.5*all
}
