package diagnose

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// A play is evidence made up by a simulation of flows over a fabric: it serves to test the words and the folding of records.
// What the diagnosis is worth on real packets is the casebook's to say.
type play struct {
	f     *graphs.Fabric
	e     *pathfind.ECMP
	rng   *rand.Rand
	store *Store
	start time.Time
	flows []playFlow
	// host says whether the hosts of a flow lose a probe of a window themselves, on its way there or its answer; nil where none does.
	host func(fl *playFlow, window, probe int) (there, home bool)
	// plain leaves out when probes were lost, and records of paths beside those of echoes.
	plain bool
	// unsplit leaves out which way probes were lost.
	unsplit bool
}

type playFlow struct {
	flow       evidence.Flow
	by         string
	path, back []graphs.ArcID
	untraced   bool
	oneWay     bool // the way of its answers was not traced
	size       int
}

func newPlay(t testing.TB, flows int, down ...graphs.LinkID) *play {
	t.Helper()
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	return newPlayOn(f, flows, down...)
}

func newPlayOn(f *graphs.Fabric, flows int, down ...graphs.LinkID) *play {
	p := &play{
		f: f, rng: rand.New(rand.NewPCG(1, 2)), store: NewStore(f, Config{}), start: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC),
		e: pathfind.NewECMPWithout(f, func(l graphs.LinkID) bool { return slices.Contains(down, l) }),
	}
	hosts := f.Hosts()
	for i := range flows {
		src := hosts[i%len(hosts)]
		dst := hosts[p.rng.IntN(len(hosts))]
		if src == dst {
			continue
		}
		p.flows = append(p.flows, playFlow{
			flow: evidence.Flow{Src: f.Address(src, false), Dst: f.Address(dst, false), Proto: "udp", SrcPort: uint16(50000 + i), DstPort: 862},
			by:   f.NodeName(src), path: p.walk(src, dst), back: p.walk(dst, src),
		})
	}
	return p
}

func (p *play) walk(src, dst graphs.NodeID) []graphs.ArcID {
	paths, _ := p.e.Paths(src, dst, 100)
	return paths[p.rng.IntN(len(paths))].Arcs
}

func (p *play) names(arcs []graphs.ArcID) []string {
	var names []string
	for _, a := range arcs {
		names = append(names, p.f.ArcName(a))
	}
	return names
}

// run plays windows of half a second with 10 probes a flow each; lose says how likely an arc loses a probe in a window.
func (p *play) run(windows int, lose func(a graphs.ArcID, window int) float64) {
	const sent = 10
	var paths, backs [][]string // by name, of each flow
	for i := range p.flows {
		paths, backs = append(paths, p.names(p.flows[i].path)), append(backs, p.names(p.flows[i].back))
	}
	for w := range windows {
		at := p.start.Add(time.Duration(w+1) * 500 * time.Millisecond)
		for i := range p.flows {
			fl := &p.flows[i]
			r := &evidence.Record{V: 1, Time: at, Source: evidence.SourceProbe, By: fl.by, Kind: evidence.KindEcho, Flow: &fl.flow,
				Path: paths[i], Back: backs[i], WindowMS: 500, Size: fl.size}
			if fl.untraced {
				r.Path, r.Back = nil, nil
			}
			if fl.oneWay {
				r.Back = nil
			}
			if w%4 == 0 && !p.plain {
				seen := *r
				seen.Kind, seen.Time, seen.WindowMS = evidence.KindPath, r.Start(), 0
				p.store.Add(&seen)
			}
			crosses := func(arcs []graphs.ArcID) bool {
				return slices.ContainsFunc(arcs, func(a graphs.ArcID) bool { return p.rng.Float64() < lose(a, w) })
			}
			lf, lb := 0, 0
			for k := range sent {
				there, home := false, false
				if p.host != nil {
					there, home = p.host(fl, w, k)
				}
				switch {
				case there || crosses(fl.path):
					lf++
					r.LostAtMS = append(r.LostAtMS, k*50)
				case home || crosses(fl.back):
					lb++
					r.LostAtMS = append(r.LostAtMS, k*50)
				}
			}
			r.Sent, r.Lost, r.LostForward, r.LostBack = evidence.Int(sent), evidence.Int(lf+lb), evidence.Int(lf), evidence.Int(lb)
			if p.plain {
				r.LostAtMS = nil
			}
			if p.unsplit {
				r.LostForward, r.LostBack = nil, nil
			}
			p.store.Add(r)
		}
	}
}

