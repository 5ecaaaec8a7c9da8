package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

// TestRivals: in an outage a link's own arcs and the switches at its ends are no other answers, and add to its probability.
func TestRivals(t *testing.T) {
	f := newPlay(t, 0).f
	arc := func(name string, p float64) localize.Suspect {
		a, ok := f.ArcByName(name)
		if !ok {
			t.Fatalf("no arc %s", name)
		}
		return localize.Suspect{Cause: localize.Cause{Kind: localize.Arc, ID: int32(a)}, Probability: p}
	}
	node := func(name string, p float64) localize.Suspect {
		n, ok := f.NodeByName(name)
		if !ok {
			t.Fatalf("no node %s", name)
		}
		return localize.Suspect{Cause: localize.Cause{Kind: localize.Node, ID: int32(n)}, Probability: p}
	}
	mine := arc("leaf1:swp2>spine2:swp1", 0.5)
	link := localize.Suspect{Cause: localize.Cause{Kind: localize.Link, ID: int32(graphs.ArcID(mine.ID).Link())}, Probability: 0.05}
	suspects := []localize.Suspect{
		mine, link, arc("spine2:swp1>leaf1:swp2", 0.2), node("spine2", 0.1), // of the link
		arc("leaf1:swp3>spine3:swp1", 0.3), node("spine3", 0.3),
	}
	if got := ofRivals(f, suspects, mine.Cause); math.Abs(got-0.35) > 1e-9 {
		t.Errorf("got %.2f, want 0.35", got)
	}
}

// TestProbersStopFirst: what is usual is told by the time in which probes were sent, and who stopped before the others by what others probed. Switches that are
// polled for longer, or a note, make no storm of a whole run, and none of its probers one that is missing.
func TestProbersStopFirst(t *testing.T) {
	const dead = "leaf1:swp2--spine2:swp1"
	diagnosed := func(also ...*evidence.Record) *Diagnosis {
		p := newPlay(t, 60)
		p.run(12, func(a graphs.ArcID, _ int) float64 { return is(p.f.LinkName(a.Link()) == dead) })
		for _, r := range also {
			r.Time = p.start.Add(time.Minute)
			p.store.Add(r)
		}
		return p.store.Diagnose()
	}
	alone := diagnosed()
	for _, also := range []*evidence.Record{
		{Source: evidence.SourceSNMP, By: "leaf3", Kind: evidence.KindEvent, PortState: evidence.PortState{Port: "leaf3:swp5", Event: evidence.Up}},
		{Source: evidence.SourceNote, By: "me", Kind: evidence.KindNote},
	} {
		d := diagnosed(also)
		if len(d.Suspects) != 1 || d.Suspects[0].ID != dead || d.Suspects[0].For != alone.Suspects[0].For || d.Suspects[0].Against != alone.Suspects[0].Against ||
			len(d.Notes) != len(alone.Notes) {
			t.Errorf("with a later record of %s:\n%s\nalone:\n%s", also.By, d.Text(), alone.Text())
		}
	}
}

// TestWithin: of the losses of two ways that a window has, it is not known which are in a part of it; and a part holds the probes that were surely sent in it.
func TestWithin(t *testing.T) {
	start := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	arcs := way{[][]graphs.ArcID{{1}}}
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	for _, c := range []struct {
		forward, back int
		from, to      int
		sent, lost    int
		split         bool
	}{
		{2, 2, 100, 170, 2, 2, false},
		{4, 0, 100, 170, 2, 2, true},
		{2, 2, 100, 910, 16, 4, true},
		{2, 2, 310, 340, 0, 0, false},
	} {
		e := echo{start: start, end: at(1000), path: arcs, back: arcs, sent: 20, lost: 4, lostAt: []int{100, 150, 850, 900}, split: true, lostForward: c.forward, lostBack: c.back}
		if p := e.within([]stretch{{at(c.from), at(c.to)}}, true); p.sent != c.sent || p.lost != c.lost || p.split != c.split {
			t.Errorf("%+v: sent %d, lost %d, split %v", c, p.sent, p.lost, p.split)
		}
	}
}

