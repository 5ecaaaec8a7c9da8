package cabling

import "whichlink/graphs"

// A joint is an unordered pair of the plan's nodes.
type joint struct{ a, b graphs.NodeID }

func jointOf(a, b graphs.NodeID) joint { return joint{min(a, b), max(a, b)} }

// seatByNode gives the observed links to ports of the plan where names of ports say nothing: first to links that join the same nodes; then
// so that two links which may have been exchanged are seen as such; then to whatever port of the node is left.
func (s *seating) seatByNode() {
	left := map[joint][]graphs.LinkID{}
	for l := range graphs.LinkID(s.plan.NumLinks()) {
		e := s.plan.Link(l).Ends
		j := jointOf(s.plan.Port(e[0]).Node, s.plan.Port(e[1]).Node)
		left[j] = append(left[j], l)
	}
	var strangers []graphs.LinkID
	right := 0
	for l := range graphs.LinkID(s.seen.links()) {
		e := s.seen.ends(l)
		m, n := s.seen.node(e[0]), s.seen.node(e[1])
		if s.vague[m] || s.vague[n] {
			s.tellUnclear(l)
			s.unclearNode(m)
			s.unclearNode(n)
			continue
		}
		j := jointOf(s.placeOfSeen(m), s.placeOfSeen(n))
		if same := left[j]; len(same) > 0 {
			left[j] = same[1:]
			x := s.socketOn(same[0], s.placeOfSeen(m))
			s.seat(l, x, s.planned[x])
			right++
			continue
		}
		strangers = append(strangers, l)
	}
	// Where most is wrong there are no exchanges to recognise: it is another fabric.
	if len(strangers) <= right {
		s.seatExchanged(strangers)
	}
	for _, l := range strangers {
		if s.ends[l][0] == nowhere {
			e := s.seen.ends(l)
			a := s.anyFree(e[0])
			s.found[a] = a // taken, lest the other end be given it
			s.seat(l, a, s.anyFree(e[1]))
		}
	}
}

// unclearNode marks the ports of a node that a link of unknown far end leaves from.
func (s *seating) unclearNode(n graphs.NodeID) {
	if at := s.nodeOf[n]; at != graphs.None {
		for _, p := range s.plan.Ports(at) {
			s.unclear[p] = true
		}
	}
}

// socketOn returns the end of a planned link that is on a node.
func (s *seating) socketOn(l graphs.LinkID, n graphs.NodeID) socket {
	e := s.plan.Link(l).Ends
	if s.plan.Port(e[0]).Node == n {
		return socket(e[0])
	}
	return socket(e[1])
}

// anyFree returns a socket of the plan on the node of an observed port at which nothing was found, or a new one.
func (s *seating) anyFree(p graphs.PortID) socket {
	if n := s.nodeOf[s.seen.node(p)]; n != graphs.None {
		if free := s.free(n); len(free) > 0 {
			return free[0]
		}
	}
	return s.addForeign(p)
}

// free lists the sockets of a node at which nothing was found.
func (s *seating) free(n graphs.NodeID) []socket {
	var free []socket
	for _, p := range s.plan.Ports(n) {
		if s.found[p] == nowhere {
			free = append(free, socket(p))
		}
	}
	return free
}

// seatExchanged finds pairs of links a--d, c--b where a--b and c--d are planned and not there.
func (s *seating) seatExchanged(strangers []graphs.LinkID) {
	type ends struct{ a, b graphs.NodeID }
	of := make(map[graphs.LinkID]ends, len(strangers))
	byJoint := map[joint][]graphs.LinkID{}
	for _, l := range strangers {
		e := s.seen.ends(l)
		x := ends{s.nodeOf[s.seen.node(e[0])], s.nodeOf[s.seen.node(e[1])]}
		if x.a != graphs.None && x.b != graphs.None {
			of[l] = x
			byJoint[jointOf(x.a, x.b)] = append(byJoint[jointOf(x.a, x.b)], l)
		}
	}
	partner := func(l graphs.LinkID, b, c graphs.NodeID) (graphs.LinkID, bool) {
		for _, m := range byJoint[jointOf(b, c)] {
			if m != l && s.ends[m][0] == nowhere {
				return m, true
			}
		}
		return graphs.None, false
	}
	for _, l := range strangers {
		x, ok := of[l]
		if !ok || s.ends[l][0] != nowhere {
			continue
		}
	search:
		for _, a := range s.free(x.a) {
			for _, d := range s.free(x.b) {
				b, c := s.planned[a], s.planned[d]
				if a == d || s.found[b] != nowhere || s.found[c] != nowhere {
					continue
				}
				m, ok := partner(l, s.place(b), s.place(c))
				if !ok {
					continue
				}
				s.seat(l, a, d)
				if of[m].a != s.place(b) {
					b, c = c, b
				}
				s.seat(m, b, c)
				break search
			}
		}
	}
}
