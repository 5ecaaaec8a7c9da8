package sim

import (
	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// An atlas knows where faults are.
type atlas struct {
	f      *graphs.Fabric
	byArc  map[graphs.ArcID][]int32 // faults of arcs, links and groups
	byNode map[graphs.NodeID][]int32
}

func (m *Measurement) index() *atlas {
	at := &atlas{m.f, map[graphs.ArcID][]int32{}, map[graphs.NodeID][]int32{}}
	for i := range m.cfg.Faults {
		fault := &m.cfg.Faults[i]
		link := func(l graphs.LinkID) {
			at.byArc[l.Forward()] = append(at.byArc[l.Forward()], int32(i))
			at.byArc[l.Backward()] = append(at.byArc[l.Backward()], int32(i))
		}
		switch fault.Kind {
		case localize.Arc:
			at.byArc[graphs.ArcID(fault.ID)] = append(at.byArc[graphs.ArcID(fault.ID)], int32(i))
		case localize.Link:
			link(graphs.LinkID(fault.ID))
		case localize.Group:
			for _, l := range m.f.Group(graphs.GroupID(fault.ID)).Links {
				link(l)
			}
		default:
			at.byNode[graphs.NodeID(fault.ID)] = append(at.byNode[graphs.NodeID(fault.ID)], int32(i))
		}
	}
	return at
}

// on returns the faults that a flow meets in one direction, as often as it meets them: on its arcs, in the switches between them, and in
// the hosts at its ends.
func (at *atlas) on(fl *routed, direction int) []int32 {
	faults := append([]int32(nil), at.byNode[fl.Src]...)
	faults = append(faults, at.byNode[fl.Dst]...)
	for i, a := range fl.ways[direction].arcs {
		faults = append(faults, at.byArc[a]...)
		if i > 0 {
			faults = append(faults, at.byNode[at.f.Tail(a)]...)
		}
	}
	return faults
}
