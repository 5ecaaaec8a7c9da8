package rhythm

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestPush: what an episode gains in another place is told as if all counts were weighed in both, however often edges were moved
// and whatever was lost before.
func TestPush(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	var counts []Count
	for range 400 {
		c := Count{From: 1000 * r.Float64(), Sent: 1 + r.IntN(60), Share: 1 - 0.9*r.Float64(), Outlier: 0.01}
		if c.To = c.From; r.IntN(3) > 0 {
			c.To += 300 * r.Float64() * r.Float64()
		}
		if r.IntN(4) == 0 {
			c.Lost = 1 + r.IntN(c.Sent)
		}
		counts = append(counts, c)
	}
	s := newScan(counts)
	eps := []episode{{from: 100, to: 150}, {from: 400, to: 480}, {from: 800, to: 830}}
	for step := range 2000 {
		i, bad := step%3, []float64{0.3, 0.9}[step/100%2]
		now := eps[i]
		if low := 300 * float64(i); step%2 == 0 {
			now.from = low + (now.to-low)*r.Float64()
		} else {
			now.to = now.from + (low+300-now.from)*r.Float64()
		}
		want := -s.likelihoodOf(s.counts, eps, bad, normal)
		got := s.push(eps, i, now, bad)
		if want += s.likelihoodOf(s.counts, eps, bad, normal); eps[i] != now || math.Abs(got-want) > 1e-6 {
			t.Fatalf("step %d: %+v gains %g, want %g", step, now, got, want)
		}
	}
}
