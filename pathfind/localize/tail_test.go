package localize

import (
	"math"
	"testing"
)

// TestManyWeak: where one arc in twenty-five loses a packet in five hundred, the others next to none, all of these are told. What lost at many of them a little more than
// usual explains much, too, but nothing that one of them does.
func TestManyWeak(t *testing.T) {
	w := newWorld(fatTree(t, 8), 5)
	bad := map[Cause]bool{}
	for a := range int32(w.NumArcs()) {
		w.fault(Arc, a, 1e-4*w.rng.Float64())
		if a%25 == 0 {
			w.fault(Arc, a, 0.002)
			bad[Cause{Arc, a}] = true
		}
	}
	w.mesh(12000, 400)
	w.tellsOnly(t, bad)
}

// TestHeavyTail: where many arcs lose a packet in a thousand and more of them half as much, what is broken is told, and these are not.
func TestHeavyTail(t *testing.T) {
	w := newWorld(fatTree(t, 8), 5)
	for a := range int32(w.NumArcs()) {
		w.fault(Arc, a, min(3e-4*math.Exp(w.rng.NormFloat64()), 4e-3))
	}
	bad := map[Cause]bool{}
	for len(bad) < 3 {
		c := Cause{Arc, int32(w.fabricArc())}
		w.faults[c], bad[c] = 0.03, true
	}
	w.mesh(12000, 400)
	if r := w.tellsOnly(t, bad); r.Tail < 50 || r.Tail > 150 || r.Normal < 0.002 {
		t.Errorf("%d arcs are said to lose up to %v; it is some 100 of them, and up to 0.4 %%", r.Tail, r.Normal)
	}
}

// TestMildTail: where a few good arcs of a heavy tail lose as much as weak faults do, what is broken is told, and these are not.
func TestMildTail(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(fatTree(t, 8), seed)
		for a := range int32(w.NumArcs()) {
			w.fault(Arc, a, min(1e-4*math.Exp(w.rng.NormFloat64()), 1.6e-3))
		}
		bad := map[Cause]bool{}
		for len(bad) < 3 {
			c := Cause{Arc, int32(w.fabricArc())}
			w.faults[c], bad[c] = 0.02, true
		}
		w.mesh(12000, 60)
		if r := w.tellsOnly(t, bad); r.Tail == 0 {
			t.Error("nothing is said of a tail")
		}
	}
}

// TestWeakBatch: where dozens of faults lose about alike, and good arcs more than usual but evenly, the faults are no tail.
func TestWeakBatch(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(fatTree(t, 8), seed)
		for a := range int32(w.NumArcs()) {
			w.fault(Arc, a, 3e-4*w.rng.Float64())
			if a%25 == 0 {
				w.fault(Arc, a, 0.0012*math.Pow(3, w.rng.Float64()))
			}
		}
		w.mesh(12000, 120)
		if r := Solve(w.Fabric, w.obs, Config{OneWay: true}); r.Tail > 0 {
			t.Errorf("%d arcs are said to be a tail of good ones", r.Tail)
		}
	}
}

// tellsOnly checks that the faults are told, and nothing else is.
func (w *world) tellsOnly(t *testing.T, faults map[Cause]bool) *Result {
	t.Helper()
	r := Solve(w.Fabric, w.obs, Config{OneWay: true})
	right, wrong := 0, 0
	for _, s := range r.Suspects {
		switch {
		case s.Probability < 0.5:
		case faults[s.Cause]:
			right++
		default:
			wrong++
		}
	}
	if right < len(faults) || wrong > 0 {
		t.Errorf("%d of %d faults are told, and %d innocents", right, len(faults), wrong)
	}
	return r
}
