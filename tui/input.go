package tui

import (
	"slices"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// An input is one line of text under a cursor. (bubbles/textinput brings a package that runs clipboard programs of the
// machine; over SSH that is the wrong machine.) Its keys are those of every shell's line.
type input struct {
	runes []rune
	at    int // cursor, in runes
	most  int // runes it may hold
}

func newInput(value string, most int) input {
	in := input{most: most}
	in.set(value)
	return in
}

func (in *input) value() string { return string(in.runes) }

// set replaces the text and puts the cursor at its end.
func (in *input) set(value string) {
	in.runes, in.at = nil, 0
	in.insert(value)
}

// insert puts text at the cursor. What does not print becomes nothing: a pasted line end must not be typed.
func (in *input) insert(text string) {
	typed := slices.DeleteFunc([]rune(text), func(r rune) bool { return !unicode.IsPrint(r) })
	typed = typed[:min(len(typed), max(in.most-len(in.runes), 0))]
	in.runes = slices.Insert(in.runes, in.at, typed...)
	in.at += len(typed)
}

func (in *input) delete(from, to int) {
	from, to = max(from, 0), min(to, len(in.runes))
	in.runes = slices.Delete(in.runes, from, to)
	in.at = from
}

// press edits. Keys that neither print nor edit are passed over.
func (in *input) press(msg tea.KeyPressMsg) {
	switch msg.String() {
	case "left", "ctrl+b":
		in.at = max(in.at-1, 0)
	case "right", "ctrl+f":
		in.at = min(in.at+1, len(in.runes))
	case "home", "ctrl+a":
		in.at = 0
	case "end", "ctrl+e":
		in.at = len(in.runes)
	case "backspace", "ctrl+h":
		if in.at > 0 {
			in.delete(in.at-1, in.at)
		}
	case "delete", "ctrl+d":
		if in.at < len(in.runes) {
			in.delete(in.at, in.at+1)
		}
	case "ctrl+u":
		in.delete(0, in.at)
	case "ctrl+k":
		in.runes = in.runes[:in.at]
	case "ctrl+w":
		from := in.at
		for from > 0 && in.runes[from-1] == ' ' {
			from--
		}
		for from > 0 && in.runes[from-1] != ' ' {
			from--
		}
		in.delete(from, in.at)
	default:
		in.insert(msg.Text)
	}
}

// shown returns what of the text stands in w cells around the cursor, and where in them the cursor is.
func (in *input) shown(w int) (text string, x int) {
	before := clean(string(in.runes[:in.at]))
	x = width(before)
	from := max(0, x-w+1)
	for _, s := range (line{{before + clean(string(in.runes[in.at:])), plain}}).cut(from, from+w) {
		text += s.text
	}
	return text, x - from
}
