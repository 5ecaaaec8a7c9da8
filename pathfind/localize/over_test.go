package localize

import (
	"math/rand/v2"
	"testing"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// TestBounds: what a component may gain by flows that lost packets is never more than the bound on it, whether ways are known or not, flows have losses of their
// own, or some of their losses are explained already. Nor is the bound so high that it tells nothing: most components are surely not worth it.
func TestBounds(t *testing.T) {
	f := randomRegular(t, 20, 4, 1)
	w, rng := newWorld(f, 5), rand.New(rand.NewPCG(2, 'o'))
	e := pathfind.NewEqualCost(f, pathfind.PerHop)
	hosts := f.Hosts()
	var faults [2]int32
	for i := range faults {
		for f.IsHostArc(graphs.ArcID(faults[i])) {
			faults[i] = rng.Int32N(int32(f.NumArcs()))
		}
	}
	w.faults[Cause{Arc, faults[0]}], w.faults[Cause{Arc, faults[1]}] = 0.02, 0.003
	var obs []Observation
	for flow := range 2000 {
		src, dst := hosts[rng.IntN(len(hosts))], hosts[rng.IntN(len(hosts))]
		path := w.path(src, dst)
		if len(path) < 3 {
			continue
		}
		loss := missed(w.hazard(path))
		if rng.IntN(100) == 0 {
			loss += 0.2 * rng.Float64()
		}
		o := Observation{Path: path, Src: src, Dst: dst, Responder: graphs.None, Flow: flow, Sent: 1 + rng.IntN(300)}
		for range o.Sent {
			if rng.Float64() < loss {
				o.Lost++
			}
		}
		if flow%3 > 0 {
			o.Path, o.From, o.To = []graphs.ArcID{path[0], path[len(path)-1]}, f.Head(path[0]), f.Tail(path[len(path)-1])
		}
		obs = append(obs, o)
	}
	cfg := Config{Paths: e}.withDefaults()
	ix := newIndex(f, cfg)
	s := newSearch(newModel(ix, compile(ix, obs, cfg), cfg))
	h := unknownHabits(cfg)
	looked, told := 0, 0
	for round := range 2 {
		for n := range 3 {
			s.setBackground(2e-5)
			s.load(faults[:n], []float64{0.02, 0.003}[:n])
			for _, c := range s.candidates {
				if s.excess[c] > 0 {
					continue
				}
				var over, most [grid]float64
				s.overGain(c, &s.overBad, -dismal, over[:])
				s.overTerms(c, &s.overBad, most[:])
				useful := false
				for i, rate := range s.bad {
					if g := s.gainOfTerms(c, rate) + rate*s.ev.exposure[c]; g > most[i]+1e-6 && g > -dismal {
						t.Errorf("round %d, %d faults: component %d gains %.3f at %.2g, at most %.3f", round, n, c, g, rate, most[i])
					}
					useful = useful || over[i] > 10
				}
				if looked++; !useful {
					told++
				}
			}
		}
		if !s.learn(&h, aboutUsual(s.cfg), s.strangers()) {
			t.Fatal("too few flows have losses of their own")
		}
		s.setHabits(&h)
		s.forget()
	}
	if told < looked*3/4 {
		t.Errorf("%d of %d components are surely not worth it", told, looked)
	}
}

// TestRise: several hazards at once are the same, to the bit, as one after the other.
func TestRise(t *testing.T) {
	w := newWorld(fatTree(t, 4), 3)
	w.fault(Arc, 5, 0.01)
	w.mesh(2000, 200)
	s := w.search(Config{OneWay: true})
	s.load([]int32{5}, []float64{0.01})
	if s.ev.flows == 0 {
		t.Fatal("nothing was lost")
	}
	for i := range s.ev.flows {
		x := &s.ev.terms[i]
		for _, times := range [...]float64{1, 2} {
			by, most := times/s.hazard[x.first], 1.0
			got, want := [grid]float64{}, [grid]float64{}
			for j := range want {
				got[j] = 1 + float64(j)/8
				want[j] = got[j] * x.riseAtMost(&s.overBad.at[j], by, times, -1)
				most = max(most, want[j])
			}
			if top := x.rise(s.overBad.at, by, times, got[:], 1); got != want || top != most {
				t.Fatalf("term %d, times %v: %v, at most %v; want %v, %v", i, times, got, top, want, most)
			}
		}
	}
}
