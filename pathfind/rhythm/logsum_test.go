package rhythm

import (
	"math"
	"testing"
)

func TestLogSum(t *testing.T) {
	for d := 0.0; d < 50; d += 0.00937 {
		want := math.Log1p(math.Exp(-d)) - 3
		for _, got := range [...]float64{logSum(-3, -3-d), logSum(-3-d, -3)} {
			if math.Abs(got-want) > 1e-8 {
				t.Fatalf("of -3 and %g: %.12g, want %.12g", -3-d, got, want)
			}
		}
	}
	inf := math.Inf(-1)
	if logSum(inf, inf) != inf || logSum(inf, -2) != -2 || logSum(-2, inf) != -2 {
		t.Error("of what is impossible")
	}
}
