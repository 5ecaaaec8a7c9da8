package localize

import (
	"fmt"
	"testing"
)

func BenchmarkSolve(b *testing.B) {
	for _, x := range []struct {
		k, flows, faults int
		background       float64
	}{{8, 2000, 3, 1e-5}, {8, 2000, 0, 1e-4}, {8, 2000, 3, 1e-3}, {8, 2000, 8, 1e-5}, {16, 16000, 3, 1e-5}} {
		b.Run(fmt.Sprintf("k=%d/flows=%d/faults=%d/background=%g", x.k, x.flows, x.faults, x.background), func(b *testing.B) {
			w := newWorld(fatTree(b, x.k), 1)
			w.background = x.background
			for range x.faults {
				w.faults[Cause{Arc, int32(w.fabricArc())}] = 0.01
			}
			w.mesh(x.flows, 200)
			b.ReportAllocs()
			for b.Loop() {
				w.solve()
			}
		})
	}
}
