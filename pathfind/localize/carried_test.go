package localize

import (
	"slices"
	"testing"
)

// TestCarried: that many flows of the fabric's own traffic lose packets by themselves convicts nothing which flows that were sent to measure cross clean, where no path is known, and what these convict
// stays convicted.
func TestCarried(t *testing.T) {
	for seed := range uint64(6) {
		w := newWorld(fatTree(t, 4), seed)
		w.background = 1e-6
		if seed%2 > 0 {
			w.fault(Arc, int32(w.fabricArc()), 0.02)
		}
		w.mesh(100, 7000)
		sent, hosts := len(w.obs), w.Hosts()
		for i := range 60 { // as captures at two hosts have them
			w.echo(hosts[5+i%2], hosts[(8+w.rng.IntN(13))%16], 7000)
		}
		for i := range w.obs {
			o := &w.obs[i]
			if i >= sent {
				o.Carried = true
				if w.rng.Float64() < 0.25 {
					o.Lost += w.draw(o.Sent-o.Lost, 0.005*w.rng.Float64())
				}
			}
			w.hide(o)
		}
		r, found := w.solve(), 0
		for _, s := range r.Suspects {
			switch {
			case s.Probability < 0.5:
			case slices.ContainsFunc(s.Class, func(c Cause) bool { return w.faults[c] > 0 }):
				found++
			default:
				t.Errorf("seed %d: %v of %d is named with %.2f: %d lossy flows", seed, s.Cause, len(s.Class), s.Probability, s.LossyFlows)
			}
		}
		if found != len(w.faults) {
			t.Errorf("seed %d: %d of %d are found", seed, found, len(w.faults))
		}
	}
}
