package rhythm

import (
	"math/rand/v2"
	"testing"
)

// TestRefine: what is found explains the counts about as well as the truth does, where flows last about as long as the episodes, also if only one in four of
// them crosses the suspect.
func TestRefine(t *testing.T) {
	const seeds = 30
	for _, share := range []float64{1, 0.25} {
		before, after := 0, 0
		for seed := range uint64(seeds) {
			r := rand.New(rand.NewPCG(seed, 6))
			down := within([]window{{150, 200}, {235, 260}, {300, 345}, {700, 760}}, 1, 0)
			counts := flows(r, 50, 20, 50, 1000, false, down)
			for range int(50 * (1/share - 1)) {
				counts = append(counts, flows(r, 1, 20, 50, 1000, false, within(nil, 0, 0))...)
			}
			for i := range counts {
				counts[i].Share, counts[i].Outlier = share, 0.001
			}
			s := newScan(counts)
			truth := []episode{{from: 150, to: 200}, {from: 235, to: 260}, {from: 300, to: 345}, {from: 700, to: 760}}
			_, level := s.level(truth)
			truth, level = s.worth(truth, level)
			best := s.bayes(truth, level)
			eps, level := s.search()
			value := s.bayes(eps, level)
			if value < best-2 {
				before++
			}
			if _, _, value = s.refine(eps, level, value); value < best-2 {
				after++
			}
		}
		t.Logf("share %g: worse than the truth by 2 nats in %d of %d, refined in %d", share, before, seeds, after)
		if after > seeds/10 {
			t.Errorf("share %g: refined, %d of %d are worse than the truth by more than 2 nats", share, after, seeds)
		}
	}
}
