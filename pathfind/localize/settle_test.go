package localize

import (
	"math"
	"slices"
	"testing"

	"whichlink/graphs"
)

// TestSettle: all arcs of a bad switch, each at a rate of its own, are fitted together at least as well as one after the other, and what is told by
// hazards alone is what comes of loading them. What comes in at a switch without hosts goes out, so that nothing tells which of both lose it.
func TestSettle(t *testing.T) {
	random := newWorld(randomRegular(t, 30, 6, 3), 1)
	hosts := random.Head(random.Out(random.Hosts()[0])[0])
	t.Run("with hosts", func(t *testing.T) { settles(t, random, hosts) })
	clos := newWorld(fatTree(t, 8), 1)
	for _, n := range clos.Switches() {
		if !slices.ContainsFunc(clos.Out(n), clos.IsHostArc) {
			t.Run("in transit", func(t *testing.T) { settles(t, clos, n) })
			break
		}
	}
}

func settles(t *testing.T, w *world, at graphs.NodeID) {
	w.background = 5e-5
	var comps []int32
	var rates []float64
	for i, a := range w.Out(at) {
		if w.IsHostArc(a) {
			continue // what comes in and out of a host cannot be told apart by echoes
		}
		w.faults[Cause{Arc, int32(a)}], w.faults[Cause{Arc, int32(a.Reverse())}] = 0.002+0.0015*float64(i), 0.02-0.0015*float64(i)
		comps, rates = append(comps, int32(a), int32(a.Reverse())), append(rates, 0.01, 0.01)
	}
	w.mesh(6000, 150)
	s := w.search(Config{OneWay: true})
	s.setBackground(w.background)
	s.load(comps, rates)
	s.feel()
	for _, c := range s.candidates {
		for i, h := range s.bad {
			if g := s.gain(c, h); s.excess[c] == 0 && g > s.mostGain(c)+1e-9 {
				t.Errorf("component %d gains %.3f at rate %d, more than %.3f", c, g, i, s.mostGain(c))
			}
		}
	}
	for range 30 {
		for i, c := range comps {
			rates[i], _, _ = s.again(c)
		}
	}
	swept := s.sum

	for i := range rates {
		rates[i] = 0.01
	}
	s.load(comps, rates)
	s.occam = make([]float64, len(comps))
	if !s.settle(comps, rates) {
		t.Fatal("the rates cannot be fitted together")
	}
	for i, c := range comps {
		s.try(c, rates[i])
	}
	told := s.triedSum()
	for i, c := range comps {
		s.try(c, 0.01)
		if _, occam, _ := s.again(c); !(math.Abs(occam-s.occam[i]) < 1) && !math.IsNaN(s.occam[i]) {
			t.Errorf("component %d pays %.2f for its freedom, %.2f when it is fitted by itself", c, s.occam[i], occam)
		}
		s.shift(c, 0.01)
	}
	s.tries = nil
	s.load(comps, rates)
	if math.Abs(told-s.sum) > 1e-6 {
		t.Errorf("hazards tell a log-likelihood of %.6f, loaded it is %.6f", told, s.sum)
	}
	if s.sum < swept-0.1 {
		t.Errorf("together the rates reach %.2f, one after the other %.2f", s.sum, swept)
	}
}
