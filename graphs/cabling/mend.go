package cabling

import (
	"fmt"
	"slices"
	"strings"

	"whichlink/graphs"
)

// A Mend is one group of wrong links that hang together, and the plugs to move to make them right.
//
// A port has one planned link at most and one found at most, so that the two kinds alternate along paths and rings. Every found link of such
// a group is wrong and so has one of its plugs moved at least. One is also enough: going along, each cable keeps the plug behind and takes
// the other to where the plan wants it. A ring can be mended both ways round; a path from the end where a port is free.
type Mend struct {
	// Moves are in an order in which each plug finds its new port free; not so in a ring, where the plugs change places.
	Moves []Move
	Ring  bool
	// Unplug names a found link that is to be taken out, as the plan has one less on these ports; else it is empty.
	Unplug string
	// Lay names a planned link for which no cable is left among those found; else it is empty.
	Lay string
	// SameNodes tells that the nodes are joined as planned, only by other ports: of parallel links, or plugs exchanged at one node. Packets
	// find their way, unless the ports are Addressed: then the subnets at the two ends of a link differ, and no session comes up.
	SameNodes, Addressed bool
}

// A Move takes the plug at one port to another; the plug at the far end of the cable stays.
type Move struct {
	From, To, Stays string
	// Found and Planned are the link before and after.
	Found, Planned string
}

// Text says in words what to do.
func (m *Mend) Text() string {
	var steps []string
	if m.Unplug != "" {
		steps = append(steps, "take out the cable "+m.Unplug)
	}
	switch {
	case m.Ring && len(m.Moves) == 2:
		a, b := m.Moves[0], m.Moves[1]
		steps = append(steps, fmt.Sprintf("exchange the plugs at %s and %s (the cables from %s and %s)", a.From, b.From, a.Stays, b.Stays))
	case m.Ring:
		var round []string
		for _, x := range m.Moves {
			round = append(round, x.From+" to "+x.To)
		}
		steps = append(steps, fmt.Sprintf("move %d plugs round, each from its port to the next one's: %s", len(round), strings.Join(round, ", ")))
	default:
		for _, x := range m.Moves {
			steps = append(steps, fmt.Sprintf("move the plug at %s to %s (the cable from %s)", x.From, x.To, x.Stays))
		}
	}
	if m.Lay != "" {
		steps = append(steps, "lay a cable "+m.Lay)
	}
	text := strings.Join(steps, "; then ")
	switch {
	case m.SameNodes && m.Addressed:
		text += "; the nodes are joined as planned, but the addresses of the ports do not match"
	case m.SameNodes:
		text += "; harmless to forwarding: the nodes are joined as planned, by other ports"
	}
	return text
}

// mend finds the groups of wrong links and how to mend each.
func (c *Comparison) mend(s *seating, dark *darkList) {
	done := make([]bool, len(s.planned))
	follow := func(start socket, byFound bool) []socket {
		chain := []socket{start}
		for x := start; ; byFound = !byFound {
			next := s.planned[x]
			if byFound {
				next = s.found[x]
			}
			if next == nowhere || next == start {
				return chain
			}
			chain = append(chain, next)
			x = next
		}
	}
	group := func(start socket, byFound, ring bool) {
		chain := follow(start, byFound)
		for _, x := range chain {
			done[x] = true
		}
		// Two sockets with one link, planned or found, are a missing or an unexpected link, and no group.
		if !ring && len(chain) < 3 {
			return
		}
		if slices.ContainsFunc(chain, func(x socket) bool { return s.unnamed[x] || s.unclear[x] }) {
			c.Unmended++
			return
		}
		var m Mend
		if ring {
			m = s.mendRing(chain)
		} else {
			m = s.mendPath(chain, !byFound, dark)
		}
		c.Mends = append(c.Mends, m)
	}
	for x := range socket(len(s.planned)) {
		if !done[x] && s.found[x] != s.planned[x] && (s.found[x] == nowhere || s.planned[x] == nowhere) {
			group(x, s.planned[x] == nowhere, false)
		}
	}
	for x := range socket(len(s.planned)) {
		if !done[x] && s.found[x] != s.planned[x] {
			group(x, true, true)
		}
	}
}

// A plug is one that is moved, in sockets.
type plug struct{ from, to, stays socket }

