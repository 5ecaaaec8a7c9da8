package tui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// A keyMap is all keys of the program. Help, footer and the keys themselves come from here, so they cannot differ.
// No key needs Alt or a function key, and arrows always double letters.
type keyMap struct {
	Help, Command, Filter, Back, Freeze, Note, Copy, Export, Break, Reveal, Probe, Pin, Mask, Mouse, Redraw, Quit, Leave, Interrupt key.Binding

	Up, Down, PageUp, PageDown, Top, Bottom key.Binding
	TextUp, TextDown                        key.Binding

	Screens    key.Binding // a digit a screen
	Open       key.Binding
	Next, Prev key.Binding

	Sort, Reverse, Wide, Columns    key.Binding
	Left, Right, Layer, Order, Pane key.Binding
	Hosts, Wider, Closer, Around    key.Binding
	Swap, Paths, OnMap              key.Binding
	Packets, Shark, Answer, Lower   key.Binding

	Play, SeekBack, SeekOn, Slower, Faster, Latest, Moment key.Binding
	Complete, Recall, Onward, Remark                       key.Binding

	KeepFilter, LeaveFilter key.Binding

	Toggle, Earlier, Later key.Binding

	NextField, PrevField, ChooseUp, ChooseDown, KindBack, KindOn, Do, Cancel key.Binding
}

func newKeyMap() keyMap {
	bind := func(show, does string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(show, does))
	}
	return keyMap{
		Help:      bind("?", "help", "?"),
		Command:   bind(":", "command, tab completes", ":"),
		Filter:    bind("/", "filter, on the map find", "/"),
		Note:      bind("x", "copy a hand-off note", "x"),
		Screens:   bind("1..7", "go to a screen", "1", "2", "3", "4", "5", "6", "7"),
		Back:      bind("esc", "back, never quits", "esc"),
		Freeze:    bind("f", "freeze, resume", "f"),
		Copy:      bind("y", "copy the row", "y"),
		Export:    bind("e", "export: csv, json, md, dot", "e"),
		Break:     bind("b", "break, heal", "b"),
		Reveal:    bind("R", "reveal the truth", "R"),
		Probe:     bind("P", "probe harder, trace: asks", "P"),
		Pin:       bind("*", "pin a link or node, unpin", "*"),
		Mask:      bind("A", "mask names and addresses", "A"),
		Mouse:     bind("M", "mouse: click, twice opens", "M"),
		Redraw:    bind("ctrl-l", "redraw", "ctrl+l"),
		Quit:      bind("q", "quit, asks if something ends", "q"),
		Leave:     bind("Q", "quit, leave the screen", "Q"),
		Interrupt: bind("ctrl-c", "quit, twice without asking", "ctrl+c"),

		Up:       bind("k up", "up", "k", "up"),
		Down:     bind("j down", "down", "j", "down"),
		PageUp:   bind("ctrl-u pgup", "ten up", "ctrl+u", "pgup"),
		PageDown: bind("ctrl-d pgdn", "ten down", "ctrl+d", "pgdown"),
		Top:      bind("g home", "top", "g", "home"),
		Bottom:   bind("G end", "bottom", "G", "end"),
		TextUp:   bind("K shift-up", "proof up", "K", "shift+up"),
		TextDown: bind("J shift-down", "proof down", "J", "shift+down"),

		Sort:    bind("s", "sort by the next column", "s"),
		Reverse: bind("S", "turn the order", "S"),
		Wide:    bind("w", "wide columns", "w"),
		Columns: bind("C", "choose columns", "C"),
		Left:    bind("h left", "left", "h", "left"),
		Right:   bind("l right", "right", "l", "right"),
		Layer:   bind("L", "next layer", "L"),
		Order:   bind("o", "order by name, worst first", "o"),
		Hosts:   bind("H", "links of hosts, of switches", "H"),
		Pane:    bind("tab", "the other matrix", "tab"),
		Wider:   bind("+", "more hops around the link", "+", "="),
		Closer:  bind("-", "fewer hops around it", "-"),
		Around:  bind("g", "what lies around the link", "g"),
		Swap:    bind("w", "swap the ends", "w"),
		Paths:   bind("v", "paths over the link", "v"),
		OnMap:   bind("m", "show it on the map", "m"),
		Packets: bind("p", "packets: of a link, of a finding", "p"),
		Lower:   bind("tab", "counters of ports, flows", "tab"),
		Answer:  bind("a", "name what is broken", "a"),
		Shark:   bind("w", "open in tshark, asks first", "w"),

		Play:     bind("space", "play, pause", "space"),
		SeekBack: bind("<", "ten seconds back", "<", ","),
		SeekOn:   bind(">", "ten seconds on", ">", "."),
		Slower:   bind("{", "half the speed", "{"),
		Faster:   bind("}", "twice the speed", "}"),
		Latest:   bind("T", "all of it, back to live", "T"),
		Moment:   bind("t", "the selected moment", "t"),
		Remark:   bind("a", "add a remark", "a"),
		Complete: bind("tab", "complete the command", "tab"),
		Recall:   bind("up", "what was typed before", "up"),
		Onward:   bind("down", "what was typed after it", "down"),

		Open: bind("enter", "open what is selected", "enter"),
		Next: bind("n", "next suspect", "n"),
		Prev: bind("N", "suspect before", "N"),

		KeepFilter:  bind("enter", "keep it, do it", "enter"),
		LeaveFilter: bind("esc", "leave, then clear", "esc"),

		Toggle:  bind("space", "show, hide a column", "space"),
		Earlier: bind("left h", "column to the left", "left", "h"),
		Later:   bind("right l", "column to the right", "right", "l"),

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
		k.Help, k.Command, k.Filter, k.Back, k.Screens, k.Open, k.Freeze, k.Copy, k.Export, k.Note, k.Break, k.Reveal, k.Probe, k.Pin, k.Mask, k.Mouse, k.Redraw, k.Quit, k.Leave, k.Interrupt}}
}

