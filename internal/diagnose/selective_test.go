package diagnose

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// TestSelective: a link that drops all packets of a third of the flows that cross it is told with that share, and not that it loses a third of all packets. One that did so for a while,
// so that flows which were measured then suffer and later ones do not, is no such fault.
func TestSelective(t *testing.T) {
	for _, later := range []time.Duration{0, time.Minute} {
		q := newInquest(t)
		sport := uint16(50000)
		for round := range 2 {
			for src := range 8 {
				for dst := range 8 {
					if src/2 == dst/2 {
						continue
					}
					for spine := 1; spine <= 4; spine++ {
						lost := 0
						sport++
						if hit := (src+dst+round)%3 == 0 || later > 0; src < 2 && spine == 2 && hit && (round == 0 || later == 0) {
							lost = 100
						}
						q.later = time.Duration(round) * later
						q.flow(host(src), host(dst), sport, spine, 100, lost, false)
					}
				}
			}
		}
		d := q.store.Diagnose()
		switch {
		case later == 0:
			if len(d.Suspects) == 0 || d.Suspects[0].ID != "leaf1:swp2>spine2:swp1" || d.Suspects[0].Hit == nil || d.Suspects[0].Probability < 0.9 ||
				*d.Suspects[0].Hit < 0.1 || *d.Suspects[0].Hit > 0.4 || // answers may cross it, too, and none of these is lost
				!strings.Contains(d.Summary, "drops 100 % of the packets of some flows") {
				t.Error(d.Text())
			}
		default:
			for _, x := range d.Suspects {
				if x.Hit != nil {
					t.Error(d.Text())
				}
			}
		}
	}
}

func host(i int) string { return fmt.Sprintf("h%d-%d", i/2+1, i%2+1) }

// TestSelectiveFew: three flows of many lose all that they send, over one arc that others cross clean. The arc drops the packets of some flows, however often a few packets of others are
// lost at a moment of which nobody knows the way.
func TestSelectiveFew(t *testing.T) {
	for seed := range uint64(5) {
		p := newPlay(t, 200)
		p.rng = rand.New(rand.NewPCG(seed, 3))
		var by [2][]*playFlow
		bad, other := p.flows[seed].path[1], graphs.ArcID(0)
		for i := range p.flows {
			fl := &p.flows[i]
			switch {
			case slices.Contains(fl.path, bad):
				by[0] = append(by[0], fl)
			case len(fl.path) == 4 && (other == 0 || fl.path[1] == other):
				by[1], other = append(by[1], fl), fl.path[1]
			}
		}
		p.host = func(fl *playFlow, _, _ int) (there, home bool) { return slices.Contains(by[0][:3], fl), false }
		p.run(20, func(graphs.ArcID, int) float64 { return 0 })
		for _, fl := range by[1][:min(4, len(by[1]))] {
			p.store.Add(&evidence.Record{V: 1, Time: p.store.to.Add(100 * time.Millisecond), Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindEcho, Flow: &fl.flow,
				Path: p.names(fl.path), Back: p.names(fl.back), WindowMS: 100, Sent: evidence.Int(2), Lost: evidence.Int(2)})
		}
		d := p.store.Diagnose()
		if len(d.Suspects) == 0 || !slices.Contains(d.Suspects[0].Class, p.f.ArcName(bad)) || d.Suspects[0].Hit == nil || d.Suspects[0].Probability < Named ||
			len(d.Suspects) > 1 && d.Suspects[1].Probability >= Named {
			t.Error(seed, len(by[0]), len(by[1]), p.f.ArcName(bad), d.Text())
		}
	}
}

// TestSelectiveRevives: flows that are dead for a while on their ways, again and again, and pass in between, as where routes move them onto a dead way that nobody traces, are no proof of an arc
// that drops the packets of some flows.
func TestSelectiveRevives(t *testing.T) {
	p := newPlay(t, 200)
	var moved []*playFlow
	for i := range p.flows {
		if fl := &p.flows[i]; slices.Contains(fl.path, p.flows[0].path[1]) && len(moved) < 5 {
			moved = append(moved, fl)
		}
	}
	p.host = func(fl *playFlow, w, _ int) (there, home bool) {
		i := slices.Index(moved, fl)
		return i >= 0 && (w+3*i)%8 < 3, false
	}
	p.run(20, func(graphs.ArcID, int) float64 { return 0 })
	for _, x := range p.store.Diagnose().Suspects {
		if x.Hit != nil && x.Probability >= Named {
			t.Errorf("%s is told to drop the packets of some flows, with %.2f", x.ID, x.Probability)
		}
	}
}

// TestSelectiveBesideFlap: an arc that drops all packets of some flows is told beside a link that goes down and comes up.
func TestSelectiveBesideFlap(t *testing.T) {
	p := newPlay(t, 200)
	var hit []*playFlow
	bad := p.flows[0].path[1]
	for i := range p.flows {
		if fl := &p.flows[i]; slices.Contains(fl.path, bad) && i%2 == 0 {
			hit = append(hit, fl)
		}
	}
	flapping := p.f.Out(p.f.Head(p.flows[1].path[0]))[3].Link()
	p.host = func(fl *playFlow, _, _ int) (there, home bool) { return slices.Contains(hit, fl), false }
	p.run(32, func(a graphs.ArcID, w int) float64 { return is(a.Link() == flapping && w%8 == 5) })
	d := p.store.Diagnose()
	var named []string
	for _, x := range d.Suspects {
		if x.Probability >= Named {
			named = append(named, fmt.Sprint(x.ID, x.Symptom, x.Hit != nil))
		}
	}
	slices.Sort(named)
	wanted := []string{fmt.Sprint(p.f.ArcName(bad), Loss, true), fmt.Sprint(p.f.LinkName(flapping), Flap, false)}
	if slices.Sort(wanted); !slices.Equal(named, wanted) {
		t.Errorf("named are %q, expected %q\n%s", named, wanted, d.Text())
	}
}

// TestSelectiveBusy: what some flows over an arc lose now and then is told, but not of hosts that stand still for most of the time: their flows do lose packets, and others may not.
func TestSelectiveBusy(t *testing.T) {
	for _, busy := range []bool{false, true} {
		p := newPlay(t, 200)
		bad := p.flows[0].path[1]
		var hit []*playFlow
		for i := range p.flows {
			if fl := &p.flows[i]; slices.Contains(fl.path, bad) && len(hit) < 5 {
				hit = append(hit, fl)
			}
		}
		p.host = func(fl *playFlow, w, probe int) (there, home bool) {
			return slices.Contains(hit, fl) && (w+slices.Index(hit, fl))%5 == 2 && probe < 3, false
		}
		p.run(20, func(graphs.ArcID, int) float64 { return 0 })
		for _, h := range p.f.Hosts() {
			for w := 0; w < 20 && busy; w++ {
				p.strain(p.f.NodeName(h), p.f.NodeName(h), evidence.Pause, 500*w, 500*w+400, 0)
			}
		}
		d := p.store.Diagnose()
		if told := len(d.Suspects) > 0 && d.Suspects[0].Probability >= Named; told == busy {
			t.Error(busy, d.Text())
		}
	}
}
