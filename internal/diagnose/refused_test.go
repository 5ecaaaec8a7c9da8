package diagnose

import (
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
)

// refuses has a host drop probes that it was to send, and twice as many answers, of which each of its probers hears.
func refuses(count int) func(p *play) {
	return func(p *play) {
		p.strain(busy, busy, evidence.Refused, 1000, 9000, count)
		for _, by := range p.probers(busy) {
			p.strain(by, busy, evidence.Refused, 1000, 9000, 2*count)
		}
	}
}

// TestRefusesBesideLink: a host is named for what its own queues drop, though a link behind it drops more of what it sends.
func TestRefusesBesideLink(t *testing.T) {
	p := newPlay(t, 128)
	refuses(100)(p)
	p.run(24, func(a graphs.ArcID, _ int) float64 {
		return map[string]float64{"h2-1:eth1>leaf2:swp5": 0.03, "leaf2:swp1>spine1:swp2": 0.5}[p.f.ArcName(a)]
	})
	d := p.store.Diagnose()
	named := map[string]bool{}
	for _, x := range d.Suspects {
		if x.Probability >= Named {
			named[x.ID] = true
		}
	}
	if len(named) != 2 || !named[busy] || !named["leaf2:swp1>spine1:swp2"] {
		t.Error(d.Text())
	}
}

// TestRefusesBesideCaptures: where the traffic of a host passes, that tells nothing of probes which its own queues or filters drop, and what lies behind it is not to blame, also where
// some of its flows lose packets elsewhere. Where its traffic suffers as its probes do, it is its link.
func TestRefusesBesideCaptures(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 2, Hosts: 1})
	if err != nil {
		t.Fatal(err)
	}
	const link, elsewhere = "h2-1:eth1>leaf2:swp3", "leaf3:swp3>h3-1:eth1"
	for _, atSource := range []bool{true, false} {
		for _, c := range []struct {
			count int
			sick  string
			want  []string
		}{
			{100, "", []string{busy}},
			{100, elsewhere, []string{busy, elsewhere}},
			{5, link, []string{link}},
		} {
			p := newPlayOn(f, 128)
			refuses(c.count)(p)
			first, _ := f.ArcByName(link)
			sick, ok := f.ArcByName(c.sick)
			if !ok {
				sick = graphs.None
			}
			p.capture(sick, func(fl *playFlow) string {
				if atSource {
					return fl.by
				}
				return p.to(fl)
			})
			p.run(24, func(a graphs.ArcID, _ int) float64 { return 0.03 * is(a == first || a == sick) })
			var named []string
			d := p.store.Diagnose()
			for _, x := range d.Suspects {
				if x.Probability >= Named {
					named = append(named, x.ID)
				}
			}
			slices.Sort(named)
			if !slices.Equal(named, c.want) {
				t.Errorf("named is %v, not %v\n%s", named, c.want, d.Text())
			}
		}
	}
}

// TestRefusesOnTwoLinks: a host that drops what it was to send over each of its links is one suspect.
func TestRefusesOnTwoLinks(t *testing.T) {
	f, err := generate.ThreeTier(generate.ThreeTierConfig{Zones: 1, Racks: 4, ClusterSwitches: 4, Aggregation: 1, Hosts: 1, NICs: 2})
	if err != nil {
		t.Fatal(err)
	}
	p := newPlayOn(f, 128)
	host := f.Hosts()[0]
	name := f.NodeName(host)
	for _, by := range append(p.probers(name), name) {
		p.strain(by, name, evidence.Refused, 1000, 9000, 400)
	}
	p.run(24, func(a graphs.ArcID, _ int) float64 { return 0.1 * is(f.Tail(a) == host) })
	d := p.store.Diagnose()
	if len(d.Suspects) != 1 || d.Suspects[0].ID != name {
		t.Error(d.Text())
	}
}
