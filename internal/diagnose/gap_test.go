package diagnose

import (
	"slices"
	"testing"
	"time"
)

// Of 16 hosts one has a clock that is an hour ahead: the others have not all stopped an hour ago.
func TestOneClockAhead(t *testing.T) {
	x := newTracing(t, 1)
	x.run(x.plan, 64, 4, 0, nil)
	x.run(x.plan, 1, 8, 5*time.Second, nil)
	x.run(x.plan, 1, 4, time.Hour, nil)
	x.store.arrange()
	want := []string{x.plan.NodeName(x.plan.Hosts()[0]) + " wrote on for 1h0m0s after the 15 other probers ended: these stopped, or clocks differ"}
	if notes := x.store.gapNotes(); !slices.Equal(notes, want) {
		t.Errorf("%q, expected %q", notes, want)
	}
}

// TestMeasuredAgain: who measures again when all have ended, as a diagnosis advises, has not gone on while the others stopped.
func TestMeasuredAgain(t *testing.T) {
	x := newTracing(t, 1)
	x.run(x.plan, 64, 4, 0, nil)
	x.run(x.plan, 1, 4, time.Hour, nil)
	x.store.arrange()
	if notes := x.store.gapNotes(); len(notes) > 0 {
		t.Errorf("%q", notes)
	}
}
