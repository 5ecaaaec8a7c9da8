package diagnose

import (
	"fmt"
	"math"

	"whichlink/graphs"
)

// unusedNotes tells of uplinks of hosts that no flow takes though it might, and the host is reached by others: whether these are down or stand by is not known.
func (s *Store) unusedNotes() []string {
	if s.model == nil {
		return nil
	}
	unused := map[graphs.LinkID]graphs.NodeID{} // and whose uplink it is
	for _, h := range s.fabric.Hosts() {
		for _, a := range s.fabric.Out(h) {
			if len(s.fabric.Out(h)) > 1 {
				unused[a.Link()] = h
			}
		}
	}
	if len(unused) == 0 {
		return nil
	}
	type pair struct{ src, dst graphs.NodeID }
	flows := map[pair]int{} // whose way is known
	var pairs []pair        // of these, each once
	take := func(src, dst graphs.NodeID, w way) {
		if !w.certain() {
			return
		}
		for _, a := range w.alternatives[0] {
			delete(unused, a.Link())
		}
		p := pair{src, dst}
		if flows[p]++; flows[p] == 1 {
			pairs = append(pairs, p)
		}
	}
	for _, l := range s.order {
		if l.src != graphs.None && l.dst != graphs.None {
			path, back := l.now()
			take(l.src, l.dst, path)
			take(l.dst, l.src, back)
		}
	}
	idle := map[graphs.NodeID]bool{}
	for _, h := range unused {
		idle[h] = true
	}
	chance := map[graphs.LinkID]float64{} // logarithm of that of no flow taking it
	for _, p := range pairs {
		if idle[p.src] || idle[p.dst] {
			for _, x := range s.ecmp.Shares(p.src, p.dst) {
				chance[x.Arc.Link()] += float64(flows[p]) * math.Log1p(-min(x.Share, 0.9))
			}
		}
	}
	var names []string
	for l := range graphs.LinkID(s.fabric.NumLinks()) {
		if _, no := unused[l]; no && !s.readsDown(l) && chance[l] < math.Log(withdrawnChance) {
			names = append(names, s.fabric.LinkName(l))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("no flow takes %s, though the host is reached by its other uplinks: down, drained, or standing by", firstOf(names, 4))}
}
