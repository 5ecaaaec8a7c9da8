package tui

import (
	"errors"

	tea "charm.land/bubbletea/v2"

	"whichlink/internal/diagnose"
)

// A bell rings when another suspect is named than before, so that nobody has to look at the screen all the time. tmux and most terminals mark the window
// that rang. It is off until somebody asks for it.
type bell struct {
	on    bool
	named string // the first suspect when it was looked at last, empty if none is named
}

// namedFirst is the first suspect of a snapshot, if it is one that the verdict names.
func namedFirst(s *Snapshot) string {
	if d := s.Diagnosis; d != nil && len(d.Suspects) > 0 && d.Suspects[0].Probability >= diagnose.Named {
		return d.Suspects[0].ID
	}
	return ""
}

// hear returns what rings the bell if a snapshot names another suspect, nil if it does not. That a suspect is gone is no alarm.
func (b *bell) hear(s *Snapshot) tea.Cmd {
	was := b.named
	b.named = namedFirst(s)
	if !b.on || b.named == "" || b.named == was {
		return nil
	}
	return tea.Raw("\a")
}

// setBell turns the bell on or off.
func setBell(a *App, words []string) (tea.Cmd, error) {
	if len(words) != 1 || words[0] != "on" && words[0] != "off" {
		return nil, errors.New("bell is on or off")
	}
	a.bell.on = words[0] == "on"
	a.say(map[bool]string{true: "rings when another suspect is named", false: "the bell is off"}[a.bell.on])
	return nil, nil
}
