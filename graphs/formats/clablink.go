package formats

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"whichlink/graphs"
)

type clabLink struct {
	at     *yaml.Node
	ends   [2]graphs.End
	speed  graphs.BitsPerSecond
	groups []string
}

// outside are the endpoints by which containerlab joins a node to something that is no node: the machine itself, its management
// network, and tunnels. (https://containerlab.dev/manual/links/)
var outside = []string{"host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy"}

func (c *clab) readLink(n *yaml.Node, what string) error {
	m, err := asMapping(n, what)
	if err != nil {
		return err
	}
	kind, err := m.word("type", what)
	if err != nil {
		return err
	}
	if slices.Contains(outside, kind) {
		c.file.note("%s (line %d) of type %s leads out of the fabric: passed over", what, n.Line, kind)
		return nil
	}
	if kind != "" && kind != "veth" && kind != "bridge" {
		return at(m.get("type"), "%s.type is %q, expected veth or one of %s", what, graphs.Clean(kind), strings.Join(outside, ", "))
	}
	ends, err := m.list("endpoints", what)
	if err != nil {
		return err
	}
	if len(ends) != 2 {
		return at(n, "%s has %d endpoints, expected two: endpoints: [\"a:eth1\", \"b:eth1\"]", what, len(ends))
	}
	l := clabLink{at: n}
	for i, e := range ends {
		end, inside, err := c.readEnd(e, fmt.Sprintf("%s.endpoints[%d]", what, i))
		if err != nil {
			return err
		}
		if !inside {
			c.file.note("%s (line %d) leads out of the fabric: passed over", what, n.Line)
			return nil
		}
		l.ends[i] = end
	}
	vars, err := m.child("vars", what)
	if err != nil {
		return err
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		// containerlab itself writes addresses on the link; whichlink's variables came first.
		from, where := &m, what
		if m.get(family) == nil {
			from, where = &vars, what+".vars"
		}
		if err := l.readAddresses(from, family, where); err != nil {
			return err
		}
	}
	if err := l.readVars(&vars, what+".vars"); err != nil {
		return err
	}
	for i := range l.ends {
		c.nodes[l.ends[i].Node].degree++
	}
	c.links = append(c.links, l)
	return nil
}

// readEnd reads "node:port", or the mapping with node and interface. It is not inside where it is one of containerlab's special endpoints.
func (c *clab) readEnd(n *yaml.Node, what string) (end graphs.End, inside bool, err error) {
	var node, port string
	var m mapping
	if n.Kind == yaml.MappingNode {
		if m, err = asMapping(n, what); err != nil {
			return end, false, err
		}
		if node, err = m.word("node", what); err != nil {
			return end, false, err
		}
		if port, err = m.word("interface", what); err != nil {
			return end, false, err
		}
	} else {
		word, err := scalar(n, what)
		if err != nil {
			return end, false, err
		}
		node, port, _ = strings.Cut(word, ":")
	}
	if _, ok := c.byName[node]; !ok && slices.Contains(outside, node) {
		return end, false, nil // dummy: names no port
	}
	if node == "" || port == "" {
		return end, false, at(n, "%s is %s, expected a node and a port such as leaf1:eth1", what, kindOf(n))
	}
	id, ok := c.byName[node]
	if !ok {
		return end, false, at(n, "%s: no node %q in topology.nodes", what, graphs.Clean(node))
	}
	end = graphs.End{Node: graphs.NodeID(id), Port: port}
	for _, family := range []string{"ipv4", "ipv6"} {
		if x := m.get(family); x != nil {
			p, err := parsePrefix(x, family, what+"."+family)
			if err != nil {
				return end, false, err
			}
			end.Prefixes = append(end.Prefixes, p...)
		}
	}
	return end, true, nil
}

// readAddresses reads one family's addresses, a list in the order of the endpoints. An empty one means none.
func (l *clabLink) readAddresses(m *mapping, family, what string) error {
	list, err := m.list(family, what)
	if err != nil {
		return err
	}
	if len(list) > 2 {
		return at(m.get(family), "%s.%s has %d elements, expected one address for each end", what, family, len(list))
	}
	for i, x := range list {
		p, err := parsePrefix(x, family, fmt.Sprintf("%s.%s[%d]", what, family, i))
		if err != nil {
			return err
		}
		l.ends[i].Prefixes = append(l.ends[i].Prefixes, p...)
	}
	return nil
}

// readVars reads speed and group.
func (l *clabLink) readVars(vars *mapping, what string) error {
	if n := vars.get("speed"); n != nil {
		word, err := scalar(n, what+".speed")
		if err != nil {
			return err
		}
		if l.speed, err = ParseSpeed(word); err != nil {
			return at(n, "%s.speed is %w", what, err)
		}
	}
	n := vars.get("group")
	if n == nil {
		return nil
	}
	names := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		names = n.Content
	}
	for _, x := range names {
		name, err := scalar(follow(x), what+".group")
		if err != nil {
			return err
		}
		if name != "" {
			l.groups = append(l.groups, name)
		}
	}
	return nil
}

func parsePrefix(n *yaml.Node, family, what string) ([]netip.Prefix, error) {
	word, err := scalar(n, what)
	if err != nil || word == "" {
		return nil, err
	}
	example := "10.64.0.0/31"
	if family == "ipv6" {
		example = "fd00::/127"
	}
	p, err := netip.ParsePrefix(word)
	if err != nil || p.Addr().Is4() != (family == "ipv4") || p.Addr().Is4In6() {
		return nil, at(n, "%s is %q, expected an address with the length of its subnet such as %s", what, graphs.Clean(word), example)
	}
	return []netip.Prefix{p}, nil
}
