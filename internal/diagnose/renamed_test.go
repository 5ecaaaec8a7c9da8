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
