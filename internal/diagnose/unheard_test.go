package diagnose

import (
	"strings"
	"testing"

	"whichlink/graphs"
)

// unheardPlay plays flows of which some hear nothing, whatever way they take; what is not answered is not traced.
func unheardPlay(t *testing.T, filtered func(src, dst string) bool) *Diagnosis {
	t.Helper()
	p := newPlay(t, 240)
	drops := func(fl *playFlow) bool {
		src, _ := p.f.Owner(fl.flow.Src)
		dst, _ := p.f.Owner(fl.flow.Dst)
		return filtered(p.f.NodeName(src.Node), p.f.NodeName(dst.Node))
	}
	for i := range p.flows {
		p.flows[i].untraced = drops(&p.flows[i])
	}
	p.host = func(fl *playFlow, _, _ int) (there, home bool) { return drops(fl), false }
	p.run(8, func(graphs.ArcID, int) float64 { return 0 })
	return p.store.Diagnose()
}

// TestUnheardPair plays filters (ACLs) between two hosts and between two racks: no link loses what only these lose.
func TestUnheardPair(t *testing.T) {
	rack := func(host string) string { return host[:2] }
	for name, filtered := range map[string]func(src, dst string) bool{
		"h1-1>h3-2":   func(a, b string) bool { return min(a, b) == "h1-1" && max(a, b) == "h3-2" },
		"leaf2>leaf4": func(a, b string) bool { return min(rack(a), rack(b)) == "h2" && max(rack(a), rack(b)) == "h4" },
	} {
		d := unheardPlay(t, filtered)
		if len(d.Suspects) != 1 || d.Suspects[0].Kind != "pair" || d.Suspects[0].ID != name || d.Suspects[0].Probability < Named {
			t.Errorf("of a filter %s is told: %s", name, d.Text())
		}
	}
}

// TestDeafHost plays a firewall that lets out what a host asks, and nobody else in: a gap, and no fault of the network.
func TestDeafHost(t *testing.T) {
	d := unheardPlay(t, func(_, dst string) bool { return dst == "h2-2" })
	if d.Verdict != Inconclusive || !strings.Contains(d.Summary, "h2-2 answers none of") {
		t.Errorf("told is %s: %s", d.Verdict, d.Summary)
	}
	for _, x := range d.Suspects {
		if x.Probability >= Doubted {
			t.Errorf("%s is suspected, p %.2f", x.ID, x.Probability)
		}
	}
}
