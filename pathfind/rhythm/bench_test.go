package rhythm

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkFind looks for the rhythm of many counts: of a constant loss of any size, of which each lossy count may be taken for an episode, and of a link
// that flaps often.
func BenchmarkFind(b *testing.B) {
	for _, c := range []struct {
		name   string
		counts int
		loss   func(t float64) float64
		sent   int
		share  float64
	}{
		{"constant 30 % of one packet", 10_000, func(float64) float64 { return 0.3 }, 1, 1},
		{"constant 30 % of one packet, a million", 1_000_000, func(float64) float64 { return 0.3 }, 1, 1},
		{"constant 3 % of four", 10_000, func(float64) float64 { return 0.03 }, 4, 1},
		{"constant 30 % of four that may cross it", 10_000, func(float64) float64 { return 0.3 }, 4, 0.25},
		{"flapping", 10_000, func(t float64) float64 {
			if int(t/250)%2 == 0 {
				return 1
			}
			return 0
		}, 2, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			var counts []Count
			for i := range c.counts {
				at := float64(i) * 4
				x := Count{From: at, To: at + 20*rng.Float64(), Sent: c.sent, Share: c.share, Outlier: 0.002}
				for range c.sent {
					if rng.Float64() < c.share && rng.Float64() < c.loss(at) {
						x.Lost++
					}
				}
				counts = append(counts, x)
			}
			for b.Loop() {
				Find(counts, 350)
			}
		})
	}
}
