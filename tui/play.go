package tui

import (
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// A Player moves through recorded evidence. Its methods return at once; the snapshots that follow show what came of it.
type Player interface {
	// Seek goes to a moment; Whole shows all of the evidence, as it is shown when a file is opened.
	Seek(to time.Time)
	Whole()
	// Play lets time run or stand. Speed is how many recorded seconds a second shows.
	Play(on bool)
	Speed(x float64)
}

// A Playing is where in recorded evidence a snapshot stands.
type Playing struct {
	From, To time.Time // of the evidence
	At       time.Time
	Whole    bool // all of it is shown, whatever At is
	Running  bool
	Speed    float64
	Busy     bool // what is shown is still that of the moment before
	// Back is how far in the past of a live session the moment lies; 0 if this is a replay.
	Back time.Duration
}

const (
	leastSpeed = 0.25
	mostSpeed  = 64
	seekStep   = 10 * time.Second
)

// pressTime moves in recorded evidence, and reports whether a key asked for it.
func (a *App) pressTime(msg tea.KeyPressMsg) bool {
	p, k := a.latest.Playing, &a.keys
	if p == nil {
		return a.leaveNow(msg)
	}
	switch {
	case key.Matches(msg, k.Play):
		a.player.Play(!p.Running)
	case key.Matches(msg, k.SeekBack):
		a.player.Seek(p.At.Add(-seekStep))
	case key.Matches(msg, k.SeekOn):
		a.player.Seek(p.At.Add(seekStep))
	case key.Matches(msg, k.Slower):
		a.player.Speed(max(p.Speed/2, leastSpeed))
	case key.Matches(msg, k.Faster):
		a.player.Speed(min(p.Speed*2, mostSpeed))
	case key.Matches(msg, k.Latest):
		a.player.Whole()
	default:
		return false
	}
	return true
}

// leaveNow goes back from what happens now. The other keys of time mean nothing there, and say so.
func (a *App) leaveNow(msg tea.KeyPressMsg) bool {
	k := &a.keys
	switch {
	case !a.latest.Live:
		return false
	case key.Matches(msg, k.SeekBack):
		if why := a.latest.Unrecorded; why != "" {
			a.say("recording stopped (" + why + "): the past cannot be gone to from here")
			return true
		}
		if a.latest.Recording <= 0 {
			a.say("nothing is recorded: there is no past to go to")
			return true
		}
		a.player.Seek(a.latest.Now.Add(-seekStep))
	case key.Matches(msg, k.Play, k.SeekOn, k.Slower, k.Faster, k.Latest):
		a.say("this is now: " + first(k.SeekBack) + " goes back, " + first(k.Freeze) + " freezes")
	default:
		return false
	}
	return true
}

// moment goes to when what is under the cursor happened, on all screens.
func (a *App) moment() {
	m, ok := a.top().(interface {
		moment(*Snapshot) (time.Time, bool)
	})
	if !ok {
		a.say("no moment is selected here: events, findings, packets and rounds have one")
		return
	}
	at, ok := m.moment(a.shown)
	switch {
	case !ok:
	case a.player == nil || a.latest.Playing == nil && (!a.latest.Live || a.latest.Recording <= 0):
		a.say("nothing to go back in: this is not recorded")
	default:
		a.player.Seek(at)
		a.say("all screens go to " + a.shown.at(at, a.shown.dated(milliseconds)) + "; " + first(a.keys.Latest) + " leads back")
	}
}
