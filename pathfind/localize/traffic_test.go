package localize_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// lossyFlows draws flows between hosts, each of which is an end so often as its weights tell, and returns those that lost packets.
func lossyFlows(f *graphs.Fabric, e *pathfind.EqualCost, rng *rand.Rand, flows int, sends, gets []float64, loss map[graphs.ArcID]float64, background float64) []localize.Observation {
	hosts := f.Hosts()
	draw := func(weights []float64) int {
		x := rng.Float64() * weights[len(weights)-1]
		i, _ := slices.BinarySearch(weights, x)
		return min(i, len(weights)-1)
	}
	for _, w := range [...][]float64{sends, gets} {
		for i := 1; i < len(w); i++ {
			w[i] += w[i-1]
		}
	}
	var obs []localize.Observation
	for flow := range flows {
		src, dst := hosts[draw(sends)], hosts[draw(gets)]
		if src == dst {
			continue
		}
		up, down := f.Out(src)[0], f.Out(dst)[0].Reverse()
		path := append([]graphs.ArcID{up}, setFlow(f, e, rng, f.Head(up), f.Tail(down))...)
		path = append(path, down)
		pass := 1.0
		for _, a := range path {
			pass *= (1 - background) * (1 - loss[a])
		}
		n, lost := int(20*math.Exp(3*rng.Float64())), 0
		for range n {
			if rng.Float64() >= pass {
				lost++
			}
		}
		if lost > 0 {
			obs = append(obs, localize.Observation{Path: path, Src: src, Dst: dst, Responder: graphs.None, Sent: n, Lost: lost, Flow: flow})
		}
	}
	return obs
}

var (
	unevenWorlds = flag.Uint64("uneven", 8, "random worlds of each fabric and kind of traffic in which only flows that lost packets are known")
	unevenFirst  = flag.Uint64("uneven-first", 0, "the seed of the first of them")
)

// TestOnlyLossyFlows: where only flows that lost packets are known, and where others may have gone, faults are told by where those went, if traffic is even and if it is not.
// Hosts with much traffic, and what is at them, are hardly ever told above .9.
func TestOnlyLossyFlows(t *testing.T) {
	clos, err := generate.FatTree(generate.FatTreeConfig{K: 6})
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 8, Spines: 4, Hosts: 6})
	if err != nil {
		t.Fatal(err)
	}
	random, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 40, Degree: 6, Hosts: 3, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		weights func(rng *rand.Rand, host, rack bool) (sends, gets float64)
		find    int  // of ten faults, at least
		sure    int  // innocents above .9 in a hundred worlds, at most
		uneven  bool // whether that is to be told in a third of the worlds, or that it is not
	}{
		{"even", func(*rand.Rand, bool, bool) (float64, float64) { return 1, 1 }, 9, 0, false},
		{"a host of four times the traffic", func(_ *rand.Rand, host, _ bool) (float64, float64) { return more(host, 4), more(host, 4) }, 9, 0, true},
		{"a host of fifteen times the traffic", func(_ *rand.Rand, host, _ bool) (float64, float64) { return more(host, 15), more(host, 15) }, 9, 5, true},
		{"a host that sends fifteen times as much", func(_ *rand.Rand, host, _ bool) (float64, float64) { return more(host, 15), 1 }, 9, 0, true},
		{"a rack of twelve times the traffic", func(_ *rand.Rand, _, rack bool) (float64, float64) { return more(rack, 12), more(rack, 12) }, 8, 0, true},
		{"Pareto", func(rng *rand.Rand, _, _ bool) (float64, float64) { return 1 / rng.Float64(), 1 / rng.Float64() }, 8, 0, true},
	} {
		var all struct{ worlds, faults, found, sure, uneven int }
		for _, f := range []*graphs.Fabric{clos, leaves, random} {
			e := pathfind.NewEqualCost(f, pathfind.PerPath)
			faults, found, sure := 0, 0, 0
			for seed := *unevenFirst; seed < *unevenFirst+*unevenWorlds; seed++ {
				rng := rand.New(rand.NewPCG(seed, 5))
				hosts := f.Hosts()
				busy := hosts[rng.IntN(len(hosts))]
				var sends, gets []float64
				for _, h := range hosts {
					x, y := c.weights(rng, h == busy, f.Head(f.Out(h)[0]) == f.Head(f.Out(busy)[0]))
					sends, gets = append(sends, x), append(gets, y)
				}
				loss := map[graphs.ArcID]float64{}
				for range rng.IntN(4) {
					loss[graphs.ArcID(rng.IntN(f.NumArcs()))] = 0.002 * math.Exp(4*rng.Float64())
				}
				faults += len(loss)
				obs := lossyFlows(f, e, rng, 6000, sends, gets, loss, []float64{0, 1e-5, 5e-5, 1e-4}[seed%4])
				r := localize.Solve(f, obs, localize.Config{Selected: true, Paths: e})
				if r.Uneven > 0.5 == c.uneven {
					all.uneven++
				}
				for _, x := range r.Suspects {
					right := slices.ContainsFunc(x.Class, func(c localize.Cause) bool { return c.Kind == localize.Arc && loss[graphs.ArcID(c.ID)] > 0 })
					switch {
					case right && x.Probability > 0.5:
						found++
					case !right && x.Probability > 0.9:
						sure++
					}
				}
			}
			t.Logf("%s, %d switches: %d of %d found, %d innocents above .9", c.name, len(f.Switches()), found, faults, sure)
			all.worlds, all.faults, all.found, all.sure = all.worlds+int(*unevenWorlds), all.faults+faults, all.found+found, all.sure+sure
		}
		// In some too few flows lose packets by no fault for traffic to be known.
		t.Logf("%s: in %d of %d worlds traffic is said to be as it is", c.name, all.uneven, all.worlds)
		if 10*all.found < c.find*all.faults || 100*all.sure > c.sure*all.worlds || 3*all.uneven < all.worlds {
			t.Errorf("%s: %d of %d found, %d innocents above .9 in %d worlds", c.name, all.found, all.faults, all.sure, all.worlds)
		}
	}
}

