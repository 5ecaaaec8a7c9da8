package tui

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// hostile names are what a network may answer.
func hostile() []string {
	return []string{
		"\x1b[2J\x1b[31mred", "a\r\nb\tc", strings.Repeat("x", 400), "\u202egnp.exe", "スイッチ１", "e\u0301\u0301\u0301", "👩‍👩‍👧‍👦", "\xff\xfe", "", "a>b>c", "--", ">", "日本:語>日本:語",
	}
}

func nasty(tb testing.TB) *Snapshot {
	s := sick(tb)
	d := *s.Diagnosis
	d.Suspects = append([]diagnose.Suspect{}, d.Suspects...)
	for i, n := range hostile() {
		d.Suspects = append(d.Suspects, diagnose.Suspect{
			Rank: 5 + i, Kind: n, ID: n, Link: n, Symptom: diagnose.Symptom(n), Probability: float64(i) - 2, Class: hostile(), For: n, Against: n,
			Loss: ptr(float64(i)), LossLow: ptr(-1), LossHigh: ptr(1e9), Evidence: []diagnose.Evidence{{Source: n, Text: n}}, Next: []diagnose.Step{{Why: n, Do: n}, {Do: n}}})
		d.Sources = append(d.Sources, diagnose.Source{By: n, Source: n, Records: math.MaxInt})
		d.Cleared = append(d.Cleared, diagnose.Cleared{ID: n, Why: n})
		d.Notes = append(d.Notes, n)
		d.Coverage.Unmeasured = append(d.Coverage.Unmeasured, n)
	}
	d.Summary = strings.Join(hostile(), " ")
	d.Verdict = "\x1b[0mweird"
	s.Diagnosis = &d
	s.Status = hostile()[0]
	s.Faults = append(s.Faults, Fault{ID: hostile()[1], Text: hostile()[2]})
	return s
}

// check fails if a screen is larger than the terminal, or lets a control character through.
func check(t interface{ Fatalf(string, ...any) }, s *stage, w, h int) {
	v := s.View()
	lines := strings.Split(v.Content, "\n")
	if len(lines) > max(h, 1) {
		t.Fatalf("%dx%d: %d lines", w, h, len(lines))
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n > w {
			t.Fatalf("%dx%d: line %d is %d cells wide: %q", w, h, i, n, ansi.Strip(l))
		}
		for _, r := range ansi.Strip(l) {
			if r < ' ' || r == 0x7f || r == '\u202e' {
				t.Fatalf("%dx%d: line %d holds %U", w, h, i, r)
			}
		}
	}
	if c := v.Cursor; c != nil && (c.X < 0 || c.Y < 0 || c.X >= max(w, 1) || c.Y >= max(h, 1)) {
		t.Fatalf("%dx%d: cursor at %d, %d", w, h, c.X, c.Y)
	}
}

// Whatever the size, the data and the keys, the screen fits and nothing panics.
func TestEverySize(t *testing.T) {
	snapshots := []*Snapshot{sick(t), well(t), thin(t), nasty(t), captured(t), drilled(t), counting(t), fatTree(t), randomGraph(t), {}, nil}
	keys := []string{"1", "2", "3", "4", "5", "6", "7", ":", "p", "w", "M", "h", "l", "L", "o", "v", "m", "x", "s", "S", "w", "ctrl+l", "j", "k", "G", "g", "enter", "esc", "?", "/", "f", "b", "R", "y", "J", "K", "n", "N", "tab", "shift+tab", "up", "down", "left", "right",
		"a", "e", "t", "T", "C", "H", "<", "space", ">", "1", "backspace", "ctrl+d", "ctrl+u", "ctrl+w", "home", "end"}
	rapid.Check(t, func(r *rapid.T) {
		s := newStage(t, rapid.SampledFrom(snapshots).Draw(r, "snapshot"), 80, 24)
		s.theme = newTheme(rapid.Bool().Draw(r, "ascii"))
		withShelf(s)
		for range rapid.IntRange(1, 25).Draw(r, "steps") {
			switch rapid.IntRange(0, 5).Draw(r, "what") {
			case 0:
				s.source.s = rapid.SampledFrom(snapshots).Draw(r, "next")
				s.tick(rapid.IntRange(1, 6).Draw(r, "ticks"))
			case 1:
				s.w, s.h = rapid.IntRange(1, 300).Draw(r, "w"), rapid.IntRange(1, 100).Draw(r, "h")
			default:
				k := rapid.SampledFrom(keys).Draw(r, "key")
				if cmd := s.press(k); cmd != nil && k == "p" {
					s.Update(cmd())
				}
			}
			check(r, s, s.w, s.h)
		}
	})
}

func TestScenesAtEverySize(t *testing.T) {
	for _, scene := range scenes() {
		s := scene(t, 80, 24)
		for _, w := range []int{1, 2, 7, 8, 20, 23, 24, 40, 51, 52, 59, 60, 69, 79, 80, 99, 100, 120, 159, 160, 161, 200, 300} {
			for h := 1; h <= 100; h += 1 + h/5 {
				s.w, s.h = w, h
				check(t, s, w, h)
			}
		}
	}
}

// A small terminal still shows the ranked list.
func TestSmallTerminalShowsTheList(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {30, 8}, {20, 5}} {
		s := newStage(t, sick(t), size[0], size[1])
		s.sees(t, ">  1 0.99 ")
	}
	s := newStage(t, sick(t), 40, 10)
	s.sees(t, " 4 0.06 spine1:swp2>leaf2:swp1")
}

func BenchmarkView(b *testing.B) {
	f := leafSpine(b, "large", 400, 150, 0) // 60,000 links
	s := sick(b)
	s.Fabric = f
	d := *s.Diagnosis
	for i := range 2000 {
		a := graphs.ArcID(i * 7)
		d.Suspects = append(d.Suspects, diagnose.Suspect{Rank: 5 + i, Kind: "arc", ID: f.ArcName(a), Link: f.LinkName(a.Link()), Symptom: diagnose.Loss, Probability: 0.06})
	}
	for a := range graphs.ArcID(3000) {
		d.Coverage.Unmeasured = append(d.Coverage.Unmeasured, f.ArcName(a))
	}
	s.Diagnosis = &d
	for _, first := range []string{"overview", "enter", "?", "b"} {
		b.Run(first, func(b *testing.B) {
			st := newStage(b, s, 200, 60)
			if first != "overview" {
				st.press(first)
			}
			for b.Loop() {
				st.View()
			}
		})
	}
}
