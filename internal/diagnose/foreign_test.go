package diagnose

import (
	"strings"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// TestForeign: a link of a leaf that the fabric's file does not have loses packets. Nobody can say more of it than that, but it is not health.
func TestForeign(t *testing.T) {
	var fabrics []*graphs.Fabric
	for _, leaves := range []int{8, 7} {
		f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: leaves, Spines: 4, Hosts: 2})
		if err != nil {
			t.Fatal(err)
		}
		fabrics = append(fabrics, f)
	}
	for _, loss := range []float64{0, 0.02} {
		p := newPlayOn(fabrics[0], 400)
		p.store = NewStore(fabrics[1], Config{})
		const lacking = "spine1:swp8>leaf8:swp1"
		bad, _ := p.f.ArcByName(lacking)
		p.run(20, func(a graphs.ArcID, _ int) float64 { return loss * is(a == bad) })
		d := p.store.Diagnose()
		ails := d.Verdict == Inconclusive && strings.Contains(d.Summary, "arcs that the fabric file does not have") && strings.Contains(strings.Join(d.Notes, " "), "lacks "+lacking)
		if ails != (loss > 0) || loss == 0 && d.Verdict != Healthy {
			t.Error(d.Text())
		}
	}
}
