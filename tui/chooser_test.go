package tui

import (
	"strings"
	"testing"
)

// Columns are chosen, put in order, and stay so when one comes back to the screen; the one that sorts is always in sight.
func TestColumnsAreChosen(t *testing.T) {
	s := newStage(t, sick(t), 120, 40)
	heads := func() string {
		for _, row := range strings.Split(bare(s.View().Content), "\n") {
			if i := strings.Index(row, " state "); i >= 0 {
				return strings.Join(strings.Fields(strings.Trim(row[i+6:], " │")), " ")
			}
		}
		return ""
	}
	s.press("3")
	if got := heads(); got != "p loss lossy flows late flaps use" {
		t.Fatalf("at the beginning the columns are %q", got)
	}
	// lossy goes; sent comes; it goes to the left; flaps goes.
	s.press("C", "down", "down", "space")
	s.sees(t, "[ ] lossy")
	for range 20 {
		s.press("down")
	}
	for range 2 {
		s.press("up")
	}
	s.press("space", "left", "left", "esc")
	want := "p loss flows late sent flaps use"
	if got := heads(); !strings.Contains(got, "flaps") || strings.Contains(got, "lossy") || len(strings.Fields(got)) != 7 {
		t.Errorf("the columns are %q, want something like %q", got, want)
	}
	before := heads()
	s.press("1", "3")
	if got := heads(); got != before {
		t.Errorf("after coming back the columns are %q, not %q", got, before)
	}
	// All but one can go.
	s.press("C")
	for range 2 * len(linkFields()) {
		s.press("up")
	}
	for range 2 * len(linkFields()) {
		if s.dialog.(*chooser).shown == 1 {
			break
		}
		s.press("space")
	}
	s.press("space", "enter")
	if got := heads(); len(strings.Fields(got)) < 1 {
		t.Errorf("no column is left: %q", got)
	}
	s.press(":")
	s.word("sort flows")
	s.press("enter")
	if got := heads(); !strings.Contains(got, "flows") {
		t.Errorf("the column that sorts is not in sight: %q", got)
	}
}
