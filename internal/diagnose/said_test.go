package diagnose

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSaid: what many say is told once, also where each has another duration to tell; what differs in more is not taken for the same.
func TestSaid(t *testing.T) {
	s := said{}
	for _, x := range [][2]string{
		{"sw1", "sw1 takes 681ms for a reading, so that it is asked every 2s"},
		{"sw2", "sw2 takes 1.2s for a reading, so that it is asked every 3.6s"},
		{"sw2", "sw2 takes 1.3s for a reading, so that it is asked every 3.9s"}, // by another collector
		{"sw3", "sw3 takes 1m2.5s for a reading, so that it is asked every 3m7.5s"},
		{"sw1", "sw1 answers SNMP again"}, {"sw3", "sw3 answers SNMP again"},
		{"sw1", "its BGP session with 10.64.0.1 was established anew 2 times"},
		{"sw1", "sw1 lost its BGP session with 10.64.0.1"}, {"sw2", "sw2 lost its BGP session with 10.64.0.7"},
		{"", "a.pcap: 10ms late"}, {"", "a.pcap: 20ms late"},
	} {
		s.add(x[0], x[1])
	}
	want := []string{
		"a.pcap: 10ms late", "a.pcap: 20ms late",
		"its BGP session with 10.64.0.1 was established anew 2 times",
		"sw1 lost its BGP session with 10.64.0.1",
		"sw1 takes 681ms for a reading, so that it is asked every 2s; likewise sw2, sw3",
		"sw1, sw3: each answers SNMP again",
		"sw2 lost its BGP session with 10.64.0.7",
	}
	if d := cmp.Diff(want, s.notes()); d != "" {
		t.Error(d)
	}
}

// TestSaidInAnyOrder: of more than are kept the same ones are, whichever came first.
func TestSaidInAnyOrder(t *testing.T) {
	var notes [2][]string
	for i := range notes {
		s := said{}
		for k := range 3 * maxWords {
			if i == 1 {
				k = 3*maxWords - 1 - k
			}
			s.add("sw", fmt.Sprint("sw says ", k))
		}
		notes[i] = s.notes()
	}
	if len(notes[0]) != maxWords || !slices.Equal(notes[0], notes[1]) {
		t.Errorf("kept is %q or, backwards, %q", notes[0], notes[1])
	}
}
