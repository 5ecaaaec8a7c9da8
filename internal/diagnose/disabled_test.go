package diagnose

import (
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// TestSentIntoDisabled: a port that is down on purpose is cleared, unless packets are still sent there, and lost: a link is not cleared and named at once.
func TestSentIntoDisabled(t *testing.T) {
	for _, sent := range []bool{false, true} {
		s := newScene(t)
		probes := probing{flows: 80, packets: 20, windows: 4, lose: s.only(1, sickArc, receiving+">leaf1:swp2")}
		if !sent {
			probes.down = []graphs.LinkID{s.link(sickLink)}
		}
		s.run(probes)
		for _, second := range []float64{1, 19} {
			s.say(evidence.KindCounters, receiving, second, evidence.PortState{Oper: evidence.Down, Admin: evidence.Down})
		}
		d := s.diagnosed()
		cleared := slices.ContainsFunc(d.Cleared, func(c Cleared) bool { return c.ID == sickLink })
		if named := d.Verdict == Suspects; named != sent || named && cleared {
			t.Errorf("sent %v: named %v, cleared %v\n%s", sent, named, cleared, d.Text())
		}
		if sent && (d.Suspects[0].Link != sickLink || !strings.Contains(d.Suspects[0].For, "was told to be, yet packets are sent there")) {
			t.Errorf("told is %s", d.Text())
		}
	}
}
