package diagnose

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"whichlink/internal/evidence"
	"whichlink/pathfind/rhythm"
)

// TestLossTimes: the losses that a record does not list go on to the end of the window where a part is lost all the time, or quiet would seem to follow them in each window; those of
// a link that is down end when it comes up.
func TestLossTimes(t *testing.T) {
	const sent, window = 500, 5000 // packets, ms
	for _, c := range []struct {
		loss       float64
		up         int // when all is well again
		least, end int // between which the last is lost
	}{{0.4, window, 4800, window}, {0.7, window, 4800, window}, {0.9, window, 4800, window}, {1, 3500, 3450, 3550}} {
		for seed := range uint64(200) {
			rng := rand.New(rand.NewPCG(seed, 1))
			e := echo{sent: sent, start: time.Unix(0, 0), end: time.Unix(window/1000, 0)}
			for at := 0; at < c.up; at += window / sent {
				if rng.Float64() < c.loss {
					if e.lost++; len(e.lostAt) < evidence.MaxLostAt {
						e.lostAt = append(e.lostAt, at)
					}
				}
			}
			times := e.lossTimes()
			if last := times[len(times)-1]; len(times) != e.lost || last < c.least || last > c.end {
				t.Errorf("%g lost until %d ms, seed %d: the last of %d losses is at %d ms", c.loss, c.up, seed, e.lost, last)
				break
			}
		}
	}
}

// TestUnlisted: of losses that a record does not list, and that go on, a rhythm is told how many were lost and answered from the last that is listed to the window's end, not when.
func TestUnlisted(t *testing.T) {
	e := echo{sent: 500, lost: 250, start: time.Unix(0, 0), end: time.Unix(5, 0)}
	for i := range evidence.MaxLostAt {
		e.lostAt = append(e.lostAt, 20*i)
	}
	tl := timeline{store: &Store{flowing: stretch{from: e.start}}}
	tl.echo(&e, 1)
	tl.flush()
	sent, lost := 0, 0
	for _, c := range tl.counts {
		sent, lost = sent+c.Sent, lost+c.Lost
	}
	want := rhythm.Count{From: 20 * 127, To: 5000, Sent: 245, Lost: 122, Share: 1}
	if got := tl.counts[len(tl.counts)-1]; !reflect.DeepEqual(got, want) || sent != e.sent || lost != e.lost {
		t.Errorf("the last count is %+v, want %+v; %d of %d lost in all", got, want, lost, sent)
	}
}
