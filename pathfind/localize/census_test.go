package localize

import (
	"math"
	"testing"
)

// TestCensus: many faults of lines make one more of them as usual as their number says, and a switch less so; several bad switches make another one likely.
func TestCensus(t *testing.T) {
	p := newCensusPrior(census{1000, 0, 80, 250, 0}, 40)
	next := func(n census, kind int) float64 { // odds of one more, over those of a fabric with as many faults as one would bet on
		more := n
		more[kind]++
		return math.Exp(p.gain(&more) - p.gain(&n))
	}
	for _, c := range []struct {
		of        census
		kind      int
		low, high float64
	}{
		{census{}, 0, 0.66, 0.67},
		{census{}, 2, 0.66, 0.67},
		{census{31}, 0, 10.9, 11.1}, // (31+2)/3, as if there were lines alone
		{census{16, 0, 0, 15}, 3, 10.9, 11.1},
		{census{31}, 2, 1.2, 1.3},
		{census{0, 0, 3}, 2, 10, 13}, // (3+2)/3 of all faults, and six times the share
		{census{0, 0, 3}, 0, 0.9, 1}, // that of lines falls
	} {
		if got := next(c.of, c.kind); got < c.low || got > c.high {
			t.Errorf("beside %v one more of kind %v is %.3f times as likely, not %v to %v", c.of, kinds[c.kind], got, c.low, c.high)
		}
	}
	// The order in which faults are found tells nothing.
	both := next(census{5}, 0) * next(census{6}, 2)
	if other := next(census{5}, 2) * next(census{5, 0, 1}, 0); math.Abs(both/other-1) > 1e-9 {
		t.Errorf("an arc and a switch %v, a switch and an arc %v", both, other)
	}
	if g := p.gain(&census{1000, 0, 1000}); math.IsNaN(g) || math.IsInf(g, 0) {
		t.Errorf("beyond the most: %v", g)
	}
}
