package formats

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"whichlink/graphs"
)

// A sketch collects nodes and cables as files tell of them: in any order, from one end or from both, with ports or without.
type sketch struct {
	nodes  []graphs.Node
	byName map[string]int
	// at is where each node was first told of.
	at     []place
	cables []cable
	// byPort finds the cable of a port.
	byPort map[socket]int
	// Repeated counts the cables that were told of again, most often from their other end.
	repeated int
	// loops are the cables from a node to itself, which no path takes, by the names of their ports.
	loops [][2]string
}

// A place is a line of a file.
type place struct {
	file string
	line int
}

// A socket is a port as a file names it. Where a file names no ports, port is empty.
type socket struct{ node, port string }

type cable struct {
	ends   [2]socket
	prefix [2][]netip.Prefix
	speed  graphs.BitsPerSecond
	groups []string
	file   string
	line   int
}

func newSketch() *sketch {
	return &sketch{byName: map[string]int{}, byPort: map[socket]int{}}
}

// node finds a node or adds it, and lets its fields be set.
func (s *sketch) node(name string) *graphs.Node { return s.nodeAt(name, place{}) }

// nodeAt is node with the place that stands in errors about the node.
func (s *sketch) nodeAt(name string, at place) *graphs.Node {
	name = strings.TrimSpace(name)
	i, ok := s.byName[name]
	if !ok {
		i = len(s.nodes)
		s.byName[name] = i
		s.nodes = append(s.nodes, graphs.Node{Name: name})
		s.at = append(s.at, at)
	}
	return &s.nodes[i]
}

// add adds a cable. One that is already known, whichever way round, is counted and completed, not added again; one that takes a port
// from another is an error. A cable from a node to itself is kept apart.
func (s *sketch) add(c cable) error {
	for i := range c.ends { // the fabric file has no room for space around names
		c.ends[i] = socket{strings.TrimSpace(c.ends[i].node), strings.TrimSpace(c.ends[i].port)}
	}
	if c.ends[0].node == c.ends[1].node {
		s.nodeAt(c.ends[0].node, place{c.file, c.line})
		s.loops = append(s.loops, [2]string{graphs.Clean(c.ends[0].node + ":" + c.ends[0].port), graphs.Clean(c.ends[1].node + ":" + c.ends[1].port)})
		return nil
	}
	for i, e := range c.ends {
		s.nodeAt(e.node, place{c.file, c.line})
		if e.port == "" {
			continue
		}
		if at, ok := s.byPort[e]; ok {
			was := &s.cables[at]
			if was.ends == c.ends || was.ends == [2]socket{c.ends[1], c.ends[0]} {
				s.repeated++
				if was.speed == 0 {
					was.speed = c.speed
				}
				return nil
			}
			other := was.ends[0]
			if other == e {
				other = was.ends[1]
			}
			return &Error{c.file, c.line, fmt.Errorf("port %q has a link to %q, and another to %q before", graphs.Clean(e.node+":"+e.port),
				graphs.Clean(c.ends[1-i].node+":"+c.ends[1-i].port), graphs.Clean(other.node+":"+other.port))}
		}
	}
	for _, e := range c.ends {
		if e.port != "" {
			s.byPort[e] = len(s.cables)
		}
	}
	s.cables = append(s.cables, c)
	return nil
}

// build makes the fabric. Ports without a name are numbered p1, p2, ... in the order of the cables.
func (s *sketch) build(f *File, name string) error {
	b := &graphs.Builder{Name: name}
	for i, n := range s.nodes {
		if _, err := b.AddNode(n); err != nil {
			return &Error{s.at[i].file, s.at[i].line, err}
		}
	}
	next := map[string]int{}
	numbered := 0
	for _, c := range s.cables {
		var ends [2]graphs.End
		for i, e := range c.ends {
			if e.port == "" {
				next[e.node]++
				for s.taken(e.node, next[e.node]) {
					next[e.node]++
				}
				e.port = "p" + strconv.Itoa(next[e.node])
				numbered++
			}
			id, _ := b.NodeByName(e.node)
			ends[i] = graphs.End{Node: id, Port: e.port, Prefixes: c.prefix[i]}
		}
		if _, err := b.AddLink(ends[0], ends[1], c.speed, c.groups...); err != nil {
			return &Error{c.file, c.line, err}
		}
	}
	fabric, err := b.Build()
	if err != nil {
		return err
	}
	f.Fabric, f.Numbered = fabric, numbered
	if numbered > 0 {
		f.note("%d ports have no name in the file: they were numbered p1, p2, ... in the order of their links", numbered)
	}
	switch {
	case f.observed:
		f.Loops = append(f.Loops, s.loops...)
	case len(s.loops) > 0:
		f.note("%d cables lead from a node to itself: passed over", len(s.loops))
	}
	f.noteGuesses()
	return nil
}

func (s *sketch) taken(node string, number int) bool {
	_, ok := s.byPort[socket{node, "p" + strconv.Itoa(number)}]
	return ok
}
