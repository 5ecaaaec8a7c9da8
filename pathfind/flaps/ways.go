package flaps

import (
	"cmp"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// A part is the share of the flows of a pair of switches that cross an arc.
type part struct {
	arc   graphs.ArcID
	share float64
}

// ways knows the arcs that flows may have crossed whose way is not known. Those of flows that lost packets are asked for: few pairs, beside all.
type ways struct {
	fabric  *graphs.Fabric
	paths   localize.PathSets
	known   map[[2]graphs.NodeID][]part
	reached []float64 // by node: share of the flows of a pair; zero outside of of
}

// of returns the arcs on the ways of an observation, as far as they are not known, by their numbers.
func (w *ways) of(o *localize.Observation) []part {
	if !o.OnSet() || w.paths == nil || w.paths.Hops(o.From, o.To) == 0 {
		return nil
	}
	key := [2]graphs.NodeID{o.From, o.To}
	if parts, ok := w.known[key]; ok {
		return parts
	}
	if w.known == nil {
		w.known, w.reached = map[[2]graphs.NodeID][]part{}, make([]float64, w.fabric.NumNodes())
	}
	var parts []part
	// All paths are of one length, so what is reached in as many steps is reached by all that lead to it.
	w.reached[o.From] = 1
	for level := []graphs.NodeID{o.From}; len(level) > 0; {
		var next []graphs.NodeID
		for _, n := range level {
			reach := w.reached[n]
			w.reached[n] = 0
			if n == o.To {
				continue
			}
			for _, a := range w.fabric.Out(n) {
				if step := w.paths.Step(a, o.To); step > 0 {
					parts = append(parts, part{a, min(1, reach*step)})
					head := w.fabric.Head(a)
					if w.reached[head] == 0 {
						next = append(next, head)
					}
					w.reached[head] += reach * step
				}
			}
		}
		level = next
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.arc, b.arc) })
	w.known[key] = parts
	return parts
}
