package localize

import (
	"math/rand/v2"
	"testing"

	"whichlink/graphs"
)

// TestIntervals: nine in ten intervals hold the loss, whether flows have few packets or many, and none is so wide that it says nothing. Where packets
// are lost in runs, of which there are few, fewer do.
func TestIntervals(t *testing.T) {
	f := leafSpine(t, 4, 3, 2)
	for _, c := range []struct {
		name        string
		flows, sent int
		loss, run   float64 // packets lost, and how many of them in a row in the mean
		told        bool    // whether the runs are counted
		own         bool    // one of the flows loses half of its packets
		least, wide float64 // share of intervals that hold the loss, and how wide they are: high over low, in the mean
	}{
		{name: "few packets a flow", flows: 2000, sent: 8, loss: 0.01, run: 1, least: 0.82, wide: 4},
		{name: "some", flows: 600, sent: 60, loss: 0.01, run: 1, least: 0.82, wide: 3},
		{name: "many", flows: 100, sent: 2000, loss: 0.02, run: 1, least: 0.82, wide: 1.5},
		{name: "one flow has losses of its own", flows: 400, sent: 100, loss: 0.01, run: 1, own: true, least: 0.8, wide: 3},
		{name: "in runs", flows: 600, sent: 60, loss: 0.02, run: 4, least: 0.55, wide: 10},
		{name: "in runs that are counted", flows: 600, sent: 60, loss: 0.02, run: 4, told: true, least: 0.6, wide: 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			said, inside, wide := 0.0, 0.0, 0.0
			for seed := range uint64(*seeds) * 50 {
				w := newWorld(f, seed)
				bad := w.fabricArc()
				w.lossy(bad, c.flows, c.sent, c.loss, c.run, c.told)
				for i := range w.obs {
					if o := &w.obs[i]; c.own && o.Lost > 0 {
						o.Lost = o.Sent / 2
						break
					}
				}
				for _, s := range w.solve().Suspects {
					if s.Cause == (Cause{Arc, int32(bad)}) && s.Probability > 0.5 {
						said++
						wide += s.High / s.Low
						if s.Low <= c.loss && c.loss <= s.High {
							inside++
						}
					}
				}
			}
			inside, wide = inside/said, wide/said
			t.Logf("%.3f of %v hold the loss, high over low %.2f", inside, said, wide)
			if said < 30*float64(*seeds) || inside < c.least || inside > 0.99 || wide > c.wide {
				t.Errorf("%.3f of %v hold the loss, high over low %.2f: at least %.2f are to, and not over %v", inside, said, wide, c.least, c.wide)
			}
		})
	}
}

// lossy measures flows between random hosts, one way, of which those that cross one arc lose packets there, in runs of some length in the mean.
func (w *world) lossy(bad graphs.ArcID, flows, sent int, loss, length float64, told bool) {
	hosts := w.Hosts()
	for range flows {
		i, j := w.rng.IntN(len(hosts)), w.rng.IntN(len(hosts)-1)
		if j >= i {
			j++
		}
		w.flow++
		o := Observation{Path: w.path(hosts[i], hosts[j]), Src: hosts[i], Dst: hosts[j], Responder: graphs.None, Sent: sent, Flow: w.flow}
		for _, a := range o.Path {
			if a == bad {
				o.Lost, o.Bursts = runs(w.rng, sent, loss, length)
			}
		}
		if !told {
			o.Bursts = 0
		}
		w.obs = append(w.obs, o)
	}
}

// runs loses packets of n, in runs of some length in the mean. It returns how many are lost, and in how many runs.
func runs(rng *rand.Rand, n int, loss, length float64) (lost, bursts int) {
	begins := loss / (length * (1 - loss)) // of a packet that is the first, or follows one that arrived
	in := false
	for range n {
		was := in
		if in = rng.Float64() < begins; was {
			in = rng.Float64() >= 1/length
		}
		if in {
			lost++
			if !was {
				bursts++
			}
		}
	}
	return lost, bursts
}