func TestDiagnose(t *testing.T) {
	arc := func(p *play, name string) graphs.ArcID {
		a, ok := p.f.ArcByName(name)
		if !ok {
			t.Fatalf("no arc %s", name)
		}
		return a
	}
	const sick = "leaf1:swp2>spine2:swp1"
	for _, c := range []struct {
		name string
		lose func(p *play) func(graphs.ArcID, int) float64
		down string
		want string // of the first suspect: kind id symptom; or the verdict
	}{
		{"healthy", func(*play) func(graphs.ArcID, int) float64 { return func(graphs.ArcID, int) float64 { return 0 } }, "", "healthy"},
		{"loss", func(p *play) func(graphs.ArcID, int) float64 {
			return func(a graphs.ArcID, _ int) float64 { return 0.05 * is(a == arc(p, sick)) }
		}, "", "arc " + sick + " loss"},
		{"flap", func(p *play) func(graphs.ArcID, int) float64 {
			return func(a graphs.ArcID, w int) float64 { return is(a.Link() == arc(p, sick).Link() && w%6 == 2) }
		}, "", "link leaf1:swp2--spine2:swp1 flap"},
		{"down", func(*play) func(graphs.ArcID, int) float64 { return func(graphs.ArcID, int) float64 { return 0 } },
			"leaf1:swp2--spine2:swp1", "link leaf1:swp2--spine2:swp1 down"},
		{"switch", func(p *play) func(graphs.ArcID, int) float64 {
			return func(a graphs.ArcID, _ int) float64 { return 0.02 * is(p.f.NodeName(p.f.Head(a)) == "spine3") }
		}, "", "node spine3 loss"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlay(t, 128)
			if c.down != "" {
				l, ok := p.f.LinkByName(c.down)
				if !ok {
					t.Fatalf("no link %s", c.down)
				}
				p = newPlay(t, 128, l)
			}
			p.run(24, c.lose(p))
			d := p.store.Diagnose()
			got := string(d.Verdict)
			if len(d.Suspects) > 0 {
				x := d.Suspects[0]
				got = fmt.Sprintf("%s %s %s", x.Kind, x.ID, x.Symptom)
			}
			if got != c.want {
				t.Errorf("got %q, want %q\n%s", got, c.want, d.Text())
			}
			for _, x := range d.Suspects[min(1, len(d.Suspects)):] {
				if x.Probability >= Named {
					t.Errorf("%s is named too\n%s", x.ID, d.Text())
				}
			}
			t.Log("\n" + d.Text())
		})
	}
}

// TestTwoDown takes two links out of routing: each is told by itself, as the evidence tells them apart.
func TestTwoDown(t *testing.T) {
	f := newPlay(t, 0).f
	names := []string{"leaf1:swp1--spine1:swp1", "leaf2:swp2--spine2:swp2"}
	var down []graphs.LinkID
	for _, name := range names {
		l, ok := f.LinkByName(name)
		if !ok {
			t.Fatalf("no link %s", name)
		}
		down = append(down, l)
	}
	p := newPlay(t, 256, down...)
	p.run(8, func(graphs.ArcID, int) float64 { return 0 })
	d := p.store.Diagnose()
	var got []string
	for _, x := range d.Suspects {
		got = append(got, strings.Join(x.Class, " or "))
	}
	slices.Sort(got)
	if !slices.Equal(got, names) {
		t.Errorf("got %q, want %q\n%s", got, names, d.Text())
	}
}

// TestFlapBesideLoss: a link that flaps is found while others lose a part all the time, whose losses before and after an outage are not of it.
func TestFlapBesideLoss(t *testing.T) {
	for _, rate := range []float64{0.02, 0.2} {
		p := newPlay(t, 256)
		flaps, _ := p.f.LinkByName("leaf4:swp3--spine3:swp4")
		first, _ := p.f.ArcByName("leaf1:swp1>spine1:swp1")
		second, _ := p.f.ArcByName("spine1:swp3>leaf3:swp1")
		p.host = func(fl *playFlow, w, probe int) (there, home bool) { // routing takes a fifth of a second to go around it
			out := w%16 == 2 && probe >= 3 && probe < 7
			return out && crosses(fl.path, flaps), out && crosses(fl.back, flaps)
		}
		p.run(32, func(a graphs.ArcID, _ int) float64 { return rate * is(a == first || a == second) })
		d := p.store.Diagnose()
		got := map[string]Symptom{}
		for _, x := range d.Suspects {
			if x.Probability >= Named {
				got[x.ID] = x.Symptom
			}
		}
		want := map[string]Symptom{p.f.LinkName(flaps): Flap, p.f.ArcName(first): Loss, p.f.ArcName(second): Loss}
		if !maps.Equal(got, want) {
			t.Errorf("rate %g: got %v, want %v\n%s", rate, got, want, d.Text())
		}
		for _, st := range p.store.storms(nil) {
			if long := st.to.Sub(st.from); long > 200*time.Millisecond {
				t.Errorf("rate %g: a storm lasts %v", rate, long)
			}
		}
	}
}

