package lab

import (
	"net/netip"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// destinations returns, for each node, the prefixes that all others route towards it, as short a list as covers exactly these
// addresses. The subnet of a link belongs to the switch at its end, or to the first of two switches; where the ends of a link
// do not share a subnet (a wrong cable), or a host has several links, each address is a prefix of its own.
func destinations(f *graphs.Fabric, ipv6 bool) [][]netip.Prefix {
	prefixes := make([][]netip.Prefix, f.NumNodes())
	put := func(n graphs.NodeID, x netip.Prefix) { prefixes[n] = append(prefixes[n], x) }
	host := func(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
	for l := range graphs.LinkID(f.NumLinks()) {
		var subnets [2][]netip.Prefix
		for i, p := range f.Link(l).Ends {
			for _, x := range f.Port(p).Prefixes {
				if x.Addr().Is6() == ipv6 && !x.Addr().IsLinkLocalUnicast() {
					subnets[i] = append(subnets[i], x)
				}
			}
		}
		for i, p := range f.Link(l).Ends {
			n := f.Port(p).Node
			for _, x := range subnets[i] {
				shared := slices.ContainsFunc(subnets[1-i], func(y netip.Prefix) bool { return y.Masked() == x.Masked() })
				multihomed := f.Node(n).IsHost() && f.Degree(n) > 1
				switch {
				case !shared || multihomed:
					put(n, host(x.Addr()))
				case f.Node(n).IsHost() || i == 1 && !f.Node(f.Tail(l.Forward())).IsHost():
					// The other end announces the subnet.
				default:
					put(n, x.Masked())
				}
			}
		}
	}
	for n := range graphs.NodeID(f.NumNodes()) {
		for _, a := range f.Node(n).Loopback {
			if a.Is6() == ipv6 {
				put(n, host(a))
			}
		}
		prefixes[n] = aggregate(prefixes[n])
	}
	return prefixes
}

// aggregate joins neighbouring prefixes of one owner into their parent, again and again. Nothing is covered that was not before.
func aggregate(in []netip.Prefix) []netip.Prefix {
	slices.SortFunc(in, netip.Prefix.Compare)
	in = slices.Compact(in)
	out := in[:0]
	for _, x := range in {
		for len(out) > 0 {
			last := out[len(out)-1]
			if last.Contains(x.Addr()) && last.Bits() <= x.Bits() {
				x, out = last, out[:len(out)-1]
				break
			}
			parent := netip.PrefixFrom(last.Addr(), last.Bits()-1)
			if last.Bits() != x.Bits() || parent.Masked() != parent || !parent.Contains(x.Addr()) {
				break
			}
			x, out = parent, out[:len(out)-1]
		}
		out = append(out, x)
	}
	return slices.Clip(out)
}

// A table holds, for every switch and every destination node, the ports of the plan by which shortest paths leave, in order.
type table struct {
	nodes int
	next  [][]graphs.PortID
}

func (t *table) at(n, dst graphs.NodeID) []graphs.PortID { return t.next[int(n)*t.nodes+int(dst)] }

// computeTable finds the next hops of all switches towards the nodes that have prefixes in wanted.
func computeTable(w *wiring, down func(graphs.LinkID) bool, wanted ...[][]netip.Prefix) *table {
	f := w.fabric
	ecmp := pathfind.NewECMPWithout(f, down)
	t := &table{nodes: f.NumNodes(), next: make([][]graphs.PortID, f.NumNodes()*f.NumNodes())}
	switches := f.Switches()
	for dst := range graphs.NodeID(f.NumNodes()) {
		if !slices.ContainsFunc(wanted, func(x [][]netip.Prefix) bool { return len(x) > 0 && len(x[dst]) > 0 }) {
			continue
		}
		for _, n := range switches {
			arcs := ecmp.NextHops(n, dst)
			ports := make([]graphs.PortID, len(arcs))
			for i, a := range arcs {
				ports[i] = w.planPort(f.TailPort(a))
			}
			slices.Sort(ports)
			t.next[int(n)*t.nodes+int(dst)] = ports
		}
	}
	return t
}
