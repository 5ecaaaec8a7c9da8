package pathfind

import "whichlink/graphs"

// A Spread is how flows choose among equal-cost paths.
type Spread int

// The spreads.
const (
	// PerPath makes each shortest path as likely as any other, as simulators and source routing do.
	PerPath Spread = iota
	// PerHop makes each next hop as likely as any other at every switch, as hardware does.
	PerHop
)

// EqualCost answers in constant time, but for PerHop, which part of the flows between two switches crosses a third or an arc on the way.
// It holds distances and path counts between all switches; hosts are no part of it.
type EqualCost struct {
	f      *graphs.Fabric
	spread Spread
	dense  []int32 // by node: its number among the switches, or -1
	n      int
	dist   []int16   // by pair of switches; -1 where there is no way
	count  []float64 // shortest paths, by pair of switches
	head   []int32   // by arc: the switch it leads to, or -1
	tail   []int32
	fan    []int16 // next hops, by pair of switches; for PerHop only
}

// NewEqualCost prepares the path sets of a fabric.
func NewEqualCost(f *graphs.Fabric, spread Spread) *EqualCost {
	e := &EqualCost{f: f, spread: spread, dense: make([]int32, f.NumNodes()), head: make([]int32, f.NumArcs()), tail: make([]int32, f.NumArcs())}
	switches := f.Switches()
	e.n = len(switches)
	for i := range e.dense {
		e.dense[i] = -1
	}
	for i, n := range switches {
		e.dense[n] = int32(i)
	}
	for a := range graphs.ArcID(f.NumArcs()) {
		e.head[a], e.tail[a] = e.dense[f.Head(a)], e.dense[f.Tail(a)]
	}
	next := make([][]int32, e.n)
	for i, n := range switches {
		for _, a := range f.Out(n) {
			if e.head[a] >= 0 {
				next[i] = append(next[i], e.head[a])
			}
		}
	}
	e.dist, e.count = make([]int16, e.n*e.n), make([]float64, e.n*e.n)
	if spread == PerHop {
		e.fan = make([]int16, e.n*e.n)
	}
	queue := make([]int32, 0, e.n)
	for to := range int32(e.n) {
		e.tree(to, next, queue)
	}
	return e
}

// tree counts the shortest paths from all switches to one. Links carry both ways, so paths from it are as many as paths to it.
func (e *EqualCost) tree(to int32, next [][]int32, queue []int32) {
	dist, count := e.dist[int(to)*e.n:][:e.n], e.count[int(to)*e.n:][:e.n]
	for i := range dist {
		dist[i] = -1
	}
	dist[to], count[to] = 0, 1
	queue = append(queue[:0], to)
	for i := 0; i < len(queue); i++ {
		u := queue[i]
		for _, v := range next[u] {
			if dist[v] < 0 {
				dist[v] = dist[u] + 1
				queue = append(queue, v)
			}
			if dist[v] == dist[u]+1 {
				count[v] += count[u]
				if e.fan != nil {
					e.fan[int(to)*e.n+int(v)]++
				}
			}
		}
	}
}

// Hops returns the number of arcs on the shortest paths from one switch to another, 0 where there is none.
func (e *EqualCost) Hops(from, to graphs.NodeID) int {
	s, t := e.dense[from], e.dense[to]
	if s < 0 || t < 0 {
		return 0
	}
	return max(0, int(e.dist[int(t)*e.n+int(s)]))
}

// Paths returns the number of shortest paths from one switch to another, 0 where there is none.
func (e *EqualCost) Paths(from, to graphs.NodeID) float64 {
	s, t := e.dense[from], e.dense[to]
	if s < 0 || t < 0 {
		return 0
	}
	return e.count[int(t)*e.n+int(s)]
}

// Reach returns the share of the flows on their way from one switch to another that pass a third.
func (e *EqualCost) Reach(from, via, to graphs.NodeID) float64 {
	s, v, t := e.dense[from], e.dense[via], e.dense[to]
	if s < 0 || v < 0 || t < 0 {
		return 0
	}
	st, sv, vt := int(t)*e.n+int(s), int(v)*e.n+int(s), int(t)*e.n+int(v)
	switch {
	case e.dist[st] < 0 || e.dist[sv] < 0 || e.dist[sv]+e.dist[vt] != e.dist[st]:
		return 0
	case e.spread == PerPath:
		return e.count[sv] * e.count[vt] / e.count[st]
	}
	return e.hop(from, v, t)
}

// hop adds up the ways to a switch, weighted hop by hop.
func (e *EqualCost) hop(at graphs.NodeID, via, to int32) float64 {
	s := e.dense[at]
	if s == via {
		return 1
	}
	left := e.dist[int(via)*e.n+int(s)] - 1
	share := 0.0
	for _, a := range e.f.Out(at) {
		if h := e.head[a]; h >= 0 && e.dist[int(via)*e.n+int(h)] == left {
			share += e.hop(e.f.Head(a), via, to)
		}
	}
	return share / float64(e.fan[int(to)*e.n+int(s)])
}

// Step returns the share of the flows on their way to a switch that leave the tail of an arc by it.
func (e *EqualCost) Step(a graphs.ArcID, to graphs.NodeID) float64 {
	u, v, t := e.tail[a], e.head[a], e.dense[to]
	if u < 0 || v < 0 || t < 0 {
		return 0
	}
	ut, vt := int(t)*e.n+int(u), int(t)*e.n+int(v)
	switch {
	case e.dist[vt] < 0 || e.dist[vt]+1 != e.dist[ut]:
		return 0
	case e.spread == PerPath:
		return e.count[vt] / e.count[ut]
	}
	return 1 / float64(e.fan[ut])
}
