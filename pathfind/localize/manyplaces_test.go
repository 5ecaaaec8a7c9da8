package localize_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// TestManyPlaces: of some arcs and links that lose packets where no way is known, nearly all are named, and hardly anything else: no switch at which all of them might lie, no two
// arcs in place of a link, and no class that lacks where the fault is because another is as good as there.
func TestManyPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		make   func() (*graphs.Fabric, error)
		seeds  []uint64
		faults int
		found  int // at least
		wrong  int // names above .9, at most
	}{
		{"leaf-spine", func() (*graphs.Fabric, error) {
			return generate.LeafSpine(generate.LeafSpineConfig{Spines: 8, Leaves: 12, Hosts: 2})
		}, []uint64{2}, 5, 4, 0},
		{"three tiers", func() (*graphs.Fabric, error) {
			return generate.ThreeTier(generate.ThreeTierConfig{Zones: 2, Racks: 8, ClusterSwitches: 4, Aggregation: 4, Hosts: 1, NICs: 2})
		}, []uint64{1}, 6, 5, 0},
	} {
		f, err := c.make()
		if err != nil {
			t.Fatal(err)
		}
		e := pathfind.NewEqualCost(f, pathfind.PerPath)
		found, wrong := 0, 0
		for _, seed := range c.seeds {
			rng := rand.New(rand.NewPCG(seed, 'm'))
			loss, faults := map[graphs.ArcID]float64{}, map[localize.Cause]bool{}
			for len(faults) < c.faults {
				a, rate := graphs.ArcID(rng.IntN(f.NumArcs())), 0.005*math.Pow(10, rng.Float64())
				if f.IsHostArc(a) || loss[a] > 0 || loss[a.Reverse()] > 0 {
					continue
				}
				loss[a] = rate
				if rng.IntN(2) == 0 {
					faults[localize.Cause{Kind: localize.Arc, ID: int32(a)}] = true
				} else {
					loss[a.Reverse()] = rate
					faults[localize.Cause{Kind: localize.Link, ID: int32(a.Link())}] = true
				}
			}
			r := localize.Solve(f, setFlows(f, e, rng, 1500, func() int { return 2000 }, loss), localize.Config{Paths: e})
			for _, s := range r.Suspects {
				if s.Probability <= 0.9 {
					continue
				}
				i := slices.IndexFunc(s.Class, func(c localize.Cause) bool { return faults[c] })
				if i < 0 {
					wrong++
					t.Logf("%s, seed %d: %v, class of %d, %.4f", c.name, seed, s.Cause, len(s.Class), s.Probability)
					continue
				}
				found++
				faults[s.Class[i]] = false // each is found once
			}
		}
		if found < c.found || wrong > c.wrong {
			t.Errorf("%s: %d of %d found, %d innocents above .9", c.name, found, len(c.seeds)*c.faults, wrong)
		}
		t.Logf("%s: %d of %d found, %d innocents above .9", c.name, found, len(c.seeds)*c.faults, wrong)
	}
}
