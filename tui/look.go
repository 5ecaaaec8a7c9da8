package tui

import "cmp"

// pull takes the newest snapshot.
func (a *App) pull() {
	s := &Snapshot{}
	if a.source != nil {
		s = cmp.Or(a.source.Snapshot(), s)
	}
	if s != a.taken {
		if s.Unrecorded != "" && (a.taken == nil || a.taken.Unrecorded == "") {
			a.say("! recording stopped: " + s.Unrecorded)
		}
		a.taken, a.latest = s, a.lookAt(s)
	}
	if !a.frozen && a.shown != a.latest {
		a.kept, a.shown = a.taken, a.latest
		a.refresh()
	}
}

// lookAt is a snapshot as it is shown: with the names and in the zone that somebody chose.
func (a *App) lookAt(s *Snapshot) *Snapshot {
	a.pins.turn(s.Fabric)
	s = a.pins.look(a.mask.snapshot(s))
	if a.zone != nil {
		s = s.in(a.zone)
	}
	return s
}

// lookAgain shows what is shown with other names, or times.
func (a *App) lookAgain() {
	a.latest = a.lookAt(a.taken)
	if a.shown = a.latest; a.kept != a.taken {
		a.shown = a.lookAt(a.kept)
	}
}
