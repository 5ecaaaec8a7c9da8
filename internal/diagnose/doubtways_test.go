package diagnose

import (
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
)

// TestOldPath: two of hundreds of records name a path that their flow has not, over an arc that is dead. That they lost nothing does not acquit it.
func TestOldPath(t *testing.T) {
	for when := range 5 {
		playOldPath(t, when)
	}
}

func playOldPath(t *testing.T, when int) {
	p := newPlay(t, 240)
	p.plain = true
	dead, _ := p.f.ArcByName("leaf1:swp1>spine1:swp1")
	lose := func(a graphs.ArcID, _ int) float64 { return is(a == dead) }
	var others, wrong []playFlow
	for _, fl := range p.flows {
		paths, _ := p.e.Paths(p.f.Tail(fl.path[0]), p.f.Head(fl.path[len(fl.path)-1]), 100)
		for _, x := range paths {
			if slices.Contains(x.Arcs, dead) && !slices.Contains(fl.path, dead) && len(wrong) < 2 {
				fl.path = x.Arcs
				wrong = append(wrong, fl)
			}
		}
	}
	for _, fl := range p.flows {
		if !slices.ContainsFunc(wrong, func(x playFlow) bool { return x.flow == fl.flow }) {
			others = append(others, fl)
		}
	}
	all := p.flows
	for w := range 5 {
		if p.flows = all; w == when {
			p.flows = wrong
			p.run(1, func(graphs.ArcID, int) float64 { return 0 })
			p.flows = others
		}
		p.run(1, lose)
		p.start = p.start.Add(500 * time.Millisecond)
	}
	d := p.store.Diagnose()
	if x := d.Suspects; len(x) == 0 || x[0].ID != p.f.ArcName(dead) || x[0].Probability < 0.9 || *x[0].Loss < 0.99 {
		t.Errorf("in window %d: %s", when, d.Text())
	}
}
