package localize

import (
	"slices"
	"testing"
)

// TestOnlyLossy: where only flows that lost packets are known, none is named that these happen to cross, and arcs that lose much are, with about the loss that
// they have.
func TestOnlyLossy(t *testing.T) {
	named, right, inside := 0, 0, 0
	for seed := range uint64(20) {
		w := newWorld(fatTree(t, 4), seed)
		w.background = 2e-4
		bad := Cause{Arc, int32(w.fabricArc())}
		w.faults[bad] = []float64{0, 0.02, 0.05, 1}[seed%4]
		w.mesh(1500, 100)
		w.obs = slices.DeleteFunc(w.obs, func(o Observation) bool { return o.Lost == 0 })
		r := w.solve()
		if !r.Selected {
			t.Errorf("seed %d: %d lossy flows and no other are not told to be selected", seed, len(w.obs))
		}
		for i := range r.Suspects {
			x := &r.Suspects[i]
			switch {
			case x.Probability < 0.5:
			case x.Cause != bad || w.faults[bad] == 0:
				t.Errorf("seed %d: %v is innocent; bad is %v at %g\nsaid %s", seed, x.Class, bad, w.faults[bad], describe(r))
			default:
				right++
				if x.Low <= w.faults[bad] && w.faults[bad] <= x.High {
					inside++
				}
			}
		}
		if w.faults[bad] > 0 {
			named++
		}
	}
	if right < named-1 || inside < right-3 {
		t.Errorf("%d of %d found, %d with their loss", right, named, inside)
	}
}

// TestOnlyLossyByThemselves: where some of the flows that are known lost packets by themselves, that is learnt from these: what a few happen to cross is
// hardly ever told above .9, and the arc is that the others have in common.
func TestOnlyLossyByThemselves(t *testing.T) {
	found, faults, sure := 0, 0, 0
	for seed := range uint64(20) {
		w := newWorld(fatTree(t, 6), seed)
		w.background = 1e-5
		bad := Cause{Arc, int32(w.fabricArc())}
		if seed%2 == 0 {
			w.faults[bad] = 0.03
			faults++
		}
		w.mesh(4000, 200)
		for i := range w.obs {
			if o := &w.obs[i]; w.rng.IntN(100) == 0 {
				o.Lost += w.draw(o.Sent-o.Lost, 0.3*w.rng.Float64())
			}
		}
		w.obs = slices.DeleteFunc(w.obs, func(o Observation) bool { return o.Lost == 0 })
		for _, x := range w.solve().Suspects {
			switch {
			case x.Probability < 0.5:
			case slices.Contains(x.Class, bad) && w.faults[bad] > 0:
				found++
			case x.Probability > 0.9:
				sure++
			}
		}
	}
	if found < faults || sure > 3 {
		t.Errorf("%d of %d found, %d innocents told above .9", found, faults, sure)
	}
}
