package cabling

import "whichlink/graphs"

// seatHalves seats the links of which one end has no name that a port could have: LLDP lets an agent send a MAC address or an interface
// index for its port (IEEE 802.1AB 8.5.3), so that each end of one cable may tell of it in its own way.
func (s *seating) seatHalves(links []graphs.LinkID, of []socket) {
	// A half is the named end of such a link; toward is the node at its other end.
	type half struct {
		named, other socket
		link         graphs.LinkID
		toward       graphs.NodeID
	}
	type pair struct{ at, toward graphs.NodeID }
	var halves []half
	byNamed := map[socket]half{}
	byPair := map[pair][]socket{}
	for _, l := range links {
		e := s.seen.ends(l)
		h := half{of[e[0]], of[e[1]], l, graphs.None}
		if s.unnamed[h.named] {
			h.named, h.other = h.other, h.named
		}
		h.toward = s.place(h.other)
		halves = append(halves, h)
		byNamed[h.named] = h
		k := pair{s.place(h.named), h.toward}
		byPair[k] = append(byPair[k], h.named)
	}
	done := map[socket]bool{}
	join := func(h half, to socket) {
		s.ends[h.link] = [2]socket{h.named, to}
		s.found[h.named], s.found[to] = to, h.named
		done[h.named], done[to] = true, true
	}
	// As planned, as far as it can be seen.
	for _, h := range halves {
		q := s.planned[h.named]
		if done[h.named] || q == nowhere || s.place(q) != h.toward || s.found[q] != nowhere {
			continue
		}
		if back, told := byNamed[q]; !told || back.toward == s.place(h.named) {
			join(h, q)
			if told {
				s.ends[back.link] = [2]socket{q, h.named}
			} else {
				s.halfNamed++
			}
		}
	}
	// Two halves that can only be the two ends of one cable.
	for _, h := range halves {
		here := byPair[pair{s.place(h.named), h.toward}]
		there := byPair[pair{h.toward, s.place(h.named)}]
		switch {
		case done[h.named]:
		case len(here) == 1 && len(there) == 1 && !done[there[0]]:
			join(h, there[0])
			s.ends[byNamed[there[0]].link] = [2]socket{there[0], h.named}
		default:
			s.seat(h.link, h.named, h.other)
			done[h.named] = true
		}
	}
}
