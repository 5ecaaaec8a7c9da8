package formats

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"whichlink/graphs"
)

// Names of GraphML attributes that WriteGraphML writes, and by which the reader knows them. The first are what other programs use too.
const (
	gmlLabel      = "label"
	gmlSpeed      = "speed"
	gmlName       = "name"
	gmlRole       = "role"
	gmlKind       = "kind"
	gmlModel      = "model"
	gmlLoopback   = "loopback"
	gmlManagement = "management"
	gmlSourcePort = "source_port"
	gmlTargetPort = "target_port"
	gmlSourceAddr = "source_addresses"
	gmlTargetAddr = "target_addresses"
	gmlGroups     = "groups"
)

func isGraphML(text []byte) bool { return beginsXML(text) && bytes.Contains(text, []byte("<graphml")) }

// graphml is a GraphML document (http://graphml.graphdrawing.org/specification.html) while it is read.
type graphml struct {
	file  source
	keys  map[string]string // from a key's id to the name of the attribute
	name  string
	nodes []gmlThing
	edges []gmlThing
	left  passed

	directed bool
	open     []gmlOpen // the elements around, from the outermost
}

// A gmlThing is a node or an edge with its attributes.
type gmlThing struct {
	id               string
	source, target   string
	fromPort, toPort string
	directed         bool
	data             map[string]string
	line             int
}

// gmlOpen is an element that is not closed yet; node and edge are indices of the thing that it is, or -1.
type gmlOpen struct {
	name       string
	node, edge int
}

func readGraphML(f *File, name string) error {
	g := &graphml{file: source{text: f.text}, keys: map[string]string{}, name: name, left: passed{}}
	if err := g.read(); err != nil {
		return err
	}
	return g.build(f)
}

// read collects nodes and edges. Graphs within nodes are read as if they stood outside.
func (g *graphml) read() error {
	d := newXML(g.file)
	key := ""
	var text []byte
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return xmlError(g.file, d, err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			line, _ := d.InputPos()
			text = text[:0]
			if err := g.start(&x, line); err != nil {
				return &Error{g.file.name, line, err}
			}
			if x.Name.Local == "data" {
				key = attribute(&x, "key")
			}
		case xml.CharData:
			text = append(text, x...)
		case xml.EndElement:
			if x.Name.Local == "data" {
				g.data(key, strings.TrimSpace(string(text)))
			}
			g.open = g.open[:len(g.open)-1]
			text = text[:0]
		}
	}
}

