package tui

import (
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// A dated screen is a list of what happened: each row has a moment, and may be about a link. Events and the rounds of a drill are such lists.
type dated struct {
	keys   *keyMap
	filter filter
	rows   rows
	// row returns what a row of the snapshot's list is, false if there is none.
	row func(s *Snapshot, at int) (datedRow, bool)
}

// A datedRow is one row of such a list. What enter must not open has no about.
type datedRow struct {
	when  time.Time
	about string
	copy  string
}

func (d *dated) filtered() *filter { return &d.filter }

func (d *dated) selected(s *Snapshot) (datedRow, bool) {
	if r, ok := d.rows.current(); ok {
		return d.row(s, r.at)
	}
	return datedRow{}, false
}

// handle opens the link that the row under the cursor is about.
func (d *dated) handle(msg tea.KeyPressMsg, w, h int, s *Snapshot) screen {
	if moveRows(&d.rows, d.keys, msg) || !key.Matches(msg, d.keys.Open) {
		return nil
	}
	if x, ok := d.selected(s); ok {
		return linkNamed(d.keys, x.about, s)
	}
	return nil
}

// moment is when the row under the cursor happened.
func (d *dated) moment(s *Snapshot) (time.Time, bool) {
	x, ok := d.selected(s)
	return x.when, ok
}

func (d *dated) copied(s *Snapshot) string {
	x, _ := d.selected(s)
	return clean(x.copy)
}
