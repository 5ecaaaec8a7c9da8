package localize

import (
	"math"
	"math/rand/v2"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
)

// TestTwins: components that look alike gain alike, whatever is loaded, and a pair of which either is one ends with the same rates. On a fat-tree most have others
// that look like them.
func TestTwins(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 6})
	if err != nil {
		t.Fatal(err)
	}
	e, rng := pathfind.NewEqualCost(f, pathfind.PerPath), rand.New(rand.NewPCG(3, 't'))
	hosts := f.Hosts()
	between := func() (a graphs.ArcID) {
		for a = 0; f.IsHostArc(a); {
			a = graphs.ArcID(rng.IntN(f.NumArcs()))
		}
		return a
	}
	faults := [...]graphs.ArcID{between(), between(), between()} // of the last nothing is lost
	var obs []Observation
	for flow := range 4000 {
		src, dst := hosts[rng.IntN(len(hosts))], hosts[rng.IntN(len(hosts))]
		up, down := f.Out(src)[0], f.Out(dst)[0].Reverse()
		o := Observation{Path: []graphs.ArcID{up, down}, From: f.Head(up), To: f.Tail(down), Src: src, Dst: dst, Responder: graphs.None, Sent: 1 + rng.IntN(100), Flow: flow}
		if o.From == o.To {
			continue
		}
		for _, a := range faults[:2] {
			if share := e.Reach(o.From, f.Tail(a), o.To) * e.Step(a, o.To); rng.Float64() < share {
				for range o.Sent {
					o.Lost += int(rng.Float64() + 0.002)
				}
			}
		}
		obs = append(obs, o)
	}
	cfg := Config{Paths: e}.withDefaults()
	ix := newIndex(f, cfg)
	s := newSearch(newModel(ix, compile(ix, obs, cfg), cfg))
	close := func(a, b float64) bool { return math.Abs(a-b) < 1e-6*max(1, math.Abs(a)) }
	for n := range len(faults) + 1 {
		comps, rates := []int32{int32(faults[0]), int32(faults[1]), int32(faults[2])}[:n], []float64{0.03, 0.02, 0.005}[:n]
		s.load(comps, rates)
		like := map[uint64]int32{}
		looked := 0
		for _, c := range s.candidates {
			if s.excess[c] > 0 {
				continue
			}
			looked++
			twin := s.twin(c)
			first, ok := like[twin]
			if !ok {
				like[twin] = c
				continue
			}
			for _, h := range s.bad {
				if a, b := s.gain(first, h), s.gain(c, h); !close(a, b) {
					t.Errorf("%d faults: components %d and %d look alike, and gain %g and %g at %g", n, first, c, a, b, h)
				}
			}
			if n == 0 {
				continue
			}
			x := addition{comp: comps[0], rate: rates[0]}
			a, b := s.pair(x, addition{comp: first, rate: 0.01}), s.pair(x, addition{comp: c, rate: 0.01})
			if !close(a.rates[0], b.rates[0]) || !close(a.rates[1], b.rates[1]) || !close(a.score, b.score) {
				t.Errorf("%d faults: of %d comes %v, of %d, which looks alike, %v", n, first, a, c, b)
			}
		}
		if len(like) > looked*3/4 {
			t.Errorf("%d faults: %d components look in %d ways", n, looked, len(like))
		}
	}
}

// TestTwinInPart: of a switch that is bad in part, where ways are not known, it is said that it may be the other one of its pod, whatever hypothesis says so with most weight: that
// may be one whose places were not looked at, since it is likely only with what may be faulty besides.
func TestTwinInPart(t *testing.T) {
	f := fatTree(t, 4)
	e, rng := pathfind.NewEqualCost(f, pathfind.PerHop), rand.New(rand.NewPCG(1, 't'))
	hosts := f.Hosts()
	agg := f.Head(f.Out(f.Head(f.Out(hosts[0])[0]))[0])
	bad := map[graphs.ArcID]bool{}
	for _, a := range f.Out(agg) {
		bad[a], bad[a.Reverse()] = true, rng.IntN(2) == 0
	}
	var obs []Observation
	for flow := range 700 {
		src, dst := hosts[rng.IntN(len(hosts))], hosts[rng.IntN(len(hosts))]
		up, down := f.Out(src)[0], f.Out(dst)[0].Reverse()
		o := Observation{Path: []graphs.ArcID{up, down}, From: f.Head(up), To: f.Tail(down), Src: src, Dst: dst, Responder: graphs.None, Sent: 10, Flow: flow}
		for at := o.From; at != o.To; {
			r := rng.Float64()
			for _, a := range f.Out(at) {
				if r -= e.Step(a, o.To); r < 0 {
					for range o.Sent - o.Lost {
						if bad[a] {
							o.Lost += int(rng.Float64() + 0.2)
						}
					}
					at = f.Head(a)
					break
				}
			}
		}
		if o.From != o.To {
			obs = append(obs, o)
		}
	}
	cfg := Config{Paths: e}.withDefaults()
	ix := newIndex(f, cfg)
	s := newSearch(newModel(ix, compile(ix, obs, cfg), cfg))
	s.run()
	for i := range s.hyps {
		for j := range s.hyps[i].devices {
			s.hyps[i].devices[j].places = nil
		}
	}
	r := s.result()
	if x := r.Suspects[0]; x.Kind != Node || x.Probability < 0.9 || len(x.Class) != 2 {
		t.Errorf("told is %+v", x)
	}
}

// TestCrowding: two of four spines that look alike can be chosen in six ways, not in sixteen, three of them in four, and all in one.
func TestCrowding(t *testing.T) {
	m := model{twins: []float64{0, math.Log(4), math.Log(4), math.Log(4), math.Log(4), math.Log(2)}, looks: []int32{0, 1, 1, 1, 1, 5}}
	for _, c := range []struct {
		comps []int32
		ways  float64
	}{{[]int32{0}, 1}, {[]int32{1}, 4}, {[]int32{0, 1, 5}, 8}, {[]int32{1, 3}, 6}, {[]int32{0, 1, 2, 4}, 4}, {[]int32{1, 2, 3, 4, 5}, 2}} {
		ways := 0.0
		for _, x := range c.comps {
			ways += m.twins[x]
		}
		if ways = math.Exp(ways - m.crowding(c.comps)); math.Abs(ways-c.ways) > 1e-6 {
			t.Errorf("%v can be chosen in %g ways, not in %g", c.comps, ways, c.ways)
		}
	}
}
