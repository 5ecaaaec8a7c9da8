package localize

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestElementary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200000 {
		x := math.Exp(rnd.Float64()*1400 - 700)
		if rnd.IntN(2) == 0 {
			x = 1 + rnd.NormFloat64()*0.01
		}
		if got, want := log(x), math.Log(x); math.Abs(got-want) > 1e-15*(1+math.Abs(want)) {
			t.Fatalf("log(%g) = %g, want %g", x, got, want)
		}
		y := rnd.Float64()*1400 - 700
		if rnd.IntN(2) == 0 {
			y = rnd.NormFloat64()
		}
		if got, want := exp(y), math.Exp(y); math.Abs(got-want) > 4e-15*want {
			t.Fatalf("exp(%g) = %g, want %g", y, got, want)
		}
	}
	same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
	for _, x := range []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, 1e-310, math.MaxFloat64, 800, -800} {
		if got, want := log(x), math.Log(x); !same(got, want) && math.Abs(got-want) > 1e-12 {
			t.Errorf("log(%g) = %g, want %g", x, got, want)
		}
		if got, want := exp(x), math.Exp(x); !same(got, want) && math.Abs(got-want) > 1e-14*want {
			t.Errorf("exp(%g) = %g, want %g", x, got, want)
		}
	}
}

func BenchmarkElementary(b *testing.B) {
	xs := make([]float64, 1024)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range xs {
		xs[i] = math.Exp(-rnd.Float64() * 9)
	}
	for name, f := range map[string]func(float64) float64{"log": log, "math.Log": math.Log, "exp": exp, "math.Exp": math.Exp} {
		b.Run(name, func(b *testing.B) {
			sum := 0.0
			for i := 0; b.Loop(); i++ {
				sum += f(xs[i%1024])
			}
			if math.IsNaN(sum) {
				b.Fatal(sum)
			}
		})
	}
}
