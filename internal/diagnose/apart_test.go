package diagnose

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
)

// A downTime is when a link is down, in probes of a flow, 50 ms apart.
type downTime struct{ every, from, lasts int }

// overlapping lets links go down at the same times for a part of them: two of one switch, which would be taken for it, and that of a host.
func (p *play) overlapping(tb testing.TB) map[string]downTime {
	tb.Helper()
	return p.downs(tb, map[string]downTime{
		"leaf1:swp1--spine1:swp1": {40, 6, 7}, "leaf1:swp2--spine2:swp1": {66, 14, 3},
		"leaf3:swp1--spine1:swp3": {59, 14, 2}, "h2-1:eth1--leaf2:swp5": {48, 24, 3},
	})
}

// downs has links, or arcs alone, go down at times that count in probes.
func (p *play) downs(tb testing.TB, down map[string]downTime) map[string]downTime {
	tb.Helper()
	arcs := map[graphs.ArcID][]downTime{}
	for name, o := range down {
		if l, ok := p.f.LinkByName(name); ok {
			arcs[l.Forward()], arcs[l.Backward()] = append(arcs[l.Forward()], o), append(arcs[l.Backward()], o)
		} else if a, ok := p.f.ArcByName(name); ok {
			arcs[a] = append(arcs[a], o)
		} else {
			tb.Fatalf("no link %s", name)
		}
	}
	p.host = func(fl *playFlow, w, probe int) (there, home bool) {
		down := func(path []graphs.ArcID) bool {
			return slices.ContainsFunc(path, func(a graphs.ArcID) bool {
				return slices.ContainsFunc(arcs[a], func(o downTime) bool {
					at := w*10 + probe - o.from
					return at >= 0 && at%o.every < o.lasts
				})
			})
		}
		return down(fl.path), down(fl.back)
	}
	return down
}

// TestOutagesThatOverlap: links that go down at the same times for a part of them are told each, with their own times.
func TestOutagesThatOverlap(t *testing.T) {
	p := newPlay(t, 512)
	p.wantFlaps(t, 32, p.overlapping(t))
}

// TestOutagesMostOfTheTime: two uplinks of a switch take turns in going down, and so do three links, so that one of them is down half of the time or more. None is the switch.
func TestOutagesMostOfTheTime(t *testing.T) {
	for _, down := range []map[string]downTime{
		{"leaf1:swp1--spine1:swp1": {80, 0, 20}, "leaf1:swp2--spine2:swp1": {80, 40, 20}},
		{"leaf1:swp1--spine1:swp1": {90, 0, 15}, "leaf1:swp4--spine4:swp1": {90, 30, 15}, "leaf3:swp4--spine4:swp3": {90, 60, 15}},
	} {
		p := newPlay(t, 200)
		p.wantFlaps(t, 64, p.downs(t, down))
	}
}

// wantFlaps plays some windows, and wants flaps to be told, each with its episodes, and nothing else.
func (p *play) wantFlaps(t *testing.T, windows int, want map[string]downTime) {
	t.Helper()
	p.run(windows, func(graphs.ArcID, int) float64 { return 0 })
	d := p.store.Diagnose()
	for _, x := range d.Suspects {
		if x.Probability < Named {
			continue
		}
		o, ok := want[x.Link]
		if times := (10*windows - o.from + o.every - 1) / max(1, o.every); !ok || x.Symptom != Flap || len(x.Episodes) != times {
			t.Errorf("%s %s with %d episodes, want %d", x.ID, x.Symptom, len(x.Episodes), times)
		}
		delete(want, x.Link)
	}
	if len(want) > 0 {
		t.Errorf("not told: %v\n%s", want, d.Text())
	}
}

