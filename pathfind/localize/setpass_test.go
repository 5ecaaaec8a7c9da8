package localize

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
)

// TestPasses: which pairs pass an arc or a node is found alike when all is kept from the beginning, when it is listed later, and for one alone.
func TestPasses(t *testing.T) {
	fat, err := generate.FatTree(generate.FatTreeConfig{K: 8})
	if err != nil {
		t.Fatal(err)
	}
	random, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 80, Degree: 6, Hosts: 1, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*graphs.Fabric{fat, random} {
		for _, spread := range []pathfind.Spread{pathfind.PerPath, pathfind.PerHop} {
			rng := rand.New(rand.NewPCG(uint64(f.NumNodes()), uint64(spread)))
			e, ix := pathfind.NewEqualCost(f, spread), newIndex(f, Config{}.withDefaults())
			// As many flows as take two to walk over, among few enough senders that from some of them nothing passes most arcs.
			switches := f.Switches()
			rng.Shuffle(len(switches), func(i, j int) { switches[i], switches[j] = switches[j], switches[i] })
			loose := make([]looseFlow, 0, 30000)
			for len(loose) < cap(loose) {
				from, to := switches[rng.IntN(len(switches)*4/5)], switches[rng.IntN(len(switches))]
				if from != to {
					loose = append(loose, newLooseFlow(from, to, 1+rng.IntN(300)))
				}
			}
			s := newSetTable(ix, e, loose)
			kept := s.lists
			s.lists = make([][]pass, len(kept))
			s.listAll()
			same := func(a, b []pass) bool {
				return slices.EqualFunc(a, b, func(x, y pass) bool { return x.pair == y.pair && cmp.Compare(x.share, y.share) == 0 })
			}
			close := func(a, b []pass) bool {
				return slices.EqualFunc(a, b, func(x, y pass) bool { return x.pair == y.pair && x.share-y.share < 1e-6 && y.share-x.share < 1e-6 })
			}
			used := 0
			for slot := range kept {
				u, a := graphs.NodeID(slot-int(ix.links)), graphs.ArcID(graphs.None)
				if slot < int(ix.links) {
					u, a = f.Tail(graphs.ArcID(slot)), graphs.ArcID(slot)
				}
				if !same(kept[slot], s.lists[slot]) {
					t.Errorf("spread %d: slot %d: kept %v, listed %v", spread, slot, kept[slot], s.lists[slot])
				}
				if alone := s.through(u, a); !close(kept[slot], alone) {
					t.Errorf("spread %d: slot %d: kept %v, found alone %v", spread, slot, kept[slot], alone)
				}
				used += len(kept[slot])
			}
			if used == 0 || used != s.passing {
				t.Errorf("%d passes, counted as %d", used, s.passing)
			}
		}
	}
}
