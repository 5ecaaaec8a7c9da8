package rhythm

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestWorth: what it is said to gain to drop an episode is what is gained, also where others were dropped before it: of two that are left, the other one loses
// its discount.
func TestWorth(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 7))
		var eps []episode
		for at := 20.0; at < 900; at += 60 + 120*r.Float64() {
			eps = append(eps, episode{from: at, to: at + 10 + 30*r.Float64()})
		}
		length := 30.0
		if seed%3 == 0 {
			length = 300 // over several episodes
		}
		counts := flows(r, 40, 10, length, 1000, false, func(at float64) float64 {
			for i, e := range eps {
				if i%2 == 0 && at >= e.from && at < e.to {
					return 0.8
				}
			}
			return 0.001
		})
		for i := range counts {
			counts[i].Outlier = 0.002
		}
		s := newScan(counts)
		value := func(eps []episode) float64 { return s.likelihoodOf(s.counts, eps, 0.8, normal) - s.price(eps, 0.8) }
		for w := s.weigh(eps, 0.8); len(w.eps) > 1; {
			least, gain := w.least()
			before, most := value(w.eps), math.Inf(-1)
			for i := range w.eps {
				rest := append(append([]episode{}, w.eps[:i]...), w.eps[i+1:]...)
				most = max(most, value(rest)-before)
			}
			if math.Abs(gain-most) > 1e-3 { // episodes that only clean counts join are taken to be apart
				t.Errorf("seed %d, %d episodes: %.6f nats are said to be gained, not %.6f", seed, len(w.eps), gain, most)
			}
			w.drop(least)
		}
	}
}
