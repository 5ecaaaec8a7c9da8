package formats

import (
	"fmt"
	"io"
	"net/netip"
	"strings"

	"go.yaml.in/yaml/v3"

	"whichlink/graphs"
)

// WriteFabric writes a fabric as a fabric file, one line a node and a link. Roles that were guessed are left out, so that reading it again
// guesses them again.
func WriteFabric(w io.Writer, f *graphs.Fabric) error {
	nodes := &yaml.Node{Kind: yaml.MappingNode}
	for i := range graphs.NodeID(f.NumNodes()) {
		nodes.Content = append(nodes.Content, word(f.NodeName(i)), nodeOut(f.Node(i)))
	}
	links := &yaml.Node{Kind: yaml.SequenceNode}
	for l := range graphs.LinkID(f.NumLinks()) {
		links.Content = append(links.Content, linkOut(f, l))
	}
	topology := object(0, "nodes", nodes, "links", links)
	if f.NumLinks() == 0 {
		topology = object(0, "nodes", nodes)
	}
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(object(0, "name", word(f.Name()), "topology", topology)); err != nil {
		return fmt.Errorf("write fabric %s: %w", f.Name(), err)
	}
	return enc.Close()
}

func nodeOut(n *graphs.Node) *yaml.Node {
	out := object(yaml.FlowStyle)
	if n.Kind != "" {
		set(out, "kind", word(n.Kind))
	}
	switch {
	case n.Management.Is4():
		set(out, "mgmt-ipv4", word(n.Management.String()))
	case n.Management.IsValid():
		set(out, "mgmt-ipv6", word(n.Management.String()))
	}
	labels := object(yaml.FlowStyle)
	if n.Role != "" && !n.RoleGuessed {
		set(labels, labelRole, word(string(n.Role)))
	}
	if len(n.Loopback) > 0 {
		var addresses []string
		for _, a := range n.Loopback {
			addresses = append(addresses, a.String())
		}
		set(labels, labelLoopback, word(strings.Join(addresses, ", ")))
	}
	if n.Model != "" {
		set(labels, labelModel, word(n.Model))
	}
	if len(labels.Content) > 0 {
		set(out, "labels", labels)
	}
	return out
}

func linkOut(f *graphs.Fabric, id graphs.LinkID) *yaml.Node {
	l := f.Link(id)
	ends := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	vars := object(yaml.FlowStyle)
	for _, p := range l.Ends {
		ends.Content = append(ends.Content, quoted(f.PortName(p)))
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		if list := addressesOut(f, l, family == "ipv6"); list != nil {
			set(vars, family, list)
		}
	}
	if l.Speed != 0 {
		set(vars, "speed", word(FormatSpeed(l.Speed)))
	}
	if len(l.Groups) > 0 {
		groups := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, g := range l.Groups {
			groups.Content = append(groups.Content, word(f.Group(g).Name))
		}
		set(vars, "group", groups)
	}
	out := object(0, "endpoints", ends)
	if len(vars.Content) > 0 {
		set(out, "vars", vars)
	}
	return out
}

// addressesOut lists the first address of a family at both ends, or returns nil where neither has one: the file has room for one an end.
func addressesOut(f *graphs.Fabric, l *graphs.Link, ipv6 bool) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	any := false
	for _, p := range l.Ends {
		var first netip.Prefix
		for _, x := range f.Port(p).Prefixes {
			if x.Addr().Is6() == ipv6 {
				first, any = x, true
				break
			}
		}
		if first.IsValid() {
			list.Content = append(list.Content, quoted(first.String()))
		} else {
			list.Content = append(list.Content, quoted(""))
		}
	}
	if !any {
		return nil
	}
	return list
}

// word is a string; quotes are put around it where it would otherwise be read as a number or something else.
func word(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	n.Style &^= yaml.LiteralStyle
	return n
}

func quoted(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
}

// object makes a mapping of keys and values that alternate.
func object(style yaml.Style, pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Style: style}
	for i := 0; i+1 < len(pairs); i += 2 {
		set(n, pairs[i].(string), pairs[i+1].(*yaml.Node))
	}
	return n
}

func set(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, word(key), value)
}
