package diagnose

import (
	"fmt"
	"math"

	"whichlink/graphs"
	"whichlink/internal/evidence"
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
	s.certainly(func(_, _ graphs.NodeID, arcs []graphs.ArcID) {
		for _, a := range arcs {
			delete(unused, a.Link())
		}
	})
	if len(unused) == 0 {
		return nil
	}
	idle := map[graphs.NodeID]bool{}
	for _, h := range unused {
		idle[h] = true
	}
	chance := map[graphs.LinkID]float64{} // logarithm of that of no flow taking it
	s.certainly(func(src, dst graphs.NodeID, _ []graphs.ArcID) {
		if idle[src] || idle[dst] {
			for _, x := range s.ecmp.Shares(src, dst) {
				chance[x.Arc.Link()] += math.Log1p(-min(x.Share, 0.9))
			}
		}
	})
	var names []string
	for l := range graphs.LinkID(s.fabric.NumLinks()) {
		told := s.portLog(s.fabric.Link(l).Ends[0]).now().oper == evidence.Down || s.portLog(s.fabric.Link(l).Ends[1]).now().oper == evidence.Down
		if _, no := unused[l]; no && !told && chance[l] < math.Log(withdrawnChance) {
			names = append(names, s.fabric.LinkName(l))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("no flow takes %s, though the host is reached by its other uplinks: down, drained, or standing by", firstOf(names, 4))}
}

// certainly calls use for each way that a flow is known to take now, there and back.
func (s *Store) certainly(use func(src, dst graphs.NodeID, arcs []graphs.ArcID)) {
	for _, l := range s.order {
		if l.src == graphs.None || l.dst == graphs.None {
			continue
		}
		path, back := l.now()
		if path.certain() {
			use(l.src, l.dst, path.alternatives[0])
		}
		if back.certain() {
			use(l.dst, l.src, back.alternatives[0])
		}
	}
}
