package tui

import (
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// The short way to the width of a text gives what the long one does.
func FuzzWidth(f *testing.F) {
	for _, s := range []string{"", "leaf1:swp3", "┌─ Suspects ─┐", "▁▂▃▄▅▆▇█ …", "▟■□", "─\u0301x", "a\u0301", "日本", "\xe2\x94", "x\xe2\x96", "│\u200d│", "…\ufe0f", "\U0001f1e9\U0001f1ea"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || ansi.Strip(s) != s {
			t.Skip()
		}
		for i := range len(s) { // what stands on a line was cleaned
			if s[i] < ' ' || s[i] == 0x7f {
				t.Skip()
			}
		}
		if got, want := width(s), ansi.StringWidth(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
		for from := range width(s) + 1 {
			if got := cut(s, from, width(s)); width(got) != width(s)-from {
				t.Errorf("%q from %d on: %q", s, from, got)
			}
		}
	})
}
