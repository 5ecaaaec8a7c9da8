package tui

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// wheel does what the arrows do, and over a text beside a list what scrolls that. In a prompt, where arrows recall what was typed, it does nothing.
func (a *App) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	k := &a.keys
	up := msg.Button == tea.MouseWheelUp
	switch {
	case a.prompt != nil || !up && msg.Button != tea.MouseWheelDown:
		return nil
	case a.dialog != nil && up: // whose fields take every key that prints
		return a.press(tea.KeyPressMsg{Code: tea.KeyUp})
	case a.dialog != nil:
		return a.press(tea.KeyPressMsg{Code: tea.KeyDown})
	}
	a.still, a.clicked = stillFor, ""
	by := map[bool]key.Binding{true: k.Up, false: k.Down}[up]
	if s := a.page().spotAt(msg.X, msg.Y); a.help == nil && s != nil && s.text {
		by = map[bool]key.Binding{true: k.TextUp, false: k.TextDown}[up]
	}
	return a.pressed(by)
}

// pressed does what a key does, whichever it is.
func (a *App) pressed(b key.Binding) tea.Cmd {
	if len(b.Keys()) == 0 {
		return nil
	}
	return a.press(tea.KeyPressMsg{Text: b.Keys()[0]})
}

// click selects what was hit, if nothing lies over the screens, and opens what was selected by the click before.
func (a *App) click(msg tea.MouseClickMsg) tea.Cmd {
	if msg.Button != tea.MouseLeft || a.prompt != nil || a.dialog != nil || a.help != nil {
		return nil
	}
	was := a.clicked
	a.clicked = ""
	s := a.page().spotAt(msg.X, msg.Y)
	if s == nil || s.click == nil {
		return nil
	}
	a.still = stillFor
	name := s.click(msg.X-s.x, msg.Y-s.y)
	if name != "" && name == was {
		return a.pressed(a.keys.Open)
	}
	a.clicked = name
	return nil
}

// tabSpots are where a click opens the screens that have a digit.
func (a *App) tabSpots() []spot {
	var out []spot
	x := 1
	for i, t := range a.tabs {
		w := width(a.tabName(i, t)) + 2 // brackets or blanks around it
		out = append(out, spot{x: x, w: w, h: 1, click: func(_, _ int) string { a.visit(i); return "" }})
		x += w
	}
	return out
}
