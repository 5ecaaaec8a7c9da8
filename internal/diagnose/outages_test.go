package diagnose

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"whichlink/internal/evidence"
)

// TestOutagesOfTwoCollectors: what two collectors, who ask in turn, see of one port is as many outages as it had. Moments of change differ by some
// hundredths of a second from poll to poll, and agents tell of a change up to a second late.
func TestOutagesOfTwoCollectors(t *testing.T) {
	start := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	for phase := range 10 {
		var l portLog
		for c := range 2 {
			for at := time.Duration(phase*173)*time.Millisecond + time.Duration(c)*700*time.Millisecond; at < 26*time.Second; at += 2 * time.Second {
				// Down for 2 of 6 seconds, from 4 s on: four times, of which the last ends at 24 s.
				r := portReading{at: start.Add(at), interval: 2 * time.Second, PortState: evidence.PortState{Oper: evidence.Up, Admin: evidence.Up}}
				down := at%(6*time.Second) >= 4*time.Second
				if down {
					r.Oper = evidence.Down
				}
				since := at % (6 * time.Second)
				if down {
					since -= 4 * time.Second
				}
				if at >= 4*time.Second && since > 200*time.Millisecond {
					ago := (since + time.Duration(c*30)*time.Millisecond).Milliseconds()
					r.LastChangeAgoMS = &ago
				}
				l.readings = append(l.readings, r)
			}
		}
		slices.SortFunc(l.readings, func(a, b portReading) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
		if got := l.outages(nil); got.outages != 4 {
			t.Errorf("phase %d: %d outages: %v", phase, got.outages, got.at)
		}
	}
}

// TestDownToldTwice: a port that two collectors see go down at different moments went down once, if neither saw it up in between.
func TestDownToldTwice(t *testing.T) {
	start := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	var l portLog
	for _, e := range []struct {
		at   float64
		what string
	}{{1, evidence.Down}, {1.9, evidence.Down}, {3, evidence.Up}, {3.7, evidence.Up}, {4, evidence.Down}, {4.5, evidence.Up}, {20, evidence.Down}, {40, evidence.Down}, {41, evidence.Up}} {
		l.events = append(l.events, portEvent{at: start.Add(time.Duration(e.at * float64(time.Second))), what: e.what})
	}
	if got := l.outages(nil); got.outages != 4 {
		t.Errorf("%d outages: %v", got.outages, got.at)
	}
}
