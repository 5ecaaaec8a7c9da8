package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// diagnosed is what is said of all of a scene.
func (s *scene) diagnosed() *Diagnosis {
	store := NewStore(s.f, Config{})
	for _, r := range slices.Concat(s.probe, s.snmp) {
		store.Add(r)
	}
	return store.Diagnose()
}

// TestContradictions: what contradicts a source is told, in the name of who says it.
func TestContradictions(t *testing.T) {
	down := func(port string, st *evidence.PortState) {
		if port == "leaf1:swp2" {
			st.Oper = evidence.Down
		}
	}
	s := newScene(t)
	s.run(probing{flows: 60, packets: 20, windows: 3})
	s.poll(1, down)
	d := s.diagnosed()
	i := slices.IndexFunc(d.Suspects, func(x Suspect) bool { return x.ID == sickLink })
	s.snmp = nil
	s.poll(1, func(port string, st *evidence.PortState) {
		if down(port, st); port == receiving {
			st.Oper = evidence.Down
		}
	})
	if d = s.diagnosed(); i >= 0 || len(d.Suspects) != 1 {
		t.Fatalf("of one end that is down, and packets that cross, it is said\n%s", d.Text())
	}
	if x := d.Suspects[0].Doubts; len(x) != 1 || x[0].Source != "probe" || !strings.HasPrefix(x[0].Text, "packets crossed it later") {
		t.Errorf("doubts are %q", x)
	}

	s.snmp = nil
	s.poll(1, func(port string, st *evidence.PortState) {
		if port == "leaf1:swp2" {
			st.Out.Discards = evidence.Count(20_000)
		}
	})
	d = s.diagnosed()
	told := func(d *Diagnosis) bool {
		return slices.ContainsFunc(d.Notes, func(n string) bool {
			return strings.Contains(n, "discarded on the way out") && strings.Contains(n, "leaf1:swp2 20,000 packets of ") && strings.Contains(n, " 0 were lost")
		})
	}
	if d.Verdict != Healthy || !told(d) {
		t.Errorf("of a port that discards what is no probe it is said\n%s", d.Text())
	}
	s.probe = nil
	s.run(probing{flows: 60, packets: 200, windows: 3, lose: func(a graphs.ArcID, _ int) float64 { return 0.02 * is(s.f.ArcName(a) == sickArc) }})
	if d = s.diagnosed(); d.Verdict != Suspects || told(d) {
		t.Errorf("of a port that discards probes, too, it is said\n%s", d.Text())
	}
	// Its counters have told which end it is.
	if next := d.Suspects[0].Next; len(next) == 0 || next[0].Why != fillsQueue || !strings.Contains(next[0].Do, "of leaf1:swp2, ") {
		t.Errorf("it is advised: %q", next)
	}
}

// TestMiswireContradicted: a neighbour that is heard against the plan, while packets cross the link as planned, is told to be contradicted.
func TestMiswireContradicted(t *testing.T) {
	s := newScene(t)
	s.say(evidence.KindNeighbour, "leaf1:swp2", -150, evidence.PortState{RemoteSystem: "spine3", RemotePort: "swp1"})
	s.run(probing{flows: 60, packets: 20, windows: 3})
	d := s.diagnosed()
	if d.Verdict != Healthy || !slices.ContainsFunc(d.Cleared, func(c Cleared) bool {
		return c.ID == sickLink && strings.HasPrefix(c.Why, "leaf1:swp2 hears spine3:swp1, yet ") && strings.Contains(c.Why, " crossed it as planned")
	}) {
		t.Errorf("it is said\n%s", d.Text())
	}
}

// TestMiswireDenied: where the other end of a cable that a port hears is plugged as planned, that word names no link.
func TestMiswireDenied(t *testing.T) {
	s := newScene(t)
	s.say(evidence.KindNeighbour, "leaf1:swp2", 0, evidence.PortState{RemoteSystem: "spine3", RemotePort: "swp1"})
	named := func(d *Diagnosis) bool {
		return slices.ContainsFunc(d.Suspects, func(x Suspect) bool { return x.ID == sickLink && x.Probability >= Named })
	}
	if d := s.diagnosed(); !named(d) {
		t.Errorf("of a port that hears another it is said\n%s", d.Text())
	}
	s.say(evidence.KindNeighbour, "leaf1:swp3", 0, evidence.PortState{RemoteSystem: "spine3", RemotePort: "swp1"})
	d := s.diagnosed()
	if named(d) || !strings.Contains(d.Text(), "leaf1:swp3 hears spine3:swp1, as planned") {
		t.Errorf("where a port hears that other one as planned it is said\n%s", d.Text())
	}
}

