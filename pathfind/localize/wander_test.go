package localize

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// TestWander: a chain meets each component as often as it is probable. Where at most two are faulty, that can be summed up.
func TestWander(t *testing.T) {
	f := leafSpine(t, 3, 2, 1)
	e, rng := pathfind.NewEqualCost(f, pathfind.PerPath), rand.New(rand.NewPCG(5, 'w'))
	hosts := f.Hosts()
	bad := slices.Concat(f.Out(f.Head(f.Out(hosts[0])[0])), f.Out(f.Head(f.Out(hosts[1])[0])))
	var obs []Observation
	for flow := range 120 {
		src, dst := hosts[rng.IntN(len(hosts))], hosts[rng.IntN(len(hosts))]
		if src == dst {
			continue
		}
		up, down := f.Out(src)[0], f.Out(dst)[0].Reverse()
		o := Observation{Path: []graphs.ArcID{up, down}, From: f.Head(up), To: f.Tail(down), Src: src, Dst: dst, Responder: graphs.None, Sent: 40, Flow: flow}
		for _, a := range bad {
			if rng.Float64() < e.Reach(o.From, f.Tail(a), o.To)*e.Step(a, o.To) {
				for range o.Sent {
					o.Lost += int(rng.Float64() + 0.012)
				}
			}
		}
		obs = append(obs, o)
	}
	cfg := Config{Paths: e, OneWay: true, MaxFaults: 2}.withDefaults()
	ix := newIndex(f, cfg)
	s := newSearch(newModel(ix, compile(ix, obs, cfg), cfg))
	s.run()
	h := s.hyps[s.likeliest()]
	s.recall(&h)

	const points = 24
	rates, width := make([]float64, points), math.Log(mostHazard/s.bad[0])/points
	for i := range rates {
		rates[i] = math.Log(s.bad[0]) + (float64(i)+0.5)*width
	}
	w := &wanderer{search: s}
	want, all, base := map[int32]float64{}, 0.0, s.sum
	sumUp := func(comps []int32) {
		sum := 0.0
		var each func(logs []float64)
		each = func(logs []float64) {
			if len(logs) == len(comps) {
				hazards := make([]float64, len(logs))
				for i, u := range logs {
					if hazards[i] = math.Exp(u); hazards[i] < s.bad[0] {
						return
					}
				}
				s.load(comps, hazards)
				sum += math.Exp(s.sum - base + w.logPriorOf(comps, logs) + float64(len(logs))*math.Log(width))
				return
			}
			for _, u := range rates {
				each(append(slices.Clone(logs), u))
			}
		}
		each(nil)
		all += sum
		for _, c := range comps {
			want[c] += sum
		}
	}
	sumUp(nil)
	for i, c := range s.candidates {
		sumUp([]int32{c})
		for _, d := range s.candidates[:i] {
			sumUp([]int32{c, d})
		}
	}
	draws := s.wander(60000)
	far := 0
	for _, c := range s.candidates {
		n := 0.0
		for _, d := range draws {
			if slices.Contains(d.comps, c) {
				n++
			}
		}
		got, want := n/float64(len(draws)), want[c]/all
		if want > 0.02 && want < 0.98 {
			far++
		}
		if math.Abs(got-want) > 0.03 {
			t.Errorf("%v has %.3f, not %.3f", ix.cause(c), got, want)
		}
	}
	if far < 6 {
		t.Errorf("only %d components are in doubt", far)
	}
}
