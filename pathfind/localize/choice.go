package localize

import (
	"maps"
	"math"
	"slices"

	"whichlink/graphs"
)

// Where ways are not known a member of a hypothesis stands for all that the evidence does not tell from it: any of the uplinks of a switch, or any arc from a pod to the
// core. Of several such members each may be taken for one that lies at the same switch. If they are, that is no coincidence which would have to be explained, and a
// switch that is bad in part has to make up for all the ways in which they could have been chosen otherwise. And if one is bad, it may be any at which they could meet.

// A choice is a component in place of another, with how likely it is beside that.
type choice struct {
	comp int32
	mass float64
}

// likely reports whether the evidence hardly tells it from that.
func (x choice) likely() bool { return x.mass >= math.Exp(-alike) }

// Choices are what may be faulty in place of a component, itself among it, and how many times as much that is as what of it lies at either end.
type choices struct {
	of    []int32
	times [2]float64
}

// choose notes that the evidence does not tell some arcs or links from each other.
func (t *deviceTable) choose(ix *index, of []int32) {
	at := map[graphs.NodeID]float64{}
	for _, x := range of {
		for _, n := range ix.endsOf(x) {
			at[n]++
		}
	}
	for _, x := range of {
		c := &choices{of: of}
		for i, n := range ix.endsOf(x) {
			c.times[i] = float64(len(of)) / at[n]
		}
		t.choices[x] = c
	}
}

// chooseTwins finds the arcs, links and switches that look alike as long as nothing is loaded.
func (s *search) chooseTwins() {
	if s.single {
		return
	}
	s.recall(&hypothesis{background: s.background})
	var prints []uint64
	groups := map[uint64][]int32{}
	for _, c := range s.candidates {
		if s.ix.kindOf(c) > 2 {
			break // they are in the order of their kinds
		}
		print := s.twin(c)
		if groups[print] == nil {
			prints = append(prints, print)
		}
		groups[print] = append(groups[print], c)
	}
	for _, print := range prints {
		of := groups[print]
		for _, x := range of {
			s.twins[x], s.looks[x] = math.Log(float64(len(of))), of[0]
		}
		switch {
		case len(of) == 1:
		case s.ix.kindOf(of[0]) == 2:
			for _, x := range of {
				s.like.kin.alike[x] = of
			}
		default:
			s.devs.choose(s.ix, of)
		}
	}
}

// A place is a switch at which the members of a hypothesis may lie that are at another by it, and what they all are then, and how likely that is beside it.
type place struct {
	choice
	comps []int32
}

// placeDevices tells the switches that may be bad in part by each hypothesis, of likely ones with the others that may be so in place of these, and scores them by that.
func (s *search) placeDevices() {
	best := math.Inf(-1)
	for i := range s.hyps {
		h := &s.hyps[i]
		h.devices, _ = s.devs.devices(s.ix, h.comps)
		best = max(best, h.score)
	}
	for i := range s.hyps {
		h := &s.hyps[i]
		if len(s.devs.choices) == 0 || len(h.devices) == 0 || h.score < best-alike {
			continue
		}
		s.recall(h)
		for j := range h.devices {
			d := &h.devices[j]
			d.places = s.places(h, d.comp)
			all := 1.0
			for _, x := range d.places {
				all += x.mass
			}
			h.score -= softplus(d.odds)
			d.odds += math.Log(all)
			h.score += softplus(d.odds)
		}
	}
}

// alsoFor returns what may be faulty in place of a member of the loaded hypothesis if others that lie at the same switch are elsewhere with it: those are
// likely or not together. What is in its class already is left out.
func (t *teller) alsoFor(h *hypothesis, c int32, class []int32) []choice {
	j, ok := slices.BinarySearch(h.comps, c)
	if !ok {
		return nil
	}
	var at []int32
	switch k := t.ix.kindOf(c); {
	case k == 2:
		at = []int32{c}
	case k < 2:
		for _, n := range t.ix.endsOf(c) {
			if !t.ix.host[n] && slices.ContainsFunc(h.comps, func(x int32) bool { return x != c && t.ix.within(x, t.ix.node(n)) }) {
				at = append(at, t.ix.node(n))
			}
		}
	}
	var also []choice
	for _, n := range at {
		for _, x := range t.placesOf(h, n) {
			if x.likely() {
				also = append(also, choice{x.comps[j], x.mass})
			}
		}
	}
	also = append(also, t.beside(h, j, class)...)
	return slices.DeleteFunc(also, func(x choice) bool { return t.taken(h, c, x.comp) || slices.Contains(class, x.comp) })
}