// TestLoosePlugs: where three cables lead to what the plan does not have, each of the plugs left at their other ends may be at any of the others. These are more cables than
// there are planned ones missing.
func TestLoosePlugs(t *testing.T) {
	s := newScene(t)
	want := map[string]bool{}
	for i, port := range []string{"leaf1:swp1", "leaf1:swp2", "leaf2:swp3"} {
		s.say(evidence.KindNeighbour, port, 0, evidence.PortState{RemoteSystem: fmt.Sprint("stranger", i), RemotePort: "swp1"})
		p, _ := s.f.PortByName(port)
		want[s.f.LinkName(s.f.Port(p).Link)] = true
	}
	s.run(probing{flows: 60, packets: 20, windows: 3, untraced: true})
	d := s.diagnosed()
	for _, x := range d.Suspects {
		if x.Symptom == Miswire && x.Probability >= Named {
			delete(want, x.Link)
		}
	}
	if len(want) > 0 || d.Coverage.Measured+len(d.Coverage.Unmeasured) != s.f.NumArcs() {
		t.Errorf("not told: %v; it is said\n%s", want, d.Text())
	}
}

// TestErrorsOfAnotherTime: clean probes are no word on errors of another time than theirs.
func TestErrorsOfAnotherTime(t *testing.T) {
	for _, c := range []struct {
		from, to float64 // when errors are counted; probes run from 60 s to 90 s
		named    bool
		says     string
	}{
		{0, 50, false, "spine2:swp1 counted errors (1.3 %) until 03:00:40Z, and of 4,800 probes across it later 0 were lost"},
		{110, 150, true, "counted after the last probe crossed it"},
		{60, 80, false, "it counts what is not lost"},
	} {
		s := newScene(t)
		for second := 10.0; second < 160; second += 10 {
			s.poll(second, func(port string, st *evidence.PortState) {
				if port == receiving && second >= c.from && second < c.to {
					st.In.Errors = evidence.Count(50_000)
				}
			})
		}
		s.start = s.start.Add(time.Minute)
		s.run(probing{flows: 60, packets: 100, windows: 6})
		d := s.diagnosed()
		if named := d.Verdict == Suspects; named != c.named || !strings.Contains(d.Text(), c.says) {
			t.Errorf("of errors from %v s to %v s it is said\n%s", c.from, c.to, d.Text())
		}
	}
}

// TestNoFlowCrosses: of errors that only counters know, nothing is said of flows.
func TestNoFlowCrosses(t *testing.T) {
	s := newScene(t)
	s.poll(10, func(port string, st *evidence.PortState) {
		if port == receiving {
			st.In.Errors = evidence.Count(50_000)
		}
	})
	d := s.diagnosed()
	if len(d.Suspects) != 1 || !strings.HasPrefix(d.Suspects[0].Against, "no flow is known to cross it") {
		t.Errorf("it is said\n%s", d.Text())
	}
	// What no probe met is told as it was counted.
	if x := &d.Suspects[0]; x.Symptom != Corruption || *x.Loss < 0.043 || *x.Loss > 0.053 || *x.LossLow < 0.9**x.Loss || *x.LossHigh > 1.1**x.Loss {
		t.Errorf("of 5 %% errors it is said\n%s", d.Text())
	}
	// A link that also runs slowly is one part of its switch, not two for an arc of it, and makes no suspect of that.
	s.snmp = nil
	s.say(evidence.KindCounters, "leaf1:swp3", 4, evidence.PortState{IntervalMS: 5000, Oper: evidence.Up, Speed: 10e9,
		In: &evidence.Counters{Unicast: evidence.Count(1e6), Errors: evidence.Count(50_000), Discards: evidence.Count(0)}})
	d = s.diagnosed()
	for _, x := range d.Suspects {
		if strings.Contains(x.For, " of 0 ") || x.Kind == "node" {
			t.Errorf("it is said\n%s", d.Text())
		}
	}
}

// TestOneMoment: of what is said of one moment, and contradicts itself, the same is made whatever was read first.
func TestOneMoment(t *testing.T) {
	s := newScene(t)
	s.run(probing{flows: 60, packets: 20, windows: 1})
	n, dark, bright := evidence.Count, -30.0, -2.0
	for _, errors := range []uint64{0, 50_000} {
		for _, oper := range []string{evidence.Up, evidence.Down} {
			for _, light := range []*float64{&dark, &bright} {
				s.say(evidence.KindCounters, "leaf1:swp1", 4, evidence.PortState{IntervalMS: 2000, Oper: oper, Speed: 1e9 + errors,
					In: &evidence.Counters{Unicast: n(1e6), Errors: &errors}, Optics: []evidence.Lane{{Rx: light}}})
			}
		}
	}
	for _, far := range []string{"spine1", "spine2", "spine3"} {
		s.say(evidence.KindNeighbour, "leaf1:swp2", 3, evidence.PortState{RemoteSystem: far, RemotePort: "swp1"})
	}
	for _, event := range []string{evidence.Up, evidence.Down, evidence.Flapped} {
		s.say(evidence.KindEvent, "leaf1:swp3", 3, evidence.PortState{Event: event})
	}
	for _, oper := range []string{evidence.Up, "unknown", evidence.Down} {
		s.say(evidence.KindCounters, "leaf1:swp99", 3, evidence.PortState{Oper: oper})
	}
	want := s.diagnosed().Text()
	for range 20 {
		s.rng.Shuffle(len(s.snmp), func(i, j int) { s.snmp[i], s.snmp[j] = s.snmp[j], s.snmp[i] })
		if got := s.diagnosed().Text(); got != want {
			t.Fatalf("it is said\n%s\nnot\n%s", got, want)
		}
	}
}
