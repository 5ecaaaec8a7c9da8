package lab

import (
	"fmt"
	"net/netip"

	"whichlink/graphs"
)

// The blocks from which links without addresses get them, as the generators of graphs/generate number theirs.
var (
	fabricBlock = netip.MustParseAddr("10.64.0.0")
	hostBlock   = netip.MustParseAddr("10.32.0.0")
)

// WithAddresses returns a fabric in which every link can carry IPv4: links between switches that lack addresses get a /31 out of
// 10.64.0.0/11, links to hosts out of 10.32.0.0/11 with the switch first, in the order of the links. Links between switches which
// both have an IPv4 loopback address are left unnumbered, as many fabrics are run. A fabric that lacks nothing is returned as it is.
func WithAddresses(f *graphs.Fabric) (*graphs.Fabric, error) {
	lacks := false
	for l := range graphs.LinkID(f.NumLinks()) {
		lacks = lacks || !numbered(f, l)
	}
	if !lacks {
		return f, nil
	}
	pools := map[bool]*pool{true: {next: hostBlock}, false: {next: fabricBlock}}
	return rebuild(f, func(l graphs.LinkID, ends *[2]graphs.End) error {
		if numbered(f, l) {
			return nil
		}
		first, second := &ends[0], &ends[1]
		if f.Node(first.Node).IsHost() {
			first, second = second, first
		}
		a, b, err := pools[f.IsHostArc(l.Forward())].pair(f)
		if err != nil {
			return fmt.Errorf("assign addresses to link %s: %w", f.LinkName(l), err)
		}
		first.Prefixes = append([]netip.Prefix{netip.PrefixFrom(a, 31)}, first.Prefixes...)
		second.Prefixes = append([]netip.Prefix{netip.PrefixFrom(b, 31)}, second.Prefixes...)
		return nil
	})
}

// Unnumbered returns the fabric with the addresses of its links between switches taken away, and a loopback address, out of
// 10.255.0.0/16, given to each switch that has none: its switches then answer from their loopbacks.
func Unnumbered(f *graphs.Fabric) (*graphs.Fabric, error) {
	loopbacks := pool{next: netip.MustParseAddr("10.255.0.0")}
	b := graphs.Builder{Name: f.Name()}
	for i := range graphs.NodeID(f.NumNodes()) {
		n := *f.Node(i)
		if _, ok := loopback(f, i, false); !ok && !n.IsHost() {
			_, a, err := loopbacks.pair(f)
			if err != nil {
				return nil, fmt.Errorf("assign a loopback to %s: %w", n.Name, err)
			}
			n.Loopback = append([]netip.Addr{a}, n.Loopback...)
		}
		if _, err := b.AddNode(n); err != nil {
			return nil, err
		}
	}
	return rebuildLinks(f, &b, func(l graphs.LinkID, ends *[2]graphs.End) error {
		if !f.IsHostArc(l.Forward()) {
			ends[0].Prefixes, ends[1].Prefixes = nil, nil
		}
		return nil
	})
}

// rebuild makes a copy of a fabric whose links may differ.
func rebuild(f *graphs.Fabric, change func(graphs.LinkID, *[2]graphs.End) error) (*graphs.Fabric, error) {
	b := graphs.Builder{Name: f.Name()}
	for i := range graphs.NodeID(f.NumNodes()) {
		if _, err := b.AddNode(*f.Node(i)); err != nil {
			return nil, err
		}
	}
	return rebuildLinks(f, &b, change)
}

func rebuildLinks(f *graphs.Fabric, b *graphs.Builder, change func(graphs.LinkID, *[2]graphs.End) error) (*graphs.Fabric, error) {
	for l := range graphs.LinkID(f.NumLinks()) {
		link := f.Link(l)
		var ends [2]graphs.End
		for i, p := range link.Ends {
			port := f.Port(p)
			ends[i] = graphs.End{Node: port.Node, Port: port.Name, Prefixes: port.Prefixes}
		}
		if err := change(l, &ends); err != nil {
			return nil, err
		}
		groups := make([]string, len(link.Groups))
		for i, g := range link.Groups {
			groups[i] = f.Group(g).Name
		}
		if _, err := b.AddLink(ends[0], ends[1], link.Speed, groups...); err != nil {
			return nil, err
		}
	}
	return b.Build()
}

// numbered reports whether both ends of a link have what the kernel needs to send IPv4 over it: an address, or between switches
// at least one of the node's own.
func numbered(f *graphs.Fabric, l graphs.LinkID) bool {
	for _, p := range f.Link(l).Ends {
		if _, ok := f.Port(p).Prefix(false); ok {
			continue
		}
		if f.IsHostArc(l.Forward()) {
			return false
		}
		if _, ok := loopback(f, f.Port(p).Node, false); !ok {
			return false
		}
	}
	return true
}

// loopback returns a node's first loopback address of a family.
func loopback(f *graphs.Fabric, n graphs.NodeID, ipv6 bool) (netip.Addr, bool) {
	for _, a := range f.Node(n).Loopback {
		if a.Is6() == ipv6 {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// A pool hands out pairs of neighbouring addresses which the fabric does not use yet.
type pool struct{ next netip.Addr }

func (p *pool) pair(f *graphs.Fabric) (even, odd netip.Addr, err error) {
	for p.next.Is4() && p.next.Compare(netip.AddrFrom4([4]byte{11})) < 0 {
		even, odd = p.next, p.next.Next()
		p.next = odd.Next()
		_, taken := f.Owner(even)
		_, taken2 := f.Owner(odd)
		if !taken && !taken2 {
			return even, odd, nil
		}
	}
	return even, odd, fmt.Errorf("the block of addresses is used up")
}
