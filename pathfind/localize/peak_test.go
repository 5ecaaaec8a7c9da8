package localize

import (
	"math"
	"slices"
	"testing"
)

// supposedHealthy returns a search that has nothing faulty loaded.
func supposedHealthy(w *world) *search {
	s := w.search(Config{OneWay: true})
	s.refit(&hypothesis{background: w.background})
	return s
}

// TestBlunt: what a component with few losses is fitted to is what an integral in steps of a hundredth finds, and the rate told is hardly worse than the best.
func TestBlunt(t *testing.T) {
	fitted := 0
	for seed := range uint64(8) {
		w := newWorld(fatTree(t, 4), seed)
		w.background = 2e-4
		w.faults[Cause{Arc, int32(w.fabricArc())}] = 0.004
		w.mesh(600, 60)
		s := supposedHealthy(w)
		for _, c := range s.candidates {
			rate, losses, bend := s.guess(c, s.some[few/2])
			f, ok := s.blunt(c, rate, losses, bend)
			if !ok {
				continue
			}
			fitted++
			var u, g []float64
			peak := math.Inf(-1)
			for x := log(s.least(c)); x < log(mostHazard); x += 0.01 {
				gain := s.gain(c, exp(x))
				u, g, peak = append(u, x), append(g, gain+s.logRatePrior(x)), max(peak, gain)
			}
			if exact := logIntegral(u, g); math.Abs(f.bayes-exact) > 0.05 {
				t.Errorf("seed %d, component %d with %.1f losses: Bayes factor %.3f, its integral is %.3f", seed, c, losses, f.bayes, exact)
			}
			if f.peak < peak-0.3 {
				t.Errorf("seed %d, component %d with %.1f losses: %.3f is gained at the rate told, %.3f at the best", seed, c, losses, f.peak, peak)
			}
		}
	}
	if fitted < 50 {
		t.Errorf("%d components were fitted, too few to tell", fitted)
	}
}

// TestSurelyFaulty: a bad arc is so evidently, and one that loses what is normal is not, however much crosses it.
func TestSurelyFaulty(t *testing.T) {
	for _, x := range []struct {
		loss float64
		want bool
	}{{0.01, true}, {1.8e-4, false}} {
		w := newWorld(fatTree(t, 4), 1)
		w.background = 1e-6
		bad := w.fabricArc()
		w.faults[Cause{Arc, int32(bad)}] = x.loss
		w.mesh(4000, 3000)
		s := supposedHealthy(w)
		if got := s.surelyFaulty(s.candidates); got != x.want {
			t.Errorf("an arc loses %g: surely faulty %v", x.loss, got)
		}
		if even := !slices.ContainsFunc(s.uneven, func(u uneven) bool { return u.arc == int32(bad) }); even != x.want {
			t.Errorf("an arc loses %g: taken for as good as the others %v", x.loss, even)
		}
	}
}

// TestRefine: a peak that lies between two points, however alike these are, is found.
func TestRefine(t *testing.T) {
	for _, at := range []float64{0, 0.1, 0.25, 0.499, 0.5, 0.501, 0.7} {
		const n = 7
		var u, g [n + 14]float64
		peak := func(x float64) float64 { return 100 - 60*(x-at)*(x-at) }
		for i := range n {
			u[i] = float64(i - n/2)
			g[i] = peak(u[i])
		}
		points, top := refine(u[:], g[:], n, peak)
		if off := 100 - g[top]; off > 1 {
			t.Errorf("a peak at %g: the highest point is %.2f nats lower", at, off)
		}
		if got, want := logIntegral(u[:points], g[:points]), 100+0.5*math.Log(math.Pi/60); math.Abs(got-want) > 0.3 {
			t.Errorf("a peak at %g: the integral is %.2f, not %.2f", at, got, want)
		}
	}
}
