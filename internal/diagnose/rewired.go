package diagnose

import (
	"slices"
	"strconv"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// sureOfCables is how probable it must be of every wrong cable that it is one for flows to count on the ways that there are with them: one port's word alone is not enough.
const sureOfCables = 0.9

// A rewired is a fabric whose cables are not all where the plan has them, as far as is known. Routing may use the wrong cables or not: sessions over them may not come up.
type rewired struct {
	// laid has the cables where they lie. A wrong one has the number of a link that is missing, and so its arcs those of arcs that no packet crosses. Others, for which no number
	// is left, it does not have: whatever is told of arcs and links is told of the plan's.
	laid *graphs.Fabric
	// with is routing with the wrong cables, all of them: those that laid does not have have the numbers after the plan's. Without is routing without any.
	with, without *pathfind.ECMP
	sure          bool // it is known where all plugs are
	planned       map[[2]graphs.NodeID]bool
}

// A misplacedCable is a cable between two nodes where the plan has none, and the ports of the plan's at its ends; None where it is not known which.
type misplacedCable struct {
	nodes [2]graphs.NodeID
	ports [2]graphs.PortID
}

// rewire takes what ports hear and where traces found them for where the cables that are misplaced lead. Plugs of which nobody tells may be at either end of the same cable.
func (s *Store) rewire(d *Diagnosis, found []stray) {
	if s.rewired = nil; len(s.misplaced) == 0 {
		return
	}
	wrong, taken := s.misplacedCables(found)
	var loose []graphs.PortID
	for l := range graphs.LinkID(s.fabric.NumLinks()) {
		for _, p := range s.fabric.Link(l).Ends {
			if s.misplaced[l] && !taken[p] {
				loose = append(loose, p)
			}
		}
	}
	for i, p := range loose {
		for _, q := range loose[:i] {
			if n, m := s.fabric.Port(p).Node, s.fabric.Port(q).Node; n != m {
				wrong = append(wrong, misplacedCable{[2]graphs.NodeID{n, m}, [2]graphs.PortID{p, q}})
			}
		}
	}
	s.lists = nil // they are of the plan
	s.rewired = s.lay(wrong)
	s.rewired.sure = len(loose) <= 2 && !slices.ContainsFunc(d.Suspects, func(x Suspect) bool {
		return x.Symptom == Miswire && x.Probability >= Named && x.Probability < sureOfCables
	})
}

// misplacedCables are the wrong cables of which ports or traces tell, each once, and the ports in which they are plugged.
func (s *Store) misplacedCables(found []stray) (wrong []misplacedCable, taken map[graphs.PortID]bool) {
	missing := func(p graphs.PortID) bool { return p != graphs.None && s.misplaced[s.fabric.Port(p).Link] }
	taken = map[graphs.PortID]bool{}
	add := func(c misplacedCable) {
		if taken[c.ports[0]] || taken[c.ports[1]] {
			return
		}
		for i, p := range c.ports {
			if p != graphs.None {
				taken[p], c.nodes[i] = true, s.fabric.Port(p).Node
			}
		}
		if c.nodes[0] != graphs.None && c.nodes[1] != graphs.None && c.nodes[0] != c.nodes[1] {
			wrong = append(wrong, c)
		}
	}
	for _, w := range s.wired().wires {
		if !missing(w.ends[0].id) && !missing(w.ends[1].id) {
			continue
		}
		c := misplacedCable{ports: [2]graphs.PortID{w.ends[0].id, w.ends[1].id}}
		for i, e := range w.ends {
			c.nodes[i] = graphs.None
			if n, ok := s.fabric.NodeByName(e.node); ok {
				c.nodes[i] = n
			}
		}
		add(c)
	}
	for i := range found {
		x := &found[i]
		far := s.plugAt(found, x, func(l graphs.LinkID) bool { return s.misplaced[l] && l != s.fabric.Port(x.port).Link })
		add(misplacedCable{[2]graphs.NodeID{graphs.None, x.from}, [2]graphs.PortID{x.port, far}})
	}
	return wrong, taken
}

// lay lays the wrong cables.
func (s *Store) lay(wrong []misplacedCable) *rewired {
	at, rest := s.numbered(wrong)
	x := &rewired{laid: s.draw(at, nil), planned: map[[2]graphs.NodeID]bool{}}
	x.with = pathfind.NewECMPWithout(s.draw(at, rest), func(l graphs.LinkID) bool {
		_, elsewhere := at[l]
		return s.misplaced[l] && !elsewhere
	})
	x.without = pathfind.NewECMPWithout(s.fabric, func(l graphs.LinkID) bool { return s.misplaced[l] })
	return x
}

// draw draws the fabric with wrong cables in the place of links, and more of them after its links.
func (s *Store) draw(at map[graphs.LinkID]misplacedCable, more []misplacedCable) *graphs.Fabric {
	f := s.fabric
	b := graphs.Builder{Name: f.Name()}
	for n := range graphs.NodeID(f.NumNodes()) {
		_, _ = b.AddNode(*f.Node(n)) // as in the plan
	}
	add := func(id int, nodes [2]graphs.NodeID, speed graphs.BitsPerSecond, groups ...string) {
		end := func(i int) graphs.End { return graphs.End{Node: nodes[i], Port: strconv.Itoa(2*id + i)} }
		_, _ = b.AddLink(end(0), end(1), speed, groups...) // by names that are new
	}
	for l := range graphs.LinkID(f.NumLinks()) {
		link := f.Link(l)
		nodes := [2]graphs.NodeID{f.Tail(l.Forward()), f.Head(l.Forward())}
		if c, ok := at[l]; ok {
			nodes = c.nodes
			if c.ports[1] == link.Ends[0] || c.ports[0] == link.Ends[1] {
				nodes[0], nodes[1] = nodes[1], nodes[0] // its arcs begin where the plan's do
			}
		}
		var groups []string
		for _, g := range link.Groups {
			groups = append(groups, f.Group(g).Name)
		}
		add(int(l), nodes, link.Speed, groups...)
	}
	for i, c := range more {
		add(f.NumLinks()+i, c.nodes, 0)
	}
	drawn, err := b.Build()
	if err != nil {
		return f // never: it has the nodes of a fabric
	}
	return drawn
}

// numbered gives wrong cables the numbers of missing links at whose ports they are. The rest are those for which there is none.
func (s *Store) numbered(wrong []misplacedCable) (at map[graphs.LinkID]misplacedCable, rest []misplacedCable) {
	at = map[graphs.LinkID]misplacedCable{}
	for _, c := range wrong {
		i := slices.IndexFunc(c.ports[:], func(p graphs.PortID) bool {
			if p == graphs.None || !s.misplaced[s.fabric.Port(p).Link] {
				return false
			}
			_, taken := at[s.fabric.Port(p).Link]
			return !taken
		})
		if i < 0 {
			rest = append(rest, c)
		} else {
			at[s.fabric.Port(c.ports[i]).Link] = c
		}
	}
	return at, rest
}

// asPlanned reports whether flows between two nodes go all the ways that the plan has for them, and no other.
func (x *rewired) asPlanned(plan *pathfind.ECMP, src, dst graphs.NodeID) bool {
	k := [2]graphs.NodeID{src, dst}
	is, ok := x.planned[k]
	if !ok && src != graphs.None && dst != graphs.None {
		is = alike(plan, x.without, k) && alike(x.without, x.with, k)
		x.planned[k] = is
	}
	return is
}

// alike reports whether of two routings, one of which has all the links of the other, a pair has the same ways by both.
func alike(a, b *pathfind.ECMP, pair [2]graphs.NodeID) bool {
	return a.Distance(pair[0], pair[1]) == b.Distance(pair[0], pair[1]) && a.Count(pair[0], pair[1]) == b.Count(pair[0], pair[1])
}

// asPlanned reports whether flows of a trip whose path is not known go all the ways that the plan has for them, and no other.
func (s *Store) asPlanned(x trip) bool {
	return len(s.misplaced) == 0 || s.model == s.ecmp && s.rewired.asPlanned(s.ecmp, x.src, x.dst)
}

// laid is the fabric with its cables where they lie, as far as is known.
func (s *Store) laid() *graphs.Fabric {
	if len(s.misplaced) == 0 {
		return s.fabric
	}
	return s.rewired.laid
}