func attribute(x *xml.StartElement, name string) string {
	for _, a := range x.Attr {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

func (g *graphml) start(x *xml.StartElement, line int) error {
	here := gmlOpen{x.Name.Local, -1, -1}
	switch x.Name.Local {
	case "key":
		g.keys[attribute(x, "id")] = attribute(x, "attr.name")
	case "graph":
		g.directed = attribute(x, "edgedefault") == "directed"
	case "node":
		here.node = len(g.nodes)
		g.nodes = append(g.nodes, gmlThing{id: attribute(x, "id"), line: line})
		if g.nodes[here.node].id == "" {
			return errors.New("a node without an id")
		}
	case "edge":
		here.edge = len(g.edges)
		e := gmlThing{source: attribute(x, "source"), target: attribute(x, "target"), directed: g.directed, line: line}
		e.fromPort, e.toPort = attribute(x, "sourceport"), attribute(x, "targetport")
		if word := attribute(x, "directed"); word != "" {
			e.directed = word == "true"
		}
		g.edges = append(g.edges, e)
		if e.source == "" || e.target == "" {
			return errors.New("an edge without source or target")
		}
	case "hyperedge":
		g.left.add("hyperedges, which join more than two nodes")
	}
	g.open = append(g.open, here)
	return nil
}

// data sets an attribute of the element around.
func (g *graphml) data(key, value string) {
	name, known := g.keys[key]
	if !known || name == "" {
		name = key
	}
	if value == "" || len(g.open) < 2 {
		return
	}
	var to *gmlThing
	switch around := g.open[len(g.open)-2]; {
	case around.node >= 0:
		to = &g.nodes[around.node]
	case around.edge >= 0:
		to = &g.edges[around.edge]
	case around.name == "graph" && (strings.EqualFold(name, gmlName) || strings.EqualFold(name, gmlLabel)):
		g.name = graphs.Clean(value)
		return
	default:
		return
	}
	if to.data == nil {
		to.data = map[string]string{}
	}
	to.data[strings.ToLower(name)] = value
}

func (g *graphml) build(f *File) error {
	s := newSketch()
	labels, ids := make([]string, len(g.nodes)), make([]string, len(g.nodes))
	line := map[string]int{}
	for i := range g.nodes {
		n := &g.nodes[i]
		if was, twice := line[n.id]; twice {
			return g.fail(n, "node %q is there twice, first in line %d", graphs.Clean(n.id), was)
		}
		line[n.id] = n.line
		labels[i], ids[i] = cmp.Or(n.data[gmlLabel], n.data[gmlName]), n.id
	}
	named := map[string]string{}
	for i, name := range uniqueNames(labels, ids) {
		named[ids[i]] = name
		if err := g.node(s, name, &g.nodes[i]); err != nil {
			return err
		}
	}
	if err := g.connect(s, named); err != nil {
		return err
	}
	if err := s.build(f, g.name); err != nil {
		return err
	}
	if s.repeated > 0 {
		f.note("%d edges repeat a link in the other direction", s.repeated)
	}
	g.left.note(f)
	f.noteRepeated(labels)
	return nil
}

// connect adds the edges between the nodes that have names.
func (g *graphml) connect(s *sketch, named map[string]string) error {
	oneWay := map[[2]string]int{}
	for i := range g.edges {
		e := &g.edges[i]
		for _, id := range []string{e.source, e.target} {
			if _, ok := named[id]; !ok {
				return g.fail(e, "an edge names the node %q, which is not there", graphs.Clean(id))
			}
		}
		u, v := named[e.source], named[e.target]
		if u == v {
			g.left.add("edges from a node to itself")
			continue
		}
		c, err := g.edge(u, v, e)
		if err != nil {
			return err
		}
		if e.directed && c.ends[0].port == "" && returns(oneWay, u, v) {
			s.repeated++
			continue
		}
		if err := s.add(c); err != nil {
			return err
		}
	}
	return nil
}

// returns reports whether an edge from u to v is the way back of one that came before and has had none. The links between two nodes are
// then as many as the edges of the direction that has more of them.
func returns(oneWay map[[2]string]int, u, v string) bool {
	oneWay[[2]string{u, v}]++
	return oneWay[[2]string{u, v}] <= oneWay[[2]string{v, u}]
}

func (g *graphml) fail(x *gmlThing, format string, args ...any) error {
	return &Error{g.file.name, x.line, fmt.Errorf(format, args...)}
}

func (g *graphml) node(s *sketch, name string, x *gmlThing) error {
	n := s.nodeAt(name, place{g.file.name, x.line})
	n.Role = graphs.Role(graphs.Clean(x.data[gmlRole]))
	n.Kind, n.Model = graphs.Clean(x.data[gmlKind]), graphs.Clean(x.data[gmlModel])
	for _, word := range splitList(x.data[gmlLoopback]) {
		a, err := parseAddress(word)
		if err != nil {
			return g.fail(x, "%s of node %s: %w", gmlLoopback, name, err)
		}
		n.Loopback = append(n.Loopback, a)
	}
	if word := x.data[gmlManagement]; word != "" {
		a, err := parseAddress(word)
		if err != nil {
			return g.fail(x, "%s of node %s: %w", gmlManagement, name, err)
		}
		n.Management = a
	}
	return nil
}

func (g *graphml) edge(u, v string, x *gmlThing) (cable, error) {
	c := cable{file: g.file.name, line: x.line, groups: splitList(x.data[gmlGroups])}
	ports, lists := [2]string{x.fromPort, x.toPort}, [2]string{gmlSourceAddr, gmlTargetAddr}
	for i, key := range []string{gmlSourcePort, gmlTargetPort} {
		if ports[i] == "" {
			ports[i] = x.data[key]
		}
		for _, word := range splitList(x.data[lists[i]]) {
			p, err := netip.ParsePrefix(word)
			if err != nil || p.Addr().Is4In6() {
				return c, g.fail(x, "%s is %q, expected an address with the length of its subnet such as 10.64.0.0/31", lists[i], graphs.Clean(word))
			}
			c.prefix[i] = append(c.prefix[i], p)
		}
	}
	c.ends = [2]socket{{u, ports[0]}, {v, ports[1]}}
	var err error
	if c.speed, err = edgeSpeed(x.data); err != nil {
		return c, g.fail(x, "speed is %w", err)
	}
	return c, nil
}

// edgeSpeed finds a speed under the names that this program and the Internet Topology Zoo give it. What the latter says in words is a label
// at best, so that a wrong one is no error.
func edgeSpeed(data map[string]string) (graphs.BitsPerSecond, error) {
	if word := data[gmlSpeed]; word != "" {
		return ParseSpeed(word)
	}
	for _, word := range []string{data["linkspeedraw"], data["linkspeed"] + data["linkspeedunits"]} {
		if speed, err := ParseSpeed(word); err == nil {
			return speed, nil
		}
	}
	return 0, nil
}
