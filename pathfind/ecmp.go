package pathfind

import (
	"slices"
	"sync"
	"sync/atomic"

	"whichlink/graphs"
)

// ECMP is shortest-path forwarding with equal-cost multipath: a node sends a flow to one of the neighbours that are nearer to the
// destination, each link being as likely as any other; parallel links count one by one. Hosts never carry transit.
// An ECMP is safe for concurrent use. The tree of a destination is computed when it is first asked for, and kept.
type ECMP struct {
	mesh
	trees   []atomic.Pointer[tree] // by destination
	scratch sync.Pool              // of *scratch
	forward *table
}

// A tree holds the distance of every node to one destination, -1 where there is no way.
type tree struct{ dist []int16 }

// maxDistance is the longest distance in hops; what is farther counts as out of reach. No TTL goes beyond 255.
const maxDistance = 1 << 14

// NewECMP returns shortest-path ECMP over all links of a fabric.
func NewECMP(f *graphs.Fabric) *ECMP { return NewECMPWithout(f, nil) }

// NewECMPWithout returns shortest-path ECMP as it is when the links that down reports are taken away.
func NewECMPWithout(f *graphs.Fabric, down func(graphs.LinkID) bool) *ECMP {
	e := &ECMP{mesh: newMesh(f, down), trees: make([]atomic.Pointer[tree], f.NumNodes())}
	e.scratch.New = func() any { return &scratch{mass: make([]float64, f.NumNodes())} }
	e.forward = newTable(&e.mesh, "ecmp", 1, func(dst graphs.NodeID) field { return downhill{e, e.bearing(dst)} })
	return e
}

// A bearing tells how far every node is from one destination.
type bearing struct {
	dst graphs.NodeID
	// A host with a single link has no tree of its own: it is one hop (extra) behind its switch.
	tree  *tree
	extra int16
}

func (b bearing) dist(n graphs.NodeID) int {
	if n == b.dst {
		return 0
	}
	if d := b.tree.dist[n]; d >= 0 {
		return int(d + b.extra)
	}
	return -1
}

func (e *ECMP) bearing(dst graphs.NodeID) bearing {
	if up := e.out(dst); e.host[dst] && len(up) == 1 && !e.host[e.head[up[0]]] {
		return bearing{dst, e.tree(e.head[up[0]]), 1}
	}
	return bearing{dst, e.tree(dst), 0}
}

func (e *ECMP) tree(dst graphs.NodeID) *tree {
	if t := e.trees[dst].Load(); t != nil {
		return t
	}
	t := &tree{dist: make([]int16, len(e.host))}
	for i := range t.dist {
		t.dist[i] = -1
	}
	t.dist[dst] = 0
	queue := make([]graphs.NodeID, 1, len(e.host))
	queue[0] = dst
	for i := 0; i < len(queue); i++ {
		n := queue[i]
		d := t.dist[n]
		if e.host[n] && n != dst || d == maxDistance {
			continue
		}
		for _, a := range e.out(n) { // a link is up or down in both directions, so the way out is the way in
			if m := e.head[a]; t.dist[m] < 0 {
				t.dist[m] = d + 1
				queue = append(queue, m)
			}
		}
	}
	// Two callers may both have computed it; their trees are equal.
	e.trees[dst].Store(t)
	return t
}

// Distance returns the number of links on the shortest way, or -1 if there is none.
func (e *ECMP) Distance(from, to graphs.NodeID) int { return e.bearing(to).dist(from) }

// NextHops returns the arcs by which a node may send packets to dst, in the order of the node's ports; none at dst itself and where
// dst cannot be reached. The slice is the caller's.
func (e *ECMP) NextHops(at, dst graphs.NodeID) []graphs.ArcID {
	return e.appendNext(nil, e.bearing(dst), at)
}

func (e *ECMP) appendNext(next []graphs.ArcID, b bearing, at graphs.NodeID) []graphs.ArcID {
	d := b.dist(at)
	if d <= 0 {
		return next
	}
	for _, a := range e.out(at) {
		if e.nearer(b, d, a) {
			next = append(next, a)
		}
	}
	return next
}

// nearer reports whether an arc from a node at distance d is on a shortest path.
func (e *ECMP) nearer(b bearing, d int, a graphs.ArcID) bool {
	m := e.head[a]
	if m == b.dst {
		return d == 1
	}
	return !e.host[m] && b.dist(m) == d-1
}

