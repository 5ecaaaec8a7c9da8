package diagnose

import (
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
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

// TestCutOff plays filters between two hosts, and between one and two others, that come while all is measured: no link goes down when these do.
func TestCutOff(t *testing.T) {
	for _, others := range [][]string{{"h3-2"}, {"h3-2", "h4-1"}} {
		p := newPlay(t, 240)
		p.host = func(fl *playFlow, window, _ int) (there, home bool) {
			src, _ := p.f.Owner(fl.flow.Src)
			dst, _ := p.f.Owner(fl.flow.Dst)
			a, b := p.f.NodeName(src.Node), p.f.NodeName(dst.Node)
			return window >= 5 && min(a, b) == "h1-1" && slices.Contains(others, max(a, b)), false
		}
		p.run(10, func(graphs.ArcID, int) float64 { return 0 })
		d := p.store.Diagnose()
		for _, b := range others {
			if i := slices.IndexFunc(d.Suspects, func(x Suspect) bool { return x.ID == "h1-1>"+b }); len(d.Suspects) != len(others) || i < 0 || d.Suspects[i].Probability < 0.8 {
				t.Errorf("of filters between h1-1 and %s is told: %s", others, d.Text())
			}
		}
	}
}

// TestRacksCutOff plays a filter that comes between two racks while all is measured, of which no two hosts have more than one flow: each alone may be a link's doing.
func TestRacksCutOff(t *testing.T) {
	p := newPlay(t, 240)
	pair := func(fl *playFlow) pairing {
		src, _ := p.f.Owner(fl.flow.Src)
		dst, _ := p.f.Owner(fl.flow.Dst)
		return pairingOf(src.Node, dst.Node)
	}
	filtered := func(x pairing) bool { return p.f.NodeName(x[0])[:2] == "h2" && p.f.NodeName(x[1])[:2] == "h4" }
	one := map[pairing]bool{}
	p.flows = slices.DeleteFunc(p.flows, func(fl playFlow) bool {
		x := pair(&fl)
		again := filtered(x) && one[x]
		one[x] = true
		return again
	})
	p.host = func(fl *playFlow, window, k int) (there, home bool) {
		return filtered(pair(fl)) && (window > 5 || window == 5 && k >= int(fl.flow.SrcPort%10)), false
	}
	p.run(10, func(graphs.ArcID, int) float64 { return 0 })
	if d := p.store.Diagnose(); len(d.Suspects) != 1 || d.Suspects[0].ID != "leaf2>leaf4" || d.Suspects[0].Probability < 0.8 {
		t.Errorf("of a filter between two racks is told: %s", d.Text())
	}
}

// TestDeadBefore plays a dead link, no way known, of which routes moved some flows for half a second, as they do while another one flaps. In the end these two hosts are asked by flows alone
// that were dead before: no filter came between them.
func TestDeadBefore(t *testing.T) {
	p := newPlay(t, 400)
	link, _ := p.f.LinkByName("leaf1:swp1--spine1:swp1")
	dead := func(fl *playFlow) bool { return crosses(fl.path, link) || crosses(fl.back, link) }
	moved := func(fl *playFlow) bool {
		src, _ := p.f.Owner(fl.flow.Src)
		dst, _ := p.f.Owner(fl.flow.Dst)
		return pairingOf(src.Node, dst.Node) == pairingOf(p.f.Hosts()[0], p.f.Hosts()[4])
	}
	for i := range p.flows {
		p.flows[i].untraced = true
	}
	at := 0
	p.host = func(fl *playFlow, w, _ int) (there, home bool) { return dead(fl) && !(moved(fl) && at+w == 9), false }
	lossless := func(graphs.ArcID, int) float64 { return 0 }
	p.run(10, lossless)
	p.start, at = p.start.Add(5*time.Second), 10
	p.flows = slices.DeleteFunc(p.flows, func(fl playFlow) bool { return moved(&fl) && !dead(&fl) })
	p.run(4, lossless)
	d := p.store.Diagnose()
	if len(d.Suspects) == 0 || !slices.Contains(d.Suspects[0].Class, p.f.LinkName(link)) || d.Suspects[0].Probability < Named || len(d.Notes) > 0 {
		t.Errorf("of a dead link is told: %s", d.Text())
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

// TestUnheardBesideUnknownWays: where no way is known, that all flows of two hosts met the same bad link and no other did is less likely than that these two do not hear each other, or that one is not answered. A
// link that is dead is told as that: others may cross it. Several of these are told beside each other, and no link that may explain them together.
func TestUnheardBesideUnknownWays(t *testing.T) {
	type drops func(src, dst string, path []string) bool
	pair := func(a, b string) drops {
		return func(src, dst string, _ []string) bool { return min(src, dst) == a && max(src, dst) == b }
	}
	oneWay := func(src, dst string, _ []string) bool { return src == "h3-2" && dst == "h1-1" }
	dead := func(_, _ string, path []string) bool { return slices.Contains(path, "leaf1:swp2>spine2:swp1") }
	for _, faults := range []map[string]drops{
		{"h1-1>h3-2": pair("h1-1", "h3-2")},
		{"h3-2>h1-1": oneWay},
		{"leaf1:swp2>spine2:swp1": dead},
		{"h1-1>h3-2": pair("h1-1", "h3-2"), "h1-1>h4-2": pair("h1-1", "h4-2")},
		{"h1-1>h3-2": pair("h1-1", "h3-2"), "leaf1:swp2>spine2:swp1": dead},
	} {
		s := newScene(t)
		s.run(probing{flows: 160, packets: 20, windows: 3})
		for _, r := range s.probe {
			src, _ := s.f.Owner(r.Flow.Src)
			dst, _ := s.f.Owner(r.Flow.Dst)
			for _, lost := range faults {
				if r.Kind == evidence.KindEcho && (lost(s.f.NodeName(src.Node), s.f.NodeName(dst.Node), r.Path) || lost("", "", r.Back)) {
					r.Lost, r.LostForward, r.LostBack = r.Sent, nil, nil
				}
			}
			r.Path, r.Back = nil, nil
		}
		got := s.diagnosed()
		named := 0
		for _, x := range got.Suspects {
			if x.Probability >= Named {
				named++
			}
		}
		for want := range faults {
			if named != len(faults) || !slices.ContainsFunc(got.Suspects[:named], func(x Suspect) bool { return slices.Contains(x.Class, want) }) {
				t.Errorf("%s: it is said\n%s", want, got.Text())
			}
		}
	}
}
