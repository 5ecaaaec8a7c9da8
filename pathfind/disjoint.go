package pathfind

import "whichlink/graphs"

// Disjoint returns how many paths of a pair, among the shortest, have no link between switches in common: as many of them can
// fail one after another before the pair is cut off. It is 0 where there is no path.
func (e *ECMP) Disjoint(src, dst graphs.NodeID) int {
	shares := e.Shares(src, dst)
	if len(shares) == 0 {
		return 0
	}
	// Ford and Fulkerson: every arc of the path set carries one path, a link to a host any number.
	usable := make(map[graphs.ArcID]bool, len(shares))
	out := map[graphs.NodeID][]graphs.ArcID{}
	inner := false
	for _, s := range shares {
		usable[s.Arc] = true
		out[e.f.Tail(s.Arc)] = append(out[e.f.Tail(s.Arc)], s.Arc)
		out[e.head[s.Arc]] = append(out[e.head[s.Arc]], s.Arc.Reverse())
		inner = inner || !e.f.IsHostArc(s.Arc)
	}
	if !inner {
		return 1
	}
	n := 0
	for {
		into := map[graphs.NodeID]graphs.ArcID{src: graphs.None}
		queue := []graphs.NodeID{src}
		for i := 0; i < len(queue); i++ {
			for _, a := range out[queue[i]] {
				if _, seen := into[e.head[a]]; !seen && usable[a] {
					into[e.head[a]] = a
					queue = append(queue, e.head[a])
				}
			}
		}
		if _, ok := into[dst]; !ok {
			return n
		}
		n++
		for a := into[dst]; a != graphs.None; a = into[e.f.Tail(a)] {
			usable[a] = e.f.IsHostArc(a)
			usable[a.Reverse()] = true
		}
	}
}
