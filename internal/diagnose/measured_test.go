package diagnose

import (
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// Of flows whose paths are not known yet, as in the first seconds on a busy machine, the links of their hosts were crossed for sure, and no others.
func TestCoverageOfUnknownPaths(t *testing.T) {
	p := newPlay(t, 12)
	want := map[graphs.ArcID]bool{}
	for i := range p.flows {
		fl := &p.flows[i]
		p.store.Add(&evidence.Record{V: 1, Time: p.start.Add(time.Second), Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindEcho, Flow: &fl.flow,
			WindowMS: 500, Sent: evidence.Int(100), Lost: evidence.Int(0), LostForward: evidence.Int(0), LostBack: evidence.Int(0)})
		for _, way := range [][]graphs.ArcID{fl.path, fl.back} {
			want[way[0]], want[way[len(way)-1]] = true, true
		}
	}
	d := p.store.Diagnose()
	pic := p.store.Picture(d)
	for a := range pic.Arcs {
		id := graphs.ArcID(a)
		name := p.f.ArcName(id)
		if pic.Arcs[a].Measured != want[id] || slices.Contains(d.Coverage.Unmeasured, name) == want[id] {
			t.Errorf("%s is measured: %v in the picture; want %v; unmeasured %q", name, pic.Arcs[a].Measured, want[id], d.Coverage.Unmeasured)
		}
	}
	if d.Coverage.Measured != len(want) || len(want) == p.f.NumArcs() {
		t.Errorf("%d arcs are measured, want %d", d.Coverage.Measured, len(want))
	}
}
