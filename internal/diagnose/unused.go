package diagnose

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"whichlink/graphs"
)

// unusedNotes tells of uplinks of hosts that no flow takes though it might, and the host is reached by others: whether these are down or stand by is not known.
func (s *Store) unusedNotes() []string {
	if s.model == nil {
		return nil
	}
	unused, flows := s.unusedUplinks()
	idle := map[graphs.NodeID]bool{}
	for _, h := range unused {
		idle[h] = true
	}
	chance := map[graphs.LinkID]float64{} // logarithm of that of no flow taking it
	for _, pair := range slices.SortedFunc(maps.Keys(flows), func(a, b [2]graphs.NodeID) int { return slices.Compare(a[:], b[:]) }) {
		if idle[pair[0]] || idle[pair[1]] {
			for _, x := range s.ecmp.Shares(pair[0], pair[1]) {
				chance[x.Arc.Link()] += float64(flows[pair]) * math.Log1p(-min(x.Share, 0.9))
			}
		}
	}
	var names []string
	for _, l := range slices.Sorted(maps.Keys(unused)) {
		if !s.readsDown(l) && chance[l] < math.Log(withdrawnChance) {
			names = append(names, s.fabric.LinkName(l))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("no flow takes %s, though the host is reached by its other uplinks: down, drained, or standing by", firstOf(names, 4))}
}

// unusedUplinks returns the links of hosts with several that no flow is known to take now, with whose they are, and how many flows of each pair are known to take others.
func (s *Store) unusedUplinks() (unused map[graphs.LinkID]graphs.NodeID, flows map[[2]graphs.NodeID]int) {
	unused, flows = map[graphs.LinkID]graphs.NodeID{}, map[[2]graphs.NodeID]int{}
	for _, h := range s.fabric.Hosts() {
		for _, a := range s.fabric.Out(h) {
			if len(s.fabric.Out(h)) > 1 {
				unused[a.Link()] = h
			}
		}
	}
	if len(unused) == 0 {
		return nil, nil
	}
	take := func(src, dst graphs.NodeID, w way) {
		if w.certain() {
			flows[[2]graphs.NodeID{src, dst}]++
			for _, a := range w.alternatives[0] {
				delete(unused, a.Link())
			}
		}
	}
	for _, l := range s.order {
		if l.src != graphs.None && l.dst != graphs.None {
			path, back := l.now()
			take(l.src, l.dst, path)
			take(l.dst, l.src, back)
		}
	}
	return unused, flows
}
