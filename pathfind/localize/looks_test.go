package localize

import (
	"testing"
)

// TestDisturbed: errors that all came in one of many intervals, and not in the newest, are of a disturbance that is over; as many over all the time, or more and more in the newest, are of
// a sick link, also where many other ports were disturbed once. Of one interval alone nobody can tell, and two errors in one of two are no disturbance: they fall so half of the time.
func TestDisturbed(t *testing.T) {
	f := leafSpine(t, 4, 4, 2)
	for _, c := range []struct {
		name    string
		count   float64
		packets float64
		looks   Looks
		others  int // ports that were disturbed once
		sick    bool
	}{
		{"once", 17, 5e6, Looks{All: 30, Bad: 1, Seconds: 300}, 0, false},
		{"all the time", 17, 5e6, Looks{All: 30, Bad: 12, Seconds: 300}, 0, true},
		{"all the time, others once", 17, 5e6, Looks{All: 30, Bad: 12, Seconds: 300}, 12, true},
		{"just now", 17, 5e6, Looks{All: 30, Bad: 1, Now: true, Seconds: 300}, 0, true},
		{"two errors, in one of two", 2, 7656, Looks{All: 2, Bad: 1, Seconds: 8}, 0, true},
		{"one interval", 17, 5e6, Looks{All: 1, Bad: 1, Now: true, Seconds: 10}, 0, true},
	} {
		var meters []Meter
		for a := range int32(f.NumArcs()) {
			m := Meter{On: Cause{Arc, a}, Sort: Errors, Packets: 5e6}
			switch {
			case a == 7:
				m.Count, m.Packets, m.Looks = c.count, c.packets, c.looks
			case int(a) > 7 && int(a) <= 7+c.others:
				m.Count, m.Looks = 9, Looks{All: 30, Bad: 1, Seconds: 300}
			}
			meters = append(meters, m)
		}
		sick := false
		for _, e := range Solve(f, nil, Config{Meters: meters}).Early {
			if e.Probability > 0.5 && e.Arc != 7 {
				t.Errorf("%s: %d is told to be sick", c.name, e.Arc)
			}
			sick = sick || e.Arc == 7 && e.Probability > 0.5
			if e.Arc == 7 && !c.sick && e.Once < 0.9 {
				t.Errorf("%s: a disturbance with %.2f", c.name, e.Once)
			}
		}
		if sick != c.sick {
			t.Errorf("%s: sick %v", c.name, sick)
		}
	}
}
