package tui

import (
	"fmt"
	"testing"
	"time"
)

// drilled is the sick drill after some rounds.
func drilled(tb testing.TB) *Snapshot {
	s := *sick(tb)
	ago := func(n int) time.Time { return noon.Add(-time.Duration(n) * time.Second) }
	s.Rounds = []Round{
		{ID: "1", Text: "flap on leaf2:swp1--spine1:swp2, period 4s, down 1s", About: "leaf2:swp1--spine1:swp2", Set: ago(400), Healed: ago(330),
			Program: Verdict{Named: "leaf2:swp1--spine1:swp2", Right: true, After: 9400 * time.Millisecond}, You: Verdict{Named: "spine1", Wrong: 2}},
		{ID: "2", Text: "police on spine2, rate 20", About: "spine2", Trap: true, Set: ago(300), Healed: ago(240),
			Program: Verdict{Right: true}, You: Verdict{Right: true, Named: "nothing", After: 12 * time.Second}},
		{ID: "3", Text: "loss on " + sickArc + ", rate 5%", About: sickArc, Set: ago(64),
			Program: Verdict{Named: sickArc, Right: true, After: 4100 * time.Millisecond, Wrong: 1}},
	}
	return &s
}

// The truth of a round stays hidden until it is over, named or asked for; the score needs no truth.
func TestDrillScreen(t *testing.T) {
	s := newStage(t, drilled(t), 120, 40)
	s.press("7")
	s.sees(t, "fault 3   64 s  (hidden)")
	s.hides(t, "loss on "+sickArc)
	s.sees(t, "program  3 of 3 right, 1 wrong, median 9.4 s")
	s.sees(t, "you      1 of 2 right, 2 wrong")
	s.sees(t, "right in 9.4 s           wrong, 2 times           flap on leaf2")
	s.press("enter")
	if len(s.stack) != 2 {
		t.Error("a hidden round opens its link")
	}
	s.press("a")
	s.word("leaf1:swp3--spine3:swp1")
	s.press("enter")
	s.sees(t, "wrong: it is not "+sickLink)
	if fmt.Sprint(s.drill.answers) != "["+sickLink+"]" {
		t.Errorf("answered %v", s.drill.answers)
	}
	s.press("R")
	s.sees(t, "loss on "+sickArc)
	s.press("enter")
	if s.top().title() != sickLink {
		t.Errorf("enter opens %s", s.top().title())
	}
	s.press("esc", "b")
	s.sees(t, "Break the drill")
	s.press("esc", "/")
	s.word("program>5")
	s.press("enter")
	s.sees(t, `filter "program>5": 1 of 3`)
	s = newStage(t, thin(t), 100, 30)
	s.trainer, s.tabs[6].(*drillScreen).trainer = nil, nil
	s.press("7")
	s.sees(t, "No drill here")
	s.press("a", "ctrl+u")
	s.word("answer spine1")
	s.press("enter")
	s.sees(t, "! no drill here")
}
