package formats

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"whichlink/graphs"
)

// Labels of nodes that this program knows.
const (
	labelRole     = "whichlink.role"
	labelLoopback = "whichlink.loopback"
	labelModel    = "whichlink.model"
)

// clab is a containerlab topology while it is read.
type clab struct {
	file     *File
	defaults mapping
	kinds    mapping
	groups   mapping

	nodes  []clabNode
	byName map[string]int
	links  []clabLink
}

type clabNode struct {
	at     *yaml.Node
	node   graphs.Node
	group  string // containerlab's own, a hint at the role
	degree int
}

func readClab(f *File, name string) error {
	root, more, err := parse(f.text)
	if err != nil {
		return err
	}
	if more {
		f.note("only the first of the file's YAML documents was read")
	}
	top, err := asMapping(root, "the file")
	if err != nil {
		return err
	}
	if top.get("topology") == nil {
		return at(root, "no key topology, expected a containerlab topology: name, topology.nodes, topology.links")
	}
	c := &clab{file: f, byName: map[string]int{}}
	b := &graphs.Builder{Name: name}
	if given, err := top.word("name", ""); err != nil {
		return err
	} else if given != "" {
		b.Name = graphs.Clean(given)
	}
	topo, err := top.child("topology", "")
	if err != nil {
		return err
	}
	if topo.get("nodes") == nil {
		return at(top.get("topology"), "topology has no key nodes, expected a containerlab topology: name, topology.nodes, topology.links")
	}
	if err := c.readNodes(&topo); err != nil {
		return err
	}
	links, err := topo.list("links", "topology")
	if err != nil {
		return err
	}
	for i, n := range links {
		if err := c.readLink(n, fmt.Sprintf("topology.links[%d]", i)); err != nil {
			return err
		}
	}
	return c.build(b)
}

// build adds what was read to the builder. Roles come last, since a node's degree has a say in them.
func (c *clab) build(b *graphs.Builder) error {
	c.takeRoles()
	for i := range c.nodes {
		n := &c.nodes[i]
		if _, err := b.AddNode(n.node); err != nil {
			return at(n.at, "%w", err)
		}
	}
	for _, l := range c.links {
		if from, to := l.ends[0], l.ends[1]; from.Node == to.Node && c.file.observed {
			node := c.nodes[from.Node].node.Name
			c.file.Loops = append(c.file.Loops, [2]string{graphs.Clean(node + ":" + from.Port), graphs.Clean(node + ":" + to.Port)})
			continue
		}
		if _, err := b.AddLink(l.ends[0], l.ends[1], l.speed, l.groups...); err != nil {
			return at(l.at, "%w", err)
		}
	}
	f, err := b.Build()
	if err != nil {
		return err
	}
	c.file.Fabric = f
	c.file.noteGuesses()
	return nil
}

func (c *clab) readNodes(topo *mapping) error {
	var err error
	if c.defaults, err = topo.child("defaults", "topology"); err != nil {
		return err
	}
	if c.kinds, err = topo.child("kinds", "topology"); err != nil {
		return err
	}
	if c.groups, err = topo.child("groups", "topology"); err != nil {
		return err
	}
	nodes, err := topo.child("nodes", "topology")
	if err != nil {
		return err
	}
	for i, k := range nodes.keys {
		n, err := c.readNode(k, nodes.values[i])
		if err != nil {
			return err
		}
		c.byName[k.Value] = len(c.nodes)
		c.nodes = append(c.nodes, n)
	}
	return nil
}

// readNode reads a node with what it inherits: containerlab looks at the node, then its group, then its kind, then the defaults.
func (c *clab) readNode(key, value *yaml.Node) (clabNode, error) {
	what := "node " + graphs.Clean(key.Value)
	n := clabNode{at: key, node: graphs.Node{Name: key.Value}}
	own, err := asMapping(value, what)
	if err != nil {
		return n, err
	}
	layers := []mapping{own}
	if n.group, err = inherited("group", what, own, c.defaults); err != nil {
		return n, err
	}
	if group, err := c.groups.child(n.group, "topology.groups"); err != nil {
		return n, err
	} else if n.group != "" {
		layers = append(layers, group)
	}
	if n.node.Kind, err = inherited("kind", what, append(slices.Clone(layers), c.defaults)...); err != nil {
		return n, err
	}
	kind, err := c.kinds.child(n.node.Kind, "topology.kinds")
	if err != nil {
		return n, err
	}
	layers = append(layers, kind, c.defaults)
	if n.group == "" {
		if n.group, err = inherited("group", what, kind); err != nil {
			return n, err
		}
	}
	n.node.Kind, n.group = graphs.Clean(n.node.Kind), graphs.Clean(n.group)

	label := func(name string) (string, *yaml.Node, error) {
		for i := range layers {
			labels, err := layers[i].child("labels", what)
			if err != nil {
				return "", nil, err
			}
			if v := labels.get(name); v != nil {
				word, err := scalar(v, what+".labels."+name)
				return word, v, err
			}
		}
		return "", nil, nil
	}
	role, _, err := label(labelRole)
	if err != nil {
		return n, err
	}
	n.node.Role = graphs.Role(graphs.Clean(role))
	model, _, err := label(labelModel)
	if err != nil {
		return n, err
	}
	n.node.Model = graphs.Clean(model)
	loopback, where, err := label(labelLoopback)
	if err != nil {
		return n, err
	}
	for _, word := range strings.FieldsFunc(loopback, func(r rune) bool { return r == ',' || r == ' ' }) {
		a, err := parseAddress(word)
		if err != nil {
			return n, at(where, "%s.labels.%s: %w", what, labelLoopback, err)
		}
		n.node.Loopback = append(n.node.Loopback, a)
	}
	for _, k := range []string{"mgmt-ipv4", "mgmt_ipv4", "mgmt-ipv6", "mgmt_ipv6"} {
		word, err := own.word(k, what)
		if err != nil {
			return n, err
		}
		if word == "" || n.node.Management.IsValid() {
			continue
		}
		if n.node.Management, err = parseAddress(word); err != nil {
			return n, at(own.get(k), "%s.%s: %w", what, k, err)
		}
	}
	return n, nil
}

// inherited returns the word at a key in the first of the layers that has it.
func inherited(key, what string, layers ...mapping) (string, error) {
	for i := range layers {
		if word, err := layers[i].word(key, what); err != nil || word != "" {
			return word, err
		}
	}
	return "", nil
}

// parseAddress reads an address, with or without the length of its subnet.
func parseAddress(word string) (netip.Addr, error) {
	if p, err := netip.ParsePrefix(word); err == nil {
		return p.Addr().Unmap(), nil
	}
	a, err := netip.ParseAddr(word)
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%q, expected an address such as 10.255.0.1", graphs.Clean(word))
	}
	return a.Unmap(), nil
}
