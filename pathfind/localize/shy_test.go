package localize

import "testing"

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
