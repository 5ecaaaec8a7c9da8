package pathfind

import "whichlink/graphs"

// Disjoint returns how many ways of the pair, over the arcs that its flows use, have no link between switches in common: as many links
// can fail one after another before all that the pair uses is cut. It is 0 where there is no way.
func (w *Ways) Disjoint() int {
	// Ford and Fulkerson: every arc in use carries one way, a link to a host any number. A link that is used in both directions
	// serves one way at most, as two that cross it against each other can be joined differently without it.
	f := w.f
	const unused, used, taken = 0, 1, 2
	use := make([]uint8, f.NumArcs())
	for i := range w.steps {
		use[w.steps[i].arc] = used
	}
	if w.src == w.dst {
		return 0
	}
	into := make([]graphs.ArcID, f.NumNodes())
	queue := make([]graphs.NodeID, 0, f.NumNodes())
	for n := 0; ; n++ {
		for i := range into {
			into[i] = graphs.None
		}
		queue = append(queue[:0], w.src)
		for i := 0; i < len(queue) && into[w.dst] == graphs.None; i++ {
			for _, a := range f.Out(queue[i]) {
				m := f.Head(a)
				// An arc carries a way if it is free, or takes back one that crosses it the other way.
				open := use[a] == used || use[a.Reverse()] == taken
				if open && m != w.src && into[m] == graphs.None {
					into[m] = a
					queue = append(queue, m)
				}
			}
		}
		if into[w.dst] == graphs.None {
			return n
		}
		inner := false
		for m := w.dst; m != w.src; m = f.Tail(into[m]) {
			inner = inner || !f.IsHostArc(into[m])
		}
		for m := w.dst; m != w.src; m = f.Tail(into[m]) {
			switch a := into[m]; {
			case use[a.Reverse()] == taken:
				use[a.Reverse()] = used
			case !inner || !f.IsHostArc(a): // a way through one switch counts once
				use[a] = taken
			}
		}
	}
}
