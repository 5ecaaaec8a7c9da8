package tui

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"whichlink/graphs"
)

// A span is a piece of text in one style.
type span struct {
	text  string
	style style
}

// A line is one row of the screen before it is painted: what is on it can still be measured, cut and laid over.
// Whatever is put on a line is cleaned first, so that no name from the network can reach the terminal as it came.
type line []span

// add puts text at the end of the line.
func (l line) add(s style, text string) line {
	if text == "" {
		return l
	}
	return append(l, span{clean(text), s})
}

// ink puts our own glyphs at the end of the line, which need no cleaning and have no bound.
func (l line) ink(s style, glyphs string) line {
	if glyphs == "" {
		return l
	}
	return append(l, span{glyphs, s})
}

// left puts text into a column of w cells, cut at its end if it is too long.
func (l line) left(s style, text string, w int) line {
	if w <= 0 {
		return l
	}
	text = elide(clean(text), w)
	return append(l, span{text + spaces(w-width(text)), s})
}

// right puts text at the right edge of a column of w cells.
func (l line) right(s style, text string, w int) line {
	if w <= 0 {
		return l
	}
	text = elide(clean(text), w)
	return append(l, span{spaces(w-width(text)) + text, s})
}

// gap puts n blanks at the end of the line.
func (l line) gap(n int) line { return l.ink(plain, spaces(n)) }

// width returns how many cells the line takes.
func (l line) width() int {
	n := 0
	for i := range l {
		n += width(l[i].text)
	}
	return n
}

// fit makes the line exactly w cells wide.
func (l line) fit(w int) line {
	n := l.width()
	if n > w {
		return l.cut(0, w)
	}
	return l[:len(l):len(l)].gap(w - n) // what is put behind it must not stand in another line
}

// cut returns the cells from (included) to to (excluded). A wide character that the cut halves becomes blanks.
func (l line) cut(from, to int) line {
	var out line
	at := 0
	for _, s := range l {
		n := width(s.text)
		lo, hi := max(from, at), min(to, at+n)
		switch {
		case lo >= hi:
		case lo == at && hi == at+n:
			out = append(out, s)
		default:
			out = append(out, span{cut(s.text, lo-at, hi-at), s.style})
		}
		at += n
	}
	return out
}

// cut returns the cells of a text from one (included) to another (excluded), blanks for half of a wide character.
func cut(s string, from, to int) string {
	if i, left := afterNarrow(s, from); left == 0 {
		// And nothing may be joined to the last one.
		if n, left := afterNarrow(s[i:], to-from); left == 0 && (i+n == len(s) || s[i+n] < utf8.RuneSelf || narrow(s[i+n:])) {
			return s[i : i+n]
		}
	}
	text := ansi.Cut(s, from, to)
	switch w := width(text); {
	case w > to-from: // a wide character reached over the edge
		return spaces(to - from)
	case w < to-from:
		return text + spaces(to-from-w)
	}
	return text
}

// restyled returns the line in one style throughout: a chosen row is reversed as a whole.
func (l line) restyled(s style) line {
	var b strings.Builder
	for i := range l {
		b.WriteString(l[i].text)
	}
	return line{{b.String(), s}}
}

// over lays a block of lines onto others, its upper left corner at x, y. Every line of the block is w wide.
func over(under, block []line, x, y, w int) {
	for i, b := range block {
		if y+i < 0 || y+i >= len(under) {
			continue
		}
		u := under[y+i].fit(max(x+w, under[y+i].width()))
		row := append(line{}, u.cut(0, x)...)
		row = append(row, b...)
		under[y+i] = append(row, u.cut(x+w, u.width())...)
	}
}

// width returns how many cells a text takes on the terminal.
func width(s string) int {
	if end, left := afterNarrow(s, len(s)); end == len(s) {
		return len(s) - left
	}
	return ansi.StringWidth(s)
}

// afterNarrow goes over the first n characters of a text, as far as they take a cell each: ASCII, lines, blocks and the mark of a cut, which is nearly all
// there is. It returns where it stands then, and how many were left to go.
func afterNarrow(s string, n int) (end, left int) {
	for ; n > 0 && end < len(s); n-- {
		switch {
		case s[end] < utf8.RuneSelf:
			end++
		case narrow(s[end:]):
			end += 3
		default:
			return end, n
		}
	}
	return end, n
}

// narrow reports whether a text begins with one of U+2500 to U+259F, which draw lines and blocks, or with U+2026, which marks a cut.
func narrow(s string) bool {
	if len(s) < 3 || s[0] != 0xe2 {
		return false
	}
	switch s[1] {
	case 0x94, 0x95:
		return true
	case 0x96:
		return s[2] < 0xa0
	}
	return s[1] == 0x80 && s[2] == 0xa6
}

func spaces(n int) string {
	const some = "                                                                                                                        "
	if n <= 0 {
		return ""
	}
	if n <= len(some) {
		return some[:n]
	}
	return strings.Repeat(" ", n)
}

// clean makes text of any length and origin printable on one row. Names are bounded by graphs.Clean; sentences are
// cleaned word by word so that a long one keeps its end.
func clean(s string) string {
	if printable(s) {
		return s
	}
	if len(s) <= graphs.MaxName && !strings.ContainsAny(s, "\n\r\t") {
		return graphs.Clean(s)
	}
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = graphs.Clean(w)
	}
	return strings.Join(words, " ")
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// elide cuts text to w cells and marks the cut.
func elide(s string, w int) string {
	if width(s) <= w {
		return s
	}
	if w <= 0 {
		return ""
	}
	return ansi.Truncate(s, w, "…")
}

// shorten fits the name of an arc, link or port into w cells. The node's name gives way on each side, from its front:
// ports and the numbers at a name's end tell more than the site's prefix.
func shorten(name string, w int) string {
	name = clean(name)
	if width(name) <= w {
		return name
	}
	sep := ">"
	i := strings.Index(name, sep)
	if i < 0 {
		sep = "--"
		i = strings.Index(name, sep)
	}
	if i < 0 || w < 2*4+len(sep) {
		return elide(name, w)
	}
	a, b := name[:i], name[i+len(sep):]
	room := w - len(sep)
	wa := min(width(a), max(room/2, room-width(b)))
	return tailOf(a, wa) + sep + tailOf(b, room-wa)
}

func tailOf(s string, w int) string {
	n := width(s)
	if n <= w {
		return s
	}
	return ansi.TruncateLeft(s, n-w+1, "…")
}

// wrap breaks a sentence into rows of at most w cells, between words: unlike a hyphenating wrap it leaves names of links
// and flags of commands whole, so that they can be copied. Only what is longer than a row is cut.
func wrap(s string, w int) []string { return wrapAfter(s, w, w) }

// wrapAfter is wrap with a first row of another width.
func wrapAfter(s string, first, w int) []string {
	s = clean(s)
	if w < 1 || first < 1 || s == "" {
		return nil
	}
	if width(s) <= first {
		return []string{s}
	}
	var rows []string
	row, used, room := "", 0, first
	flush := func() {
		rows = append(rows, row)
		row, used, room = "", 0, w
	}
	for _, word := range strings.Fields(s) {
		n := width(word)
		if used > 0 && used+1+n > room {
			flush()
		}
		for used == 0 && n > room {
			head := ansi.Truncate(word, room, "")
			if head == "" { // a wide character in a row of one cell
				return rows
			}
			row, word = head, word[len(head):]
			n = width(word)
			flush()
		}
		if used > 0 {
			row += " "
			used++
		}
		row += word
		used += n
	}
	if used > 0 {
		flush()
	}
	return rows
}
