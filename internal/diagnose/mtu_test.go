package diagnose

import (
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
)

// TestMTU: a link that drops all long packets and passes short ones is told so, and one that drops all packets of some flows, of whatever length, is not.
func TestMTU(t *testing.T) {
	for _, bySize := range []bool{true, false} {
		p := newPlay(t, 200)
		link, _ := p.f.LinkByName("leaf1:swp2--spine2:swp1")
		for i := range p.flows {
			p.flows[i].size = 9000 * (i % 2)
		}
		p.host = func(fl *playFlow, _, _ int) (there, home bool) {
			hit := bySize && fl.size > 0 || !bySize && fl.flow.SrcPort%5 == 0
			on := func(a graphs.ArcID) bool { return a.Link() == link }
			return hit && slices.ContainsFunc(fl.path, on), hit && slices.ContainsFunc(fl.back, on)
		}
		p.run(20, func(graphs.ArcID, int) float64 { return 0 })
		d := p.store.Diagnose()
		if len(d.Suspects) == 0 || d.Suspects[0].Link != p.f.LinkName(link) || (d.Suspects[0].Symptom == MTU) != bySize ||
			strings.Contains(d.Summary, "drops all packets of 9,000 bytes and more, and passes those of up to 160") != bySize {
			t.Error(d.Text())
		}
	}
}
