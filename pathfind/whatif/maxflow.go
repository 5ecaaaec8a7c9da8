package whatif

import (
	"math"

	"whichlink/graphs"
)

// A network computes maximum flows between switches over the speeds of links, by Dinic's algorithm (1970). Links carry their speed in both
// directions at once; hosts carry nothing.
type network struct {
	d *damage
	// The arcs between switches that leave node n are arcs[start[n]:start[n+1]].
	start []int32
	arcs  []graphs.ArcID
	head  []graphs.NodeID // by arc
}

func newNetwork(d *damage) *network {
	f := d.f
	n := &network{d: d, start: make([]int32, f.NumNodes()+1), head: make([]graphs.NodeID, f.NumArcs())}
	for m := range graphs.NodeID(f.NumNodes()) {
		for _, a := range f.Out(m) {
			n.head[a] = f.Head(a)
			if !f.IsHostArc(a) {
				n.arcs = append(n.arcs, a)
			}
		}
		n.start[m+1] = int32(len(n.arcs))
	}
	return n
}

// A flood is one maximum flow, and memory for the next. It is not safe for concurrent use.
type flood struct {
	*network
	room  []float64 // by arc: what it can still take
	depth []int32   // by node: links from the source, over arcs with room, and one; 0 where there is no way
	next  []int32   // by node: the first of its arcs that is not known to be of no use
	queue []graphs.NodeID
	to    graphs.NodeID
}

func (n *network) newFlood() *flood {
	nodes := len(n.start) - 1
	return &flood{network: n, room: make([]float64, len(n.head)), depth: make([]int32, nodes), next: make([]int32, nodes)}
}

// between returns the maximum flow from one switch to another, before and after the damage. The flow after is raised to that before by giving
// back the links that are gone, so that neither is computed twice. Speeds are whole numbers that float64 holds exactly, and so are flows.
func (x *flood) between(from, to graphs.NodeID) (before, after float64) {
	for a := range x.room {
		x.room[a] = 0
		if l := graphs.ArcID(a).Link(); !x.d.down[l] {
			x.room[a] = x.d.speed[l]
		}
	}
	after = x.raise(from, to)
	for l, down := range x.d.down {
		if down {
			x.room[graphs.LinkID(l).Forward()] += x.d.speed[l]
			x.room[graphs.LinkID(l).Backward()] += x.d.speed[l]
		}
	}
	return after + x.raise(from, to), after
}

// raise sends as much more as there is room for, and returns how much that is.
func (x *flood) raise(from, to graphs.NodeID) float64 {
	x.to = to
	total := 0.0
	for x.level(from) {
		copy(x.next, x.start)
		total += x.push(from, math.Inf(1))
	}
	return total
}

// level measures depths, and reports whether there is a way.
func (x *flood) level(from graphs.NodeID) bool {
	clear(x.depth)
	x.depth[from] = 1
	x.queue = append(x.queue[:0], from)
	for i := 0; i < len(x.queue); i++ {
		n := x.queue[i]
		if x.depth[x.to] > 0 && x.depth[n] >= x.depth[x.to] {
			break
		}
		for _, a := range x.arcs[x.start[n]:x.start[n+1]] {
			if m := x.head[a]; x.depth[m] == 0 && x.room[a] > 0 {
				x.depth[m] = x.depth[n] + 1
				x.queue = append(x.queue, m)
			}
		}
	}
	return x.depth[x.to] > 0
}

// push sends up to limit from a node down the levels, and returns how much arrives.
func (x *flood) push(n graphs.NodeID, limit float64) float64 {
	if n == x.to {
		return limit
	}
	sent := 0.0
	for ; x.next[n] < x.start[n+1]; x.next[n]++ {
		a := x.arcs[x.next[n]]
		if m := x.head[a]; x.room[a] > 0 && x.depth[m] == x.depth[n]+1 {
			part := x.push(m, min(limit-sent, x.room[a]))
			x.room[a] -= part
			x.room[a.Reverse()] += part
			if sent += part; sent == limit {
				return sent // the arc may have room for more
			}
		}
	}
	return sent
}
