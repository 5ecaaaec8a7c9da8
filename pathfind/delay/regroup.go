package delay

import (
	"math"
	"slices"

	"whichlink/graphs"
)

// regroup puts the hosts of a switch into its place, or it into theirs, where that explains more. To exchange one for one leads from neither to the other: beside a slow switch none of its
// hosts explains more, and without it each alone explains less. Flows between two of them tell: they cross the switch as often as others do, but both hosts.
func (s *search) regroup() {
	for n, host := range s.ev.host {
		if host {
			continue
		}
		sw, hosts := s.ev.arcs+int32(n), s.hostsOn(graphs.NodeID(n))
		slow := slices.DeleteFunc(slices.Clone(hosts), func(h int32) bool { return !s.has(h) })
		if len(hosts) < 2 || len(slow) < 2 && !s.has(sw) {
			continue
		}
		if s.has(sw) {
			slow = append(slow, sw)
		}
		for _, c := range slow {
			s.take(c)
		}
		others := s.faults
		best, most := others, math.Inf(-1)
		for _, first := range [][]int32{nil, {sw}} {
			s.faults = slices.Clone(others)
			s.apply()
			s.addBest(first)
			s.addBest(hosts)
			if x := s.worth(); x > most {
				best, most = s.faults, x
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
