package localize

import (
	"math"
	"testing"

	"whichlink/graphs"
)

// TestCensus: many faults of lines make one more of them as usual as their number says, and a switch less so; several bad switches make another one likely.
func TestCensus(t *testing.T) {
	p := newCensusPrior(census{1000, 0, 80, 250, 0}, 40)
	next := func(n census, kind int) float64 { // odds of one more, over those of a fabric with as many faults as one would bet on
		more := n
		more[kind]++
		return math.Exp(p.gain(&more) - p.gain(&n))
	}
	for _, c := range []struct {
		of        census
		kind      int
		low, high float64
	}{
		{census{}, 0, 0.66, 0.67},
		{census{}, 2, 0.66, 0.67},
		{census{31}, 0, 10.9, 11.1}, // (31+2)/3, as if there were lines alone
		{census{16, 0, 0, 15}, 3, 10.9, 11.1},
		{census{31}, 2, 1.2, 1.3},
		{census{0, 0, 3}, 2, 10, 13}, // (3+2)/3 of all faults, and six times the share
		{census{0, 0, 3}, 0, 0.9, 1}, // that of lines falls
	} {
		if got := next(c.of, c.kind); got < c.low || got > c.high {
			t.Errorf("beside %v one more of kind %v is %.3f times as likely, not %v to %v", c.of, kinds[c.kind], got, c.low, c.high)
		}
	}
	// The order in which faults are found tells nothing.
	both := next(census{5}, 0) * next(census{6}, 2)
	if other := next(census{5}, 2) * next(census{5, 0, 1}, 0); math.Abs(both/other-1) > 1e-9 {
		t.Errorf("an arc and a switch %v, a switch and an arc %v", both, other)
	}
	if g := p.gain(&census{1000, 0, 1000}); math.IsNaN(g) || math.IsInf(g, 0) {
		t.Errorf("beyond the most: %v", g)
	}
}

// TestCensusInClass: where nothing tells a switch from the one arc on which flows came to it, it has the less of what the class has the more arcs are bad elsewhere.
func TestCensusInClass(t *testing.T) {
	const leaves = 10
	f := leafSpine(t, leaves, 4, 1)
	arc := func(from, to graphs.NodeID) graphs.ArcID {
		for _, a := range f.Out(from) {
			if f.Head(a) == to {
				return a
			}
		}
		t.Fatalf("%s and %s have no link", f.NodeName(from), f.NodeName(to))
		return graphs.None
	}
	hosts := f.Hosts()
	leaf := func(i int) graphs.NodeID { return f.Head(f.Out(hosts[i])[0]) }
	var spines []graphs.NodeID
	for _, a := range f.Out(leaf(0)) {
		if !f.Node(f.Head(a)).IsHost() {
			spines = append(spines, f.Head(a))
		}
	}
	share := func(others int) float64 {
		var obs []Observation
		flow := func(src, dst int, spine graphs.NodeID, lost int) {
			obs = append(obs, Observation{
				Path: []graphs.ArcID{f.Out(hosts[src])[0], arc(leaf(src), spine), arc(spine, leaf(dst)), f.Out(hosts[dst])[0].Reverse()},
				Src:  hosts[src], Dst: hosts[dst], Responder: graphs.None, Sent: 1000, Lost: lost, Flow: len(obs),
			})
		}
		for src := range leaves {
			for dst := range leaves {
				if src == dst {
					continue
				}
				if src == 0 {
					flow(src, dst, spines[0], 10)
				}
				for _, spine := range spines[1:] {
					lost := 0
					if src > 0 && src <= others && spine == spines[1+src%3] {
						lost = 20
					}
					flow(src, dst, spine, lost)
				}
			}
		}
		bad := Cause{Arc, int32(arc(leaf(0), spines[0]))}
		for _, x := range Solve(f, obs, Config{OneWay: true}).Suspects {
			weights := map[Cause]float64{}
			for i := range x.Weights {
				weights[x.Class[i]] = x.Weights[i]
			}
			if w := weights[Cause{Node, int32(spines[0])}]; weights[bad] > 0 && w > 0 {
				return w / weights[bad]
			}
		}
		t.Fatalf("beside %d others: the switch and the arc are in no class", others)
		return 0
	}
	few, many := share(1), share(8)
	if got, want := many/few, (firm+1.)/(firm+8.); math.Abs(got/want-1) > 0.1 {
		t.Errorf("the switch has %.3f of what the arc has beside one bad arc, %.3f beside eight: %.3f times as much, not %.3f", few, many, got, want)
	}
}
