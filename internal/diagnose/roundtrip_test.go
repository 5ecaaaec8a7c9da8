package diagnose

import (
	"math"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// TestRoundTrip: where neither the ways of flows nor the direction of their losses are known, an arc, its reverse and those beside them are one class, also where pairs have
// too many ways for all to be listed with all ways back: what is lost on the way back is not blamed on the way there.
func TestRoundTrip(t *testing.T) {
	for _, k := range []int{4, 8} { // 4 and 16 ways between pods
		f, err := generate.FatTree(generate.FatTreeConfig{K: k})
		if err != nil {
			t.Fatal(err)
		}
		p := newPlayOn(f, 4000)
		p.plain, p.unsplit = true, true
		for i := range p.flows {
			p.flows[i].untraced = true
		}
		sick, _ := f.ArcByName("agg2-1:swp2>edge2-2:swp1")
		p.run(8, func(a graphs.ArcID, _ int) float64 { return 0.1 * is(a == sick) })
		d := p.store.Diagnose()
		named := slices.DeleteFunc(d.Suspects, func(x Suspect) bool { return x.Probability < Named })
		if len(named) != 1 || len(named[0].Class) != k || !slices.Contains(named[0].Class, f.ArcName(sick)) || !slices.Contains(named[0].Class, f.ArcName(sick.Reverse())) ||
			math.Abs(*named[0].Loss-0.1) > 0.02 {
			t.Errorf("k=%d: loss %v\n%s", k, *named[0].Loss, d.Text())
		}
	}
}

// TestPaired: each alternative keeps its share, there and back, in however few pairs.
func TestPaired(t *testing.T) {
	l := &flowLog{}
	path, back := way{shares: []float64{0.5, 0.3, 0.2}}, way{}
	for i := range 3 {
		path.alternatives = append(path.alternatives, []graphs.ArcID{graphs.ArcID(i)})
	}
	for j := range 70 {
		back.alternatives = append(back.alternatives, []graphs.ArcID{graphs.ArcID(100 + j)})
	}
	w := paired(l, path, back)
	got := map[graphs.ArcID]float64{}
	for i, arcs := range w.alternatives {
		for _, a := range arcs {
			got[a] += w.share(i)
		}
	}
	for i, arcs := range path.alternatives {
		if a := arcs[0]; math.Abs(got[a]-path.share(i)) > 1e-6 {
			t.Errorf("there, %d has %g, expected %g", a, got[a], path.share(i))
		}
	}
	for j, arcs := range back.alternatives {
		if a := arcs[0]; math.Abs(got[a]-back.share(j)) > 1e-6 {
			t.Errorf("back, %d has %g, expected %g", a, got[a], back.share(j))
		}
	}
	if n := len(w.alternatives); n >= 3+70 {
		t.Errorf("%d pairs", n)
	}
}
