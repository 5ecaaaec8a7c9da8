package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
)

// clickOn clicks on the first place on the screen that shows a text.
func (s *stage) clickOn(t *testing.T, text string) {
	t.Helper()
	for y, row := range strings.Split(bare(s.View().Content), "\n") {
		if i := strings.Index(row, text); i >= 0 {
			s.clickAt(width(row[:i]), y)
			return
		}
	}
	t.Fatalf("%q is not on the screen:\n%s", text, bare(s.View().Content))
}

func (s *stage) clickAt(x, y int) {
	s.Update(tea.MouseClickMsg{Button: tea.MouseLeft, X: x, Y: y})
}

// A click selects, the second one opens, and a key in between makes the second a first. What was selected before counts for nothing.
func TestClicks(t *testing.T) {
	t.Run("a suspect", func(t *testing.T) {
		s := newStage(t, sick(t), 100, 30)
		s.clickOn(t, " 1 leaf1:swp3>spine3") // the cursor is there from the beginning
		if len(s.stack) != 1 {
			t.Fatal("the first click opens")
		}
		s.clickOn(t, " 2 leaf3:swp2>spine2")
		s.sees(t, "Proof of #2")
		s.press("y")
		s.clickOn(t, " 2 leaf3:swp2>spine2")
		if len(s.stack) != 1 {
			t.Fatal("after a key the first click opens")
		}
		s.clickOn(t, " 2 leaf3:swp2>spine2")
		if s.top().title() != "leaf3:swp2--spine2:swp3" {
			t.Errorf("the second click opens %q", s.top().title())
		}
	})
	t.Run("a link in a list that is longer than the screen", func(t *testing.T) {
		x := *sick(t)
		x.Fabric = leafSpine(t, "large", 40, 4, 0)
		s := newStage(t, pictured(&x), 120, 30)
		s.press("3")
		row := func(y int) string { return strings.Fields(strings.Split(bare(s.View().Content), "\n")[y])[1] }
		y := 22
		want := row(y)
		s.clickAt(20, y)
		if got := strings.Fields(strings.Split(bare(s.View().Content), "\n")[y]); got[1] != ">" || got[2] != want {
			t.Errorf("what was clicked on does not stay under the pointer: %q, not %q", got, want)
		}
		if s.clickAt(20, y); s.top().title() != want {
			t.Errorf("the second click opens %q, not %q", s.top().title(), want)
		}
		s.press("esc", "j") // and arrows move on from there
		if got := s.linkTable().at; got < y-5 || got > y {
			t.Errorf("after an arrow the cursor is on row %d", got)
		}
	})
	t.Run("a head sorts, and turns", func(t *testing.T) {
		s := newStage(t, sick(t), 120, 30)
		s.press("3")
		s.clickOn(t, "flows")
		s.sees(t, "sort flows descending")
		s.clickOn(t, "flows   ")
		s.sees(t, "sort flows ascending")
		s.clickOn(t, "loss ")
		s.sees(t, "sort loss descending")
		s.clickOn(t, "state")
		s.sees(t, "sort loss descending")
	})
	t.Run("an event", func(t *testing.T) {
		s := newStage(t, sick(t), 100, 30)
		s.press("5")
		x := events(s.shown)
		about := x[0].About
		for range 2 {
			s.clickOn(t, s.shown.at(x[0].At, milliseconds))
		}
		if link := linkNamed(&s.keys, about, s.shown); link != nil && s.top() == s.tabs[4] {
			t.Errorf("two clicks do not open %q", about)
		}
	})
	t.Run("a flow of a pair", func(t *testing.T) {
		s := newStage(t, sick(t), 100, 30)
		s.press("4")
		p := s.tabs[3].(*pathsScreen)
		for y, row := range strings.Split(bare(s.View().Content), "\n") {
			if i := strings.Index(row, "  50000 "); i >= 0 {
				s.clickAt(width(row[:i])+len("  50000 ")+3, y)
			}
		}
		if p.at != 3 {
			t.Errorf("flow %d is selected, not 3", p.at)
		}
	})
	t.Run("the map", func(t *testing.T) {
		for _, size := range [][2]int{{80, 24}, {100, 30}, {200, 60}, {60, 20}} {
			s := newStage(t, sick(t), size[0], size[1])
			s.press("2")
			m := s.tabs[1].(*mapScreen)
			for y, row := range strings.Split(bare(s.View().Content), "\n") {
				if strings.HasPrefix(row, "│ spine2 ") {
					for range 2 {
						s.clickAt(2+rowLabel+2*1, y)
					}
				}
			}
			if got := m.layout.fabric.LinkName(m.focus); m.focus == graphs.None || got != "leaf2:swp2--spine2:swp2" || s.top().title() != got {
				t.Errorf("%v: the cell is that of %q; open is %q", size, got, s.top().title())
			}
		}
	})
	t.Run("what lies over the screens takes no click", func(t *testing.T) {
		for _, k := range []string{"?", "b", "/", ":"} {
			s := newStage(t, sick(t), 100, 30)
			s.press(k)
			for y := range 30 {
				s.clickAt(10, y)
				s.clickAt(10, y)
			}
			if len(s.stack) != 1 || s.tab() != 0 {
				t.Errorf("under %s something was opened", k)
			}
		}
	})
}

// The wheel scrolls a text where it stands over one, and else the list.
func TestWheel(t *testing.T) {
	s := newStage(t, sick(t), 100, 24)
	o := s.tabs[0].(*overview)
	at := func(text string) tea.MouseWheelMsg {
		for y, row := range strings.Split(bare(s.View().Content), "\n") {
			if i := strings.Index(row, text); i >= 0 {
				return tea.MouseWheelMsg{Button: tea.MouseWheelDown, X: width(row[:i]), Y: y}
			}
		}
		t.Fatalf("no %q", text)
		return tea.MouseWheelMsg{}
	}
	s.Update(at("Proof of #1"))
	if o.offset() != 1 || o.rows.cursor() != 0 {
		t.Errorf("over the proof it scrolls that by %d, and goes to row %d", o.offset(), o.rows.cursor())
	}
	s.Update(at("suspect"))
	if o.offset() != 0 || o.rows.cursor() != 1 {
		t.Errorf("over the list: row %d, proof %d", o.rows.cursor(), o.offset())
	}
}
