package tui

import tea "charm.land/bubbletea/v2"

// wheel does what the arrows do, but in a prompt, where these recall what was typed.
func (a *App) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	if a.prompt != nil {
		return nil
	}
	switch msg.Button {
	case tea.MouseWheelUp:
		return a.press(tea.KeyPressMsg{Code: tea.KeyUp})
	case tea.MouseWheelDown:
		return a.press(tea.KeyPressMsg{Code: tea.KeyDown})
	}
	return nil
}

// click opens the screen whose tab was hit, if nothing lies over the screens.
func (a *App) click(msg tea.MouseClickMsg) {
	if header, _, _ := a.chrome(); header < 2 || msg.Y != 1 || msg.Button != tea.MouseLeft || a.prompt != nil || a.dialog != nil || a.help != nil {
		return
	}
	x := 1
	for i, t := range a.tabs {
		w := width(a.tabName(i, t)) + 2 // brackets or blanks around it
		if msg.X >= x && msg.X < x+w {
			a.visit(i)
			return
		}
		x += w
	}
}
