package tui

import "charm.land/bubbles/v2/key"

// A keyMap is all keys of the program. Help, footer and the keys themselves come from here, so they cannot differ.
// No key needs Alt or a function key, and arrows always double letters.
type keyMap struct {
	Help, Filter, Back, Freeze, Copy, Break, Reveal, Redraw, Quit, Interrupt key.Binding

	Up, Down, PageUp, PageDown, Top, Bottom key.Binding
	TextUp, TextDown                        key.Binding

	Open       key.Binding
	Next, Prev key.Binding

	KeepFilter, LeaveFilter key.Binding

	NextField, PrevField, ChooseUp, ChooseDown, KindBack, KindOn, Do, Cancel key.Binding
}

func newKeyMap() keyMap {
	bind := func(show, does string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(show, does))
	}
	return keyMap{
		Help:      bind("?", "help", "?"),
		Filter:    bind("/", "filter", "/"),
		Back:      bind("esc", "back, never quits", "esc"),
		Freeze:    bind("f", "freeze, resume", "f"),
		Copy:      bind("y", "copy the row", "y"),
		Break:     bind("b", "break, heal", "b"),
		Reveal:    bind("R", "reveal the truth", "R"),
		Redraw:    bind("ctrl-l", "redraw", "ctrl+l"),
		Quit:      bind("q", "quit", "q"),
		Interrupt: bind("ctrl-c", "quit, always", "ctrl+c"),

		Up:       bind("k up", "up", "k", "up"),
		Down:     bind("j down", "down", "j", "down"),
		PageUp:   bind("ctrl-u pgup", "ten up", "ctrl+u", "pgup"),
		PageDown: bind("ctrl-d pgdn", "ten down", "ctrl+d", "pgdown"),
		Top:      bind("g home", "top", "g", "home"),
		Bottom:   bind("G end", "bottom", "G", "end"),
		TextUp:   bind("K shift-up", "proof up", "K", "shift+up"),
		TextDown: bind("J shift-down", "proof down", "J", "shift+down"),

		Open: bind("enter", "open the suspect", "enter"),
		Next: bind("n", "next suspect", "n"),
		Prev: bind("N", "suspect before", "N"),

		KeepFilter:  bind("enter", "keep the filter", "enter"),
		LeaveFilter: bind("esc", "leave, then clear", "esc"),

		NextField:  bind("tab", "next field", "tab"),
		PrevField:  bind("shift-tab", "field before", "shift+tab"),
		ChooseUp:   bind("up", "choice before", "up"),
		ChooseDown: bind("down", "next choice", "down"),
		KindBack:   bind("left", "fault before", "left"),
		KindOn:     bind("right", "next fault", "right"),
		Do:         bind("enter", "ask, then do", "enter"),
		Cancel:     bind("esc", "back", "esc"),
	}
}

// A keyGroup is the keys of one place under one title.
type keyGroup struct {
	title string
	keys  []key.Binding
}

func (k *keyMap) everywhere() keyGroup {
	return keyGroup{"Everywhere", []key.Binding{
		k.Help, k.Filter, k.Back, k.Freeze, k.Copy, k.Break, k.Reveal, k.Redraw, k.Quit, k.Interrupt}}
}

func (k *keyMap) lists() keyGroup {
	return keyGroup{"Lists", []key.Binding{
		k.Down, k.Up, k.PageDown, k.PageUp, k.Top, k.Bottom, k.TextDown, k.TextUp}}
}

func (k *keyMap) overview() keyGroup { return keyGroup{"Overview", []key.Binding{k.Open}} }

func (k *keyMap) suspect() keyGroup { return keyGroup{"Suspect", []key.Binding{k.Next, k.Prev}} }

func (k *keyMap) prompt() keyGroup {
	return keyGroup{"In the filter", []key.Binding{k.KeepFilter, k.LeaveFilter}}
}

func (k *keyMap) dialog() keyGroup {
	return keyGroup{"In the break dialog", []key.Binding{
		k.NextField, k.PrevField, k.ChooseDown, k.ChooseUp, k.KindOn, k.KindBack, k.Do, k.Cancel}}
}

// groups returns all keys in the order of the help.
func (k *keyMap) groups() []keyGroup {
	return []keyGroup{k.everywhere(), k.suspect(), k.lists(), k.overview(), k.prompt(), k.dialog()}
}
