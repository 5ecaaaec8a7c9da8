package formats

import (
	"bytes"
	"fmt"

	"whichlink/graphs"
)

// netjson is a NetworkGraph of NetJSON (https://netjson.org/rfc.html): nodes and links, and no ports.
type netjson struct {
	sketch *sketch
	left   passed
	// name is the name of the node that has an id.
	name   map[string]string
	oneWay map[[2]string]int
}

func isNetJSON(text []byte) bool {
	return beginsJSON(text) && bytes.Contains(text, []byte(`"NetworkGraph"`))
}

func readNetJSON(f *File, name string) error {
	top, err := topJSON(f)
	if err != nil {
		return err
	}
	if label, err := top.word("label", ""); err != nil {
		return err
	} else if label != "" {
		name = graphs.Clean(label)
	}
	g := &netjson{sketch: newSketch(), left: passed{}, name: map[string]string{}, oneWay: map[[2]string]int{}}
	nodes, err := top.mappings("nodes", "")
	if err != nil {
		return err
	}
	if err := g.readNodes(nodes); err != nil {
		return err
	}
	links, err := top.mappings("links", "")
	if err != nil {
		return err
	}
	for i := range links {
		if err := g.readLink(&links[i], fmt.Sprintf("links[%d]", i)); err != nil {
			return err
		}
	}
	if err := g.sketch.build(f, name); err != nil {
		return err
	}
	if g.sketch.repeated > 0 {
		f.note("%d links repeat a link in the other direction", g.sketch.repeated)
	}
	g.left.note(f)
	return nil
}

func (g *netjson) readNodes(nodes []mapping) error {
	labels, ids := make([]string, len(nodes)), make([]string, len(nodes))
	for i := range nodes {
		var err error
		if ids[i], err = nodes[i].word("id", "node"); err != nil {
			return err
		}
		if labels[i], err = nodes[i].word("label", "node"); err != nil {
			return err
		}
		if _, twice := g.name[ids[i]]; twice || ids[i] == "" {
			return at(nodes[i].node, "nodes[%d] has no id, or that of a node before", i)
		}
		g.name[ids[i]] = ""
	}
	for i, n := range uniqueNames(labels, ids) {
		g.name[ids[i]] = n
		g.sketch.nodeAt(n, place{line: nodes[i].node.Line})
	}
	return nil
}

func (g *netjson) readLink(m *mapping, what string) error {
	c := cable{line: m.node.Line}
	for k, key := range []string{"source", "target"} {
		id, err := m.word(key, what)
		if err != nil {
			return err
		}
		name, known := g.name[id]
		if !known {
			return at(m.node, "%s.%s: no node %q in nodes", what, key, graphs.Clean(id))
		}
		c.ends[k].node = name
	}
	switch u, v := c.ends[0].node, c.ends[1].node; {
	case u == v:
		g.left.add("links from a node to itself")
	case returns(g.oneWay, u, v):
		g.sketch.repeated++
	default:
		return g.sketch.add(c)
	}
	return nil
}
