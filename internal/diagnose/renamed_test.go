package diagnose

import (
	"slices"
	"strings"
	"testing"

	"whichlink/internal/evidence"
)

// TestRenamed: a switch that was replaced by one of another name, at the same cables, is no reason to move plugs; a cable to a stranger is.
func TestRenamed(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(port string, st *evidence.PortState)
		miswire bool
	}{
		{"everywhere", func(_ string, st *evidence.PortState) {}, false},
		{"at one of its ports", func(port string, st *evidence.PortState) {
			if port != "leaf1:swp2" {
				st.RemoteSystem = strings.Replace(st.RemoteSystem, "-new", "", 1)
			}
		}, true},
		{"at other ports than planned", func(_ string, st *evidence.PortState) {
			if strings.HasPrefix(st.RemoteSystem, "spine2-new.") && st.RemotePort == "swp1" {
				st.RemotePort = "swp2"
			}
		}, true},
	} {
		s := newScene(t)
		s.hear(10, func(port string, st *evidence.PortState) {
			st.RemoteSystem = strings.Replace(st.RemoteSystem, "spine2.", "spine2-new.", 1)
			c.change(port, st)
		})
		// The new one is not asked itself: its management address is another.
		s.snmp = slices.DeleteFunc(s.snmp, func(r *evidence.Record) bool {
			return strings.HasPrefix(r.Port, "spine2:") && c.name != "at one of its ports"
		})
		d := s.diagnosed()
		if got := slices.ContainsFunc(d.Suspects, func(x Suspect) bool { return x.Symptom == Miswire }); got != c.miswire {
			t.Errorf("%s: miswired %v\n%s", c.name, got, d.Text())
		}
		if told := slices.ContainsFunc(d.Notes, func(n string) bool { return strings.HasPrefix(n, "spine2 is heard as spine2-new at 4 of") }); told == c.miswire {
			t.Errorf("%s: told is %q", c.name, d.Notes)
		}
	}
}

// TestOwnNamesOfPorts: switches name their ports to who asks them as neither the plan nor their neighbours do. That tells nothing of cables.
func TestOwnNamesOfPorts(t *testing.T) {
	s := newScene(t)
	s.hear(10, nil)
	for _, r := range s.snmp {
		r.Port = strings.Replace(r.Port, ":swp", ":port", 1)
	}
	d := s.diagnosed()
	if slices.ContainsFunc(d.Suspects, func(x Suspect) bool { return x.Symptom == Miswire }) {
		t.Errorf("miswired\n%s", d.Text())
	}
	if !slices.ContainsFunc(d.Notes, func(n string) bool {
		return strings.Contains(n, "which says nothing of cables: 32 (leaf1:port1 hears spine1:swp1)")
	}) {
		t.Errorf("told is %q", d.Notes)
	}
}
