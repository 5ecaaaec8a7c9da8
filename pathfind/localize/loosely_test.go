package localize_test

import (
	"math/rand/v2"
	"testing"

	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// TestOwnLossesOnUnknownWays: of flows whose ways are not known, of which many lose a few packets by themselves, one of eight may have crossed any spine, and none of the spines is named for that.
func TestOwnLossesOnUnknownWays(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 10, Spines: 8, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	e := pathfind.NewEqualCost(f, pathfind.PerPath)
	for seed := uint64(2); seed < 4; seed++ {
		rng := rand.New(rand.NewPCG(seed, 'L'))
		obs := setFlows(f, e, rng, 6000, func() int { return 100 }, nil)
		for i := range obs {
			if rng.Float64() > 0.05 {
				continue
			}
			share := 0.05 * rng.Float64()
			for range obs[i].Sent {
				if rng.Float64() < share {
					obs[i].Lost++
				}
			}
		}
		for _, x := range localize.Solve(f, obs, localize.Config{OneWay: true, Paths: e}).Suspects {
			if x.Probability > 0.5 {
				t.Errorf("seed %d: %v is named with %.3f, loss %.4f", seed, x.Cause, x.Probability, x.Loss)
			}
		}
	}
}
