package tui

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// ends says what would end with the program that somebody set going; nothing if there is no such thing. What is recorded does not count: it is whole
// whenever the program ends.
func (a *App) ends() []string {
	var out []string
	if p := a.latest.Inquiry; p != nil {
		out = append(out, clean(p.Says)+" is under way, and stops.")
	}
	if a.trainer != nil {
		text := "The drill ends"
		if n := len(a.latest.Faults); n > 0 {
			text += " with " + counted(n, "fault", "faults") + " in it"
		}
		out = append(out, text+".")
	}
	return out
}

// quit leaves at once, or asks first if something would end with it. With keep the last screen stays in the terminal.
func (a *App) quit(keep bool) tea.Cmd {
	ends := a.ends()
	if len(ends) == 0 {
		a.keep = keep
		return tea.Quit
	}
	why := ends[1:]
	if a.latest.Recording > 0 {
		why = append(why, "What was recorded stays.")
	}
	a.prompt, a.help = nil, nil
	a.dialog = &askDialog{keys: &a.keys, title: "Leave?", what: ends[0], why: why, yes: "leave", no: "stay", errand: &errand{leaves: true, keep: keep}}
	return nil
}

// interrupt is ctrl-c, whatever lies on top: like q, but the second leaves at once.
func (a *App) interrupt(msg tea.KeyPressMsg) (cmd tea.Cmd, was bool) {
	if !key.Matches(msg, a.keys.Interrupt) {
		return nil, false
	}
	if d, ok := a.dialog.(*askDialog); ok && d.errand.leaves {
		return tea.Quit, true
	}
	return a.quit(false), true
}