// TestDownWith: what flows lose whose paths are on another link when one goes down is no flap of that other one.
func TestDownWith(t *testing.T) {
	p := newPlay(t, 200)
	sick, _ := p.f.LinkByName("leaf1:swp2--spine2:swp1")
	other, _ := p.f.LinkByName("leaf1:swp3--spine3:swp1")
	p.run(40, func(a graphs.ArcID, w int) float64 {
		switch down := w%10 == 4; {
		case down && a.Link() == sick:
			return 1
		case down && a.Link() == other:
			return 0.3
		}
		return 0
	})
	d := p.store.Diagnose()
	if len(d.Suspects) == 0 || d.Suspects[0].Link != p.f.LinkName(sick) || d.Suspects[0].Symptom != Flap ||
		len(d.Suspects) > 1 && d.Suspects[1].Probability >= Named {
		t.Error(d.Text())
	}
}

// TestDeadFlow: of a flow of which nothing is answered, nothing is in any part of the time. It makes no weather, but one that died midway does, however much was sent along it since.
func TestDeadFlow(t *testing.T) {
	begin := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	dead := echo{start: begin, end: at(500), sent: 6, lost: 6, lostAt: []int{8, 92, 175, 258, 342, 425}}
	for ms := range 500 {
		for _, inside := range []bool{false, true} {
			if part := dead.within([]stretch{{at(ms), at(ms + 130)}}, inside); part.sent != part.lost {
				t.Fatalf("of %d probes in a part from %d ms, %d were lost", part.sent, ms, part.lost)
			}
		}
	}
	if l := (&flowLog{echoes: []echo{dead}}); !l.deadAlways() {
		t.Error("a flow of which nothing was answered is not dead")
	}
	died := &flowLog{echoes: []echo{{start: at(-500), end: begin, sent: 6}, dead, {start: at(500), end: at(1000), sent: 54, lost: 54}}}
	if died.deadAlways() {
		t.Error("a flow that was answered at first is dead all the time")
	}
}

// TestFlapBesideLossyLeaf plays a link that goes down for 150 ms every four seconds while a switch loses 3 % of all packets, no way known: that and the links that cannot be told from it
// are one fault, which was told twice where it was found at some moments by itself (seed 14), and at its own times.
func TestFlapBesideLossyLeaf(t *testing.T) {
	for _, seed := range []uint64{13, 14, 15} {
		p := newPlay(t, 60)
		p.rng = rand.New(rand.NewPCG(seed, 4))
		for i := range p.flows {
			p.flows[i].untraced = true
		}
		flapping, _ := p.f.LinkByName("leaf3:swp2--spine2:swp3")
		lossy, _ := p.f.NodeByName("leaf1")
		p.host = func(fl *playFlow, w, k int) (there, home bool) {
			lost := func(path []graphs.ArcID) bool {
				return slices.ContainsFunc(path, func(a graphs.ArcID) bool { return p.f.Head(a) == lossy && p.rng.Float64() < 0.03 }) || w%8 == 3 && k < 3 && crosses(path, flapping)
			}
			there, home = lost(fl.path), lost(fl.back)
			return there, home
		}
		p.run(32, func(graphs.ArcID, int) float64 { return 0 })
		d := p.store.Diagnose()
		named := slices.DeleteFunc(slices.Clone(d.Suspects), func(x Suspect) bool { return x.Probability < Named })
		flaps := func(x Suspect) bool {
			return x.Symptom == Flap && len(x.Class) == 4 && slices.Contains(x.Class, p.f.LinkName(flapping)) && len(x.Episodes) == 4
		}
		if len(named) != 2 || !slices.ContainsFunc(named, flaps) || !slices.ContainsFunc(named, func(x Suspect) bool { return x.ID == "leaf1" }) {
			t.Errorf("seed %d: expected a flap of one of four links and leaf1\n%s", seed, d.Text())
		}
	}
}
