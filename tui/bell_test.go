package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// The bell rings once when another suspect is named, and not when one is gone, when it is off, or when nothing changes.
func TestBell(t *testing.T) {
	s := newStage(t, well(t), 100, 30)
	other := *sick(t)
	d := *other.Diagnosis
	d.Suspects = d.Suspects[1:]
	other.Diagnosis = &d
	faint := *sick(t)
	f := *faint.Diagnosis
	f.Suspects = f.Suspects[2:]
	faint.Diagnosis = &f
	rings := func(x *Snapshot) bool { return s.bell.hear(x, nil, nil) != nil }
	for i, c := range []struct {
		typed string
		sees  *Snapshot
		want  bool
	}{
		{"", sick(t), false}, {"", well(t), false}, {"bell on", well(t), false}, {"", sick(t), true}, {"", sick(t), false}, {"", &other, true}, {"", &faint, false},
		{"", well(t), false}, {"", sick(t), true}, {"bell off", well(t), false}, {"", sick(t), false}, {"bell loud", well(t), false},
	} {
		if c.typed != "" {
			s.press(":")
			s.word(c.typed)
			s.press("enter")
		}
		if got := rings(c.sees); got != c.want {
			t.Errorf("step %d: rings %v, want %v", i, got, c.want)
		}
	}
	s.sees(t, "! bell is on, notify or off")
	// It reaches the terminal.
	src := &fixed{well(t)}
	a := NewApp(t.Context(), Config{Source: src})
	a.bell.mode = bellOn
	src.s = sick(t)
	_, cmd := a.Update(tickMsg{})
	batch, ok := cmd().(tea.BatchMsg)
	if !ok || len(batch) != 2 {
		t.Fatalf("a tick leads to %T", cmd())
	}
	if raw, ok := batch[1]().(tea.RawMsg); !ok || !strings.Contains(raw.Msg.(string), "\a") {
		t.Error("no bell")
	}
}
