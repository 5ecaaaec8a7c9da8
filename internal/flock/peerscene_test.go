package flock

import (
	"math/bits"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// A scene is what a trace tells, over components: arcs by their numbers, and behind them the nodes, of which switches may be faulty as a whole.
type scene struct {
	f             *graphs.Fabric
	arcs          int // components from there on are nodes
	flows         []sceneFlow
	pairs         []scenePair
	crossing      [][]int32 // by component: flows that surely cross it
	among         [][]int32 // by component: pairs of which some path crosses it
	arrived, lost []int     // by component: packets that arrived, and that were lost, of crossing
}

// A sceneFlow is the packets of a flow. The components that it surely crossed are certain; pair is where it took one of several paths, or None.
type sceneFlow struct {
	certain       []int32
	pair          int32
	arrived, lost int
}

// A scenePair is two switches, and the shortest paths between them.
type scenePair struct {
	paths      int
	components []int32
	masks      []pathMask // by components: which of the paths cross it
	flows      []int32
}

// A pathMask is a set of the paths of a pair, of which there are 128 at most.
type pathMask [2]uint64

func (m pathMask) or(o pathMask) pathMask { return pathMask{m[0] | o[0], m[1] | o[1]} }

func (m pathMask) count() int { return bits.OnesCount64(m[0]) + bits.OnesCount64(m[1]) }

func newScene(t *testing.T, f *graphs.Fabric, obs []localize.Observation) *scene {
	t.Helper()
	n := f.NumArcs() + f.NumNodes()
	x := &scene{f: f, arcs: f.NumArcs(), crossing: make([][]int32, n), among: make([][]int32, n), arrived: make([]int, n), lost: make([]int, n)}
	seen := map[[2]graphs.NodeID]int32{}
	ecmp := pathfind.NewECMP(f)
	for i := range obs {
		o := &obs[i]
		flow := sceneFlow{certain: x.components(o.Path), pair: graphs.None, arrived: o.Sent - o.Lost, lost: o.Lost}
		if o.From != o.To {
			ends := [2]graphs.NodeID{o.From, o.To}
			at, ok := seen[ends]
			if !ok {
				at = int32(len(x.pairs))
				seen[ends] = at
				paths, count := ecmp.Paths(o.From, o.To, 128)
				if len(paths) == 0 {
					t.Fatalf("%g paths of a pair are more than these peers look at", count)
				}
				x.addPair(paths)
			}
			flow.pair = at
			x.pairs[at].flows = append(x.pairs[at].flows, int32(i))
			// The switches at both ends are on all of its paths.
			flow.certain = slices.DeleteFunc(flow.certain, func(c int32) bool { return int(c) >= x.arcs })
		}
		for _, c := range flow.certain {
			x.crossing[c] = append(x.crossing[c], int32(i))
			x.arrived[c], x.lost[c] = x.arrived[c]+flow.arrived, x.lost[c]+flow.lost
		}
		x.flows = append(x.flows, flow)
	}
	return x
}

// components returns the arcs of a path, and the switches that they touch.
func (x *scene) components(path []graphs.ArcID) []int32 {
	c := make([]int32, 0, 2*len(path)+1)
	for _, a := range path {
		c = append(c, int32(a))
	}
	for i, a := range path {
		if n := x.f.Tail(a); i == 0 && !x.f.Node(n).IsHost() {
			c = append(c, int32(x.arcs)+int32(n))
		}
		if n := x.f.Head(a); !x.f.Node(n).IsHost() {
			c = append(c, int32(x.arcs)+int32(n))
		}
	}
	return c
}

// ends returns the nodes of an arc.
func (x *scene) ends(arc int) (tail, head int32) {
	return int32(x.f.Tail(graphs.ArcID(arc))), int32(x.f.Head(graphs.ArcID(arc)))
}

func (x *scene) addPair(paths []pathfind.Path) {
	p := scenePair{paths: len(paths)}
	for i := range paths {
		for _, c := range x.components(paths[i].Arcs) {
			at := slices.Index(p.components, c)
			if at < 0 {
				at = len(p.components)
				p.components, p.masks = append(p.components, c), append(p.masks, pathMask{})
				x.among[c] = append(x.among[c], int32(len(x.pairs)))
			}
			p.masks[at][i/64] |= 1 << (i % 64)
		}
	}
	x.pairs = append(x.pairs, p)
}

// told parts components into the names of arcs and of devices.
func (x *scene) told(components []int32) (arcs, devices []string) {
	for _, c := range components {
		if int(c) < x.arcs {
			arcs = append(arcs, arcName(x.f, graphs.ArcID(c)))
		} else {
			devices = append(devices, x.f.NodeName(graphs.NodeID(int(c)-x.arcs)))
		}
	}
	return arcs, devices
}

// suspicious reports whether a component can be blamed: an arc or a switch that something crossed.
func (x *scene) suspicious(c int) bool {
	return (c < x.arcs || !x.f.Node(graphs.NodeID(c-x.arcs)).IsHost()) && len(x.crossing[c])+len(x.among[c]) > 0
}

// narrow returns the scene with some components alone, arcs before switches, which are numbered anew by their places. Flows of which the same is left are one.
func (x *scene) narrow(kept []int32) *scene {
	n := len(kept)
	arcs, _ := slices.BinarySearch(kept, int32(x.arcs))
	y := &scene{f: x.f, arcs: arcs, crossing: make([][]int32, n), among: make([][]int32, n), arrived: make([]int, n), lost: make([]int, n)}
	at := make([]int32, len(x.crossing))
	for c := range at {
		at[c] = graphs.None
	}
	for i, c := range kept {
		at[c] = int32(i)
		y.arrived[i], y.lost[i] = x.arrived[c], x.lost[c]
	}
	pairs := make([]int32, len(x.pairs))
	for i := range x.pairs {
		old := &x.pairs[i]
		p := scenePair{paths: old.paths}
		for j, c := range old.components {
			if at[c] >= 0 {
				p.components, p.masks = append(p.components, at[c]), append(p.masks, old.masks[j])
				y.among[at[c]] = append(y.among[at[c]], int32(len(y.pairs)))
			}
		}
		pairs[i] = int32(len(y.pairs))
		y.pairs = append(y.pairs, p)
	}
	known := map[string]int32{}
	var key []byte
	for i := range x.flows {
		flow := sceneFlow{pair: x.flows[i].pair, arrived: x.flows[i].arrived, lost: x.flows[i].lost}
		key = key[:0]
		for _, c := range x.flows[i].certain {
			if c := at[c]; c >= 0 {
				flow.certain = append(flow.certain, c)
				key = append(key, byte(c), byte(c>>8))
			}
		}
		if flow.pair == graphs.None {
			if same, ok := known[string(key)]; ok {
				y.flows[same].arrived += flow.arrived
				y.flows[same].lost += flow.lost
				continue
			}
			known[string(key)] = int32(len(y.flows))
		} else {
			flow.pair = pairs[flow.pair]
			y.pairs[flow.pair].flows = append(y.pairs[flow.pair].flows, int32(len(y.flows)))
		}
		for _, c := range flow.certain {
			y.crossing[c] = append(y.crossing[c], int32(len(y.flows)))
		}
		y.flows = append(y.flows, flow)
	}
	return y
}