// shift moves plugs along a chain that begins with a planned link: the first socket is free, and so is each that a plug has left.
func shift(chain []socket) []plug {
	var plugs []plug
	for i := 1; i+1 < len(chain); i += 2 {
		plugs = append(plugs, plug{from: chain[i+1], to: chain[i-1], stays: chain[i]})
	}
	return plugs
}

// mendRing takes the way round on which plugs are moved at fewer places. The ring begins with a found link.
func (s *seating) mendRing(ring []socket) Mend {
	last := ring[len(ring)-1]
	forth := shift(append([]socket{last}, ring...))
	back := shift(append([]socket{ring[0]}, reversed(ring)...))
	plugs := forth
	if s.places(back) < s.places(forth) {
		plugs = back
	}
	m := s.newMend(plugs)
	m.Ring = true
	m.SameNodes, m.Addressed = s.sameNodes(ring)
	return m
}

func reversed(chain []socket) []socket {
	back := slices.Clone(chain)
	slices.Reverse(back)
	return back
}

// mendPath mends a path of links, which begins with a planned link or with a found one.
func (s *seating) mendPath(path []socket, planned bool, dark *darkList) Mend {
	n := len(path)
	switch even := n%2 == 0; {
	case !even && planned:
		return s.newMend(shift(path))
	case !even:
		return s.newMend(shift(reversed(path)))
	case planned:
		return s.mendLacking(path, dark)
	default:
		return s.mendSurplus(path)
	}
}

// mendLacking mends a path of one planned link more than there are cables: the link at either end may stay without. It is the one of which
// no light is expected, if there is one, else the one that leaves fewer places to go to.
func (s *seating) mendLacking(path []socket, dark *darkList) Mend {
	excused := func(a, b socket) bool {
		return dark.ports[a] || dark.ports[b] || s.unseen(s.place(a)) || s.unseen(s.place(b))
	}
	n := len(path)
	plugs, a, b := shift(path), path[n-2], path[n-1]
	back := shift(reversed(path))
	if e, f := excused(a, b), excused(path[0], path[1]); f && !e || e == f && s.places(back) < s.places(plugs) {
		plugs, a, b = back, path[0], path[1]
	}
	m := s.newMend(plugs)
	if !excused(a, b) {
		m.Lay = s.linkName(a, b)
	}
	return m
}

// mendSurplus mends a path of one cable more than there are planned links: the cable at either end is taken out.
func (s *seating) mendSurplus(path []socket) Mend {
	n := len(path)
	plugs, a, b := shift(path[1:]), path[0], path[1]
	if back := shift(reversed(path[:n-1])); s.places(back) < s.places(plugs) {
		plugs, a, b = back, path[n-2], path[n-1]
	}
	// Taking the first cable out frees the socket that the first plug goes to.
	m := s.newMend(plugs)
	m.Unplug = s.foundName(a, b)
	return m
}

func (s *seating) newMend(plugs []plug) Mend {
	m := Mend{}
	for _, p := range plugs {
		m.Moves = append(m.Moves, Move{
			From: s.name(p.from), To: s.name(p.to), Stays: s.name(p.stays),
			Found: s.foundName(p.from, p.stays), Planned: s.linkName(p.stays, p.to),
		})
	}
	return m
}

// foundName names a found link, its ends in the order in which they were observed.
func (s *seating) foundName(a, b socket) string {
	if p := s.at[a]; p != graphs.None && s.seen.ends(s.seen.linkOf(p))[0] != p {
		a, b = b, a
	}
	return s.name(a) + "--" + s.name(b)
}

// places counts the nodes at which plugs are pulled or put in.
func (s *seating) places(plugs []plug) int {
	at := map[graphs.NodeID]bool{}
	for _, p := range plugs {
		at[s.place(p.from)], at[s.place(p.to)] = true, true
	}
	return len(at)
}

// sameNodes reports whether the found links of a ring join the same nodes as its planned ones, and whether its ports have addresses.
func (s *seating) sameNodes(ring []socket) (same, addressed bool) {
	count := map[joint]int{}
	for _, x := range ring {
		count[jointOf(s.place(x), s.place(s.planned[x]))]++
		count[jointOf(s.place(x), s.place(s.found[x]))]--
		addressed = addressed || len(s.plan.Port(graphs.PortID(x)).Prefixes) > 0
	}
	for _, n := range count {
		if n != 0 {
			return false, false
		}
	}
	return true, addressed
}
