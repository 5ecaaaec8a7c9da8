package localize

import (
	"slices"
	"testing"

	"whichlink/graphs"
)

// TestLossyUplink: where a host traces over its own uplink, which loses packets, and all switches answer all that reaches them, it is the uplink that is named, however many answers are missing: that
// switches seemed shy would speak against it with each of their answers, and for what lies behind.
func TestLossyUplink(t *testing.T) {
	for _, c := range []struct {
		flows, packets int
		loss           float64
	}{{100, 50, 0.12}, {200, 10, 0.3}, {200, 50, 0.05}} {
		for seed := range uint64(3) {
			w := newWorld(leafSpine(t, 4, 2, 2), seed)
			w.background = 1e-6
			hosts := w.Hosts()
			uplink := w.Out(hosts[0])[0]
			w.faults[Cause{Arc, int32(uplink)}] = c.loss
			for i := range c.flows {
				p, _ := w.echo(hosts[0], hosts[1+i%(len(hosts)-1)], 200)
				w.hops(p, c.packets)
			}
			r := w.solve()
			if len(r.Suspects) == 0 || r.Suspects[0].Cause != (Cause{Arc, int32(uplink)}) || len(r.Suspects) > 1 && r.Suspects[1].Probability > 0.5 {
				t.Errorf("%+v, seed %d: said %s", c, seed, describe(r))
			}
		}
	}
}

// TestLacksFew: a switch that holds back one answer in a hundred or fifty does so to all flows. That is no link which loses as much, where nothing arrives that would tell, as all goes to a host
// that is dead.
func TestLacksFew(t *testing.T) {
	wrong := 0
	for _, c := range []struct {
		packets int
		shy     float64
	}{{30, 0.01}, {20, 0.02}} {
		for seed := range uint64(12) {
			w := newWorld(leafSpine(t, 3, 4, 2), seed)
			w.background = 1e-6
			hosts := w.Hosts()
			dead := hosts[len(hosts)-1]
			w.faults[Cause{Host, int32(dead)}] = 1
			for n := range graphs.NodeID(w.NumNodes()) {
				w.shy[n] = c.shy * float64(n%2)
			}
			for range 30 {
				p, _ := w.echo(hosts[0], dead, 500)
				w.hops(p, c.packets)
			}
			for _, x := range w.solve().Suspects {
				if x.Probability > 0.5 && !slices.Contains(x.Class, Cause{Host, int32(dead)}) {
					wrong++
				}
			}
		}
	}
	if wrong > 4 {
		t.Errorf("%d innocents are named in 24 worlds", wrong)
	}
}
