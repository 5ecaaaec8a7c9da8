package tui

import (
	"context"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// A dialog lies over a screen. While it is open it owns all keys but ctrl-c.
type dialog interface {
	// handle takes a key. It reports whether the dialog stays open, and hands out an errand when somebody has said yes.
	handle(msg tea.KeyPressMsg) (open bool, e *errand)
	paste(text string)
	draw(w, h int) page
	hints() []line
}

// An errand is what a dialog wants done: says is what to tell when it is. It has one of do, show, sends and leaves.
type errand struct {
	says string
	do   func(context.Context) error
	// show is a program that takes the terminal for as long as it runs.
	show tea.ExecCommand
	// sends is something that takes a while and can be stopped.
	sends *Proposal
	// leaves is true of the end of the program; keep then leaves the last screen where it can be read.
	leaves, keep bool
}

// An askDialog says what will happen, and asks.
type askDialog struct {
	keys   *keyMap
	title  string
	what   string
	why    []string // sentences below it
	yes    string   // what enter does, in a word or two
	no     string   // what esc does
	errand *errand
}

func (d *askDialog) handle(msg tea.KeyPressMsg) (open bool, e *errand) {
	switch {
	case key.Matches(msg, d.keys.Do):
		return false, d.errand
	case key.Matches(msg, d.keys.Cancel):
		return false, nil
	}
	return true, nil
}

func (d *askDialog) paste(string) {}

func (d *askDialog) hints() []line {
	return []line{hint(d.keys.Do, d.yes), hint(d.keys.Cancel, d.no)}
}

func (d *askDialog) draw(w, h int) page {
	inside := func(w int) page { return asking(d.what, d.why, d.hints(), w) }
	return boxed(d.title, "", w, min(h, max(len(inside(min(w, dialogWidth)-4).lines)+2, 8)), inside)
}

// asking is the question of a dialog, and the keys that answer it, which stay in sight.
func asking(what string, why []string, hints []line, w int) page {
	p := page{y: -1}
	for i, sentence := range append([]string{what}, why...) {
		st := plain
		if i == 0 {
			st = strong
		}
		for _, r := range wrap(sentence, w-2) {
			p.lines = append(p.lines, line{}.gap(2).add(st, r))
		}
		p.lines = append(p.lines, nil)
	}
	p.x, p.y = 2, len(p.lines)
	l := line{}.gap(2)
	for _, h := range hints {
		l = append(l, h...)
	}
	p.lines = append(p.lines, l)
	return p
}

// boxed draws what fits into a dialog of at most w x h. The row with the cursor is always in sight.
func boxed(title, note string, w, h int, inside func(w int) page) page {
	w, h = min(w, dialogWidth), min(h, dialogHeight)
	framed := w >= 24 && h >= 8
	inner, room := w, h
	if framed {
		inner, room = w-4, h-2
	}
	p := inside(inner)
	if first, end := window(len(p.lines), max(p.y, 0), room); end > first {
		p.lines, p.y = p.lines[first:end], p.y-first
	}
	if !framed {
		return p.fill(w, h)
	}
	return frame(title, note, w, h, p)
}
