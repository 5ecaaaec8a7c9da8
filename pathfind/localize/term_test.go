package localize

import (
	"math"
	"testing"
)

// TestTerm: the likelihood of an observation is what its integral says, to what its approximations may be off, and never above one, whatever kind of losses
// of its own a flow has. Shy responders lose most of their answers on ways that are dead, too.
func TestTerm(t *testing.T) {
	const points = 4000
	for _, c := range []struct{ sent, lost int }{{40, 1}, {40, 5}, {400, 2}, {37, 32}, {37, 33}, {37, 36}, {12, 11}, {5, 1}, {2, 1}} {
		for _, outlier := range []float64{0.002, 0.3, 0.99} {
			for k, keep := range keeping {
				term := newTerm(&merged{Observation: &Observation{}, sent: c.sent, lost: c.lost}, Config{}.withDefaults())
				var h habits
				h.shape[0][k] = 1
				term.setHabits(&h, outlier)
				for _, s := range []float64{1e-5, 1e-3, 0.02, 0.1, 0.6, 2, 4, mostHazard, 2 * mostHazard} {
					pass := math.Exp(-s)
					odd := 0.0
					for i := range points {
						own := (float64(i) + 0.5) / points
						odd += keep * math.Pow(own, keep-1) * math.Pow(own*pass, term.passed) * math.Pow(1-own*pass, term.lost) / points
					}
					want := math.Log((1-outlier)*math.Pow(1-pass, term.lost)*math.Pow(pass, term.passed) + outlier*(1-usuallyTotal)*odd)
					if got := term.at(s); got > 0 || want > -600 && math.Abs(got-want) > 1.2 {
						t.Errorf("%d of %d lost, outlier %g that keeps %g, hazard %g: %.2f, want %.2f", c.lost, c.sent, outlier, keep, s, got, want)
					}
				}
			}
		}
	}
}
