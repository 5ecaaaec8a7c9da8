// Package graphs says what a fabric is: nodes, ports, links, arcs and shared-risk groups.
//
// A [Fabric] is built once by a [Builder] and never changes afterwards, so any number of goroutines
// may read it without locks. Everything in it has a dense integer id, from zero, in the order in
// which it was added; names are for the edges of the program. Hot code runs on ids and on the
// compressed adjacency that [Fabric.Out] serves; [Fabric.Graph] hands the same fabric to the
// general algorithms of github.com/dominikbraun/graph.
//
// The package does no I/O. Reading and writing of files is in graphs/formats, and making fabrics
// from parameters in graphs/generate.
package graphs

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// NodeID, PortID, LinkID, ArcID and GroupID are dense indices into a Fabric. None stands for "no such thing".
type (
	NodeID  int32
	PortID  int32
	LinkID  int32
	ArcID   int32
	GroupID int32
)

// None is the invalid value of every id.
const None = -1

// Link returns the link of which the arc is one direction.
func (a ArcID) Link() LinkID { return LinkID(a >> 1) }

// Reverse returns the arc of the other direction of the same link.
func (a ArcID) Reverse() ArcID { return a ^ 1 }

// Forward returns the arc from a link's first end to its second, in the order of the fabric file.
func (l LinkID) Forward() ArcID { return ArcID(l << 1) }

// Backward returns the arc from a link's second end to its first.
func (l LinkID) Backward() ArcID { return ArcID(l<<1 | 1) }

// BitsPerSecond is the speed of a link; 0 means unknown.
type BitsPerSecond uint64

// Role is what a node is for. It is an annotation: no algorithm needs it, but that hosts are told from switches.
type Role string

// RoleHost is the role of end systems. Any other role is a switch's.
const RoleHost Role = "host"

// A Node is a switch or a host.
type Node struct {
	Name string
	Role Role
	// RoleGuessed is true where the role was inferred from name or degree and not stated.
	RoleGuessed bool
	// Kind is the containerlab kind, or empty.
	Kind string
	// Loopback holds addresses that belong to the node and to none of its ports.
	Loopback []netip.Addr
	// Management is the address at which an SNMP agent or a shell answers; invalid if unknown.
	Management netip.Addr
	// Model names the forwarding model, or is empty.
	Model string
}

// IsHost tells hosts from switches.
func (n *Node) IsHost() bool { return n.Role == RoleHost }

// A Port is an interface of a node, with at most one link.
type Port struct {
	Node NodeID
	Name string
	Link LinkID
	// Prefixes are the addresses of the port with the length of their subnet.
	Prefixes []netip.Prefix
}

// Prefix returns a port's first address of a family for others to send to, with the length of its subnet, and whether there is one.
func (p *Port) Prefix(ipv6 bool) (netip.Prefix, bool) {
	for _, x := range p.Prefixes {
		if x.Addr().Is6() == ipv6 && !x.Addr().IsLinkLocalUnicast() {
			return x, true
		}
	}
	return netip.Prefix{}, false
}

// A Link is one cable, or one lane of a breakout cable, between two ports. Parallel links are different links.
type Link struct {
	// Ends are the two ports in the order of the fabric file.
	Ends   [2]PortID
	Speed  BitsPerSecond
	Groups []GroupID
}

// A Group is a shared-risk group: links that fail together.
type Group struct {
	Name  string
	Links []LinkID
}

// A Fabric is the whole network under study. It is immutable: the slices that its methods return must not be written to.
type Fabric struct {
	name   string
	nodes  []Node
	ports  []Port
	links  []Link
	groups []Group

	outStart  []int32 // CSR: arcs leaving node n are outArcs[outStart[n]:outStart[n+1]]
	outArcs   []ArcID
	nodePorts [][]PortID

	nodeByName map[string]NodeID
	portByName map[string]PortID
	owner      map[netip.Addr]Owner
}

// An Owner is what an address belongs to.
type Owner struct {
	Node NodeID
	// Port is None for a loopback address: the node answers, but the port is not known.
	Port PortID
}

// Name returns the fabric's name.
func (f *Fabric) Name() string { return f.name }

// NumNodes returns how many nodes there are; ids run from 0 to NumNodes-1.
func (f *Fabric) NumNodes() int { return len(f.nodes) }

// NumPorts returns how many ports there are.
func (f *Fabric) NumPorts() int { return len(f.ports) }

// NumLinks returns how many links there are.
func (f *Fabric) NumLinks() int { return len(f.links) }

// NumArcs returns how many arcs there are: two a link.
func (f *Fabric) NumArcs() int { return 2 * len(f.links) }

// NumGroups returns how many shared-risk groups there are.
func (f *Fabric) NumGroups() int { return len(f.groups) }

// Node returns the node of an id. It must not be written to.
func (f *Fabric) Node(n NodeID) *Node { return &f.nodes[n] }

// Port returns the port of an id. It must not be written to.
func (f *Fabric) Port(p PortID) *Port { return &f.ports[p] }

// Link returns the link of an id. It must not be written to.
func (f *Fabric) Link(l LinkID) *Link { return &f.links[l] }

// Group returns the shared-risk group of an id. It must not be written to.
func (f *Fabric) Group(g GroupID) *Group { return &f.groups[g] }

// Ports returns the ports of a node in the order in which they were added.
func (f *Fabric) Ports(n NodeID) []PortID { return f.nodePorts[n] }

// Out returns the arcs that leave a node.
func (f *Fabric) Out(n NodeID) []ArcID { return f.outArcs[f.outStart[n]:f.outStart[n+1]] }

// Degree returns how many links a node has.
func (f *Fabric) Degree(n NodeID) int { return len(f.Out(n)) }

