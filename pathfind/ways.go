package pathfind

import (
	"encoding/binary"
	"slices"

	"whichlink/graphs"
)

// Ways is all that the flows of one pair may do under a forwarding model. It is a graph without loops: a node is in it once for every
// state in which a packet may be there (a VRF, a phase), with the next hops that it has in this state, and the share of the flows
// that pass. A Ways does not change once it is made.
type Ways struct {
	f        *graphs.Fabric
	src, dst graphs.NodeID
	stations []station
	steps    []step
	order    []int32 // the stations, a station before those to which it forwards
	place    placer
}

// A station is a node with a packet in one state.
type station struct {
	node        graphs.NodeID
	state       int32
	first, last int32 // its next hops are steps[first:last]
	mass        float64
	loss        Reason
}

// A step is a next hop of a station, with the share of the station's flows that take it.
type step struct {
	arc   graphs.ArcID
	to    int32
	share float64
}

// A Reason says why flows do not arrive.
type Reason uint8

// The ways in which flows get lost.
const (
	NotLost     Reason = iota
	BlackHole          // a node has no route, or the route leads to a host that is not the destination
	Loop               // a node gets a flow back that it has forwarded, and will forward it the same way again
	NotFollowed        // there are too many ways
)

func (r Reason) String() string {
	return [...]string{"not lost", "black hole", "loop", "too many ways to follow"}[r]
}

// A Loss is where a share of a pair's flows ends, short of the destination.
type Loss struct {
	Node   graphs.NodeID
	Reason Reason
	Share  float64
}

// Ends returns the pair.
func (w *Ways) Ends() (src, dst graphs.NodeID) { return w.src, w.dst }

// Losses returns where flows end short of the destination, and why; none where all arrive.
func (w *Ways) Losses() []Loss {
	var losses []Loss
	for _, i := range w.order {
		s := &w.stations[i]
		if s.loss == NotLost || s.mass == 0 {
			continue
		}
		at := slices.IndexFunc(losses, func(l Loss) bool { return l.Node == s.node && l.Reason == s.loss })
		if at < 0 {
			at = len(losses)
			losses = append(losses, Loss{Node: s.node, Reason: s.loss})
		}
		losses[at].Share += s.mass
	}
	return losses
}

// Arrived returns the share of flows that reach the destination: 1, but for what is lost.
func (w *Ways) Arrived() float64 {
	sum := 0.0
	for _, l := range w.Losses() {
		sum += l.Share
	}
	return max(0, 1-sum)
}

// NextHops returns the arcs by which a node forwards flows of the pair, in whatever state they come, in the order of its ports.
func (w *Ways) NextHops(at graphs.NodeID) []graphs.ArcID {
	used := map[graphs.ArcID]bool{}
	for i := range w.stations {
		if s := &w.stations[i]; s.node == at {
			for _, t := range w.steps[s.first:s.last] {
				used[t.arc] = true
			}
		}
	}
	var next []graphs.ArcID
	for _, a := range w.f.Out(at) {
		if used[a] {
			next = append(next, a)
		}
	}
	return next
}

// An ArcShare is the share of a pair's flows that cross an arc.
type ArcShare struct {
	Arc   graphs.ArcID
	Share float64
}

// Shares returns the arcs that the pair's flows may cross, each once, with the share of flows that cross it; what is nearer to the source
// comes first. A flow that crosses an arc twice counts twice, so that the shares sum to the mean length of the paths.
func (w *Ways) Shares() []ArcShare {
	shares := make([]ArcShare, 0, len(w.steps))
	seen := make([]int32, w.f.NumArcs()) // by arc: its place in shares, and one
	for _, i := range w.order {
		s := &w.stations[i]
		for _, t := range w.steps[s.first:s.last] {
			if seen[t.arc] == 0 {
				shares = append(shares, ArcShare{Arc: t.arc})
				seen[t.arc] = int32(len(shares))
			}
			shares[seen[t.arc]-1].Share += s.mass * t.share
		}
	}
	return shares
}

// Crossing returns the share of flows that cross at least one of some links. A flow that crosses several counts once, which the sum of
// their Shares does not tell.
func (w *Ways) Crossing(some func(graphs.LinkID) bool) float64 {
	crossed := 0.0
	clean := make([]float64, len(w.stations)) // of the flows that pass a station, those that have crossed none so far
	clean[w.order[0]] = 1
	for _, i := range w.order {
		s := &w.stations[i]
		for _, t := range w.steps[s.first:s.last] {
			if some(t.arc.Link()) {
				crossed += clean[i] * t.share
			} else {
				clean[t.to] += clean[i] * t.share
			}
		}
	}
	return crossed
}

