package diagnose

import (
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
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

// TestDetectable: who is told that all is well is told what would have shown, and that shows: ten packets lost on an arc.
func TestDetectable(t *testing.T) {
	healthy := newPlay(t, 120)
	healthy.run(12, func(graphs.ArcID, int) float64 { return 0 })
	d := healthy.store.Diagnose()
	least := d.Coverage.Detectable
	if d.Verdict != Healthy || least < 0.005 || least > 0.05 || !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "what loses "+Percent(least)) }) {
		t.Fatalf("%s, %g, %v", d.Summary, least, d.Notes)
	}
	named, arcs := 0, 0
	for a := graphs.ArcID(0); int(a) < healthy.f.NumArcs(); a += 5 {
		p := newPlay(t, 120)
		p.run(12, func(x graphs.ArcID, _ int) float64 {
			if x == a {
				return least
			}
			return 0
		})
		if arcs++; p.store.Diagnose().Verdict == Suspects {
			named++
		}
	}
	if 10*named < 9*arcs {
		t.Errorf("of %d arcs that lost %s of their packets %d were named", arcs, Percent(least), named)
	}
}

// TestEverywhere: where all links lose alike none of them is faulty, and all is not well. That much would have been told of each is not said of less than a fault loses.
func TestEverywhere(t *testing.T) {
	for _, c := range []struct {
		loss float64
		want Verdict
	}{{5e-5, Healthy}, {1e-3, Inconclusive}} {
		p := newPlay(t, 400)
		p.run(40, func(graphs.ArcID, int) float64 { return c.loss })
		d := p.store.Diagnose()
		if d.Verdict != c.want || (c.want == Inconclusive) != (d.Summary == NothingStandsOut) {
			t.Errorf("%s at each link: %s, %s", Percent(c.loss), d.Verdict, d.Summary)
		}
		if d.Coverage.Detectable < 3*localize.NormalLoss {
			t.Errorf("%s at each link: %s of one would have been told", Percent(c.loss), Percent(d.Coverage.Detectable))
		}
	}
}
