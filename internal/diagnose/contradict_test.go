package diagnose

import (
	"slices"
	"strings"
	"testing"

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
}

// TestNoFlowCrosses: of errors that only counters know, nothing is said of flows.
func TestNoFlowCrosses(t *testing.T) {
	s := newScene(t)
	s.poll(10, func(port string, st *evidence.PortState) {
		if port == receiving {
			st.In.Errors = evidence.Count(50_000)
		}
	})
	if d := s.diagnosed(); len(d.Suspects) != 1 || !strings.HasPrefix(d.Suspects[0].Against, "no flow is known to cross it") {
		t.Errorf("it is said\n%s", d.Text())
	}
}
