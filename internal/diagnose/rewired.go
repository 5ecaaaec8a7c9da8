package diagnose

import (
	"slices"

	"whichlink/graphs"
)

// A rewired is a fabric whose cables are not all where the plan has them, as far as is known. Routing may use a wrong cable or not: sessions over it may not come up. Flows whose shortest
// paths it would be on go nobody knows where; all others go as planned, but not over what is missing.
type rewired struct {
	f *graphs.Fabric
	// missing are the planned links that are not there, wrong the nodes that cables connect in their place, or may.
	missing map[graphs.LinkID]bool
	wrong   [][2]graphs.NodeID
	away    map[graphs.NodeID][]int // distances from a node, with the wrong cables
}

// rewire takes what ports hear and where traces found them for where the cables that are misplaced lead. Plugs of which nobody tells may be at either end of the same cable.
func (s *Store) rewire(found []stray) {
	x := rewired{f: s.fabric, missing: map[graphs.LinkID]bool{}, away: map[graphs.NodeID][]int{}}
	s.rewired = &x
	for l, is := range s.misplaced {
		if is {
			x.missing[l] = true
		}
	}
	known := map[graphs.PortID]bool{}
	for _, w := range s.wired().wires {
		for i, e := range w.ends {
			if e.id == graphs.None || !x.missing[s.fabric.Port(e.id).Link] {
				continue
			}
			known[e.id] = true
			if n, ok := s.fabric.NodeByName(w.ends[1-i].node); ok {
				x.wrong = append(x.wrong, [2]graphs.NodeID{s.fabric.Port(e.id).Node, n})
			}
		}
	}
	for i := range found {
		known[found[i].port] = true
		x.wrong = append(x.wrong, [2]graphs.NodeID{s.fabric.Port(found[i].port).Node, found[i].from})
	}
	var loose []graphs.NodeID
	for l := range graphs.LinkID(s.fabric.NumLinks()) {
		for _, p := range s.fabric.Link(l).Ends {
			if x.missing[l] && !known[p] {
				loose = append(loose, s.fabric.Port(p).Node)
			}
		}
	}
	for i, n := range loose {
		for _, m := range loose[:i] {
			x.wrong = append(x.wrong, [2]graphs.NodeID{n, m})
		}
	}
}

// from returns how far all nodes are from one, or -1.
func (x *rewired) from(n graphs.NodeID) []int {
	if list, ok := x.away[n]; ok {
		return list
	}
	list := slices.Repeat([]int{-1}, x.f.NumNodes())
	list[n] = 0
	for queue := []graphs.NodeID{n}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		reach := func(m graphs.NodeID) {
			if list[m] < 0 {
				list[m] = list[at] + 1
				if !x.f.Node(m).IsHost() { // hosts forward nothing
					queue = append(queue, m)
				}
			}
		}
		for _, a := range x.f.Out(at) {
			if !x.missing[a.Link()] {
				reach(x.f.Head(a))
			}
		}
		for _, w := range x.wrong {
			if w[0] == at {
				reach(w[1])
			} else if w[1] == at {
				reach(w[0])
			}
		}
	}
	x.away[n] = list
	return list
}

// strayed reports whether a wrong cable may be on a shortest path from one node to another.
func (x *rewired) strayed(src, dst graphs.NodeID) bool {
	if src == graphs.None || dst == graphs.None {
		return true
	}
	from, to := x.from(src), x.from(dst)
	return from[dst] < 0 || slices.ContainsFunc(x.wrong, func(w [2]graphs.NodeID) bool {
		on := func(a, b graphs.NodeID) bool { return from[a] >= 0 && to[b] >= 0 && from[a]+1+to[b] == from[dst] }
		return on(w[0], w[1]) || on(w[1], w[0])
	})
}

// parted reports whether the plan has some of the shortest paths from one node to another over a cable that is elsewhere.
func (s *Store) parted(src, dst graphs.NodeID) bool {
	far := s.ecmp.Distance(src, dst)
	for l := range s.rewired.missing {
		for _, a := range []graphs.ArcID{l.Forward(), l.Backward()} {
			before, after := s.ecmp.Distance(src, s.fabric.Tail(a)), s.ecmp.Distance(s.fabric.Head(a), dst)
			if before >= 0 && after >= 0 && before+1+after == far {
				return true
			}
		}
	}
	return false
}

// asPlanned reports whether flows of a trip whose path is not known go all the ways that the plan has for them, and no other.
func (s *Store) asPlanned(x trip) bool {
	return len(s.misplaced) == 0 || s.model == s.ecmp && !s.rewired.strayed(x.src, x.dst) && !s.parted(x.src, x.dst)
}
