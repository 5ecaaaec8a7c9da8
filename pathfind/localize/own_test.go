package localize

import "testing"

// TestHabits: where flows lose packets by themselves, two of them that meet are no fault of where they do, and a fault beside them is still found.
func TestHabits(t *testing.T) {
	const worlds = 24
	found, innocent := 0, 0
	for seed := range uint64(worlds) {
		w := newWorld(randomRegular(t, 100, 10, 1), seed)
		bad := w.fabricArc()
		w.fault(Arc, int32(bad), 0.02)
		w.mesh(1500, 1000)
		for i := range w.obs {
			if o := &w.obs[i]; w.rng.Float64() < 0.02 {
				o.Lost += w.draw(o.Sent-o.Lost, 0.01*w.rng.Float64())
			}
		}
		for _, x := range w.solve().Suspects {
			switch {
			case x.Probability <= 0.5:
			case x.Cause == Cause{Arc, int32(bad)}:
				found++
			default:
				innocent++
			}
		}
	}
	if found < worlds-2 || innocent > 3 {
		t.Errorf("%d of %d found, %d innocents", found, worlds, innocent)
	}
}
