package diagnose

import (
	"slices"
	"testing"
	"time"

	"whichlink/internal/evidence"
)

// TestDiedWhileMeasured: what a flow told before it died says nothing of what is dead. Of flows to one leaf all packets arrived, before anyone knew their ways, and then none: that leaf, which all of
// them crossed, may be as dead as what leads to it.
func TestDiedWhileMeasured(t *testing.T) {
	p := newPlay(t, 400)
	leaf := p.f.Head(p.flows[0].path[0])
	dead := func(fl *playFlow) bool { return len(fl.path) == 4 && p.f.Tail(fl.path[3]) == leaf }
	spine := p.f.Head(p.flows[slices.IndexFunc(p.flows, func(fl playFlow) bool { return dead(&fl) })].path[1])
	for i := range p.flows {
		fl := &p.flows[i]
		if len(fl.path) < 4 || p.f.Head(fl.path[1]) != spine || p.f.Tail(fl.back[2]) != spine || p.f.Head(fl.path[0]) == leaf {
			continue
		}
		for window := range 11 {
			r := &evidence.Record{V: 1, Time: p.start.Add(time.Duration(window+1) * time.Second), Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindEcho, Flow: &fl.flow,
				Epoch: "1", Sent: evidence.Int(40), Lost: evidence.Int(0), WindowMS: 1000}
			if window > 0 {
				r.Epoch, r.Path, r.Back = "2", p.names(fl.path), p.names(fl.back)
			}
			if window > 0 && dead(fl) {
				r.Lost = evidence.Int(40)
			}
			p.store.Add(r)
		}
	}
	d := p.store.Diagnose()
	if len(d.Suspects) == 0 || d.Suspects[0].Probability < Named || !slices.Contains(append(d.Suspects[0].Class, d.Suspects[0].ID), p.f.NodeName(leaf)) {
		t.Errorf("%s is not among what may be dead:\n%s", p.f.NodeName(leaf), d.Text())
	}
}
