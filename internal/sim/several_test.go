package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// TestSeveral measures how well several faults are told where no path is known, in small fabrics, and prints the table of docs/localization.md. Of 20 faults 9 are of links, the
// others of arcs.
func TestSeveral(t *testing.T) {
	if !*full {
		t.Skip("takes minutes: -full")
	}
	fmt.Println("| fabric | faults | found | innocent (expected) |")
	fmt.Println("| --- | ---: | ---: | ---: |")
	for _, x := range []struct {
		name string
		make func() (*graphs.Fabric, error)
	}{
		{"three tiers", func() (*graphs.Fabric, error) {
			return generate.ThreeTier(generate.ThreeTierConfig{Zones: 2, Racks: 12, ClusterSwitches: 4, Aggregation: 4, Hosts: 2, NICs: 2})
		}},
		{"leaf-spine 16x8", func() (*graphs.Fabric, error) {
			return generate.LeafSpine(generate.LeafSpineConfig{Spines: 8, Leaves: 16, Hosts: 4})
		}},
		{"fat-tree k=6", func() (*graphs.Fabric, error) { return generate.FatTree(generate.FatTreeConfig{K: 6}) }},
	} {
		f, err := x.make()
		if err != nil {
			t.Fatal(err)
		}
		routes := Route(pathfind.NewECMP(f), planned(t, f), 1)
		for _, faults := range []int{2, 4, 6} {
			found, innocent, doubt := 0, 0, 0.0
			for seed := *first; seed < *first+uint64(*trials); seed++ {
				cfg := noise
				cfg.SwitchRate, cfg.Seed = -1, seed
				cfg.Faults = someLinks(arcFaults(faults, 0.005, 0.05), 0.45)(f, rand.New(rand.NewPCG(seed, 'F')))
				m := routes.Measure(cfg)
				m.Run(time.Minute)
				left := slices.Clone(cfg.Faults)
				for _, s := range localize.Solve(f, m.Observations(), localize.Config{Paths: pathfind.NewEqualCost(f, pathfind.PerHop)}).Suspects {
					if s.Probability < 0.9 {
						continue
					}
					doubt += 1 - s.Probability
					i := slices.IndexFunc(left, func(x Fault) bool { return slices.Contains(s.Class, x.Cause) })
					if i < 0 {
						innocent++
						continue
					}
					left = slices.Delete(left, i, i+1) // each is found once
				}
				found += faults - len(left)
			}
			fmt.Printf("| %s | %d | %d of %d | %d (%.1f) |\n", x.name, faults, found, faults**trials, innocent, doubt)
		}
	}
}

// someLinks makes the links of a share of the arcs faulty in their place.
func someLinks(arcs func(*graphs.Fabric, *rand.Rand) []Fault, share float64) func(*graphs.Fabric, *rand.Rand) []Fault {
	return func(f *graphs.Fabric, rng *rand.Rand) []Fault {
		faults := arcs(f, rng)
		for i := range faults {
			if c := &faults[i].Cause; rng.Float64() < share {
				*c = localize.Cause{Kind: localize.Link, ID: int32(graphs.ArcID(c.ID).Link())}
			}
		}
		return faults
	}
}
