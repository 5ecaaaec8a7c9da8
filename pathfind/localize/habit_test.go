package localize

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
)

var (
	ownWorlds = flag.Int("own", 24, "random worlds in which flows lose packets by themselves")
	ownFirst  = flag.Uint64("own-first", 320, "the seed of the first of them")
	ownKnown  = flag.Bool("own-known", false, "tell how many flows do, and how much they lose: nobody can do better")
)

// withOwnLosses lets flows of a world lose packets by themselves, there and back each for itself: a share of them that is drawn between one in 330
// and one in 5.5, each up to a half, a tenth or a hundredth of its packets, as it is drawn for the whole world, and one in twenty of them all.
func (w *world) withOwnLosses() (share, most float64) {
	share = 0.003 * math.Pow(60, w.rng.Float64())
	most = [...]float64{0.5, 0.1, 0.01}[w.rng.IntN(3)]
	for i := range w.obs {
		o := &w.obs[i]
		switch {
		case o.Sent == 0 || o.Responder != graphs.None || w.rng.Float64() >= share:
		case w.rng.IntN(20) == 0:
			o.Lost = o.Sent
		default:
			o.Lost += w.draw(o.Sent-o.Lost, -math.Log1p(-most*w.rng.Float64()))
		}
	}
	return share, most
}

// solveKnowing solves a world with own losses by the habits that these were drawn with.
func (w *world) solveKnowing(share, most float64) *Result {
	s := w.search(Config{})
	drawn := map[float64]shape{0.5: {0.8, 0.2}, 0.1: {0.1, 0.9}, 0.01: {0.001, 0.099, 0.9}}[most]
	h := habits{rate: bySort{share, share}, total: 0.05, shape: [2]shape{drawn, drawn}}
	s.setHabits(&h)
	s.explore()
	s.conclude()
	return s.result()
}

// TestOwnLosses: in small worlds where flows lose packets by themselves, with faults besides, not many more innocents are named than the probabilities say.
func TestOwnLosses(t *testing.T) {
	t.Parallel()
	var all reliability
	sorts := map[string]*checked{}
	for seed := *ownFirst; seed < *ownFirst+uint64(*ownWorlds); seed++ {
		w := randomWorld(t, seed)
		share, most := w.withOwnLosses()
		r := w.solve()
		if *ownKnown {
			r = w.solveKnowing(share, most)
		}
		all.faults += len(w.faults)
		told := map[Cause]bool{}
		for _, s := range r.Suspects {
			ok := slices.ContainsFunc(s.Class, func(c Cause) bool { return w.faults[c] > 0 })
			all.add(s.Probability, ok)
			if s.Probability <= 0.5 {
				continue
			}
			for _, c := range s.Class {
				told[c] = true
			}
			band := 0.003 * math.Pow(60, math.Floor(4*math.Log(share/0.003)/math.Log(60))/4)
			for _, sort := range [...]string{"all", fmt.Sprint("lose up to ", most), fmt.Sprintf("share from %.3f on", band)} {
				if sorts[sort] == nil {
					sorts[sort] = &checked{}
				}
				sorts[sort].add(s.Probability, ok)
			}
		}
		for c := range w.faults {
			if told[c] {
				all.found++
			}
		}
	}
	var table strings.Builder
	for _, sort := range slices.Sorted(maps.Keys(sorts)) {
		n := sorts[sort]
		fmt.Fprintf(&table, "%-20s named %v: innocents %d where %.1f are expected\n", sort, n, n.n-n.true, float64(n.n)-n.said)
	}
	t.Logf("%d worlds\n%v%v", *ownWorlds, &all, &table)
	n := sorts["all"]
	if expected := float64(n.n) - n.said; float64(n.n-n.true) > 1.5*expected+2*math.Sqrt(expected) {
		t.Errorf("%d innocents where %.1f are expected", n.n-n.true, expected)
	}
	if 10*all.found < 7*all.faults {
		t.Errorf("%d of %d faults named", all.found, all.faults)
	}
}

// TestMeet: what the link to a host loses of flows one way, as where it goes down for moments, is not taken for losses of these flows' own, however badly one
// rate of its loss explains that, where it is known that flows lose their packets at the same moments.
func TestMeet(t *testing.T) {
	for _, flows := range []int{60, 100, 200, 400} {
		for seed := range uint64(4) {
			w := newWorld(leafSpine(t, 2, 4, 4), seed)
			w.mesh(flows, 240)
			host := w.Hosts()[5]
			access := w.Out(host)[0].Link()
			for i := range w.obs {
				o := &w.obs[i]
				switch first, last := o.Path[0], o.Path[len(o.Path)-1]; {
				case first.Link() != access && last.Link() != access:
				case i%2 == 0: // there
					o.Lost, o.Bursts = 20, 2
				default: // and back
					o.Sent -= 20
				}
			}
			r := Solve(w.Fabric, w.obs, Config{Independent: true})
			if len(r.Suspects) == 0 || r.Suspects[0].Probability < 0.9 {
				t.Errorf("%d flows, %d: healthy with %.2f, suspects %v", flows, seed, r.Healthy, r.Suspects)
			}
			for _, s := range r.Suspects {
				if s.Probability > 0.5 && s.Cause != (Cause{Host, int32(host)}) && s.Cause != (Cause{Link, int32(access)}) &&
					(s.Kind != Arc || graphs.ArcID(s.ID).Link() != access) {
					t.Errorf("%d flows, %d: %v is named", flows, seed, s.Cause)
				}
			}
		}
	}
}
