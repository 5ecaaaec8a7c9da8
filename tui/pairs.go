package tui

import (
	"math"

	"whichlink/graphs"
)

// A PairFlow is what one flow of a pair of nodes measured, over all the time that is kept.
type PairFlow struct {
	Flow string // addresses, ports, protocol
	Port uint16 // the source port, by which flows of a pair differ
	// Path and Back are the arcs that it and its answers were last seen to cross, nil where that is not known for certain.
	Path, Back []graphs.ArcID
	Sent, Lost int
	// Moved tells that it was on another path before.
	Moved bool
	RTT   float64 // the newest median in microseconds, NaN if there is none
}

// Pair implements [History].
func (v *tapeView) Pair(src, dst graphs.NodeID) []PairFlow {
	of := make([]bool, len(v.flows))
	for i := range v.flows {
		a, ok1 := v.fabric.Owner(v.flows[i].Src)
		b, ok2 := v.fabric.Owner(v.flows[i].Dst)
		of[i] = ok1 && ok2 && a.Node == src && b.Node == dst
	}
	var out []PairFlow
	index := map[int32]int{}
	for i := range v.entries {
		e := &v.entries[i]
		if !of[e.flow] {
			continue
		}
		j, ok := index[e.flow]
		if !ok {
			j = len(out)
			index[e.flow] = j
			out = append(out, PairFlow{Flow: flowName(v.flows[e.flow]), Port: v.flows[e.flow].SrcPort, RTT: math.NaN()})
		}
		x := &out[j]
		x.Sent += int(e.sent)
		x.Lost += int(e.lost)
		if !math.IsNaN(e.rtt) {
			x.RTT = e.rtt
		}
		path, back := v.certain(e.path), v.certain(e.back)
		x.Moved = x.Moved || x.Path != nil && path != nil && &x.Path[0] != &path[0]
		x.Path, x.Back = path, back
	}
	return out
}

// certain returns the arcs of a way if there is but one that is right.
func (v *tapeView) certain(way int32) []graphs.ArcID {
	if way < 0 || len(v.ways[way]) != 1 || len(v.ways[way][0]) == 0 {
		return nil
	}
	return v.ways[way][0]
}

// A worstKnowing history tells which flow lost most across a link.
type worstKnowing interface {
	worstPair(graphs.LinkID) (src, dst graphs.NodeID, ok bool)
}

// worstPair returns the nodes of the flow that lost most across a link, and false if none was seen there.
func (v *tapeView) worstPair(l graphs.LinkID) (src, dst graphs.NodeID, ok bool) {
	over := make([]bool, len(v.ways))
	for i, alternatives := range v.ways {
		over[i] = crossingOf(alternatives, l).arc != graphs.None
	}
	lost := make([]int32, len(v.flows))
	best := int32(-1)
	for i := range v.entries {
		e := &v.entries[i]
		if e.path < 0 || !over[e.path] {
			continue
		}
		lost[e.flow] += e.lost
		if best < 0 || lost[e.flow] > lost[best] {
			best = e.flow
		}
	}
	if best < 0 {
		return 0, 0, false
	}
	a, ok1 := v.fabric.Owner(v.flows[best].Src)
	b, ok2 := v.fabric.Owner(v.flows[best].Dst)
	return a.Node, b.Node, ok1 && ok2
}
