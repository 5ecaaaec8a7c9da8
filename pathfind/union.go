package pathfind

import (
	"fmt"

	"whichlink/graphs"
)

// A union is Shortest-Union(K) (Harsh, Jyothi and Godfrey, "Spineless Data Centers", HotNets 2020): between two switches all shortest
// paths, and all simple paths of K links or less. Links to hosts do not count; a host sends over the uplinks from where it is nearest,
// being as near from all where there are K links or less to go.
//
// Shares are those of its realisation by K VRFs in every switch. What hosts send is in VRF K. A link leads from VRF K to VRF i at cost
// i, from VRF i to VRF i+1 at cost 1, and from VRF 1 to itself at cost 1: every path of K links or less costs K, and a longer one its
// length. A switch shares evenly among the next hops, each a link and a VRF, that are on the cheapest ways. So packets choose at the
// source how many links they will go, and every further switch shares evenly among the neighbours from where that number is kept.
//
// The VRFs do not remember where a packet came from. For K up to 2 this does no harm. For a larger K, a way could come twice to a node:
// these are left out, as BGP leaves them out, and the next hops that remain share evenly.
func newUnion(f *graphs.Fabric, down func(graphs.LinkID) bool, k int) Model {
	e := NewECMPWithout(f, down)
	name := fmt.Sprintf("su:%d", k)
	toward := func(dst graphs.NodeID) field { return &unionField{e: e, b: e.bearing(dst), k: k} }
	t := newTable(&e.mesh, name, k+1, toward)
	if k <= 2 {
		return t
	}
	return &remembering{t}
}

// A unionField forwards to one destination. State 0 is VRF K where packets enter the fabric. In a state between there are exactly so many
// links to go to a switch that delivers, and in state K as many as on a shortest path.
type unionField struct {
	e *ECMP
	b bearing
	k int
}

// togo returns how many links lie between a switch and the next one that delivers, or -1.
func (u *unionField) togo(n graphs.NodeID) int {
	d := u.b.dist(n)
	if d > 0 && u.e.host[u.b.dst] {
		d--
	}
	return d
}

func (u *unionField) next(at graphs.NodeID, state int32, into []nextHop) []nextHop {
	d := u.togo(at)
	switch {
	case d < 0:
		return into
	case u.e.host[at]:
		return u.uplinks(at, into)
	case d == 0 || d > u.k || int(state) == u.k:
		into = downhill{u.e, u.b}.next(at, 0, into)
		for i := range into {
			into[i].state = int32(u.k)
		}
		return into
	}
	least, most := 0, u.k-1 // how many links there may be to go from the next node
	if state > 0 {
		least, most = int(state)-1, int(state)-1
	}
	for _, a := range u.e.out(at) {
		m := u.e.head[a]
		if u.e.host[m] {
			continue
		}
		for r := least; r <= most; r++ {
			if after := u.togo(m); after == 0 && r == 0 || after > 0 && after <= r {
				into = append(into, nextHop{arc: a, state: int32(r)})
			}
		}
	}
	return even(into)
}

// uplinks appends the links by which a host sends: from all of their switches the cost is the least.
func (u *unionField) uplinks(at graphs.NodeID, into []nextHop) []nextHop {
	least := maxDistance
	for _, a := range u.e.out(at) {
		m := u.e.head[a]
		if u.e.host[m] && m != u.b.dst {
			continue
		}
		cost := u.togo(m)
		switch {
		case cost < 0:
			continue
		case m == u.b.dst && u.e.host[m]:
			cost = -1 // host to host
		case cost > 0:
			cost = max(cost, u.k)
		}
		if cost < least {
			least, into = cost, into[:0]
		}
		if cost == least {
			into = append(into, nextHop{arc: a})
		}
	}
	return even(into)
}

// A remembering is a table of which only ways that come to no node twice are followed.
type remembering struct{ *table }

func (r *remembering) Ways(src, dst graphs.NodeID) *Ways { return r.unroll(src, dst, true) }

func (r *remembering) Loads(d Demand) *Loads { return loadPairs(r, d) }
