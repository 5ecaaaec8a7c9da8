package tui

import (
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// A style names what a piece of text is for. It never carries meaning alone: a word or a glyph stands beside every colour.
type style uint8

const (
	plain  style = iota
	dim          // frames, labels, what is not the point
	strong       // what is
	good
	warn
	bad
	press  // a key to press or a command to type
	chosen // the selected row
	numStyles
)

// A theme paints lines. It uses only the sixteen colours that the terminal's owner has chosen, and so fits dark and light.
type theme struct {
	ascii  bool
	styles [numStyles]lipgloss.Style
	// on and off are what the terminal gets before and after text of a style. A map has hundreds of pieces: to render each by itself takes longer
	// than to draw it.
	on, off [numStyles]string
}

// ready takes over the styles.
func (t *theme) ready() *theme {
	for i, s := range t.styles {
		const piece = "x"
		t.on[i], t.off[i], _ = strings.Cut(s.Render(piece), piece)
	}
	return t
}

// ThemeNames are the names of the themes: terminal has the sixteen colours that the terminal's owner has chosen; dark and light have their own, for
// grounds of that kind, which people who see few colours tell apart; mono has none.
func ThemeNames() []string { return []string{"terminal", "dark", "light", "mono"} }

// themeOf returns the theme of a name; an unknown one is the terminal's.
func themeOf(name string, ascii bool) *theme {
	t := newTheme(ascii)
	colour := func(good_, warn_, bad_ string) {
		s := lipgloss.NewStyle
		t.styles[good] = s().Foreground(lipgloss.Color(good_))
		t.styles[warn] = s().Foreground(lipgloss.Color(warn_))
		t.styles[bad] = s().Bold(true).Foreground(lipgloss.Color(bad_))
	}
	// The palette of Okabe and Ito; for light grounds darker ones, of which warning and bad stay apart to those who see no red or no green.
	switch name {
	case "dark":
		colour("#56b4e9", "#e69f00", "#ff6f3c")
	case "light":
		colour("#005b8e", "#7a4f00", "#9c0060")
	case "mono":
		s := lipgloss.NewStyle
		t.styles[good], t.styles[warn], t.styles[bad] = s(), s().Bold(true), s().Bold(true)
	}
	return t.ready()
}

func newTheme(ascii bool) *theme {
	s := lipgloss.NewStyle
	t := &theme{ascii: ascii, styles: [numStyles]lipgloss.Style{
		plain:  s(),
		dim:    s().Faint(true),
		strong: s().Bold(true),
		// Cyan, not green: green and red are one colour to one man in twelve.
		good:   s().Foreground(lipgloss.Cyan),
		warn:   s().Foreground(lipgloss.Yellow),
		bad:    s().Bold(true).Foreground(lipgloss.Red),
		press:  s().Bold(true),
		chosen: s().Reverse(true),
	}}
	return t.ready()
}

// paint turns lines into what the terminal gets.
func (t *theme) paint(lines []line) string {
	var b strings.Builder
	b.Grow(len(lines) * 128)
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		for j := 0; j < len(l); {
			// Neighbours of one style are painted at once.
			text := l[j].text
			k := j + 1
			for k < len(l) && l[k].style == l[j].style {
				text += l[k].text
				k++
			}
			if t.ascii {
				text = toASCII(text)
			}
			if s := l[j].style; s == plain || s != chosen && strings.TrimLeft(text, " ") == "" {
				b.WriteString(text)
			} else {
				b.WriteString(t.on[s])
				b.WriteString(text)
				b.WriteString(t.off[s])
			}
			j = k
		}
	}
	return b.String()
}

// toASCII writes our own glyphs in ASCII and masks everything else, cell for cell, so that nothing shifts.
func toASCII(s string) string {
	if printable(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		if s[0] < utf8.RuneSelf {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		cluster, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		r, n := utf8.DecodeRuneInString(cluster)
		if c, ok := asciiOf(r); ok && n == len(cluster) {
			b.WriteByte(c)
		} else {
			b.WriteString(strings.Repeat("?", w))
		}
		s = s[len(cluster):]
	}
	return b.String()
}

func asciiOf(r rune) (byte, bool) {
	switch r {
	case '─':
		return '-', true
	case '│':
		return '|', true
	case '┌', '┐', '└', '┘', '├', '✓':
		return '+', true
	case '…':
		return '~', true
	}
	if i := strings.IndexRune(blocks, r); i >= 0 {
		return ramp[i/utf8.RuneLen('▁')], true
	}
	return 0, false
}