// TestFlapBesideUntraced: what flows lose that may have crossed a link which went down, and did not, does not make its outages something that loses only a part.
func TestFlapBesideUntraced(t *testing.T) {
	p := newPlay(t, 256)
	flaps, _ := p.f.LinkByName("leaf4:swp3--spine3:swp4")
	for i := range p.flows {
		fl := &p.flows[i]
		fl.untraced = !crosses(fl.path, flaps) && !crosses(fl.back, flaps)
	}
	p.run(32, func(a graphs.ArcID, w int) float64 {
		return max(is(a.Link() == flaps && w%16 == 2), 0.1*is(slices.Contains([]string{"leaf1:swp1>spine1:swp1", "spine1:swp3>leaf3:swp1", "leaf2:swp2>spine2:swp2"}, p.f.ArcName(a))))
	})
	p.store.arrange()
	storms := p.store.storms(nil)
	seen := p.store.observeStorms(storms, deadArcs{}, nil, false)
	if found := p.store.outagesOf(seen, p.store.solveStorms(seen), stormLoss); len(storms) != 2 || len(found) != 1 || graphs.LinkID(found[0].ID) != flaps || found[0].Loss < 0.9 {
		t.Errorf("in %d storms: %+v", len(storms), found)
	}
}

// TestTwoFlaps: of two links that go down each at its own times, each is in the other's outages a link that loses nothing.
func TestTwoFlaps(t *testing.T) {
	p := newPlay(t, 256)
	first, _ := p.f.LinkByName("leaf4:swp3--spine3:swp4")
	second, _ := p.f.LinkByName("leaf1:swp1--spine1:swp1")
	p.host = func(fl *playFlow, w, probe int) (there, home bool) {
		link := first
		if w%8 == 5 {
			link = second
		}
		out := (w%8 == 2 || w%8 == 5) && probe >= 3 && probe < 7
		return out && crosses(fl.path, link), out && crosses(fl.back, link)
	}
	p.run(24, func(graphs.ArcID, int) float64 { return 0 })
	d := p.store.Diagnose()
	var got []string
	for _, x := range d.Suspects {
		got = append(got, fmt.Sprintf("%s %s %d times", x.ID, x.Symptom, len(x.Episodes)))
	}
	slices.Sort(got)
	if want := []string{"leaf1:swp1--spine1:swp1 flap 3 times", "leaf4:swp3--spine3:swp4 flap 3 times"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q\n%s", got, want, d.Text())
	}
}

