package cabling

import (
	"strings"

	"whichlink/graphs"
	"whichlink/graphs/spelling"
)

// A darkList holds the ports at which no link is expected to be seen.
type darkList struct {
	// ports are the plan's; unlit and lit name all that were listed, by what was found there.
	ports      map[socket]bool
	unlit, lit []string
}

// newDarkList resolves a list of ports, nodes and links. What neither fabric knows is dark for certain.
func newDarkList(s *seating, names []string) *darkList {
	d := &darkList{ports: map[socket]bool{}}
	if len(names) == 0 {
		return d
	}
	foreign := map[string]socket{}
	for x := socket(s.plan.NumPorts()); int(x) < len(s.planned); x++ {
		foreign[s.name(x)] = x
	}
	nodes := make([]string, len(names))
	for i, name := range names {
		nodes[i], _, _ = strings.Cut(name, ":")
	}
	known := spelling.MatchNodes(nodes, nodeNames(s.plan)).Pairs
	told := map[string]bool{}
	for i, name := range names {
		if told[name] {
			continue
		}
		told[name] = true
		_, port, isPort := strings.Cut(name, ":")
		l, isLink := s.plan.LinkByName(name)
		switch n, ok := s.plan.NodeByName(known[nodes[i]]); {
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
		default:
			d.addName(s, foreign, name)
		}
	}
	return d
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

// addName adds a port that the plan lacks, or a node that it lacks.
func (d *darkList) addName(s *seating, foreign map[string]socket, name string) {
	if x, ok := foreign[name]; ok && s.found[x] != nowhere {
		d.lit = append(d.lit, name)
	} else {
		d.unlit = append(d.unlit, graphs.Clean(name))
	}
}
