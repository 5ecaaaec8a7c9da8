package tui

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// A page is what a screen draws: lines, and the cell at which the terminal's own cursor belongs. Screen readers follow
// that cursor, so it stands on the selected row or in the prompt.
type page struct {
	lines []line
	x, y  int // y < 0: no cursor
	spots []spot
}

// A spot is a part of a page that does something under the mouse. Of several in one place the last counts.
type spot struct {
	x, y, w, h int
	// click is told the cell of the spot that was hit. What it selected has a name, by which a second click is known, and opens it; an empty name is of what
	// cannot be opened. It is nil where a click does nothing.
	click func(x, y int) string
	text  bool // a text that the wheel scrolls, and not the list beside it
}

// sensitive makes a part of the page do something under the mouse.
func (p page) sensitive(s spot) page {
	p.spots = append(p.spots, s)
	return p
}

// moved returns the spots of a page that is put somewhere on another one.
func (p page) moved(x, y int) []spot {
	out := make([]spot, len(p.spots))
	for i, s := range p.spots {
		s.x, s.y = s.x+x, s.y+y
		out[i] = s
	}
	return out
}

// spotAt returns what a cell belongs to, nil if it does nothing.
func (p page) spotAt(x, y int) *spot {
	for i := len(p.spots) - 1; i >= 0; i-- {
		if s := &p.spots[i]; x >= s.x && x < s.x+s.w && y >= s.y && y < s.y+s.h {
			return s
		}
	}
	return nil
}

// fill makes the page exactly h lines, none wider than w.
func (p page) fill(w, h int) page {
	for i := range p.lines {
		if p.lines[i].width() > w {
			p.lines[i] = p.lines[i].cut(0, w)
		}
	}
	for len(p.lines) < h {
		p.lines = append(p.lines, nil)
	}
	p.lines = p.lines[:max(h, 0)]
	p.spots = slices.DeleteFunc(p.spots, func(s spot) bool { return s.y >= h })
	if p.y >= h || p.x >= w {
		p.y = -1
	}
	return p
}

// below puts the lines of q under those of p. The cursor of q wins.
func (p page) below(q page) page {
	if q.y >= 0 {
		p.x, p.y = q.x, q.y+len(p.lines)
	}
	p.spots = append(p.spots, q.moved(0, len(p.lines))...)
	p.lines = append(p.lines, q.lines...)
	return p
}

// beside puts q to the right of p, which is w cells wide. The cursor of p wins.
func (p page) beside(q page, w int) page {
	if p.y < 0 && q.y >= 0 {
		p.x, p.y = q.x+w, q.y
	}
	lines := make([]line, max(len(p.lines), len(q.lines)))
	for i := range lines {
		var l line
		if i < len(p.lines) {
			l = p.lines[i]
		}
		if i < len(q.lines) {
			l = append(l.fit(w), q.lines[i]...)
		}
		lines[i] = l
	}
	return page{lines, p.x, p.y, append(p.spots, q.moved(w, 0)...)}
}

// frame draws a box of w x h around a page, with a title at its left and a note at its right. Too small for a box, it
// draws nothing.
func frame(title, note string, w, h int, p page) page {
	if w < 8 || h < 3 {
		return page{y: -1}
	}
	inner := w - 4
	p = p.fill(inner, h-2)
	top := line{}.ink(dim, "┌─ ").add(strong, elide(clean(title), w-8)).gap(1)
	room := w - 2 - top.width()
	if n := width(note); note != "" && n+3 <= room {
		top = top.ink(dim, rule(room-n-2)+" ").add(dim, note).ink(dim, " ─┐")
	} else {
		top = top.ink(dim, rule(room+1)+"┐")
	}
	out := page{lines: make([]line, 0, h), y: -1, spots: p.moved(2, 1)}
	out.lines = append(out.lines, top)
	for _, l := range p.lines {
		b := line{}.ink(dim, "│").gap(1)
		b = append(b, l.fit(inner)...)
		out.lines = append(out.lines, b.gap(1).ink(dim, "│"))
	}
	out.lines = append(out.lines, line{}.ink(dim, "└"+rule(w-2)+"┘"))
	if p.y >= 0 {
		out.x, out.y = p.x+2, p.y+1
	}
	return out
}

func rule(n int) string {
	b := make([]byte, 0, 3*max(n, 0))
	for range n {
		b = append(b, "─"...)
	}
	return string(b)
}

// text makes a page of lines without a cursor.
func text(lines ...line) page { return page{lines: lines, y: -1} }

// labelled wraps a sentence behind a label, its rows indented to stand under each other.
func labelled(label string, labelWidth int, s style, sentence string, w int) []line {
	var out []line
	for i, row := range wrap(sentence, max(w-labelWidth, 8)) {
		l := line{}
		if i == 0 {
			l = l.left(dim, label, labelWidth)
		} else {
			l = l.gap(labelWidth)
		}
		out = append(out, l.add(s, row))
	}
	return out
}

// window returns which of n rows stand in a view of h when the cursor is at one of them: it keeps to the middle, so what
// is shown depends on nothing but where the cursor is.
func window(n, cursor, h int) (first, end int) {
	first = min(max(cursor-h/2, 0), max(n-h, 0))
	return first, min(first+max(h, 0), n)
}

// A view is where a list is looked at: around the cursor, but for what was clicked on, which stays under the pointer.
type view struct {
	held  bool
	first int
}

// window is like the function of this name, as long as no row is held in its place.
func (v *view) window(n, cursor, h int) (first, end int) {
	if v.held && cursor >= v.first && cursor < v.first+h {
		first = min(v.first, max(n-h, 0))
		return first, min(first+max(h, 0), n)
	}
	return window(n, cursor, h)
}

// scrollTo bounds an offset into n lines of which h can be seen.
func scrollTo(offset, n, h int) int { return min(max(offset, 0), max(n-h, 0)) }

// scrolled cuts lines to h from an offset, as far as there is something to see, and says which ones stand there.
func scrolled(lines []line, offset, h int) (shown []line, note string) {
	offset = scrollTo(offset, len(lines), h)
	end := min(offset+max(h, 0), len(lines))
	if end-offset < len(lines) {
		note = count(offset+1) + "-" + count(end) + " of " + count(len(lines))
	}
	return lines[offset:end], note
}

// scrolledBy is where a key of lists leads in a text of n lines of which h can be seen; other keys lead nowhere.
func scrolledBy(k *keyMap, msg tea.KeyPressMsg, offset, n, h int) int {
	switch {
	case key.Matches(msg, k.Down, k.TextDown):
		offset++
	case key.Matches(msg, k.Up, k.TextUp):
		offset--
	case key.Matches(msg, k.PageDown):
		offset += 10
	case key.Matches(msg, k.PageUp):
		offset -= 10
	case key.Matches(msg, k.Top):
		offset = 0
	case key.Matches(msg, k.Bottom):
		offset = n
	}
	return scrollTo(offset, n, h)
}