// A few losses make a suspect of which nobody knows yet whether it is one: that is neither healthy nor found.
func TestDoubted(t *testing.T) {
	doubted := 0
	for a := range graphs.ArcID(16) {
		p := newPlay(t, 128)
		p.run(6, func(x graphs.ArcID, _ int) float64 { return 0.002 * is(x == a) })
		d := p.store.Diagnose()
		top := 0.0
		perhaps := false
		if len(d.Suspects) > 0 {
			top = d.Suspects[0].Probability
			perhaps = d.Verdict == Inconclusive && strings.HasPrefix(d.Summary, "perhaps ")
		}
		if perhaps {
			doubted++
		}
		if perhaps != (top >= Doubted && top < Named) || d.Verdict == Healthy && top >= Doubted {
			t.Errorf("p %.2f\n%s", top, d.Text())
		}
	}
	if doubted == 0 {
		t.Error("none was doubted")
	}
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// TestWhyFew: answers that may be lost with what loses as much, as may the probes, are not told as limited by the switch.
func TestWhyFew(t *testing.T) {
	p := newPlay(t, 128)
	p.run(1, func(graphs.ArcID, int) float64 { return 0 })
	p.store.Diagnose()
	spine, _ := p.f.NodeByName("spine2")
	for _, c := range []struct {
		suspect string
		loss    float64
		lost    bool
	}{
		{"leaf1:swp2--spine2:swp1", 1, true},
		{"spine2:swp3>leaf3:swp2", 0.7, true},
		{"leaf3:swp2>spine2:swp3", 0.7, true},
		{"leaf3", 1, true},
		{"spine2:swp3>leaf3:swp2", 0.05, false},
		{"leaf1:swp3--spine3:swp1", 1, false}, // beside every way
	} {
		want := "rate limit"
		if c.lost {
			want = "a rate limit, or lost with " + c.suspect
		}
		got := p.store.whyFew(&localize.Responder{Node: spine, Sent: 77, Answered: 33}, []Suspect{{ID: c.suspect, Symptom: Loss, Loss: &c.loss, Probability: 0.99}})
		if got != want {
			t.Errorf("%s loses %g: %q, want %q", c.suspect, c.loss, got, want)
		}
	}
}

// TestStoreRefuses plays records that do not fit the fabric: they are counted and said, and never break anything.
func TestStoreRefuses(t *testing.T) {
	p := newPlay(t, 16)
	fl := p.flows[0]
	for _, path := range [][]string{
		{"nowhere:1>nobody:2"},
		{p.f.ArcName(fl.path[0]), p.f.ArcName(fl.path[0])},
		{"\x1b[31mleaf1"},
	} {
		p.store.Add(&evidence.Record{Source: evidence.SourceProbe, By: "h\x1b[2J", Kind: evidence.KindEcho, Flow: &fl.flow, Path: path,
			Sent: evidence.Int(10), Lost: evidence.Int(10), Time: p.start})
	}
	text := p.store.Diagnose().Text()
	for _, want := range []string{"2 records left out: paths with arcs that the fabric does not have", "1 record left out: paths with arcs that do not meet"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.ContainsRune(text, '\x1b') {
		t.Errorf("control characters reach the terminal: %q", text)
	}
}

// TestOtherFabric: where most of what was measured is of another fabric, whatever the rest says is no answer.
func TestOtherFabric(t *testing.T) {
	for _, strange := range []int{1, 3} {
		p := newPlay(t, 128)
		p.run(8, func(a graphs.ArcID, _ int) float64 {
			if p.f.ArcName(a) == "leaf2:swp3>spine3:swp2" {
				return 0.2
			}
			return 0
		})
		fl := p.flows[0]
		for range strange * p.store.routed {
			p.store.Add(&evidence.Record{Source: evidence.SourceProbe, By: "h9", Kind: evidence.KindEcho, Flow: &fl.flow, Path: []string{"nowhere:1>nobody:2"},
				Sent: evidence.Int(10), Lost: evidence.Int(0), Time: p.start})
		}
		if d := p.store.Diagnose(); (d.Verdict == Inconclusive) != (strange == 3) || strings.HasPrefix(d.Summary, "the fabric file does not fit: ") != (strange == 3) {
			t.Errorf("%d times as many strange records: %s: %s", strange, d.Verdict, d.Summary)
		}
	}
}

// TestPartial: what one host crosses is little of a fabric, which nobody may call healthy for it; of a check on that host alone it is the answer.
func TestPartial(t *testing.T) {
	for _, partial := range []bool{false, true} {
		p := newPlay(t, 128)
		p.flows = slices.DeleteFunc(p.flows, func(fl playFlow) bool { return fl.by != "h1-1" })[:3]
		p.store = NewStore(p.f, Config{Partial: partial})
		p.run(24, func(graphs.ArcID, int) float64 { return 0 })
		if d := p.store.Diagnose(); (d.Verdict == Healthy) != partial {
			t.Errorf("partial %v: %s: %s", partial, d.Verdict, d.Summary)
		}
	}
}

// TestForgotten: of flows of which nothing is newer than the horizon nothing is kept, whoever else told of them, and those that come back are told of as any.
func TestForgotten(t *testing.T) {
	s := newScene(t)
	s.run(probing{flows: 40, packets: 20, windows: 4, lose: s.only(0.02, sickArc)})
	store := NewStore(s.f, Config{Horizon: time.Minute})
	add := func(by string, late time.Duration) {
		for _, r := range s.probe {
			x := *r
			x.By, x.Time = by+r.By, r.Time.Add(late)
			store.Add(&x)
		}
	}
	add("", 0)
	add("copy of ", 0)
	first := len(store.order)
	store.Diagnose()
	last := s.probe[len(s.probe)-1]
	for _, late := range []time.Duration{time.Hour, 2 * time.Hour} {
		other := *last
		other.Time, other.Flow = last.Time.Add(late), &evidence.Flow{Src: last.Flow.Dst, Dst: last.Flow.Src, Proto: "udp", SrcPort: 9, DstPort: 9}
		other.Path, other.Back = nil, nil
		store.Add(&other)
		if store.Diagnose(); len(store.order) != 1 || len(store.flows) != 1 || len(store.retold) != 0 {
			t.Fatalf("%d flows of %d are kept, %d told of by several", len(store.order), first, len(store.retold))
		}
		add("copy of ", late)
		add("", late)
		if d := store.Diagnose(); len(d.Suspects) == 0 || d.Suspects[0].Probability < Named || len(store.retold) != 40 {
			t.Errorf("come back they tell\n%s", d.Text())
		}
	}
}
