package localize_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// TestScattered: a dozen faults all over a fat-tree lose little each, and no way is known. One that may lie at a few dozen places is as likely as all of these together, so that a
// core switch, or an arc in the place of two, is not told instead.
func TestScattered(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 8})
	if err != nil {
		t.Fatal(err)
	}
	e := pathfind.NewEqualCost(f, pathfind.PerPath)
	for _, seed := range []uint64{13, 14} {
		rng := rand.New(rand.NewPCG(seed, 'e'))
		loss := map[graphs.ArcID]float64{}
		for len(loss) < 12 {
			if a := graphs.ArcID(rng.IntN(f.NumArcs())); !f.IsHostArc(a) && loss[a.Reverse()] == 0 {
				loss[a] = 0.002 + 0.018*rng.Float64()
			}
		}
		r := localize.Solve(f, setFlows(f, e, rng, 6000, func() int { return 64 }, loss), localize.Config{Paths: e, OneWay: true})
		for _, s := range r.Suspects {
			if s.Probability > 0.5 && !slices.ContainsFunc(s.Class, func(c localize.Cause) bool { return c.Kind == localize.Arc && loss[graphs.ArcID(c.ID)] > 0 }) {
				t.Errorf("seed %d: %v is told with %.3f, and none of its class of %d is faulty", seed, s.Cause, s.Probability, len(s.Class))
			}
		}
	}
}
