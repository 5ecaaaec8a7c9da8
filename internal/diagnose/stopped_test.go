package diagnose

import (
	"math"
	"testing"
	"time"

	"whichlink/graphs"
)

// TestStoppedShares: the members of a class share what is left of its probability where it may have stopped.
func TestStoppedShares(t *testing.T) {
	stopped := 0
	for seed := range uint64(8) {
		s := newScene(t)
		for range seed {
			s.rng.Uint64()
		}
		s.run(probing{flows: 40, packets: 100, windows: 3, untraced: seed%2 == 0, lose: func(a graphs.ArcID, _ int) float64 { return 0.02 * is(s.f.ArcName(a) == sickArc) }})
		all := s.probe
		s.probe = nil
		s.run(probing{flows: 12 + 4*int(seed), packets: 60, windows: 3})
		for _, r := range s.probe { // other flows, later
			flow := *r.Flow
			flow.SrcPort += 1000
			r.Flow, r.Time = &flow, r.Time.Add(30*time.Second)
		}
		store := NewStore(s.f, Config{})
		for _, r := range append(all, s.probe...) {
			store.Add(r)
		}
		store.Diagnose()
		stopped += len(store.stops)
		for _, x := range store.solved.Suspects {
			sum := 0.0
			for _, w := range x.Weights {
				sum += w
			}
			if math.Abs(sum-x.Probability) > 1e-9 {
				t.Errorf("seed %d: members of %v share %.3f of %.3f", seed, x.Cause, sum, x.Probability)
			}
		}
	}
	if stopped < 3 {
		t.Errorf("%d have stopped", stopped)
	}
}