func (k *keyMap) lists() keyGroup {
	return keyGroup{"Lists", []key.Binding{
		k.Down, k.Up, k.PageDown, k.PageUp, k.Top, k.Bottom, k.TextDown, k.TextUp}}
}

func (k *keyMap) suspect() keyGroup {
	return keyGroup{"Suspect, map and paths", []key.Binding{k.Next, k.Prev}}
}

func (k *keyMap) link() keyGroup { return keyGroup{"Link", []key.Binding{k.Paths, k.OnMap, k.Lower}} }

func (k *keyMap) packets() keyGroup {
	return keyGroup{"Link, captures", []key.Binding{k.Packets}}
}

func (k *keyMap) happenings() keyGroup { return keyGroup{"Events", []key.Binding{k.Remark}} }

func (k *keyMap) drill() keyGroup { return keyGroup{"Drill", []key.Binding{k.Answer}} }

func (k *keyMap) captures() keyGroup { return keyGroup{"Captures", []key.Binding{k.Shark}} }

func (k *keyMap) table() keyGroup {
	return keyGroup{"Links", []key.Binding{k.Sort, k.Reverse, k.Wide, k.Columns}}
}

func (k *keyMap) matrix() keyGroup {
	return keyGroup{"Map and paths", []key.Binding{k.Left, k.Right}}
}

func (k *keyMap) chart() keyGroup {
	return keyGroup{"Map", []key.Binding{k.Layer, k.Order, k.Hosts, k.Pane, k.Around, k.Wider, k.Closer}}
}

func (k *keyMap) pair() keyGroup { return keyGroup{"Paths", []key.Binding{k.Swap}} }

func (k *keyMap) time() keyGroup {
	return keyGroup{"Time, live and in a replay", []key.Binding{k.Play, k.SeekBack, k.SeekOn, k.Slower, k.Faster, k.Moment, k.Latest}}
}

func (k *keyMap) prompt() keyGroup {
	return keyGroup{"In the filter, in a command", []key.Binding{k.KeepFilter, k.LeaveFilter, k.Complete, k.Recall, k.Onward}}
}

func (k *keyMap) dialog() keyGroup {
	return keyGroup{"In a dialog", []key.Binding{
		k.NextField, k.PrevField, k.ChooseDown, k.ChooseUp, k.KindOn, k.KindBack, k.Do, k.Cancel}}
}

func (k *keyMap) chooser() keyGroup {
	return keyGroup{"In the choice of columns", []key.Binding{k.Toggle, k.Earlier, k.Later}}
}

// on returns the keys that a screen obeys beside those that work everywhere.
func (k *keyMap) on(s screen) []keyGroup {
	switch s.(type) {
	case *linkScreen:
		return []keyGroup{k.suspect(), k.link(), k.packets(), k.lists()}
	case *linksScreen:
		return []keyGroup{k.table(), k.lists()}
	case *mapScreen:
		return []keyGroup{k.chart(), k.suspect(), k.matrix()}
	case *pathsScreen:
		return []keyGroup{k.pair(), k.suspect(), k.matrix()}
	case *eventsScreen:
		return []keyGroup{k.happenings(), k.lists()}
	case *capturesScreen, *findingScreen:
		return []keyGroup{k.captures(), k.packets(), k.lists()}
	case *drillScreen:
		return []keyGroup{k.drill(), k.lists()}
	}
	return []keyGroup{k.lists()}
}

// screens are the keys that some screens have and others do not.
func (k *keyMap) screens() []keyGroup {
	return []keyGroup{k.suspect(), k.link(), k.packets(), k.captures(), k.happenings(), k.drill(), k.lists(), k.table(), k.matrix(), k.chart(), k.pair()}
}

// groups returns all keys in the order of the help: those of a screen, those that work everywhere, and the others.
func (k *keyMap) groups(s screen) []keyGroup {
	out := k.on(s)
	here := len(out)
	for i := range out {
		out[i].title += ", here"
	}
	out = append(out, k.everywhere(), k.time())
	for _, g := range k.screens() {
		if !slices.ContainsFunc(out[:here], func(x keyGroup) bool { return x.title == g.title+", here" }) {
			out = append(out, g)
		}
	}
	return append(out, k.prompt(), k.dialog(), k.chooser())
}

// elsewhere says where a key does something that does nothing here; empty if it does here, or nowhere.
func (k *keyMap) elsewhere(msg tea.KeyPressMsg, s screen) string {
	for _, g := range append(k.on(s), k.everywhere()) {
		if key.Matches(msg, g.keys...) {
			return ""
		}
	}
	var places []string
	for _, g := range append(k.screens(), k.time()) {
		for _, b := range g.keys {
			if key.Matches(msg, b) {
				places = append(places, g.title+": "+b.Help().Desc)
			}
		}
	}
	if len(places) == 0 {
		return ""
	}
	return msg.String() + " does nothing here. " + strings.Join(places, "; ")
}
