package formats

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"whichlink/graphs"
)

// A topology of RFC 8345 is a stack of networks, in which those above rest on those below: each has nodes with termination points, and
// links, which are unidirectional, so that a cable is two. What holds the cables is at the bottom.
type rfc8345 struct {
	sketch *sketch
	left   passed
	oneWay map[[2]string]int
}

func isRFC8345(text []byte) bool {
	return beginsJSON(text) && bytes.Contains(text, []byte(`"ietf-network:networks"`))
}

// ietfKey is the key under which something stands: with the name of its YANG module, or without where that is the one around (RFC 7951).
func ietfKey(m *mapping, key string) string {
	for _, module := range []string{"ietf-network:", "ietf-network-topology:"} {
		if m.get(module+key) != nil {
			return module + key
		}
	}
	return key
}

func readRFC8345(f *File, name string) error {
	top, err := topJSON(f)
	if err != nil {
		return err
	}
	networks, err := top.child(ietfKey(&top, "networks"), "")
	if err != nil {
		return err
	}
	list, err := networks.mappings(ietfKey(&networks, "network"), "networks")
	if err != nil {
		return err
	}
	chosen, others, err := lowest(list, top.node)
	if err != nil {
		return err
	}
	t := &rfc8345{sketch: newSketch(), left: passed{}, oneWay: map[[2]string]int{}}
	if err := t.readNetwork(&chosen); err != nil {
		return err
	}
	for i := range list {
		if err := t.readRoles(&list[i]); err != nil {
			return err
		}
	}
	id, err := chosen.word("network-id", "network")
	if err != nil {
		return err
	}
	if err := t.sketch.build(f, graphs.Clean(cmp.Or(id, name))); err != nil {
		return err
	}
	if all, back := len(t.sketch.cables), t.sketch.repeated; back > 0 && back < all {
		f.note("%d of %d links are told of in one direction only", all-back, all)
	}
	if len(others) > 0 {
		f.note("networks that rest on others, or have fewer links: %s: passed over", few(others))
	}
	t.left.note(f)
	return nil
}

// lowest picks, of the networks that rest on no other, the one with most links, and names the others.
func lowest(list []mapping, root *yaml.Node) (chosen mapping, others []string, err error) {
	most, best := -1, -1
	names := make([]string, len(list))
	for i := range list {
		m := &list[i]
		if names[i], err = m.word("network-id", "network"); err != nil {
			return chosen, nil, err
		}
		names[i] = graphs.Clean(names[i])
		links, err := m.list(ietfKey(m, "link"), "network "+names[i])
		if err != nil {
			return chosen, nil, err
		}
		rests, err := restsOnOther(m, "network "+names[i])
		if err != nil {
			return chosen, nil, err
		}
		if !rests && len(links) > most {
			most, best = len(links), i
		}
	}
	if best < 0 {
		return chosen, nil, at(root, "no network in networks.network that rests on no other")
	}
	for i, n := range names {
		if i != best {
			others = append(others, n)
		}
	}
	return list[best], others, nil
}

func restsOnOther(m *mapping, what string) (bool, error) {
	if below, err := m.list(ietfKey(m, "supporting-network"), what); err != nil || len(below) > 0 {
		return true, err
	}
	nodes, err := m.mappings(ietfKey(m, "node"), what)
	if err != nil {
		return false, err
	}
	for i := range nodes {
		if below, err := nodes[i].list(ietfKey(&nodes[i], "supporting-node"), what+".node"); err != nil || len(below) > 0 {
			return true, err
		}
	}
	return false, nil
}

func (t *rfc8345) readNetwork(m *mapping) error {
	nodes, err := m.mappings(ietfKey(m, "node"), "network")
	if err != nil {
		return err
	}
	for i := range nodes {
		n := &nodes[i]
		id, err := n.word("node-id", "node")
		if err != nil {
			return err
		}
		if id == "" {
			return at(n.node, "a node without node-id")
		}
		t.sketch.nodeAt(id, place{line: n.node.Line})
	}
	links, err := m.mappings(ietfKey(m, "link"), "network")
	if err != nil {
		return err
	}
	for i := range links {
		if err := t.readLink(&links[i], fmt.Sprintf("link[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (t *rfc8345) readLink(m *mapping, what string) error {
	c := cable{line: m.node.Line}
	for i, end := range []struct{ key, node, port string }{{"source", "source-node", "source-tp"}, {"destination", "dest-node", "dest-tp"}} {
		x, err := m.child(end.key, what)
		if err != nil {
			return err
		}
		if c.ends[i].node, err = x.word(end.node, join(what, end.key)); err != nil {
			return err
		}
		if c.ends[i].port, err = x.word(end.port, join(what, end.key)); err != nil {
			return err
		}
		name := c.ends[i].node
		if name == "" {
			return at(m.node, "%s has no %s.%s", what, end.key, end.node)
		}
		if _, known := t.sketch.byName[name]; !known {
			return at(m.node, "%s: no node %q in the network", what, graphs.Clean(name))
		}
	}
	u, v := c.ends[0], c.ends[1]
	switch {
	case u.node == v.node:
		t.left.add("links from a node to itself")
		return nil
	case u.port == "" && v.port == "" && returns(t.oneWay, u.node, v.node):
		t.sketch.repeated++
		return nil
	}
	return t.sketch.add(c)
}

// readRoles takes the roles that a fabric of RFC 8542, in any of the networks, gives to the nodes of the network below it.
func (t *rfc8345) readRoles(m *mapping) error {
	nodes, err := m.mappings(ietfKey(m, "node"), "network")
	if err != nil {
		return err
	}
	for i := range nodes {
		fabric, err := nodes[i].child("ietf-dc-fabric-topology:fabric-attributes", "node")
		if err != nil {
			return err
		}
		devices, err := fabric.mappings("device-nodes", "fabric-attributes")
		if err != nil {
			return err
		}
		for k := range devices {
			d := &devices[k]
			name, err := d.word("device-ref", "device-nodes")
			if err != nil {
				return err
			}
			role := d.get("role")
			if role != nil && role.Kind == yaml.SequenceNode && len(role.Content) > 0 {
				role = role.Content[0]
			}
			word, err := scalar(role, "device-nodes.role")
			if err != nil {
				return err
			}
			if _, known := t.sketch.byName[name]; known {
				word = word[strings.LastIndex(word, ":")+1:]
				t.sketch.node(name).Role = graphs.Role(graphs.Clean(word))
			}
		}
	}
	return nil
}
