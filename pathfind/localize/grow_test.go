package localize

import (
	"slices"
	"testing"
)

// TestGrowOn: however long the first look took, all faults are found as long as few flows lose packets.
func TestGrowOn(t *testing.T) {
	w := newWorld(randomRegular(t, 40, 6, 1), 2)
	w.background = 3e-6
	var bad []int32
	for len(bad) < 3 {
		if a := int32(w.fabricArc()); !slices.Contains(bad, a) {
			w.fault(Arc, a, 0.02)
			bad = append(bad, a)
		}
	}
	slices.Sort(bad)
	w.mesh(2000, 200)
	s := w.search(Config{})
	s.work = effort + 1
	for i := s.remember(nil, nil, 0); i >= 0; {
		i = s.grow(i, 0)
	}
	if got := s.likeliestSoFar().comps; !slices.Equal(got, bad) {
		t.Errorf("%v are found, %v are bad, and %.3f of the flows lose packets", got, bad, float64(s.ev.flows)/s.allFlows())
	}
}
