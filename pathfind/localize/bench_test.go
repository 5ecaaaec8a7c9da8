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

// BenchmarkBadSwitch: most arcs of a switch of a random graph are bad, each at a rate of its own.
func BenchmarkBadSwitch(b *testing.B) {
	w := newWorld(randomRegular(b, 60, 8, 4), 1)
	w.background = 5e-5
	for i, a := range w.Out(w.Head(w.Out(w.Hosts()[0])[0])) {
		w.faults[Cause{Arc, int32(a)}] = 0.002 + 0.0015*float64(i)
		w.faults[Cause{Arc, int32(a.Reverse())}] = 0.02 - 0.0015*float64(i)
	}
	w.mesh(12000, 150)
	b.ReportAllocs()
	for b.Loop() {
		w.solve()
	}
}
