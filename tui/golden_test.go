package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
)

// scenes are the pictures that are kept as goldens, each at every size.
func scenes() map[string]func(testing.TB, int, int) *stage {
	return map[string]func(testing.TB, int, int) *stage{
		"Overview": func(tb testing.TB, w, h int) *stage { return newStage(tb, sick(tb), w, h) },
		"Healthy":  func(tb testing.TB, w, h int) *stage { return newStage(tb, well(tb), w, h) },
		"Inconclusive": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, thin(tb), w, h)
			s.trainer = nil
			return s
		},
		"Frozen": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.press("f", "R")
			later := *s.source.s
			later.Now = noon.Add(83 * time.Second)
			s.source.s = &later
			s.tick(1)
			return s
		},
		"Link": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.press("enter")
			return s
		},
		"Explain": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.press("j", ":")
			s.word("explain")
			s.press("enter")
			return s
		},
		"Leave": func(tb testing.TB, w, h int) *stage {
			x := *sick(tb)
			x.Recording = 4 * time.Minute
			s := newStage(tb, &x, w, h)
			s.press("q")
			return s
		},
		"Links": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.press("3")
			return s
		},
		"LinksFiltered": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.press("3", "s", "s", "s", "/")
			s.word("spine flows>31 !spine4")
			s.press("enter", "j")
			return s
		},
		"MapLeafSpine": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.press("2")
			return s
		},
		"MapHosts": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, randomGraph(tb), w, h)
			s.press("2", "H")
			return s
		},
		"MapFatTree": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, fatTree(tb), w, h)
			s.press("2")
			return s
		},
		"MapRandom": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, randomGraph(tb), w, h)
			s.press("2")
			return s
		},
		"MapAround": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, fatTree(tb), w, h)
			s.press("2", "g")
			return s
		},
		"MapRings": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, randomGraph(tb), w, h)
			s.press("2", "+")
			return s
		},
		"Paths": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.press("4", "n")
			return s
		},
		"Events": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.press("5", "j")
			return s
		},
		"Captures": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, captured(tb), w, h)
			s.press("6", "j")
			return s
		},
		"Finding": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, captured(tb), w, h)
			withShelf(s)
			s.press("6", "enter")
			s.Update(s.press("p")())
			return s
		},
		"Drill": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, drilled(tb), w, h)
			s.press("7")
			return s
		},
		"Counters": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, counting(tb), w, h)
			s.press("enter", "tab")
			return s
		},
		"Past": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.player = &hand{}
			back := *s.source.s
			back.Live, back.Now, back.Recording = false, noon.Add(-38*time.Second), 4*time.Minute
			back.Playing = &Playing{From: noon.Add(-time.Minute), To: noon, At: back.Now, Speed: 1, Back: 38 * time.Second}
			s.source.s = &back
			s.tick(1)
			s.press("5")
			return s
		},
		"Command": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.press(":")
			s.word("goto leaf1:swp")
			return s
		},
		"Pinned": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.press("*")
			for _, name := range []string{"spine4", "leaf4:swp4", "leaf2:swp1"} {
				s.press(":")
				s.Update(keyPaste("pin " + name))
				s.press("enter")
			}
			return s
		},
		"Masked": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.press("A", "j")
			return s
		},
		"Help": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.press("?")
			return s
		},
		"Ask": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.prober = &lookout{}
			s.deliver(s.press("P"))
			return s
		},
		"Break": func(tb testing.TB, w, h int) *stage {
			s := newStage(tb, sick(tb), w, h)
			s.press("b", "tab")
			s.word("leaf1 spine")
			s.press("down", "down")
			return s
		},
	}
}

func sizes() [][2]int { return [][2]int{{40, 10}, {60, 15}, {80, 24}, {100, 30}, {200, 60}} }

func TestGolden(t *testing.T) {
	for name, scene := range scenes() {
		for _, size := range sizes() {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				s := scene(t, size[0], size[1])
				golden.RequireEqual(t, bare(s.View().Content))
			})
		}
	}
}

func TestGoldenASCII(t *testing.T) {
	for name, scene := range scenes() {
		t.Run(name, func(t *testing.T) {
			s := scene(t, 100, 30)
			s.theme = newTheme(true)
			got := bare(s.View().Content)
			if i := strings.IndexFunc(got, func(r rune) bool { return r > '~' }); i >= 0 {
				t.Errorf("not ASCII from %q on", got[i:min(i+30, len(got))])
			}
			if name == "Link" {
				golden.RequireEqual(t, got)
			}
		})
	}
}

// The one golden with its colours.
func TestGoldenStyled(t *testing.T) {
	s := newStage(t, sick(t), 100, 30)
	golden.RequireEqual(t, s.View().Content)
}

// bare returns a screen without styles and without blanks at the ends of lines, as a person would draw it.
func bare(content string) string {
	lines := strings.Split(ansi.Strip(content), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}
