package diagnose

import (
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// capture adds what captures of all flows tell, of which every fiftieth packet is lost on one arc. At says where each was taken.
func (p *play) capture(bad graphs.ArcID, at func(fl *playFlow) string) {
	const packets = 2000
	for i := range p.flows {
		fl := &p.flows[i]
		place, ok := p.store.placeOf(at(fl))
		src, _ := p.f.Owner(fl.flow.Src)
		r := &evidence.Record{
			V: 1, Time: p.start, Source: evidence.SourcePcap, By: "a.pcap", Kind: evidence.KindFlow, Flow: &fl.flow, At: at(fl),
			Packets: evidence.Int(2 * packets), Data: evidence.Int(packets), LostBefore: evidence.Int(0), LostAfter: evidence.Int(0),
		}
		if lossy := slices.Index(fl.path, bad); lossy >= 0 {
			cut := place.cut(p.f, &flowLog{src: src.Node}, fl.path)
			if ok && cut > lossy {
				*r.LostBefore = packets / 50
			} else {
				*r.LostAfter = packets / 50
			}
		}
		p.store.Add(r)
	}
}

// TestCaptured plays captures at the sources, at the destinations, at the ports of leaves, and where nobody knows.
func TestCaptured(t *testing.T) {
	for _, c := range []struct {
		name string
		at   func(p *play, fl *playFlow) string
	}{
		{"at the sources", func(_ *play, fl *playFlow) string { return fl.by }},
		{"at the destinations", func(p *play, fl *playFlow) string { return p.f.NodeName(p.f.Head(fl.path[len(fl.path)-1])) }},
		{"at the ports up", func(p *play, fl *playFlow) string { return p.f.PortName(p.f.TailPort(fl.path[1])) }},
		{"unknown", func(*play, *playFlow) string { return "" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlay(t, 120)
			p.flows = slices.DeleteFunc(p.flows, func(fl playFlow) bool { return len(fl.path) < 4 })
			bad, ok := p.f.ArcByName("leaf1:swp2>spine2:swp1")
			if !ok {
				t.Fatal("no such arc")
			}
			p.capture(bad, func(fl *playFlow) string { return c.at(p, fl) })
			d := p.store.Diagnose()
			if d.Verdict != Suspects || !slices.Contains(d.Suspects[0].Class, p.f.ArcName(bad)) || d.Suspects[0].Evidence[0].Source != "pcap" {
				t.Errorf("%s: %s", d.Verdict, d.Text())
			}
		})
	}
}

// TestCapturedElsewhere says what cannot be used.
func TestCapturedElsewhere(t *testing.T) {
	p := newPlay(t, 4)
	r := evidence.Record{V: 1, Time: p.start, Source: evidence.SourcePcap, By: "a.pcap", Kind: evidence.KindFlow, Flow: &p.flows[0].flow}
	p.store.Add(&r)
	r.Packets, r.LostBefore, r.LostAfter, r.At = evidence.Int(9), evidence.Int(1), evidence.Int(0), "nowhere"
	p.store.Add(&r)
	r.Flow, r.At = &evidence.Flow{Src: r.Flow.Src}, ""
	p.store.Add(&r)
	d := p.store.Diagnose()
	if d.Verdict != Inconclusive || len(d.Notes) < 3 {
		t.Errorf("%s %q", d.Verdict, d.Notes)
	}
}

// TestCapturedBetween plays pairs of captures at the hosts and at the port where a spine receives: what is lost between is of the
// arcs between, and together with probes that cross the same arc it names that.
func TestCapturedBetween(t *testing.T) {
	for _, probed := range []bool{false, true} {
		p := newPlay(t, 160)
		p.flows = slices.DeleteFunc(p.flows, func(fl playFlow) bool { return len(fl.path) < 4 })
		bad, ok := p.f.ArcByName("leaf1:swp2>spine2:swp1")
		if !ok {
			t.Fatal("no such arc")
		}
		const packets = 2000
		for i := range p.flows {
			fl := &p.flows[i]
			r := &evidence.Record{
				V: 1, Time: p.start, Source: evidence.SourcePcap, By: "a.pcap,b.pcap", Kind: evidence.KindFlow, Flow: &fl.flow, At: fl.by,
				To: p.f.PortName(p.f.TailPort(fl.path[2])), Packets: evidence.Int(packets), LostBetween: evidence.Int(0),
			}
			if slices.Contains(fl.path[:2], bad) {
				*r.LostBetween = packets / 50
			}
			p.store.Add(r)
		}
		if probed {
			p.run(3, func(a graphs.ArcID, _ int) float64 {
				if a == bad {
					return 0.02
				}
				return 0
			})
		}
		d := p.store.Diagnose()
		if d.Verdict != Suspects || !slices.Contains(d.Suspects[0].Class, p.f.ArcName(bad)) {
			t.Errorf("probed %v: %s: %s", probed, d.Verdict, d.Text())
		}
	}
}
