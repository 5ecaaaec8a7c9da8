package diagnose

import (
	"fmt"
	"maps"
	"slices"

	"whichlink/graphs"
)

// leastRenamed is at how many of its cables a switch must be heard by another name for it to be this switch.
const leastRenamed = 2

// renamed takes a system that the plan does not have for the switch in whose place it is, if it is heard at two or more planned ports of one switch, at no other port, and
// nobody hears that switch by its own name: it was renamed or replaced, and its cables are where they belong.
func (c *cabled) renamed(s *Store) {
	place := map[string]graphs.NodeID{} // by the name of a system that the plan does not have; None where it is not that of one switch
	ports := map[string]map[graphs.PortID]bool{}
	known := map[graphs.NodeID]bool{} // those that are heard by their names
	for i := range c.wires {
		for e, end := range c.wires[i].ends {
			if n, ok := s.fabric.NodeByName(end.node); ok {
				known[n] = known[n] || e == 1
				continue
			}
			at := s.plannedPort(c.wires[i].ends[1-e].id, end.port)
			n := graphs.NodeID(graphs.None)
			if at != graphs.None {
				n = s.fabric.Port(at).Node
			}
			if was, heard := place[end.node]; heard && was != n {
				n = graphs.None
			}
			if place[end.node] = n; ports[end.node] == nil {
				ports[end.node] = map[graphs.PortID]bool{}
			}
			ports[end.node][at] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(place)) {
		n := place[name]
		if n == graphs.None || known[n] || len(ports[name]) < leastRenamed {
			continue
		}
		known[n] = true // no other has its place
		for i := range c.wires {
			for e := range c.wires[i].ends {
				if end := &c.wires[i].ends[e]; end.node == name {
					*end = s.wireEnd(s.fabric.NodeName(n), end.port)
				}
			}
		}
		c.notes = append(c.notes, fmt.Sprintf("%s is heard as %s at %d of its planned ports: renamed or replaced, and cabled as planned", s.fabric.NodeName(n), name, len(ports[name])))
	}
}

// plannedPort is the port at the other end of a port's planned link, if it has this name; else None.
func (s *Store) plannedPort(p graphs.PortID, name string) graphs.PortID {
	if p == graphs.None || s.fabric.Port(p).Link == graphs.None {
		return graphs.None
	}
	far := s.fabric.HeadPort(s.fabric.ArcFrom(p))
	if s.portOf(s.fabric.NodeName(s.fabric.Port(far).Node), name) != far {
		return graphs.None
	}
	return far
}
