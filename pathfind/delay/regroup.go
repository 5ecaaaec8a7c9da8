package delay

import (
	"math"
	"slices"

	"whichlink/graphs"
)

// regroup puts the hosts or arcs of a switch into its place, or it into that of its hosts, where that explains more. To exchange one for one leads from neither to the other: beside a slow switch
// none of these explains more, and without it each alone explains less. Flows between two hosts tell: they cross the switch as often as others do, but both hosts; and those that cross
// none of its slow arcs.
func (s *search) regroup() {
	for n, host := range s.ev.host {
		if host {
			continue
		}
		sw, hosts := s.ev.arcs+int32(n), s.hostsOn(graphs.NodeID(n))
		parts := hosts
		faulty := func() []int32 { return slices.DeleteFunc(slices.Clone(parts), func(c int32) bool { return !s.has(c) }) }
		if !s.has(sw) && len(faulty()) < 2 {
			continue
		}
		type try struct{ first, then []int32 }
		tries := []try{{nil, hosts}, {[]int32{sw}, hosts}}
		if s.has(sw) {
			parts = append(s.arcsAt(graphs.NodeID(n)), hosts...)
			tries = append(tries, try{nil, parts}, try{[]int32{sw}, parts})
		}
		for _, c := range append(faulty(), sw) {
			if s.has(c) {
				s.take(c)
			}
		}
		others := s.faults
		best, most := others, math.Inf(-1)
		for _, x := range tries {
			s.faults = slices.Clone(others)
			s.apply()
			s.addBest(x.first)
			s.addBest(x.then)
			if sum := s.worth(); sum > most {
				best, most = s.faults, sum
			}
		}
		s.faults = best
		s.apply()
	}
	s.settle()
}

// addBest adds the best of some components while one is worth it.
func (s *search) addBest(among []int32) {
	for len(s.faults) < mostFaults {
		trials := s.best(slices.DeleteFunc(slices.Clone(among), s.has))
		if len(trials) == 0 || trials[0].score <= 0 {
			return
		}
		s.put(trials[0].fault)
	}
}

// worth weighs the hypothesis as a whole, a logarithm. What its faults are worth one by one does not add up to that: each is held against adding as little as is no fault. Where some hosts
// are slow, others are likelier to be.
func (s *search) worth() (sum float64) {
	for i := range s.ev.flows {
		sum += math.Log(s.likelihood(int32(i)))
	}
	hosts, slow := 0.0, 0.0
	for _, host := range s.ev.host {
		if host {
			hosts++
		}
	}
	for _, x := range s.faults {
		prior := s.prior[x.comp]
		if n := x.comp - s.ev.arcs; n >= 0 && s.ev.host[n] {
			prior = math.Log((math.Exp(prior)*hosts + slow) / (hosts + slow))
			slow++
		}
		sum += prior - math.Log(float64(shapes*(s.most-s.least+1)))
	}
	return sum
}

// hostsOn returns the hosts on a switch that flows cross.
func (s *search) hostsOn(n graphs.NodeID) (list []int32) {
	for _, a := range s.ev.f.Out(n) {
		if h := s.ev.f.Head(a); s.ev.host[h] && len(s.ev.through(s.ev.arcs+int32(h))) > 0 {
			list = append(list, s.ev.arcs+int32(h))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// arcsAt returns the arcs at a switch that lead to no host and that flows cross.
func (s *search) arcsAt(n graphs.NodeID) (list []int32) {
	for _, a := range s.ev.f.Out(n) {
		for _, x := range [...]int32{int32(a), int32(a.Reverse())} {
			if !s.ev.f.IsHostArc(a) && len(s.ev.through(x)) > 0 {
				list = append(list, x)
			}
		}
	}
	slices.Sort(list)
	return list
}
