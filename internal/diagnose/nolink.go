package diagnose

import (
	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

const (
	// A flow that hears nothing although others cross all switches and links of its way clean proves more that no link does it, at most clearedFlow of them, than one whose
	// way is not known, at most doubtedFlow: together they must leave no more than elsewhereChance for another cause.
	clearedFlow, doubtedFlow, elsewhereChance = 0.05, 0.5, 0.01
	// mostCommon is how probably all of the flows may cross one link at most, whatever others met.
	mostCommon = 0.1
	// leastClean is how many probes must have crossed a link without loss for it not to be what loses all.
	leastClean = 5
)

// A spot is a link's arc, or a switch.
type spot struct {
	arc  graphs.ArcID
	node graphs.NodeID
}

// noLink reports whether nothing between switches explains that several flows lost all in a time: what others crossed clean meanwhile does not, nor what hardly all of
// them cross.
func (s *Store) noLink(dead []*flowLog, st stretch, at *meanwhile) bool {
	chance := 1.0
	var common map[spot]float64
	for _, l := range dead {
		on, known := s.spotsOf(l, st)
		cleared := known
		for p := range on {
			if at.sent[p] >= leastClean {
				delete(on, p)
			} else {
				cleared = false
			}
		}
		if cleared {
			chance *= min(clearedFlow, at.deadShare())
		} else {
			chance *= min(doubtedFlow, at.deadShare())
		}
		switch {
		case len(on) == 0 && !cleared: // nobody knows
		case common == nil:
			common = on
		default:
			for p := range common {
				if common[p] *= on[p]; common[p] == 0 {
					delete(common, p)
				}
			}
		}
	}
	most := 0.0
	for _, share := range common {
		most = max(most, share)
	}
	return most <= mostCommon && max(chance, most*at.deadShare()) <= elsewhereChance // what these flows may cross others may, too
}

// spotsOf returns how probably a flow crosses each arc and switch between hosts, there or back, and whether that is known.
func (s *Store) spotsOf(l *flowLog, st stretch) (on map[spot]float64, known bool) {
	var path, back way
	for i := l.firstAt(st.from); i < len(l.echoes) && l.echoes[i].start.Before(st.to); i++ {
		path, back = l.at(&l.echoes[i], true)
	}
	there, home := s.allowed().waysOf(l, path, back)
	on = map[spot]float64{}
	for _, set := range [][]localize.Alternative{there, home} {
		for _, alt := range set {
			for _, a := range alt.Arcs {
				if !s.fabric.IsHostArc(a) {
					on[spot{a, graphs.None}] += alt.Share
				}
				if n := s.fabric.Head(a); !s.fabric.Node(n).IsHost() {
					on[spot{0, n}] += alt.Share
				}
			}
		}
	}
	for p := range on {
		on[p] = min(1, on[p])
	}
	return on, path.certain() && back.certain()
}

// meanwhile is what flows met in a time: how much crossed each place in records without loss, as far as ways are known, and of how many flows how many heard nothing at all.
type meanwhile struct {
	sent        map[spot]int
	flows, dead int
}

// deadShare is how likely a flow hears nothing for reasons that others suffer from as well.
func (m *meanwhile) deadShare() float64 { return float64(m.dead+1) / float64(m.flows+2) }

// lookAt sums up what flows met in a time. Those that are left out do not count for how many hear nothing.
func (s *Store) lookAt(st stretch, leftOut func(*flowLog) bool) *meanwhile {
	m := &meanwhile{sent: map[spot]int{}}
	for _, l := range s.order {
		var sum fate
		for i := l.firstAt(st.from); i < len(l.echoes) && l.echoes[i].start.Before(st.to); i++ {
			e := &l.echoes[i]
			part := e.within([]stretch{st}, true)
			sum.sent, sum.lost = sum.sent+part.sent, sum.lost+part.lost
			if part.lost == 0 && part.sent > 0 {
				m.cross(s.fabric, l, e, part.sent)
			}
		}
		if sum.sent > 0 && !leftOut(l) {
			m.flows++
			m.dead += bit(sum.lost == sum.sent)
		}
	}
	return m
}

// cross adds probes that crossed all of their way; the switches of hosts that have but one are known.
func (m *meanwhile) cross(f *graphs.Fabric, l *flowLog, e *echo, sent int) {
	for _, h := range []graphs.NodeID{l.src, l.dst} {
		if h == graphs.None {
			continue
		}
		if out := f.Out(h); len(out) == 1 {
			m.sent[spot{0, f.Head(out[0])}] += sent
		}
	}
	path, back := l.at(e, false)
	for _, w := range []way{path, back} {
		if !w.certain() {
			continue
		}
		for _, a := range w.alternatives[0] {
			m.sent[spot{a, graphs.None}] += sent
			m.sent[spot{0, f.Head(a)}] += sent
		}
	}
}
