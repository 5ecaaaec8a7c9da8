package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
)

// TestMisfit: a file of a smaller fabric, whose hosts it has by chance, is no ground to call that fabric healthy; switches whose addresses it lacks are.
func TestMisfit(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		hops func(flow int) [3]string // nodes, or addresses that the file does not have
		want Verdict
	}{
		{"four spines where two are planned", func(i int) [3]string { return [3]string{"leaf1", fmt.Sprintf("192.0.2.%d", i%4), "leaf2"} }, Inconclusive},
		{"a leaf next to the host that is planned far away", func(int) [3]string { return [3]string{"leaf2", "spine1", "leaf1"} }, Inconclusive},
		{"one spine of unknown addresses", func(i int) [3]string {
			if i%4 > 1 {
				return [3]string{"leaf1", fmt.Sprintf("192.0.2.%d", i%4), "leaf2"}
			}
			return [3]string{"leaf1", "spine1", "leaf2"}
		}, Healthy},
		{"an unknown leaf next to the host", func(int) [3]string { return [3]string{"192.0.2.9", "spine1", "leaf2"} }, Healthy},
		{"each switch answers from an address of its own", func(i int) [3]string {
			return [3]string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}
		}, Healthy},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlayOn(f, 64)
			p.flows = slices.DeleteFunc(p.flows, func(fl playFlow) bool { return fl.by != "h1-1" })
			p.run(8, func(graphs.ArcID, int) float64 { return 0 })
			for i, fl := range p.flows {
				for ttl, who := range c.hops(i) {
					r := &evidence.Record{Time: p.start, Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindHop, Flow: &fl.flow, TTL: ttl + 1, Sent: evidence.Int(2), Answered: evidence.Int(2)}
					if strings.HasPrefix(who, "192.") {
						r.Address = who
					} else {
						r.Node = who
					}
					p.store.Add(r)
				}
			}
			if d := p.store.Diagnose(); d.Verdict != c.want || strings.HasPrefix(d.Summary, "the fabric file does not fit") != (c.want == Inconclusive) {
				t.Errorf("%s: %s", d.Verdict, d.Summary)
			}
		})
	}
}

// TestLinkThatTheFileLacks: flows that take a lossy link of which the fabric file knows nothing are not traced to the end, and meet addresses that no switch of the file has. None
// of its links is blamed for what they lose.
func TestLinkThatTheFileLacks(t *testing.T) {
	p := newPlay(t, 400)
	lacks := map[*playFlow]bool{}
	for i := range p.flows {
		if fl := &p.flows[i]; len(fl.path) == 4 && p.f.NodeName(p.f.Tail(fl.path[1])) == "leaf2" && i%3 == 0 {
			lacks[fl], fl.untraced = true, true
		}
	}
	p.host = func(fl *playFlow, _, _ int) (there, home bool) { return lacks[fl] && p.rng.IntN(20) == 0, false }
	p.run(24, func(graphs.ArcID, int) float64 { return 0 })
	for i := range p.flows {
		fl := &p.flows[i]
		for ttl := 1; ttl < len(fl.path); ttl++ {
			r := &evidence.Record{Time: p.start, Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindHop, Flow: &fl.flow, TTL: ttl, Sent: evidence.Int(2), Answered: evidence.Int(2)}
			if r.Node = p.f.NodeName(p.f.Head(fl.path[ttl-1])); lacks[fl] && ttl == 2 {
				r.Node, r.Address = "", "192.0.2.7\x1b[2J"
			}
			p.store.Add(r)
		}
	}
	d := p.store.Diagnose()
	if d.Verdict != Inconclusive || !strings.Contains(d.Summary, "flows that pass 192.0.2.7") || strings.ContainsRune(d.Text(), '\x1b') || len(d.Suspects) > 0 && d.Suspects[0].Probability >= Doubted {
		t.Error(d.Text())
	}
}
