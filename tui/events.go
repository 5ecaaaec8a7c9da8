package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whichlink/internal/diagnose"
)

// The events screen shows what happened when, in lanes by source and as a list, the newest first.
type eventsScreen struct {
	dated

	groups []group
	from   *diagnose.Picture // what they were found in
}

func newEventsScreen(k *keyMap) *eventsScreen {
	return &eventsScreen{dated: dated{keys: k, row: func(s *Snapshot, at int) (datedRow, bool) {
		list := events(s)
		if at >= len(list) {
			return datedRow{}, false
		}
		x := &list[at]
		return datedRow{x.At, x.About, fmt.Sprintf("%s %s %s %s", x.At.UTC().Format(time.RFC3339), x.Lane, x.What, x.About)}, true
	}}}
}

func (e *eventsScreen) title() string { return "Events" }

func events(s *Snapshot) []diagnose.Event {
	if s.Picture == nil {
		return nil
	}
	return s.Picture.Events
}

func (e *eventsScreen) refresh(s *Snapshot, still bool) {
	list := events(s)
	if e.from != s.Picture {
		e.from, e.groups = s.Picture, nil
		if s.Picture != nil {
			e.groups = groupsOf(s.Picture.Fabric, list)
		}
	}
	next := make([]rowRef, 0, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		x := &list[i]
		if len(e.filter.terms) == 0 || e.filter.match(strings.ToLower(x.Lane+" "+x.What+" "+x.About), func(string) (float64, bool) { return float64(x.Count), true }) {
			next = append(next, rowRef{fmt.Sprint(x.At.UnixNano(), x.Lane, x.What, x.About), i})
		}
	}
	e.rows.update(next, still)
}

func (e *eventsScreen) setFilter(query string, s *Snapshot) {
	e.filter = parseFilter(query, []string{"count"})
	e.refresh(s, false)
}

func (e *eventsScreen) current(s *Snapshot) *diagnose.Event {
	r, ok := e.rows.current()
	if list := events(s); ok && r.at < len(list) {
		return &list[r.at]
	}
	return nil
}

// linkNamed opens the link of a name: of a link, an arc or a port. Of anything else it opens nothing.
func linkNamed(k *keyMap, name string, s *Snapshot) screen {
	if s.Fabric == nil {
		return nil
	}
	if l, ok := linkOfName(s.Fabric, name); ok {
		return newLinkScreenOf(k, l, s)
	}
	return nil
}

func (e *eventsScreen) draw(w, h int, s *Snapshot) page {
	if len(events(s)) == 0 {
		return text(line{}.gap(1).add(dim, "nothing happened yet: no port went down, no flow moved, nothing is suspected")).fill(w, h)
	}
	out := page{y: -1}
	rest := h
	if e.from != s.Picture {
		e.refresh(s, false)
	}
	if w >= stackFrom && h >= 18 {
		lanes := e.lanes(w-4, s)
		if h >= 24 {
			lanes = append(lanes, e.groupLines(w-4, s)...)
		}
		out = frame("Lanes", "", w, len(lanes)+2, text(lanes...))
		rest -= len(out.lines)
	}
	if x := e.current(s); x != nil && w < stackFrom && rest >= 6 { // what has no room in its row stands below
		about := text(line{}.gap(2).add(plain, elide(clean(x.Words()), w-2)), line{}.gap(2).add(strong, shorten(x.About, w-2)))
		return out.below(e.table(w, rest-2, s)).fill(w, h-2).below(about).fill(w, h)
	}
	if rest < 8 || w < stackFrom {
		return out.below(e.table(w, rest, s)).fill(w, h)
	}
	note := counted(len(events(s)), "event", "events")
	if n := s.Picture.Forgotten; n > 0 {
		note += ", " + count(n) + " older forgotten"
	}
	if e.filter.query != "" {
		note = fmt.Sprintf("filter %q: %d of %d", e.filter.query, len(e.rows.order), len(events(s)))
	}
	return out.below(frame("Events, the newest first", note, w, rest, e.table(w-4, rest-2, s))).fill(w, h)
}

// laneNames are the lanes that have something in them, in the order of the sources.
func laneNames(list []diagnose.Event) []string {
	var names []string
	for _, n := range []string{"probe", "snmp", "pcap", "note", diagnose.LaneVerdict} {
		if slices.ContainsFunc(list, func(x diagnose.Event) bool { return x.Lane == n }) {
			names = append(names, n)
		}
	}
	return names
}

// lanes draws one row a source, a mark where something happened, all over one scale of time.
func (e *eventsScreen) lanes(w int, s *Snapshot) []line {
	list := events(s)
	from, to := list[0].At, list[len(list)-1].At
	if s.Diagnosis != nil && s.Diagnosis.To.After(to) {
		to = s.Diagnosis.To
	}
	const label = 9
	span := max(w-label, 4)
	all := max(to.Sub(from), time.Second)
	column := func(at time.Time) int { return min(int(at.Sub(from)*time.Duration(span)/all), span-1) }
	cursor := -1
	if x := e.current(s); x != nil {
		cursor = column(x.At)
	}
	var out []line
	for _, name := range laneNames(list) {
		cells := []byte(strings.Repeat(".", span))
		for i := range list {
			if list[i].Lane != name {
				continue
			}
			mark := byte('!')
			if name == "note" {
				mark = 'N'
			}
			cells[column(list[i].At)] = mark
		}
		out = append(out, line{}.left(dim, name, label).ink(plain, string(cells)))
	}
	foot := line{}.left(dim, "", label)
	if cursor >= 0 {
		foot = foot.gap(cursor).add(strong, "^")
	}
	out = append(out, foot)
	ends := s.at(from, s.dated(seconds)) + " to " + s.at(to, s.dated(seconds))
	return append(out, line{}.left(dim, "", label).add(dim, fmt.Sprintf("%s, a column is %s", ends, (all/time.Duration(span)).Round(10*time.Millisecond))))
}

func (e *eventsScreen) table(w, h int, s *Snapshot) page {
	about := min(w/3, 44)
	const mark = 3 // of the group
	lane, stamp, fine := 8, 13, milliseconds
	if w < 60 {
		lane, stamp, fine = 0, 9, seconds
	}
	stamp, fine = stamp+len(s.dated("")), s.dated(fine)
	what := max(w-2-stamp-1-lane-mark-about-1, 6)
	heads := line{}.gap(2).left(dim, "time", stamp).gap(1).left(dim, "lane", lane).left(dim, "", mark).left(dim, "what", what).gap(1).left(dim, "about", about)
	list := events(s)
	return e.rows.table(w, h, heads, e.keys.clears("event"), func(at int, cursor string) line {
		if at >= len(list) {
			return nil
		}
		x, st := &list[at], plain
		if x.Lane == diagnose.LaneVerdict {
			st = strong
		}
		return line{}.left(plain, cursor, 2).left(dim, s.at(x.At, fine), stamp).gap(1).left(dim, x.Lane, lane).
			left(strong, e.groupMark(at), mark).left(st, x.Words(), what).gap(1).left(plain, shorten(x.About, about), about)
	})
}