// TestBusyOrBad: where a rack has much of the traffic, hosts elsewhere may be busy, too. An arc of a host that loses half a percent is told all the same, by how much the flows that cross it lose.
func TestBusyOrBad(t *testing.T) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 40, Degree: 6, Hosts: 4, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	e := pathfind.NewEqualCost(f, pathfind.PerPath)
	found, sure := 0, 0
	const worlds = 16
	for seed := range uint64(worlds) {
		rng := rand.New(rand.NewPCG(seed, 7))
		hosts := f.Hosts()
		busy := f.Head(f.Out(hosts[rng.IntN(len(hosts))])[0])
		var sends, gets []float64
		for _, h := range hosts {
			x := more(f.Head(f.Out(h)[0]) == busy, 20)
			sends, gets = append(sends, x), append(gets, x)
		}
		bad := f.Out(hosts[rng.IntN(len(hosts))])[0]
		if seed%2 == 1 {
			bad = bad.Reverse()
		}
		obs := lossyFlows(f, e, rng, 12000, sends, gets, map[graphs.ArcID]float64{bad: 0.005}, 1e-4)
		for _, x := range localize.Solve(f, obs, localize.Config{Selected: true, Paths: e}).Suspects {
			switch right := x.Cause == (localize.Cause{Kind: localize.Arc, ID: int32(bad)}); {
			case right && x.Probability > 0.5:
				found++
			case !right && x.Probability > 0.9:
				sure++
			}
		}
	}
	if found < worlds-1 || sure > 0 {
		t.Errorf("%d of %d found, %d innocents above .9", found, worlds, sure)
	}
	t.Logf("%d of %d found, %d innocents above .9", found, worlds, sure)
}

// more is how much traffic one has that may have more than others.
func more(has bool, times float64) float64 {
	if has {
		return times
	}
	return 1
}

// FuzzOnlyLossyFlows: whatever flows lost packets, probabilities are ones, and the answer does not hang on the order of the flows.
func FuzzOnlyLossyFlows(f *testing.F) {
	f.Add([]byte{0, 1, 2, 0, 9, 1, 4, 1, 3, 30, 5, 60, 7, 0, 8, 8, 8, 200, 3, 4, 0, 1, 2, 2, 9, 1})
	f.Add([]byte{1, 5, 9, 0, 17, 1, 2, 1, 255, 5, 6, 0, 0, 250, 1, 77, 13, 4, 9, 9, 9, 40, 6, 1, 4, 4})
	fabrics := setFabrics(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() int {
			if len(data) == 0 {
				return 0
			}
			x := int(data[0])
			data = data[1:]
			return x
		}
		fabric := fabrics[next()%2]
		e := pathfind.NewEqualCost(fabric, pathfind.PerHop)
		hosts, switches := fabric.Hosts(), fabric.Switches()
		var obs []localize.Observation
		for len(data) > 0 && len(obs) < 80 {
			o := localize.Observation{Src: graphs.None, Dst: graphs.None, Responder: graphs.None, Flow: len(obs)}
			src, dst := hosts[next()%len(hosts)], hosts[next()%len(hosts)]
			from, to := fabric.Head(fabric.Out(src)[0]), fabric.Head(fabric.Out(dst)[0])
			kind := next()
			if kind&1 != 0 {
				to = switches[next()%len(switches)]
			} else if kind&2 != 0 {
				o.Src, o.Dst = src, dst
			}
			o.Path = append([]graphs.ArcID{fabric.Out(src)[0]}, setFlow(fabric, e, rand.New(rand.NewPCG(uint64(next()), 0)), from, to)...)
			if kind&1 == 0 {
				o.Path = append(o.Path, fabric.Out(dst)[0].Reverse())
			}
			o.Sent = 1 + next()<<(next()%40)
			o.Lost = min(1+next()%8<<(next()%32), o.Sent)
			obs = append(obs, o)
		}
		sane(t, fabric, obs, localize.Config{Selected: true, Paths: e})
	})
}