// beside returns what may be faulty in place of the j-th member of the loaded hypothesis if other members are others of those alike, too, or arcs the other way, but for those of its class.
func (t *teller) beside(h *hypothesis, j int, class []int32) (also []choice) {
	base := t.sum
	likely := func(image []int32) bool {
		y := choice{image[j], t.massOf(image, h.rates, base)}
		if y.likely() {
			also = append(also, y)
		}
		return y.likely()
	}
	for _, comps := range [...][]int32{h.comps, t.mirrored(h.comps, j)} {
		if comps == nil || !slices.Equal(comps, h.comps) && !likely(comps) {
			continue
		}
		for _, x := range t.alike(comps[j]) {
			if x != comps[j] && !t.taken(h, h.comps[j], x) && !slices.Contains(class, x) {
				t.imageOf(comps, comps[j], x, likely)
			}
		}
	}
	t.load(h.comps, h.rates)
	return also
}

// placesOf is places, found once for all suspects.
func (t *teller) placesOf(h *hypothesis, at int32) []place {
	key := placeKey{h.key, at}
	found, ok := t.places[key]
	if !ok {
		found = t.search.places(h, at)
		t.places[key] = found
	}
	return found
}

// places returns the switches that may be bad in place of one, with all of the loaded hypothesis that lies there, and with what lies elsewhere in another place, too,
// where it must.
func (s *search) places(h *hypothesis, at int32) []place {
	var places []place
	base := s.sum
	moved := s.relocated(h.comps, at)
	for _, n := range slices.Sorted(maps.Keys(moved)) {
		comps := moved[n]
		x := place{choice{comp: s.ix.node(n)}, comps}
		x.mass = s.massOf(comps, h.rates, base)
		try := func(comps []int32) {
			if mass := s.massOf(comps, h.rates, base); mass > x.mass {
				x.comps, x.mass = comps, mass
			}
		}
		if !x.likely() {
			s.imageOf(h.comps, at, x.comp, func(image []int32) bool {
				try(image)
				return x.likely()
			})
		}
		if x.mass > 0 {
			places = append(places, x)
		}
	}
	s.load(h.comps, h.rates)
	return places
}

// relocated returns the members with all that lies at one switch moved to another, by the other.
func (s *search) relocated(comps []int32, at int32) map[graphs.NodeID][]int32 {
	moved := map[graphs.NodeID][]int32{}
	first := true
	for j, c := range comps {
		if c >= s.ix.nodes || !s.ix.within(c, at) {
			continue
		}
		there := s.inPlaceOf(c, graphs.NodeID(at-s.ix.nodes))
		for n, x := range there {
			if first {
				moved[n] = slices.Clone(comps)
			}
			if comps := moved[n]; comps != nil {
				comps[j] = x
			}
		}
		first = false
		for n := range moved {
			if _, ok := there[n]; !ok {
				delete(moved, n)
			}
		}
	}
	j := slices.Index(comps, at)
	if j < 0 {
		return moved
	}
	whole := map[graphs.NodeID][]int32{}
	for _, x := range s.like.kin.alike[at] {
		n := graphs.NodeID(x - s.ix.nodes)
		to, ok := moved[n]
		if !ok && first {
			to, ok = slices.Clone(comps), true
		}
		if ok && x != at {
			to[j], whole[n] = x, to
		}
	}
	return whole
}

// massOf returns how likely members are with the rates of those that are loaded, beside these; 0 if one occurs twice.
func (s *search) massOf(comps []int32, rates []float64, base float64) float64 {
	if repeats(comps) {
		return 0
	}
	s.load(comps, rates)
	return math.Exp(min(s.sum-base, alike))
}

// repeats reports whether a component is among members twice.
func repeats(comps []int32) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(comps)))) < len(comps)
}

// inPlaceOf returns, by other switches, what may be faulty there in place of a component that lies at one: of several the one that is in the same place among those.
func (s *search) inPlaceOf(c int32, at graphs.NodeID) map[graphs.NodeID]int32 {
	x := s.devs.choices[c]
	if x == nil {
		return nil
	}
	there := map[graphs.NodeID][]int32{}
	for _, y := range x.of {
		for _, n := range s.ix.endsOf(y) {
			if !s.ix.host[n] {
				there[n] = append(there[n], y)
			}
		}
	}
	place := slices.Index(there[at], c)
	delete(there, at)
	like := map[graphs.NodeID]int32{}
	for n, comps := range there {
		if place < len(comps) {
			like[n] = comps[place]
		}
	}
	return like
}
