package diagnose

import (
	"math/rand/v2"
	"testing"

	"whichlink/graphs"
)

// TestPolledLonger: for how long ports are read before and after flows were measured changes nothing of what these tell of when packets were lost. Here none is lost any more in the end,
// which says little as long as the flows that lost some are still measured.
func TestPolledLonger(t *testing.T) {
	for seed := range uint64(4) {
		s := newScene(t)
		s.rng = rand.New(rand.NewPCG(seed, 5))
		s.run(probing{flows: 60, packets: 20, windows: 4, lose: func(a graphs.ArcID, w int) float64 { return s.only(0.03, sickArc)(a, w) * is(w < 2) }})
		p := map[bool]float64{}
		for _, polled := range []bool{false, true} {
			store := NewStore(s.f, Config{})
			s.snmp = nil
			if polled {
				for _, second := range []float64{-3600, 20, 40, 600} {
					s.poll(second, nil)
				}
			}
			for _, r := range append(s.snmp, s.probe...) {
				store.Add(r)
			}
			if d := store.Diagnose(); len(d.Suspects) > 0 && d.Suspects[0].ID == sickArc && d.Suspects[0].Until == nil {
				p[polled] = d.Suspects[0].Probability
			}
		}
		if p[false] < 0.9 || p[true] < 0.9 {
			t.Errorf("seed %d: %.2f, with ports that are read before and after %.2f", seed, p[false], p[true])
		}
	}
}
