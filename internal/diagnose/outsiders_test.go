package diagnose

import (
	"slices"
	"strings"
	"testing"

	"whichlink/internal/evidence"
)

// Of ports that the fabric does not have those that are up are told once, however often they are read; those of management, and those without a cable, are not.
func TestOutsiders(t *testing.T) {
	s := newScene(t)
	store := NewStore(s.f, Config{})
	for at := range 20 {
		for port, oper := range map[string]string{
			"leaf1:mgmt0": evidence.Up, "leaf1:swp1": evidence.Up, "leaf1:swp97": evidence.Up, "leaf1:swp98": evidence.Down, "leaf1:swp99": "notPresent",
			"leaf2:evil\x1b[2J": evidence.Up, "nobody:swp1": evidence.Up, "nobody:swp2": evidence.Down,
		} {
			store.Add(s.say(evidence.KindCounters, port, float64(at), evidence.PortState{IntervalMS: 1000, Oper: oper}))
		}
		store.Add(s.say(evidence.KindNeighbour, "leaf1:mgmt0", float64(at), evidence.PortState{RemoteSystem: "oob", RemotePort: "Gi1/0/7"}))
	}
	store.Add(s.say(evidence.KindEvent, "leaf1:swp97", 30, evidence.PortState{Event: evidence.Down}))
	store.Add(s.say(evidence.KindEvent, "leaf1:swp98", 30, evidence.PortState{Event: evidence.Up}))
	store.Add(s.say(evidence.KindEvent, "leaf1:swp98", 20, evidence.PortState{Event: evidence.Down})) // late
	notes := store.Diagnose().Notes
	for _, want := range []string{
		"up, though the fabric file has no such port (or spells it otherwise): leaf1:swp98, leaf2:evil\ufffd[2J; what they count is left out",
		"switches that the fabric file does not have: nobody; what they tell of their ports is left out",
	} {
		if !slices.Contains(notes, want) {
			t.Errorf("%q is not in %q", want, notes)
		}
	}
	for _, unwanted := range []string{"mgmt0", "oob", "left out: "} {
		if i := slices.IndexFunc(notes, func(n string) bool { return strings.Contains(n, unwanted) }); i >= 0 {
			t.Errorf("%q", notes[i])
		}
	}
}