// Count returns the number of ways from source to destination: of paths, each counted once for every sequence of states in which it
// may be taken. It is 0 where nothing arrives, and 1 from a node to itself.
func (w *Ways) Count() float64 {
	ways := w.countToGo()
	if len(ways) == 0 {
		return 0
	}
	return ways[w.order[0]]
}

// countToGo counts, for every station, the ways from there to the destination.
func (w *Ways) countToGo() []float64 {
	ways := make([]float64, len(w.stations))
	for _, i := range slices.Backward(w.order) {
		s := &w.stations[i]
		if w.arrives(s) {
			ways[i] = 1
			continue
		}
		for _, t := range w.steps[s.first:s.last] {
			ways[i] += ways[t.to]
		}
	}
	return ways
}

// arrives reports whether a station is the end of the way.
func (w *Ways) arrives(s *station) bool {
	return s.node == w.dst && s.first == s.last && s.loss == NotLost
}

// A Path is a way through the fabric, and the share of a pair's flows that take it.
type Path struct {
	Arcs  []graphs.ArcID
	Share float64
}

// Paths returns the paths that arrive, with their shares, and their number, in the order of the next hops. The shares sum to what
// arrives. Where there are more than limit ways, paths is nil and count is the number of ways.
func (w *Ways) Paths(limit int) (paths []Path, count float64) {
	ways := w.countToGo()
	if count = w.Count(); count == 0 || count > float64(limit) {
		return nil, count
	}
	paths = make([]Path, 0, int(count))
	var stack []graphs.ArcID
	var down func(at int32, share float64)
	down = func(at int32, share float64) {
		s := &w.stations[at]
		if w.arrives(s) {
			paths = append(paths, Path{slices.Clone(stack), share})
			return
		}
		for _, t := range w.steps[s.first:s.last] {
			if ways[t.to] == 0 {
				continue
			}
			stack = append(stack, t.arc)
			down(t.to, share*t.share)
			stack = stack[:len(stack)-1]
		}
	}
	down(w.order[0], 1)
	paths = mergePaths(paths)
	return paths, float64(len(paths))
}

// Draw returns the path of one flow. At every station chance, which returns numbers evenly in [0, 1), decides among the next hops by their shares;
// among says, arc by arc, how many there were. A flow that does not arrive has the arcs up to where it ends.
func (w *Ways) Draw(chance func() float64) (arcs []graphs.ArcID, among []int) {
	for s := &w.stations[w.order[0]]; s.first < s.last; {
		next := w.steps[s.first:s.last]
		taken := &next[len(next)-1]
		x := 0.0
		if len(next) > 1 {
			x = chance()
		}
		for i := range next {
			if x -= next[i].share; x < 0 {
				taken = &next[i]
				break
			}
		}
		arcs, among = append(arcs, taken.arc), append(among, len(next))
		s = &w.stations[taken.to]
	}
	return arcs, among
}

// mergePaths adds up the shares of ways that cross the same arcs: under Valiant, more than one intermediate may lie on a path.
func mergePaths(paths []Path) []Path {
	merged := paths[:0]
	at := make(map[string]int, len(paths))
	var key []byte
	for _, p := range paths {
		key = key[:0]
		for _, a := range p.Arcs {
			key = binary.LittleEndian.AppendUint32(key, uint32(a))
		}
		if i, again := at[string(key)]; again {
			merged[i].Share += p.Share
			continue
		}
		at[string(key)] = len(merged)
		merged = append(merged, p)
	}
	return merged
}

// A LengthShare is the share of a pair's flows whose paths have a length.
type LengthShare struct {
	Links int
	Share float64
}

// Lengths returns the lengths of the paths that arrive, in links from end to end, the shortest first. The shares sum to what arrives.
func (w *Ways) Lengths() []LengthShare {
	// by station, the mass that comes after so many links; few lengths, so a short list each
	masses := make([][]LengthShare, len(w.stations))
	var lengths []LengthShare
	add := func(to []LengthShare, links int, mass float64) []LengthShare {
		for i := range to {
			if to[i].Links == links {
				to[i].Share += mass
				return to
			}
		}
		return append(to, LengthShare{links, mass})
	}
	for k, i := range w.order {
		s := &w.stations[i]
		if k == 0 {
			masses[i] = add(nil, 0, 1)
		}
		for _, m := range masses[i] {
			if w.arrives(s) {
				lengths = add(lengths, m.Links, m.Share)
			}
			for _, t := range w.steps[s.first:s.last] {
				masses[t.to] = add(masses[t.to], m.Links+1, m.Share*t.share)
			}
		}
		masses[i] = nil
	}
	slices.SortFunc(lengths, func(a, b LengthShare) int { return a.Links - b.Links })
	return lengths
}
