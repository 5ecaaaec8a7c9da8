package pathfind

import (
	"math"

	"whichlink/graphs"
)

// A Hop is what a trace saw at one TTL.
type Hop struct {
	Answered bool
	// Node is who answered, or None where nobody did or the address is not known to the fabric.
	Node graphs.NodeID
	// Port is where the probe came in, as the answer's source address claims; None where only the node is known.
	Port graphs.PortID
}

// Silent is a hop of which nothing is known.
var Silent = Hop{Node: graphs.None, Port: graphs.None}

// resolveSteps bounds the work on one trace: many silent hops in a row on a large fabric could be anything.
const resolveSteps = 1 << 17

// Costs of a path against a trace: one claim broken weighs more than any number of hops off the shortest paths.
const (
	offCost    = 1
	brokenCost = 1 << 10
)

// Resolve returns the paths from src to dst that agree with what a trace saw, with the shares in which ECMP would take them. hops[t-1]
// belongs to TTL t, and the last hop is dst, whether it answered or not: a path has len(hops) arcs.
//
// A node that answered is certain. The port that its address claims is not: where icmp_errors_use_inbound_ifaddr is 0, or links are
// unnumbered, a switch answers from another of its interfaces. So of all paths through the nodes that answered, those are
// returned that break the fewest claims, and of these, those with the fewest hops off the shortest paths. A hop that is not known may be any
// switch that the path did not visit before.
//
// The shares sum to 1. Where more than limit paths agree (or more than can be looked at), some of them are returned, with the shares that
// they have among all shortest paths; these sum to less than 1. No path means that the trace contradicts the fabric: a cable is not where it should be, or the path
// changed while it was traced.
func Resolve(e *ECMP, src, dst graphs.NodeID, hops []Hop, limit int) []Path {
	r := &resolver{e: e, b: e.bearing(dst), hops: hops, limit: limit}
	if len(hops) == 0 || limit <= 0 || !r.prepare(src) {
		return nil
	}
	// The cheapest paths first; if all of them visit a node twice, the next cheapest (IDA*).
	r.on = make([]int32, len(e.host))
	for r.budget = r.togo[0][src]; r.budget < math.MaxInt; r.budget = r.above {
		r.above = math.MaxInt
		r.on[src] = visitedKnown
		r.descend(src, 0, 0, 1)
		r.on[src] = 0
		if len(r.paths) > 0 || r.steps > resolveSteps {
			break
		}
	}
	if r.cut || r.steps > resolveSteps {
		return r.paths
	}
	var sum float64
	for _, p := range r.paths {
		sum += p.Share
	}
	for i := range r.paths {
		r.paths[i].Share /= sum
	}
	return r.paths
}

type resolver struct {
	e     *ECMP
	b     bearing
	hops  []Hop
	limit int

	// togo[t] holds the nodes where a path may be after t hops, with the least cost of what then remains.
	togo []map[graphs.NodeID]int

	budget int // paths that cost more are not looked at,
	above  int // but the least cost among them is kept
	steps  int
	on     []int32 // by node: whether the path is on it, and whether an answer says so
	stack  []graphs.ArcID
	paths  []Path
	cut    bool
}

const (
	visitedKnown = 1 + iota
	visitedGuessed
)

// prepare fills togo from the destination backwards, and reports whether any path is left.
func (r *resolver) prepare(src graphs.NodeID) bool {
	last := len(r.hops)
	r.togo = make([]map[graphs.NodeID]int, last+1)
	if n := r.hops[last-1].Node; n != graphs.None && n != r.b.dst {
		return false
	}
	r.togo[last] = map[graphs.NodeID]int{r.b.dst: 0}
	for t := last; t > 0; t-- {
		r.togo[t-1] = map[graphs.NodeID]int{}
		for head, cost := range r.togo[t] {
			for _, out := range r.e.out(head) {
				tail := r.e.head[out]
				if !r.may(tail, t-1, src) {
					continue
				}
				c := cost + r.cost(out.Reverse(), tail, t)
				if was, ok := r.togo[t-1][tail]; !ok || c < was {
					r.togo[t-1][tail] = c
				}
			}
		}
	}
	return len(r.togo[0]) > 0
}

// may reports whether a path may be at a node after t hops, short of the last.
func (r *resolver) may(n graphs.NodeID, t int, src graphs.NodeID) bool {
	if t == 0 {
		return n == src
	}
	if known := r.hops[t-1].Node; known != graphs.None && known != n {
		return false
	}
	return !r.e.host[n]
}

// cost returns what it costs to say that hop t was reached by an arc.
func (r *resolver) cost(a graphs.ArcID, tail graphs.NodeID, t int) int {
	cost := 0
	if !r.e.nearer(r.b, r.b.dist(tail), a) {
		cost += offCost
	}
	if claim := r.hops[t-1].Port; claim != graphs.None && r.e.f.HeadPort(a) != claim {
		cost += brokenCost
	}
	return cost
}

// descend extends a path that is at a node after t hops and has cost so far.
func (r *resolver) descend(at graphs.NodeID, t, cost int, share float64) {
	if r.steps++; r.steps > resolveSteps || r.cut {
		return
	}
	if t == len(r.hops) {
		if len(r.paths) == r.limit {
			r.cut = true
			return
		}
		r.paths = append(r.paths, Path{append([]graphs.ArcID(nil), r.stack...), share})
		return
	}
	out := r.e.out(at)
	d := r.b.dist(at)
	nearer := 0
	for _, a := range out {
		if r.e.nearer(r.b, d, a) {
			nearer++
		}
	}
	for _, a := range out {
		head := r.e.head[a]
		rest, ok := r.togo[t+1][head]
		if !ok {
			continue
		}
		c := cost + r.cost(a, at, t+1)
		if c+rest > r.budget {
			r.above = min(r.above, c+rest)
			continue
		}
		// A node may be twice on a path only where answers say so both times: packets do loop while routes change.
		mark, was := int32(visitedKnown), r.on[head]
		if r.hops[t].Node == graphs.None && t+1 < len(r.hops) {
			mark = visitedGuessed
		}
		if was != 0 && (was == visitedGuessed || mark == visitedGuessed) {
			continue
		}
		each := share / float64(len(out))
		if r.e.nearer(r.b, d, a) {
			each = share / float64(nearer)
		}
		r.on[head] = mark
		r.stack = append(r.stack, a)
		r.descend(head, t+1, c, each)
		r.stack = r.stack[:len(r.stack)-1]
		r.on[head] = was
	}
}
