package pathfind

import (
	"math"
	"slices"
	"sync/atomic"

	"whichlink/graphs"
)

// A weighted is WCMP: the next hops of ECMP, shared in proportion to the capacity that lies behind them.
//
// The capacity of a node towards a destination is the sum, over its next hops, of what each can take: the speed of the link, or the
// capacity of the node behind it, if that is less. A node that is linked to the destination has no bound, so that a slow link to a host
// does not level the weights of all that is above it. A node shares flows among its next hops in proportion to what they can take.
// [Speeds] says what a link counts whose speed is not known.
// Weights are exact: a switch that has few entries in its group tables comes near them only.
type weighted struct {
	*ECMP
	speed    []float64                   // by link
	capacity []atomic.Pointer[[]float64] // by the root of a tree, and by node
}

func newWCMP(f *graphs.Fabric, down func(graphs.LinkID) bool) Model {
	w := &weighted{
		ECMP: NewECMPWithout(f, down), speed: Speeds(f), capacity: make([]atomic.Pointer[[]float64], f.NumNodes()),
	}
	return newTable(&w.mesh, "wcmp", 1, func(dst graphs.NodeID) field {
		b := w.bearing(dst)
		return heavier{w, b, w.capacities(b)}
	})
}

// Speeds returns the speed of every link in bits a second. A link of unknown speed counts as the most common of the known speeds, the lower
// one of two; where none is known, all are 1.
func Speeds(f *graphs.Fabric) []float64 {
	count := map[graphs.BitsPerSecond]int{}
	for l := range graphs.LinkID(f.NumLinks()) {
		if s := f.Link(l).Speed; s > 0 {
			count[s]++
		}
	}
	common := graphs.BitsPerSecond(1)
	most := 0
	for s, n := range count {
		if n > most || n == most && s < common {
			common, most = s, n
		}
	}
	speed := make([]float64, f.NumLinks())
	for l := range speed {
		speed[l] = float64(common)
		if s := f.Link(graphs.LinkID(l)).Speed; s > 0 {
			speed[l] = float64(s)
		}
	}
	return speed
}

// capacities returns the capacity of every node towards the root of a bearing's tree.
func (w *weighted) capacities(b bearing) []float64 {
	root := b.dst
	if b.extra > 0 {
		root = w.head[w.out(b.dst)[0]]
	}
	if c := w.capacity[root].Load(); c != nil {
		return *c
	}
	own := w.bearing(root)
	nodes := make([]graphs.NodeID, 0, len(b.tree.dist))
	for n, d := range b.tree.dist {
		if d >= 0 {
			nodes = append(nodes, graphs.NodeID(n))
		}
	}
	slices.SortFunc(nodes, func(x, y graphs.NodeID) int { return int(b.tree.dist[x]) - int(b.tree.dist[y]) })
	capacity := make([]float64, len(b.tree.dist))
	var next []graphs.ArcID
	for _, n := range nodes {
		if d := b.tree.dist[n]; d == 0 || d == 1 && w.host[root] {
			capacity[n] = math.Inf(1)
			continue
		}
		next = w.appendNext(next[:0], own, n)
		for _, a := range next {
			capacity[n] += min(w.speed[a.Link()], capacity[w.head[a]])
		}
	}
	w.capacity[root].Store(&capacity)
	return capacity
}

// A heavier forwards to one destination by WCMP.
type heavier struct {
	w        *weighted
	b        bearing
	capacity []float64
}

func (h heavier) next(at graphs.NodeID, _ int32, into []nextHop) []nextHop {
	into = downhill{h.w.ECMP, h.b}.next(at, 0, into)
	sum := 0.0
	for i := range into {
		a := into[i].arc
		into[i].share = h.w.speed[a.Link()]
		if m := h.w.head[a]; m != h.b.dst {
			into[i].share = min(into[i].share, h.capacity[m])
		}
		sum += into[i].share
	}
	for i := range into {
		into[i].share /= sum
	}
	return into
}
