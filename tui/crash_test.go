package tui

import (
	"errors"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// A panic of a command, also of one of several, ends as a message, and a command that does not panic is what it was.
func TestGuarded(t *testing.T) {
	fails := func() tea.Msg { panic("so it goes") }
	well := func() tea.Msg { return 7 }
	crashed := func(msg tea.Msg) bool {
		x, ok := msg.(crashMsg)
		var c *Crash
		return ok && errors.As(x.err, &c) && c.Value == "so it goes" && len(c.Stack) > 0
	}
	if !crashed(guarded(fails)()) {
		t.Error("a panic is not told")
	}
	if msg := guarded(well)(); msg != 7 {
		t.Errorf("%v", msg)
	}
	if guarded(nil) != nil {
		t.Error("nothing became something")
	}
	batch, ok := guarded(tea.Batch(well, fails))().(tea.BatchMsg)
	if !ok || len(batch) != 2 || batch[0]() != 7 || !crashed(batch[1]()) {
		t.Errorf("%v", batch)
	}
}
