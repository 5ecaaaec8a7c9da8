package pathfind

import (
	"net/netip"
	"slices"

	"whichlink/graphs"
)

// A FIB holds the routes of a fabric's nodes, as ReadFIB reads them.
type FIB struct {
	nodes map[graphs.NodeID]*routes
}

// routes are those of one node.
type routes struct {
	prefixes map[netip.Prefix][]member
	named    map[graphs.NodeID][]member // to a node by its name
	bits     [2][]int                   // the lengths of the IPv4 and IPv6 prefixes, the longest first
}

// A member is a next hop of a route with its weight.
type member struct {
	arc    graphs.ArcID
	weight float64
}

// lookup returns the next hops towards a node: of a route that names it, or of the longest prefix that holds its address.
func (r *routes) lookup(dst graphs.NodeID, addr netip.Addr) []member {
	if m, ok := r.named[dst]; ok || !addr.IsValid() {
		return m
	}
	family := 0
	if addr.Is6() {
		family = 1
	}
	for _, bits := range r.bits[family] {
		p, _ := addr.Prefix(bits) // a prefix of this family has no more bits than its addresses
		if m, ok := r.prefixes[p]; ok {
			return m
		}
	}
	return nil
}

// index makes the lists of lengths.
func (r *routes) index() {
	for p := range r.prefixes {
		family := 0
		if p.Addr().Is6() {
			family = 1
		}
		if !slices.Contains(r.bits[family], p.Bits()) {
			r.bits[family] = append(r.bits[family], p.Bits())
		}
	}
	for _, b := range r.bits {
		slices.SortFunc(b, func(x, y int) int { return y - x })
	}
}

// newRouted returns forwarding by routes that were read. Next hops whose link is down are left out; the others share in proportion to their
// weights. A node that has no route, or only ones over links that are down, is a black hole, but for a host that has no routes at all:
// it uses all of its links. Packets are addressed to the first address of the destination, IPv4 before IPv6.
func newRouted(f *graphs.Fabric, down func(graphs.LinkID) bool, fib *FIB, name string) Model {
	m := newMesh(f, down)
	up := make([]bool, f.NumArcs())
	for _, a := range m.arcs {
		up[a] = true
	}
	return newTable(&m, name, 2, func(dst graphs.NodeID) field {
		addr := f.Address(dst, false)
		if !addr.IsValid() {
			addr = f.Address(dst, true)
		}
		return lookup{&m, up, fib, dst, addr}
	})
}

// A lookup forwards to one destination by routes. Packets are in state 0 at their source, and in state 1 from then on.
type lookup struct {
	m    *mesh
	up   []bool // by arc
	fib  *FIB
	dst  graphs.NodeID
	addr netip.Addr
}

func (l lookup) next(at graphs.NodeID, state int32, into []nextHop) []nextHop {
	r := l.fib.nodes[at]
	switch {
	case l.m.host[at] && state > 0:
		return into // hosts carry no transit
	case r == nil && l.m.host[at]:
		for _, a := range l.m.out(at) {
			into = append(into, nextHop{arc: a, state: 1})
		}
		return even(into)
	case r == nil:
		return into
	}
	sum := 0.0
	for _, m := range r.lookup(l.dst, l.addr) {
		if l.up[m.arc] {
			into = append(into, nextHop{arc: m.arc, state: 1, share: m.weight})
			sum += m.weight
		}
	}
	for i := range into {
		into[i].share /= sum
	}
	return into
}
