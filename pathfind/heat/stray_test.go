package heat_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/pathfind/heat"
)

// TestGreatFlow: a flow that fills one of several equal paths is told from demand by the loads alone, on a random graph, too: what it adds goes on from arc to arc, and only there.
func TestGreatFlow(t *testing.T) {
	for seed := range uint64(12) {
		f := fabrics[2].make(t, seed)
		w := &traffic{f: f, rng: rand.New(rand.NewPCG(seed, 1)), load: make([]float64, f.NumArcs())}
		w.even(0.2, 60)
		m := w.model()
		before := slices.Clone(w.load)
		hosts := f.Hosts()
		var src, dst graphs.NodeID
		for m.Count(src, dst) < 2 {
			src, dst = hosts[w.rng.IntN(len(hosts))], hosts[w.rng.IntN(len(hosts))]
		}
		w.send(m, src, dst, 0.7*speed, 1)
		r := heat.Solve(heat.Input{Model: m, Load: w.load})
		for a := range w.load {
			if arc := graphs.ArcID(a); f.IsHostArc(arc) || w.load[a] == before[a] || w.load[a] < 0.7*speed {
				continue
			}
			i := slices.IndexFunc(r.Hot, func(h heat.Hot) bool { return h.Arc == graphs.ArcID(a) })
			if i < 0 || r.Hot[i].Verdict != heat.Collision {
				t.Errorf("seed %d: %s: %+v", seed, f.ArcName(graphs.ArcID(a)), r.Hot)
			}
		}
	}
}
