package tui

import (
	"errors"

	tea "charm.land/bubbletea/v2"
)

// A renaming screen keeps names, or what is drawn of them, from one snapshot to the next: it is told when they change, so that it stays where it is. renamed
// returns the new name of what was called old; hides is what hides names from now on, nil if nothing does.
type renaming interface {
	rename(renamed func(old string) string, hides *mask, s *Snapshot)
}

// mostAtOnce is the number of links up to which pseudonyms are made at once; those of sixty thousand take half a second.
const mostAtOnce = 2000

// A pseudonymsMsg brings a mask that has learned a fabric.
type pseudonymsMsg struct {
	mask *mask
	err  error
}

// setMask masks names, or shows them.
func (a *App) setMask(on bool) tea.Cmd {
	f := a.taken.Fabric
	switch {
	case on == (a.mask != nil):
	case on && f != nil && f != a.unworn.hide.from && f.NumLinks() > mostAtOnce:
		a.say("masking names and addresses")
		m := newMask(a.unworn.seed)
		return func() tea.Msg { return pseudonymsMsg{m, m.learn(f)} }
	default:
		a.wear(on)
	}
	return nil
}

// learned masks names once their pseudonyms are made.
func (a *App) learned(msg pseudonymsMsg) {
	switch {
	case msg.err != nil:
		a.say("! " + msg.err.Error())
	case a.mask == nil:
		a.unworn = msg.mask
		a.wear(true)
	}
}

// wear puts pseudonyms in place of names, or the names back. What was typed, such as filters, holds names and is forgotten.
func (a *App) wear(on bool) {
	worn := a.unworn
	renamed := worn.show.name
	if a.mask = nil; on {
		a.mask, renamed = worn, worn.hide.name
	}
	a.lookAgain()
	for i := range a.typed {
		a.typed[i] = recall{}
	}
	for _, s := range append(a.tabs[:len(a.tabs):len(a.tabs)], a.stack...) {
		if r, ok := s.(renaming); ok {
			r.rename(renamed, a.mask, a.shown)
		}
		if s.filtered().query != "" {
			s.setFilter("", a.shown)
		}
		s.refresh(a.shown, false) // rows have other names, and none of them a place to keep
	}
	a.message = ""
	if on {
		a.say("names and addresses are masked on screens, in what is copied and exported; what is recorded keeps them")
	} else {
		a.say("names are shown as they are")
	}
}

// maskCommand masks names, or shows them.
func maskCommand(a *App, words []string) (tea.Cmd, error) {
	if len(words) != 1 || words[0] != "on" && words[0] != "off" {
		return nil, errors.New("mask is on or off")
	}
	return a.setMask(words[0] == "on"), nil
}

func (o *overview) rename(func(string) string, *mask, *Snapshot) { o.peek = nil }

func (l *linkScreen) rename(renamed func(string) string, _ *mask, _ *Snapshot) {
	if l.id != "" {
		l.id = renamed(l.id)
	}
	if l.link != "" {
		l.link = renamed(l.link)
	}
	l.asked = nil
}

func (e *explainScreen) rename(renamed func(string) string, _ *mask, _ *Snapshot) {
	e.of = renamed(e.of)
}

func (l *linksScreen) rename(_ func(string) string, _ *mask, s *Snapshot) {
	l.names, l.named, l.peek = nil, nil, nil
	if l.fabric != nil {
		l.fabric = s.Fabric
	}
}

func (m *mapScreen) rename(_ func(string) string, _ *mask, s *Snapshot) {
	if m.layout != nil && s.Fabric != nil {
		m.layout, m.order = newLayout(s.Fabric), grid{}
		m.showHosts(m.hosts)
	}
}

func (p *pathsScreen) rename(_ func(string) string, _ *mask, s *Snapshot) {
	if p.from = nil; p.fabric != nil {
		p.fabric = s.Fabric
	}
}

func (c *capturesScreen) rename(renamed func(string) string, _ *mask, _ *Snapshot) {
	if c.over != "" {
		c.over = renamed(c.over)
	}
}

func (f *findingScreen) rename(_ func(string) string, hides *mask, _ *Snapshot) {
	f.record, f.packets = hides.record(f.real), hides.packets(f.found)
	f.arrange()
}
