package diagnose

import (
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
)

// TestLostOfFew: where one host probes, most of the fabric is not measured. That a fifth of its packets is lost is told all the same.
func TestLostOfFew(t *testing.T) {
	p := newPlay(t, 1024)
	src, dst := p.flows[0].by, p.to(&p.flows[0])
	p.flows = slices.DeleteFunc(p.flows, func(fl playFlow) bool { return fl.by != src || p.to(&fl) != dst })[:10]
	for i := range p.flows {
		p.flows[i].untraced = true
	}
	p.host = func(fl *playFlow, w, k int) (bool, bool) {
		dead := fl == &p.flows[0] || fl == &p.flows[1]
		return dead || w == 7 && k == 3 && (fl == &p.flows[2] || fl == &p.flows[3]), false
	}
	p.run(24, func(graphs.ArcID, int) float64 { return 0 })
	d := p.store.Diagnose()
	if d.Verdict != Inconclusive || strings.Contains(d.Summary, "nothing found") || 2*d.Coverage.Measured >= d.Coverage.Arcs {
		t.Errorf("it is said\n%s", d.Text())
	}
}