// A scratch is memory for one walk over the fabric, level by level. mass is all zero between walks.
type scratch struct {
	mass        []float64
	level, then []graphs.NodeID
	next        []graphs.ArcID
}

// spread lets one unit flow from src to dst along all shortest paths, level by level. At every node it hands the node's mass and its
// next hops to share, which says how much each of them gets. It returns what arrives.
func (e *ECMP) spread(src graphs.NodeID, b bearing, share func(mass float64, next []graphs.ArcID) float64) float64 {
	s := e.scratch.Get().(*scratch)
	defer e.scratch.Put(s)
	s.level = append(s.level[:0], src)
	s.mass[src] = 1
	for d := b.dist(src); d > 0; d-- {
		s.then = s.then[:0]
		for _, n := range s.level {
			mass := s.mass[n]
			s.mass[n] = 0
			s.next = e.appendNext(s.next[:0], b, n)
			each := share(mass, s.next)
			for _, a := range s.next {
				m := e.head[a]
				if s.mass[m] == 0 {
					s.then = append(s.then, m)
				}
				s.mass[m] += each
			}
		}
		s.level, s.then = s.then, s.level
	}
	// Either everything is at dst now, or dst is out of reach and everything is still at src.
	arrived := s.mass[b.dst]
	s.mass[src], s.mass[b.dst] = 0, 0
	return arrived
}

// Count returns the number of shortest paths of a pair; 0 if there is none, 1 from a node to itself.
func (e *ECMP) Count(src, dst graphs.NodeID) float64 {
	return e.spread(src, e.bearing(dst), func(mass float64, _ []graphs.ArcID) float64 { return mass })
}

// Paths returns the shortest paths of a pair with their shares, which sum to 1, and their number. Where they are more than limit,
// paths is nil.
func (e *ECMP) Paths(src, dst graphs.NodeID, limit int) (paths []Path, count float64) {
	b := e.bearing(dst)
	count = e.Count(src, dst)
	if count == 0 || count > float64(limit) {
		return nil, count
	}
	paths = make([]Path, 0, int(count))
	stack := make([]graphs.ArcID, 0, b.dist(src))
	var down func(at graphs.NodeID, share float64)
	down = func(at graphs.NodeID, share float64) {
		if at == dst {
			paths = append(paths, Path{slices.Clone(stack), share})
			return
		}
		next := e.appendNext(nil, b, at)
		for _, a := range next {
			stack = append(stack, a)
			down(e.head[a], share/float64(len(next)))
			stack = stack[:len(stack)-1]
		}
	}
	down(src, 1)
	return paths, count
}

// Shares returns the arcs on shortest paths of a pair, nearest to src first, each with the share of the pair's flows that cross it when
// every node splits them evenly over its next hops. It is empty where dst cannot be reached.
func (e *ECMP) Shares(src, dst graphs.NodeID) []ArcShare { return e.AppendShares(nil, src, dst) }

// AppendShares appends what [ECMP.Shares] returns to a slice.
func (e *ECMP) AppendShares(shares []ArcShare, src, dst graphs.NodeID) []ArcShare {
	e.spread(src, e.bearing(dst), func(mass float64, next []graphs.ArcID) float64 {
		each := mass / float64(len(next))
		for _, a := range next {
			shares = append(shares, ArcShare{a, each})
		}
		return each
	})
	return shares
}

// String names the model: ecmp.
func (e *ECMP) String() string { return "ecmp" }

// Ways returns the shortest paths of a pair.
func (e *ECMP) Ways(src, dst graphs.NodeID) *Ways { return e.forward.Ways(src, dst) }

// Loads lets a demand flow along the shortest paths.
func (e *ECMP) Loads(d Demand) *Loads { return e.forward.Loads(d) }

// A downhill forwards to one destination by ECMP.
type downhill struct {
	e *ECMP
	b bearing
}

func (s downhill) next(at graphs.NodeID, _ int32, into []nextHop) []nextHop {
	d := s.b.dist(at)
	if d <= 0 {
		return into
	}
	for _, a := range s.e.out(at) {
		if s.e.nearer(s.b, d, a) {
			into = append(into, nextHop{arc: a})
		}
	}
	return even(into)
}
