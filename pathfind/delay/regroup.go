package delay

import (
	"math"
	"slices"

	"whichlink/graphs"
)

// regroup puts the hosts or arcs of a switch into its place, or it into that of its hosts, where that explains more, and so with the arcs of a link and the links of a group. To exchange one for one leads from
// neither to the other: beside a slow switch none of these explains more, and without it each alone explains less. Flows between two hosts tell: they cross the switch as often as others do, but both
// hosts; and those that cross none of its slow arcs.
func (s *search) regroup() {
	for n, host := range s.ev.host {
		if host {
			continue
		}
		sw, hosts := s.ev.arcs+int32(n), s.hostsOn(graphs.NodeID(n))
		parts := hosts
		tries := []instead{{nil, hosts}, {[]int32{sw}, hosts}}
		if s.has(sw) {
			parts = append(s.arcsAt(graphs.NodeID(n)), hosts...)
			tries = append(tries, instead{nil, parts}, instead{[]int32{sw}, parts})
		}
		s.replace(sw, parts, tries)
	}
	for c := s.ev.links; c < s.ev.n; c++ {
		if parts := s.orElsewhere(s.partsOfWhole(c)); len(parts) > 0 {
			s.replace(c, parts, []instead{{nil, parts}, {[]int32{c}, parts}})
		}
	}
	s.settle()
}

// An instead is what faults are looked for among first, and then beside these.
type instead struct{ first, then []int32 }

// replace tries other faults in place of a component and its parts, and keeps what explains most.
func (s *search) replace(c int32, parts []int32, tries []instead) {
	faulty := slices.DeleteFunc(slices.Clone(parts), func(c int32) bool { return !s.has(c) })
	if !s.has(c) && len(faulty) < 2 {
		return
	}
	for _, c := range append(faulty, c) {
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
		if s.ev.cause(x.comp).Kind == Host {
			prior = math.Log((math.Exp(prior)*hosts + slow) / (hosts + slow))
			slow++
		}
		sum += prior - math.Log(float64(shapes*(s.most-s.leastOf(x.comp)+1)))
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

// partsOfWhole returns the arcs of a link or group, and the links of a group, that flows cross; nothing of what may not be suspected.
func (s *search) partsOfWhole(c int32) (list []int32) {
	if math.IsInf(s.prior[c], -1) {
		return nil
	}
	for _, a := range s.ev.arcsOf(c) {
		if l := s.ev.links + a/2; c >= s.ev.groups && a%2 == 0 && !math.IsInf(s.prior[l], -1) {
			list = append(list, l)
		}
		if !math.IsInf(s.prior[a], -1) {
			list = append(list, a)
		}
	}
	return list
}

// orElsewhere appends the other arcs that are faults to the parts of a whole, if one of these is and flows of unknown ways tell of it: they cannot tell it from its equals, so that two parts of a whole are
// found anywhere among them.
func (s *search) orElsewhere(parts []int32) []int32 {
	unsure := func(c int32) bool { return c < s.ev.arcs && s.has(c) && len(s.ev.members[c]) > 0 }
	if !slices.ContainsFunc(parts, unsure) {
		return parts
	}
	for _, c := range s.named() {
		if unsure(c) && !slices.Contains(parts, c) {
			parts = append(parts, c)
		}
	}
	return parts
}
