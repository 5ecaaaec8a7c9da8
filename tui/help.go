package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// words explains what stands on the screens. The words are those of the contract.
func (k *keyMap) words() [][2]string {
	return [][2]string{
		{"p", "probability of being sick, calibrated: of those at 0.90, nine in ten are"},
		{"loss", "share of packets lost at the suspect, with its 90 % credible interval."},
		{"arc", "one direction of a link, from>to. A link is both: end--end."},
		{"dark", "no probe crossed it: unknown, which is not healthy."},
		{"class", "suspects that the evidence cannot tell apart, LOSS? each. Next says what would."},
		{"late", "what flows that cross it now take above their own best, the least of them."},
		{"use expect", "how full an arc is; how full it would be if its load were spread evenly."},
		{"STALE", "a source that has gone quiet: what it said may no longer hold."},
		{"Z L", "a time in UTC; in the zone that :tz chose."},
		{"- ?", "does not apply; not known."},
		{first(k.Copy) + " " + first(k.Note), "copy through the terminal (OSC 52); tmux passes it on with set -g set-clipboard on."},
	}
}

// filters explains the filter by example.
func filters() [][2]string {
	return [][2]string{
		{"leaf12 spine", "both words"},
		{"!agg03", "without it"},
		{"p>.5 loss>1", "numbers; loss in %"},
		{"lost>0 rtt>90", "of flows; rtt in us"},
		{"flaps>2 use>80", "of links; use in %"},
		{"dark", "links without evidence"},
	}
}

// A helpBox is the open help. It is drawn over the screen from which it was called.
type helpBox struct {
	keys   *keyMap
	of     screen // whose keys stand first
	offset int
}

func (a *App) openHelp() { a.help = &helpBox{keys: &a.keys, of: a.top()} }

// handle scrolls with the keys of lists, in a box of w x h. It reports whether the help stays open.
func (b *helpBox) handle(msg tea.KeyPressMsg, w, h int) bool {
	k := b.keys
	if key.Matches(msg, k.Back, k.Help) {
		return false
	}
	b.offset = scrolledBy(k, msg, b.offset, len(b.lines(w-4)), h-2)
	return true
}

// draw returns the box at w x h.
func (b *helpBox) draw(w, h int) page {
	if w < 8 || h < 3 {
		return text(b.lines(w)...).fill(w, h)
	}
	shown, note := scrolled(b.lines(w-4), b.offset, h-2)
	if note == "" {
		note = first(b.keys.Back) + " close"
	} else {
		note += ", " + first(b.keys.Down) + " " + first(b.keys.Up) + " scroll, " + first(b.keys.Back) + " close"
	}
	return frame("Help", note, w, h, text(shown...))
}

func (b *helpBox) lines(w int) []line {
	var blocks [][]line
	for _, g := range b.keys.groups(b.of) {
		pairs := make([][2]string, len(g.keys))
		for i, k := range g.keys {
			pairs[i] = [2]string{k.Help().Key, k.Help().Desc}
		}
		blocks = append(blocks, helpBlock(g.title, pairs))
	}
	blocks = append(blocks, helpBlock("Filter, by example", filters()))
	var typed [][2]string
	for _, c := range commands() {
		typed = append(typed, [2]string{strings.TrimSpace(":" + c.name + " " + c.args), c.does})
	}
	blocks = append(blocks, helpBlock("Commands", typed))

	var out []line
	for n := 3; n > 0; n-- {
		var ok bool
		if out, ok = inColumns(blocks, n, w); ok {
			break
		}
	}
	out = append(out, nil, line{}.add(strong, "Words used here"))
	for _, e := range b.keys.words() {
		for i, l := range labelled(e[0], 11, plain, e[1], w-2) {
			if i == 0 {
				l[0].style = press
			}
			out = append(out, append(line{}.gap(2), l...))
		}
	}
	return out
}

func helpBlock(title string, pairs [][2]string) []line {
	keys := 0
	for _, p := range pairs {
		keys = max(keys, width(p[0]))
	}
	block := []line{line{}.add(strong, title)}
	for _, p := range pairs {
		block = append(block, line{}.gap(2).left(press, p[0], keys+2).add(plain, p[1]))
	}
	return block
}

// inColumns sets blocks into n columns of about even length, keeping their order, and reports whether they fit into w.
func inColumns(blocks [][]line, n, w int) (lines []line, ok bool) {
	total := 0
	for _, b := range blocks {
		total += len(b) + 1
	}
	cols := make([][]line, 1, n)
	for _, b := range blocks {
		c := len(cols) - 1
		if len(cols[c]) > 0 && len(cols) < n && len(cols[c])+len(b)/2 >= total/n {
			cols = append(cols, nil)
			c++
		}
		if len(cols[c]) > 0 {
			cols[c] = append(cols[c], nil)
		}
		cols[c] = append(cols[c], b...)
	}
	widths := make([]int, len(cols))
	left := w
	for i, c := range cols {
		for _, l := range c {
			widths[i] = max(widths[i], l.width())
		}
		left -= widths[i]
	}
	gap := left / max(len(cols)-1, 1)
	p, x := text(), 0
	for i, c := range cols {
		p = p.beside(text(c...), x)
		x += widths[i] + min(gap, 6)
	}
	return p.lines, gap >= 2 || len(cols) == 1
}
