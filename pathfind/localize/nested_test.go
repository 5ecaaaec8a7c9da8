package localize

import (
	"math"
	"slices"
	"testing"

	"whichlink/graphs"
)

// TestUnlikeWays: whatever a link loses one way beside what it loses the other way, a suspect is all that [check] asks for, and the answer does not depend on the order of observations.
func TestUnlikeWays(t *testing.T) {
	for _, hazards := range [][2]float64{{0.0125, 0.028}, {0.0055, 12}, {0.005, 0.2}, {0.01, 0.015}} {
		w := newWorld(leafSpine(t, 4, 3, 2), 1)
		a := w.fabricArc()
		for _, x := range w.Hosts() {
			for _, y := range w.Hosts() {
				if x == y {
					continue
				}
				for range 6 {
					w.flow++
					o := Observation{Path: w.path(x, y), Src: x, Dst: y, Responder: graphs.None, Sent: 2000, Flow: w.flow}
					s := 0.0
					if slices.Contains(o.Path, a) {
						s += hazards[0]
					}
					if slices.Contains(o.Path, a.Reverse()) {
						s += hazards[1]
					}
					o.Lost = int(math.Round(float64(o.Sent) * -math.Expm1(-s)))
					w.obs = append(w.obs, o)
				}
			}
		}
		check(t, w.Fabric, w.obs, Config{})
	}
}

// TestFlowsOutOfOrder: where each observation is of a flow of its own it does not matter whether they come in the order of their flows.
func TestFlowsOutOfOrder(t *testing.T) {
	for seed := range uint64(8) {
		w := newWorld(fatTree(t, 4), seed)
		for range 3 {
			w.faults[Cause{Arc, int32(w.fabricArc())}] = 0.004
		}
		hosts := w.Hosts()
		for range 500 {
			x, y := hosts[w.rng.IntN(len(hosts))], hosts[w.rng.IntN(len(hosts))]
			if x == y {
				continue
			}
			w.flow++
			path := slices.Concat(w.path(x, y), w.path(y, x))
			w.obs = append(w.obs, Observation{Path: path, Src: x, Dst: y, Responder: graphs.None, Sent: 300, Lost: w.draw(300, w.hazard(path, x, y)), Flow: w.flow})
		}
		check(t, w.Fabric, w.obs, Config{})
	}
}
