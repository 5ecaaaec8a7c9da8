package localize

import (
	"slices"
	"testing"
)

// TestSober: where all flows are those of one host and its only link loses packets both ways, no clean flow tells that good arcs lose little. It is the link, all the same, that is
// named, and not what loses a little more than a background which is as high as that.
func TestSober(t *testing.T) {
	for _, loss := range []float64{0.006, 0.01, 0.02} {
		for seed := range uint64(4) {
			w := newWorld(fatTree(t, 4), seed)
			w.background = 1e-6
			hosts := w.Hosts()
			link := Cause{Link, int32(w.Out(hosts[0])[0].Link())}
			w.faults[link] = loss
			for i := range 300 {
				w.echo(hosts[0], hosts[1+i%(len(hosts)-1)], 200)
			}
			if r := w.solve(); len(r.Suspects) == 0 || r.Suspects[0].Probability < 0.9 || !slices.Contains(r.Suspects[0].Class, link) || len(r.Suspects) > 1 && r.Suspects[1].Probability > 0.9 {
				t.Errorf("seed %d, %g: said %s", seed, loss, describe(r))
			}
		}
	}
}