// TailPort returns the port from which an arc leaves.
func (f *Fabric) TailPort(a ArcID) PortID { return f.links[a>>1].Ends[a&1] }

// HeadPort returns the port at which an arc arrives.
func (f *Fabric) HeadPort(a ArcID) PortID { return f.links[a>>1].Ends[a&1^1] }

// Tail returns the node from which an arc leaves.
func (f *Fabric) Tail(a ArcID) NodeID { return f.ports[f.TailPort(a)].Node }

// Head returns the node at which an arc arrives.
func (f *Fabric) Head(a ArcID) NodeID { return f.ports[f.HeadPort(a)].Node }

// ArcInto returns the arc that arrives at a port, or None if the port has no link.
func (f *Fabric) ArcInto(p PortID) ArcID {
	l := f.ports[p].Link
	switch {
	case l == None:
		return None
	case f.links[l].Ends[1] == p:
		return l.Forward()
	default:
		return l.Backward()
	}
}

// ArcFrom returns the arc that leaves by a port, or None if the port has no link.
func (f *Fabric) ArcFrom(p PortID) ArcID {
	if a := f.ArcInto(p); a != None {
		return a.Reverse()
	}
	return None
}

// IsHostArc reports whether an arc has a host at either end: an access link.
func (f *Fabric) IsHostArc(a ArcID) bool {
	return f.nodes[f.Tail(a)].IsHost() || f.nodes[f.Head(a)].IsHost()
}

// Hosts returns the ids of all hosts in order.
func (f *Fabric) Hosts() []NodeID { return f.filter(true) }

// Switches returns the ids of all switches in order.
func (f *Fabric) Switches() []NodeID { return f.filter(false) }

func (f *Fabric) filter(host bool) []NodeID {
	var ids []NodeID
	for i := range f.nodes {
		if f.nodes[i].IsHost() == host {
			ids = append(ids, NodeID(i))
		}
	}
	return ids
}

// Address returns a node's first address of a family for others to send to: of its ports in order, else its loopback.
// The zero Addr means that the node has none.
func (f *Fabric) Address(n NodeID, ipv6 bool) netip.Addr {
	for _, p := range f.nodePorts[n] {
		if x, ok := f.ports[p].Prefix(ipv6); ok {
			return x.Addr()
		}
	}
	for _, a := range f.nodes[n].Loopback {
		if a.Is6() == ipv6 {
			return a
		}
	}
	return netip.Addr{}
}

// Addresses returns all addresses of a node: its loopbacks, that at which it is managed, and those of its ports in order.
func (f *Fabric) Addresses(n NodeID) []netip.Addr {
	out := slices.Clone(f.nodes[n].Loopback)
	if a := f.nodes[n].Management; a.IsValid() {
		out = append(out, a)
	}
	for _, p := range f.nodePorts[n] {
		for _, x := range f.ports[p].Prefixes {
			out = append(out, x.Addr())
		}
	}
	return out
}

// NodeByName resolves a node's name.
func (f *Fabric) NodeByName(name string) (NodeID, bool) {
	n, ok := f.nodeByName[name]
	return n, ok
}

// PortByName resolves a port's name as node:port.
func (f *Fabric) PortByName(name string) (PortID, bool) {
	p, ok := f.portByName[name]
	return p, ok
}

// ArcByName resolves an arc's name, node:port>node:port.
func (f *Fabric) ArcByName(name string) (ArcID, bool) {
	tail, head, ok := strings.Cut(name, ">")
	if !ok {
		return None, false
	}
	p, ok := f.portByName[tail]
	if !ok {
		return None, false
	}
	a := f.ArcFrom(p)
	if a == None || f.PortName(f.HeadPort(a)) != head {
		return None, false
	}
	return a, true
}

// LinkByName resolves a link's name, node:port--node:port, in either order of its ends.
func (f *Fabric) LinkByName(name string) (LinkID, bool) {
	// A node's name may itself hold "--", so every place to cut is tried.
	for i := range name {
		if !strings.HasPrefix(name[i:], "--") {
			continue
		}
		if p, ok := f.portByName[name[:i]]; ok {
			if l := f.ports[p].Link; l != None {
				e := f.links[l].Ends
				if other := f.PortName(e[0] ^ e[1] ^ p); other == name[i+2:] {
					return l, true
				}
			}
		}
	}
	return None, false
}

// Owner resolves an address to the node, and the port where it is a port's, to which it belongs.
func (f *Fabric) Owner(a netip.Addr) (Owner, bool) {
	o, ok := f.owner[a.Unmap()]
	return o, ok
}

// NodeName returns a node's name.
func (f *Fabric) NodeName(n NodeID) string { return f.nodes[n].Name }

// PortName returns a port's name as node:port.
func (f *Fabric) PortName(p PortID) string {
	return f.nodes[f.ports[p].Node].Name + ":" + f.ports[p].Name
}

// ArcName returns an arc's name as node:port>node:port.
func (f *Fabric) ArcName(a ArcID) string {
	tail, head := &f.ports[f.TailPort(a)], &f.ports[f.HeadPort(a)]
	return f.nodes[tail.Node].Name + ":" + tail.Name + ">" + f.nodes[head.Node].Name + ":" + head.Name // one string, not three
}

// LinkName returns a link's name as node:port--node:port, its ends in the order of the fabric file.
func (f *Fabric) LinkName(l LinkID) string {
	e := f.links[l].Ends
	return f.PortName(e[0]) + "--" + f.PortName(e[1])
}

// String describes the fabric in a few words.
func (f *Fabric) String() string {
	return f.name + " (" + strconv.Itoa(len(f.nodes)) + " nodes, " + strconv.Itoa(len(f.links)) + " links)"
}
