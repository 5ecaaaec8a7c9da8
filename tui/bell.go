package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// What a bell does: nothing, ring (BEL), or ring and tell the desktop in words (OSC 9), which iTerm2, WezTerm, Ghostty, kitty and Windows Terminal show and
// others pass over.
const (
	bellOff    = "off"
	bellOn     = "on"
	bellNotify = "notify"
)

func bellModes() []string { return []string{bellNotify, bellOff, bellOn} }

// A bell rings when another suspect is named, or stands first, and when what is pinned changes its state, so that nobody has to look at the screen all the time.
// tmux and most terminals mark the window that rang. It is off until somebody asks for it.
type bell struct {
	mode  string                // empty: off
	named []string              // the suspects when they were looked at last, in their order
	pins  map[pinKey]pinnedSeen // the same of what is pinned
}

type pinKey struct {
	link graphs.LinkID
	node graphs.NodeID
}

type pinnedSeen struct {
	state string
	rang  time.Time
}

// quietFor is for how long a pin that rang does not ring again: a link that flaps would ring at every turn.
const quietFor = 10 * time.Second

// hear returns what rings the bell if a snapshot tells of something new, nil if it does not. That a suspect is gone is no alarm. pins are those of the
// snapshot, and hides is what hides names.
func (b *bell) hear(s *Snapshot, pins []pin, hides *mask) tea.Cmd {
	news := append(b.suspects(s), b.pinned(s, pins)...)
	if len(news) == 0 || b.mode != bellOn && b.mode != bellNotify {
		return nil
	}
	ring := "\a"
	if b.mode == bellNotify {
		// It begins with a word: numbers in this place mean other things to some terminals.
		ring += "\x1b]9;whichlink: " + elide(clean(hides.text(strings.Join(news, "; "))), 200) + "\x1b\\"
	}
	return tea.Raw(ring)
}

// suspects says what is new of the suspects that the verdict names.
func (b *bell) suspects(s *Snapshot) (news []string) {
	was := b.named
	b.named = nil
	if s.Diagnosis == nil {
		return nil
	}
	for i := range s.Diagnosis.Suspects {
		x := &s.Diagnosis.Suspects[i]
		if x.Probability < diagnose.Named {
			break
		}
		b.named = append(b.named, x.ID)
		switch at := slices.Index(was, x.ID); {
		case at < 0:
			news = append(news, fmt.Sprintf("%s %s, p %s", x.ID, symptomWord(x.Symptom), probability(x.Probability)))
		case i == 0 && at > 0:
			news = append(news, fmt.Sprintf("%s is the first suspect now, p %s", x.ID, probability(x.Probability)))
		}
	}
	return news
}

// pinned says which pins changed their state.
func (b *bell) pinned(s *Snapshot, pins []pin) (news []string) {
	seen := map[pinKey]pinnedSeen{}
	for i := range pins {
		x := &pins[i]
		key := pinKey{x.link, x.node}
		was, known := b.pins[key]
		now := pinnedSeen{x.state, was.rang}
		if since := s.Now.Sub(was.rang); known && was.state != x.state && (since < 0 || since >= quietFor) {
			now.rang = s.Now
			news = append(news, fmt.Sprintf("pinned %s: %s, was %s", x.name(s.Fabric), x.state, was.state))
		}
		seen[key] = now
	}
	b.pins = seen
	return news
}

// setBell turns the bell on or off.
func setBell(a *App, words []string) (tea.Cmd, error) {
	if len(words) != 1 || !slices.Contains(bellModes(), words[0]) {
		return nil, errors.New("bell is on, notify or off")
	}
	a.bell.mode = words[0]
	a.say(map[string]string{bellOn: "rings when a suspect is named or comes first, and when what is pinned changes", bellNotify: "rings, and tells the desktop in words", bellOff: "the bell is off"}[words[0]])
	return nil, nil
}
