package diagnose

import (
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// TestTornWindows: the paths of all flows change in the middle of a window, and are traced at its end. An arc that loses packets all the time loses them in a half of it of the flows that left
// it then, or came to it: it does not flap for that, nor lose less, nor is anybody else to blame. Some flows may never be traced.
func TestTornWindows(t *testing.T) {
	playTorn(t, 1, 12)
	playTorn(t, 0.6, 0)
}

func playTorn(t *testing.T, loss float64, untracedEvery int) {
	const before, after = 5, 5
	p := newPlay(t, 240)
	p.plain = true
	dead, _ := p.f.ArcByName("leaf1:swp1>spine1:swp1")
	type ways struct{ path, back []graphs.ArcID }
	next := map[evidence.Flow]ways{}
	sighted := func(at, previous time.Time, changed bool) {
		for i := range p.flows {
			fl := &p.flows[i]
			if !fl.untraced {
				p.store.Add(&evidence.Record{V: 1, Time: at, Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindPath, Flow: &fl.flow,
					Path: p.names(fl.path), Back: p.names(fl.back), PreviousTime: &previous, Changed: changed})
			}
		}
	}
	for i := range p.flows {
		fl := &p.flows[i]
		fl.untraced = untracedEvery > 0 && i%untracedEvery == 0
		src, dst := p.f.Tail(fl.path[0]), p.f.Head(fl.path[len(fl.path)-1])
		next[fl.flow] = ways{p.walk(src, dst), p.walk(dst, src)}
	}
	start := p.start
	sighted(start, start, false)
	lost := func(arcs []graphs.ArcID) bool { return slices.Contains(arcs, dead) && p.rng.Float64() < loss }
	p.host = func(fl *playFlow, w, k int) (there, home bool) {
		now := ways{fl.path, fl.back}
		if w == before && k >= 5 {
			now = next[fl.flow]
		}
		return lost(now.path), lost(now.back)
	}
	none := func(graphs.ArcID, int) float64 { return 0 }
	p.run(before+1, none)
	for i := range p.flows {
		fl := &p.flows[i]
		fl.path, fl.back = next[fl.flow].path, next[fl.flow].back
	}
	p.start = start.Add((before + 1) * 500 * time.Millisecond)
	sighted(p.start, p.start.Add(-450*time.Millisecond), true)
	p.host = func(fl *playFlow, _, _ int) (there, home bool) { return lost(fl.path), lost(fl.back) }
	p.run(after, none)
	d := p.store.Diagnose()
	if x := d.Suspects; len(x) != 1 || x[0].ID != p.f.ArcName(dead) || x[0].Symptom != Loss || *x[0].LossLow > loss || *x[0].LossHigh < loss-0.01 {
		t.Errorf("of an arc that loses %g while paths change it is said\n%s", loss, d.Text())
	}
}
