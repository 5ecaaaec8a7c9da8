package localize

import (
	"math"
	"testing"
)

// TestHabits: where flows lose packets by themselves, two of them that meet are no fault of where they do, and a fault beside them is still found.
func TestHabits(t *testing.T) {
	const worlds = 24
	found, innocent := 0, 0
	for seed := range uint64(worlds) {
		w := newWorld(randomRegular(t, 100, 10, 1), seed)
		bad := w.fabricArc()
		w.fault(Arc, int32(bad), 0.02)
		w.mesh(1500, 1000)
		for i := range w.obs {
			if o := &w.obs[i]; w.rng.Float64() < 0.02 {
				o.Lost += w.draw(o.Sent-o.Lost, 0.01*w.rng.Float64())
			}
		}
		for _, x := range w.solve().Suspects {
			switch {
			case x.Probability <= 0.5:
			case x.Cause == Cause{Arc, int32(bad)}:
				found++
			default:
				innocent++
			}
		}
	}
	if found < worlds-2 || innocent > 3 {
		t.Errorf("%d of %d found, %d innocents", found, worlds, innocent)
	}
}

// TestLearn: what a few hundred packets of each flow tell of how many lose some by themselves, and how many of these all, is true, whatever they lose.
func TestLearn(t *testing.T) {
	for _, c := range []struct{ share, most, total float64 }{{0.005, 0.01, 0}, {0.005, 0.1, 0}, {0.02, 0.01, 0}, {0.02, 0.1, 0.5}} {
		w := newWorld(randomRegular(t, 200, 16, 1), 1)
		w.background = 3e-6
		w.mesh(10000, 200)
		for i := range w.obs {
			if o := &w.obs[i]; w.rng.Float64() < c.share {
				if w.rng.Float64() < c.total {
					o.Lost = o.Sent
				}
				o.Lost += w.draw(o.Sent-o.Lost, c.most*w.rng.Float64())
			}
		}
		s := w.search(Config{})
		h := unknownHabits(s.cfg)
		for range aboutUsual(s.cfg).lessons {
			s.forget()
			s.refit(&s.hyps[s.remember(nil, nil, 0)])
			if !s.learn(&h, aboutUsual(s.cfg), s.strangers()) {
				t.Fatalf("%v of the flows, up to %v: nothing learnt", c.share, c.most)
			}
			s.setHabits(&h)
		}
		if h.rate[0] < 0.6*c.share || h.rate[0] > 1.5*c.share || math.Abs(h.total-c.total) > 0.15 {
			t.Errorf("%v of the flows, up to %v, and %v of these all: learnt %v, of kinds %v, and %v", c.share, c.most, c.total, h.rate, h.shape, h.total)
		}
	}
}

// TestOwnLikely: how likely a flow loses so many packets by itself sums to one over all that it may lose, and is told of flows of many packets, too.
func TestOwnLikely(t *testing.T) {
	for _, own := range []Own{{}, {total: 0.2, shape: [...]float64{0.5, 0, 0.5, 0}}} {
		const n = 20
		all := 0.0
		for lost := range n + 1 {
			ways, _ := math.Lgamma(n + 1)
			a, _ := math.Lgamma(float64(lost + 1))
			b, _ := math.Lgamma(float64(n - lost + 1))
			all += math.Exp(ways - a - b + own.Likely(float64(lost), float64(n-lost)))
		}
		if math.Abs(all-1) > 1e-4 {
			t.Errorf("%+v: all that a flow may lose has probability %g", own, all)
		}
		if got := own.Likely(1e5, 1e5) / (-2e5 * math.Ln2); math.Abs(got-1) > 0.01 {
			t.Errorf("%+v: half of very many packets are lost with %g of the nats that a coin would take", own, got)
		}
	}
}

// TestCarriedFlows: one flow of the fabric's own traffic that lost a few packets does not convict what it crossed; several that lost as many on one arc do.
func TestCarriedFlows(t *testing.T) {
	const sure = 0.95
	for seed := range uint64(6) {
		for _, sick := range []bool{false, true} {
			w := newWorld(randomRegular(t, 16, 4, 1), seed)
			bad, flows := Cause{Arc, int32(w.fabricArc())}, 6
			if sick {
				w.faults[bad], flows = 0.004, 80
			}
			w.mesh(flows, 2000)
			for i := range w.obs {
				w.obs[i].Carried = true
			}
			if !sick {
				w.obs[0].Lost = 8
			}
			found := false
			for _, x := range w.solve().Suspects {
				if found = found || x.Cause == bad && x.Probability > sure; x.Cause != bad && x.Probability > sure {
					t.Errorf("seed %d, an arc loses packets: %v: %v is named with %.2f", seed, sick, x.Cause, x.Probability)
				}
			}
			if found != sick {
				t.Errorf("seed %d: the arc is named: %v; it loses packets: %v", seed, found, sick)
			}
		}
	}
}
