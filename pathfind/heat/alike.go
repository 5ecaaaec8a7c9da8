package heat

import (
	"math"
	"slices"

	"whichlink/graphs"
)

// alike returns the switches that hash alike, nil if the loads do not show it. It is worked out once.
func (s *solver) alike() []graphs.NodeID {
	if !s.compared {
		s.compared, s.same = true, s.compare()
	}
	return s.same
}

// unevener is by how much more unevenly switches that pass traffic on divide it than those where it begins, where they hash alike.
const unevener = 0.25

// compare finds the switches that hash alike.
//
// Switches that share a hash function and have as many next hops choose the same one again: the flows that a switch gets were chosen by the same
// rule, and all leave by one of its ports. So where flows are first divided, at their own switches, they are divided evenly, and at the switches that pass them on
// they are not, over and over: some ports that should be used are not used at all, or less where the numbers of next hops differ. A few great flows that collide are
// uneven at both.
func (s *solver) compare() []graphs.NodeID {
	passing := map[graphs.NodeID]float64{}
	first, n := 0.0, 0
	free, begin := s.free(), s.begin()
	for _, v := range s.f.Switches() {
		spread, arcs := s.unevenness(v, free)
		switch {
		case arcs < 2:
		case begin[v] > 0.5*s.sends(v):
			first += spread
			n++
		default:
			passing[v] = spread
		}
	}
	first /= float64(n)
	if !(first <= 0.3) {
		return nil
	}
	var uneven []graphs.NodeID
	for _, v := range s.f.Switches() {
		if passing[v] > first+unevener {
			uneven = append(uneven, v)
		}
	}
	if len(uneven) < 2 || 2*len(uneven) < len(passing) {
		return nil
	}
	return uneven
}

// unevenness is how unevenly a switch divides what it should divide: the mean distance of the loads of its arcs from what is expected, relative to that, among
// arcs that carry traffic to switches and most of whose traffic could have left by another.
func (s *solver) unevenness(v graphs.NodeID, free []float64) (spread float64, arcs int) {
	load, expected := 0.0, 0.0
	var out []graphs.ArcID
	for _, a := range s.f.Out(v) {
		if s.f.IsHostArc(a) || math.IsNaN(s.in.Load[a]) || !(free[a] > 0.5*s.expected[a]) {
			continue
		}
		out = append(out, a)
		load += s.in.Load[a]
		expected += s.expected[a]
	}
	if len(out) < 2 || load <= 0 {
		return 0, 0
	}
	for _, a := range out {
		spread += math.Abs(s.in.Load[a]/load - s.expected[a]/expected)
	}
	return spread, len(out)
}

// sends is what a switch is expected to send to switches.
func (s *solver) sends(v graphs.NodeID) (sum float64) {
	for _, a := range s.f.Out(v) {
		if !s.f.IsHostArc(a) {
			sum += s.expected[a]
		}
	}
	return sum
}

// begin is what begins at each switch or the hosts behind it, and goes to another. It is the matrix's word: ports of hosts are often not counted.
func (s *solver) begin() []float64 {
	sum := make([]float64, s.f.NumNodes())
	add := func(src, dst graphs.NodeID, rate float64) {
		if v := s.switchOf(src); v != s.switchOf(dst) {
			sum[v] += rate
		}
	}
	for i := range s.pairs {
		add(s.pairs[i].src, s.pairs[i].dst, s.pairs[i].rate)
	}
	if s.wide != nil {
		for j, dst := range s.wide.ends {
			for i, src := range s.wide.ends {
				add(src, dst, s.wide.of(i, j))
			}
		}
	}
	return sum
}

// free is, by arc, what of what is expected there could have left its switch by another.
func (s *solver) free() []float64 {
	if s.wide != nil {
		return s.wide.free
	}
	sum := make([]float64, s.f.NumArcs())
	for i := range s.pairs {
		p := &s.pairs[i]
		for _, x := range p.shares {
			if slices.ContainsFunc(s.f.Out(s.f.Tail(x.Arc)), func(b graphs.ArcID) bool {
				return b != x.Arc && !s.f.IsHostArc(b) && math.Abs(p.on(b)-x.Share) < 1e-9
			}) {
				sum[x.Arc] += p.rate * x.Share
			}
		}
	}
	return sum
}
