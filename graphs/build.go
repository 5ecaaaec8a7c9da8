package graphs

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// A Builder collects nodes and links and makes a [Fabric] of them. The zero value is ready for use.
// Its methods return errors at once, so that a reader of a file can name the line that is wrong.
type Builder struct {
	Name string

	nodes      []Node
	ports      []Port
	links      []Link
	groups     []Group
	nodeByName map[string]NodeID
	portByName map[string]PortID
	groupBy    map[string]GroupID
	owner      map[netip.Addr]Owner
}

// AddNode adds a node. Its name must be new, not empty, and free of the marks that separate names in output.
func (b *Builder) AddNode(n Node) (NodeID, error) {
	if err := checkName("node", n.Name, ":>"); err != nil {
		return None, err
	}
	if _, ok := b.nodeByName[n.Name]; ok {
		return None, fmt.Errorf("node %q is there twice", Clean(n.Name))
	}
	id := NodeID(len(b.nodes))
	for _, a := range n.Loopback {
		if err := b.own(a, Owner{Node: id, Port: None}); err != nil {
			return None, err
		}
	}
	if b.nodeByName == nil {
		b.nodeByName = map[string]NodeID{}
	}
	b.nodes = append(b.nodes, n)
	b.nodeByName[n.Name] = id
	return id, nil
}

// NodeByName resolves the name of a node that was added.
func (b *Builder) NodeByName(name string) (NodeID, bool) {
	n, ok := b.nodeByName[name]
	return n, ok
}

// An End is one end of a link that is to be added.
type End struct {
	Node     NodeID
	Port     string
	Prefixes []netip.Prefix
}

// AddLink adds a link between two ports, which it makes. Groups are the names of its shared-risk groups.
func (b *Builder) AddLink(from, to End, speed BitsPerSecond, groups ...string) (LinkID, error) {
	if from.Node == to.Node {
		return None, fmt.Errorf("link from node %q to itself", Clean(b.nodes[from.Node].Name))
	}
	id := LinkID(len(b.links))
	l := Link{Speed: speed}
	for i, e := range []End{from, to} {
		p, err := b.addPort(e, id)
		if err != nil {
			return None, err
		}
		l.Ends[i] = p
	}
	for _, name := range groups {
		g, ok := b.groupBy[name]
		if !ok {
			if err := checkName("group", name, ""); err != nil {
				return None, err
			}
			g = GroupID(len(b.groups))
			if b.groupBy == nil {
				b.groupBy = map[string]GroupID{}
			}
			b.groupBy[name] = g
			b.groups = append(b.groups, Group{Name: name})
		}
		if !slices.Contains(l.Groups, g) {
			l.Groups = append(l.Groups, g)
			b.groups[g].Links = append(b.groups[g].Links, id)
		}
	}
	b.links = append(b.links, l)
	return id, nil
}

func (b *Builder) addPort(e End, l LinkID) (PortID, error) {
	if e.Node < 0 || int(e.Node) >= len(b.nodes) {
		return None, fmt.Errorf("link to node %d, which does not exist", e.Node)
	}
	if err := checkName("port", e.Port, ">"); err != nil {
		return None, err
	}
	name := b.nodes[e.Node].Name + ":" + e.Port
	if _, ok := b.portByName[name]; ok {
		return None, fmt.Errorf("port %q has two links", Clean(name))
	}
	id := PortID(len(b.ports))
	for _, x := range e.Prefixes {
		if err := b.own(x.Addr(), Owner{Node: e.Node, Port: id}); err != nil {
			return None, err
		}
	}
	if b.portByName == nil {
		b.portByName = map[string]PortID{}
	}
	b.portByName[name] = id
	b.ports = append(b.ports, Port{Node: e.Node, Name: e.Port, Link: l, Prefixes: e.Prefixes})
	return id, nil
}

func (b *Builder) own(a netip.Addr, o Owner) error {
	// Link-local addresses repeat on every link and so name nothing.
	if !a.IsValid() || a.IsLinkLocalUnicast() {
		return nil
	}
	if was, ok := b.owner[a]; ok && was.Node != o.Node {
		return fmt.Errorf("address %s belongs to two nodes", a)
	}
	if b.owner == nil {
		b.owner = map[netip.Addr]Owner{}
	}
	b.owner[a] = o
	return nil
}

// ErrEmpty is returned by Build for a fabric without nodes.
var ErrEmpty = errors.New("the fabric has no nodes")

// Build makes the fabric. Nodes without a role get one: host where no other node states that role and the node has one link
// or a name that says so, else switch; what was guessed is marked. The builder must not be used afterwards.
func (b *Builder) Build() (*Fabric, error) {
	if len(b.nodes) == 0 {
		return nil, ErrEmpty
	}
	f := &Fabric{
		name: b.Name, nodes: b.nodes, ports: b.ports, links: b.links, groups: b.groups,
		nodeByName: b.nodeByName, portByName: b.portByName, owner: maps.Clone(b.owner),
		nodePorts: make([][]PortID, len(b.nodes)),
		outStart:  make([]int32, len(b.nodes)+1),
		outArcs:   make([]ArcID, 2*len(b.links)),
	}
	for i := range f.ports {
		n := f.ports[i].Node
		f.nodePorts[n] = append(f.nodePorts[n], PortID(i))
		f.outStart[n+1]++
	}
	for n := range f.nodes {
		f.outStart[n+1] += f.outStart[n]
	}
	next := slices.Clone(f.outStart)
	for a := range ArcID(f.NumArcs()) {
		n := f.Tail(a)
		f.outArcs[next[n]] = a
		next[n]++
	}
	guessRoles(f)
	return f, nil
}

func guessRoles(f *Fabric) {
	stated := slices.ContainsFunc(f.nodes, func(n Node) bool { return n.Role == RoleHost })
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.Role != "" {
			continue
		}
		n.RoleGuessed = true
		n.Role = RoleOfName(n.Name)
		if n.Role == "" {
			n.Role = "switch"
			if !stated && f.Degree(NodeID(i)) == 1 {
				n.Role = RoleHost
			}
		}
	}
}

// RoleOfName guesses a role from the words that operators put into names; empty where there is none.
func RoleOfName(name string) Role {
	name = strings.ToLower(name)
	for _, r := range []Role{"superspine", "spine", "leaf", "tor", "core", "agg", "edge"} {
		if strings.Contains(name, string(r)) {
			return r
		}
	}
	for _, w := range []string{"host", "server", "client", "srv"} {
		if strings.Contains(name, w) {
			return RoleHost
		}
	}
	return ""
}
