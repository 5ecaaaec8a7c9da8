package cabling

import (
	"strings"

	"whichlink/graphs"
	"whichlink/graphs/spelling"
)

// A darkList holds the ports at which no link is expected to be seen.
type darkList struct {
	// ports are the plan's; unlit and lit name all that were listed, by what was found there, unknown what neither fabric has.
	ports               map[socket]bool
	unlit, lit, unknown []string
}

// newDarkList resolves a list of ports, nodes and links. A port that neither fabric has, of a node that one has, is dark for certain.
func newDarkList(s *seating, names []string) *darkList {
	d := &darkList{ports: map[socket]bool{}}
	if len(names) == 0 {
		return d
	}
	foreign := map[string]socket{}
	for x := socket(s.plan.NumPorts()); int(x) < len(s.planned); x++ {
		foreign[s.name(x)] = x
	}
	told := map[string]bool{}
	known := map[string]graphs.NodeID{}
	for _, name := range names {
		if told[name] {
			continue
		}
		told[name] = true
		node, port, isPort := strings.Cut(name, ":")
		n, ok := known[node]
		if !ok {
			n = s.plannedNode(node)
			known[node] = n
		}
		l, isLink := s.plan.LinkByName(name)
		switch ok := n != graphs.None; {
		case isLink:
			for _, p := range s.plan.Link(l).Ends {
				d.add(s, socket(p))
			}
		case ok && !isPort:
			for _, p := range s.plan.Ports(n) {
				d.add(s, socket(p))
			}
		case ok:
			d.addPort(s, foreign, n, port)
		case foreignNode(s, node) && isPort:
			d.addName(s, foreign, name)
		default:
			d.unknown = append(d.unknown, graphs.Clean(name))
		}
	}
	return d
}

// plannedNode finds the node of the plan that a name means, or None.
func (s *seating) plannedNode(name string) graphs.NodeID {
	if n, ok := s.plan.NodeByName(name); ok {
		return n
	}
	if to, ok := spelling.MatchNodes([]string{name}, nodeNames(s.plan)).Pairs[name]; ok {
		n, _ := s.plan.NodeByName(to)
		return n
	}
	return graphs.None
}

func (d *darkList) add(s *seating, x socket) {
	if d.ports[x] {
		return
	}
	d.ports[x] = true
	if s.found[x] == nowhere {
		d.unlit = append(d.unlit, s.name(x))
	} else {
		d.lit = append(d.lit, s.name(x))
	}
}

// addPort adds a port of one of the plan's nodes, which need not be in the plan itself.
func (d *darkList) addPort(s *seating, foreign map[string]socket, n graphs.NodeID, port string) {
	planned := portNames(s.plan, n)
	if to, ok := spelling.MatchPorts([]string{port}, planned).Pairs[port]; ok {
		p, _ := s.plan.PortByName(s.plan.NodeName(n) + ":" + to)
		d.add(s, socket(p))
		return
	}
	d.addName(s, foreign, s.plan.NodeName(n)+":"+port)
}

// addName adds a port that the plan lacks.
func (d *darkList) addName(s *seating, foreign map[string]socket, name string) {
	if x, ok := foreign[name]; ok && s.found[x] != nowhere {
		d.lit = append(d.lit, name)
	} else {
		d.unlit = append(d.unlit, graphs.Clean(name))
	}
}

// foreignNode reports whether the observation has a node that the plan lacks.
func foreignNode(s *seating, name string) bool {
	n, ok := s.seen.NodeByName(name)
	return ok && s.nodeOf[n] == graphs.None
}