// BenchmarkOutagesThatOverlap: the same for a minute and many flows, some of which were never traced.
func BenchmarkOutagesThatOverlap(b *testing.B) {
	for _, untraced := range []int{0, 3, 10} { // of ten
		b.Run(fmt.Sprintf("untraced=%d0%%", untraced), func(b *testing.B) {
			p := newPlay(b, 2000)
			p.overlapping(b)
			for i := range p.flows {
				p.flows[i].untraced = i%10 < untraced
			}
			p.run(120, func(graphs.ArcID, int) float64 { return 1e-5 })
			for b.Loop() {
				p.store.Diagnose()
			}
		})
	}
}

// TestDownInStorm: what a link lost while it is known to have been down is not found again, at the very end of a storm either.
func TestDownInStorm(t *testing.T) {
	p := newPlay(t, 0)
	link, _ := p.f.LinkByName("leaf4:swp3--spine3:swp4")
	e := echo{start: p.start, end: p.start.Add(time.Second), path: way{[][]graphs.ArcID{{link.Forward()}}}, back: way{[][]graphs.ArcID{{link.Backward()}}},
		sent: 20, lost: 4, lostAt: []int{200, 200, 200, 200}}
	p.store.order = []*flowLog{{echoes: []echo{e}}}
	end := p.start.Add(200 * time.Millisecond)
	storms := []stretch{{end.Add(-80*time.Millisecond - 33), end}} // which no 64 parts make up
	x := sorter{store: p.store, known: downs{}}
	arcs := []graphs.ArcID{link.Forward(), link.Backward()}
	own, lost := x.downIn(arcs, storms)
	if x.known[arcs[0]] = own; lost != 4 {
		t.Errorf("%d lost in %v", lost, own)
	}
	if own, lost = x.downIn(arcs, storms); lost > 0 {
		t.Errorf("again %d lost in %v", lost, own)
	}
}

// TestRollingRestart: switches that restart one after the other are told each, with its times, and none of their links and hosts by itself.
func TestRollingRestart(t *testing.T) {
	p := newPlay(t, 200)
	down, want := map[string]downTime{}, map[string]bool{}
	for i, name := range []string{"leaf2", "spine3", "leaf4"} {
		n, _ := p.f.NodeByName(name)
		for _, a := range p.f.Out(n) {
			down[p.f.LinkName(a.Link())] = downTime{every: 10000, from: 100 + 200*i, lasts: 60}
		}
		want[name] = true
	}
	p.downs(t, down)
	p.run(80, func(graphs.ArcID, int) float64 { return 0 })
	d := p.store.Diagnose()
	for _, x := range d.Suspects {
		if x.Probability >= Named && (!want[x.ID] || len(x.Episodes) != 1 || *x.Loss < 0.9) {
			t.Error(d.Text())
		}
		delete(want, x.ID)
	}
	if len(want) > 0 {
		t.Errorf("not told: %v\n%s", want, d.Text())
	}
}

// TestOneWayFlap: an arc that is dead for moments while packets come over its link the other way is told, and not its link. Hosts that hear nothing for moments, each at its own,
// are such, and not their switches.
func TestOneWayFlap(t *testing.T) {
	all := map[string]downTime{}
	plain := newPlay(t, 0).f
	for i, h := range plain.Hosts() {
		all[plain.ArcName(plain.Out(h)[0].Reverse())] = downTime{every: 10000, from: 35 + 23*i, lasts: 6}
	}
	for _, down := range []map[string]downTime{{"spine2:swp3>leaf3:swp2": {80, 30, 12}}, all} {
		p := newPlay(t, 300)
		p.downs(t, down)
		p.run(40, func(graphs.ArcID, int) float64 { return 0 })
		d := p.store.Diagnose()
		told := map[string]bool{}
		for _, x := range d.Suspects {
			arc := x.ID
			if x.Kind == "host" {
				h, _ := p.f.NodeByName(x.ID)
				arc = p.f.ArcName(p.f.Out(h)[0].Reverse())
			}
			if told[arc] = true; x.Probability >= Named && down[arc].every == 0 {
				t.Errorf("%s is told: %s", x.ID, d.Text())
			}
		}
		for arc := range down {
			if !told[arc] {
				t.Errorf("%s is not told: %s", arc, d.Text())
			}
		}
	}
}
