package tui

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// The links screen lists every link of the fabric with what was counted on it. It holds ids alone, and formats only the rows that can be seen:
// sixty thousand links cost no more to draw than twenty.
type linksScreen struct {
	keys   *keyMap
	filter filter
	by     int // the column that sorts
	turned bool
	wide   bool
	marked bool     // captures found something
	chosen []string // the columns that somebody chose, in their order; nil for those that are shown by themselves

	fabric *graphs.Fabric
	names  []string // in lower case, for the filter; made when a filter is first asked for
	states map[graphs.LinkID]string

	ranked   linkRank
	order    []graphs.LinkID // shared with ranked
	at       int             // of the cursor in the order
	selected graphs.LinkID
	moved    bool
	view     view

	// peek is the screen that enter would open, of which a wide terminal shows a part.
	peek *linkScreen

	longest int // name, in cells, of the links of named
	named   *graphs.Fabric
}

func newLinksScreen(k *keyMap) *linksScreen { return &linksScreen{keys: k, selected: graphs.None} }

func (l *linksScreen) title() string { return "Links" }

func (l *linksScreen) row(s *Snapshot, id graphs.LinkID) linkRow {
	p := s.Picture
	return linkRow{id, &p.Arcs[id.Forward()], &p.Arcs[id.Backward()], l.states[id], s.Findings.surely(p, id)}
}

// refresh sorts anew. While a key was pressed a moment ago (still), every row keeps its place.
func (l *linksScreen) refresh(s *Snapshot, still bool) {
	if s.Picture == nil {
		l.order, l.fabric = nil, nil
		return
	}
	same := l.fabric == s.Picture.Fabric
	if !same {
		l.fabric, l.names, l.moved = s.Picture.Fabric, nil, false
	}
	l.states, l.marked = symptomsOf(s), len(s.Findings.all()) > 0
	if still && same {
		return
	}
	l.arrange(s)
}

// symptomsOf says by link in a word what it is suspected of, of suspects that are named: with a question mark where it may be another of the class instead.
func symptomsOf(s *Snapshot) map[graphs.LinkID]string {
	out := map[graphs.LinkID]string{}
	if s.Diagnosis == nil {
		return out
	}
	for i := range s.Diagnosis.Suspects {
		x := &s.Diagnosis.Suspects[i]
		if x.Probability < diagnose.Named {
			break
		}
		links := linksOf(s.Picture, append([]string{x.ID}, x.Class...))
		word := symptomWord(x.Symptom)
		if len(links) > len(linksOf(s.Picture, []string{x.ID})) {
			word += "?"
		}
		for l := range links {
			if _, ok := out[l]; !ok {
				out[l] = word
			}
		}
	}
	return out
}

// linksOf are the links of which one of the names is, or which one of them has.
func linksOf(p *diagnose.Picture, names []string) map[graphs.LinkID]bool {
	links := map[graphs.LinkID]bool{}
	for _, name := range names {
		for _, a := range p.ArcsOf(name) {
			links[a.Link()] = true
		}
	}
	return links
}

func (l *linksScreen) setFilter(query string, s *Snapshot) {
	l.filter = parseFilter(query, linkFields())
	if s.Picture != nil {
		l.arrange(s)
	}
}

func (l *linksScreen) filtered() *filter { return &l.filter }

func (l *linksScreen) move(n int) {
	l.moved, l.view.held = true, false
	l.at = min(max(l.at+n, 0), max(len(l.order)-1, 0))
	if len(l.order) > 0 {
		l.selected = l.order[l.at]
	}
}

// sortBy sorts by the column of a name, and reports whether there is one.
func (l *linksScreen) sortBy(name string, s *Snapshot) bool {
	i := slices.Index(linkFields(), name)
	if i < 0 {
		return false
	}
	l.by = i
	if s.Picture != nil {
		l.arrange(s)
	}
	return true
}

func (l *linksScreen) handle(msg tea.KeyPressMsg, w, h int, s *Snapshot) screen {
	k := l.keys
	if s.Picture == nil || moveList(l.move, len(l.order), k, msg) {
		return nil
	}
	switch {
	case key.Matches(msg, k.Open):
		if len(l.order) > 0 {
			return newLinkScreenOf(k, l.selected, s)
		}
	case key.Matches(msg, k.Sort):
		l.view.held = false
		l.by = (l.by + 1) % len(linkColumns())
		l.arrange(s)
	case key.Matches(msg, k.Reverse):
		l.view.held = false
		l.turned = !l.turned
		l.arrange(s)
	case key.Matches(msg, k.Wide):
		l.wide = !l.wide
	}
	return nil
}

// moveList is what the keys of lists do, told as a move by so many of n rows. It reports whether msg was one of them.
func moveList(move func(int), n int, k *keyMap, msg tea.KeyPressMsg) bool {
	switch {
	case key.Matches(msg, k.Up):
		move(-1)
	case key.Matches(msg, k.Down):
		move(1)
	case key.Matches(msg, k.PageUp):
		move(-10)
	case key.Matches(msg, k.PageDown):
		move(10)
	case key.Matches(msg, k.Top):
		move(-n)
	case key.Matches(msg, k.Bottom):
		move(n)
	default:
		return false
	}
	return true
}

func (l *linksScreen) copied(s *Snapshot) string {
	if s.Picture == nil || len(l.order) == 0 {
		return ""
	}
	r := l.row(s, l.selected)
	words := []string{s.Picture.Fabric.LinkName(r.id), r.state()}
	for _, c := range linkColumns() {
		if v := c.value(&r); !math.IsNaN(v) {
			words = append(words, c.name+"="+strings.ReplaceAll(c.write(v), " ", ""))
		}
	}
	return clean(strings.Join(words, " "))
}

func (l *linksScreen) draw(w, h int, s *Snapshot) page {
	if s.Picture == nil {
		return text(line{}.gap(1).add(warn, "? no links").gap(2).add(plain, elide(unmapped(s), max(w-13, 4)))).fill(w, h)
	}
	if w < stackFrom || h < 10 {
		return l.table(w, h, s).fill(w, h)
	}
	how := "descending"
	if l.turned {
		how = "ascending"
	}
	note := "sort " + linkColumns()[l.by].name + " " + how
	total := s.Picture.Fabric.NumLinks()
	title := counted(total, "link", "links")
	if l.filter.query != "" {
		title = "filter " + strconv.Quote(l.filter.query) + ": " + count(len(l.order)) + " of " + count(total) + " links"
	}
	if w < wideFrom || len(l.order) == 0 {
		return frame(title, note, w, h, l.table(w-4, h-2, s)).fill(w, h)
	}
	left := max(w*3/5, 96)
	return frame(title, note, left, h, l.table(left-4, h-2, s)).beside(l.detail(w-left, h, s), left).fill(w, h)
}

// detail shows the link under the cursor beside the list.
func (l *linksScreen) detail(w, h int, s *Snapshot) page {
	name := s.Picture.Fabric.LinkName(l.selected)
	if l.peek == nil || l.peek.asked != s || l.peek.link != name {
		l.peek = newLinkScreenOf(l.keys, l.selected, s)
	}
	series := min(seriesRows+2, h/2)
	return l.peek.drawVerdict(w, h-series, s).below(l.peek.drawSeries(w, series, s))
}

func (l *linksScreen) table(w, h int, s *Snapshot) page {
	cols, name := l.columns(w, s.Picture.Fabric)
	by := linkColumns()[l.by].name
	head := line{}.gap(2).left(dim, "link", name).gap(1).left(dim, "state", 9)
	for _, c := range cols {
		st := dim
		if c.name == by {
			st = strong
		}
		head = head.gap(2).right(st, c.name, c.width)
	}
	out := page{y: -1}
	if h >= 3 {
		out.lines = append(out.lines, head)
		out.spots = l.heads(cols, 2+name+1+9, s)
		h--
	}
	if len(l.order) == 0 {
		return out.below(text(line{}.gap(2).add(dim, elide(l.keys.clears("link"), w-2))))
	}
	first, end := l.view.window(len(l.order), l.at, h)
	out = out.sensitive(spot{y: len(out.lines), w: w, h: end - first, click: func(_, y int) string {
		l.at, l.moved, l.view = first+y, true, view{true, first}
		l.selected = l.order[l.at]
		return s.Picture.Fabric.LinkName(l.selected)
	}})
	for i := first; i < end; i++ {
		r := l.row(s, l.order[i])
		row := l.line(&r, cols, name, i == l.at, s)
		if i == l.at {
			out.x, out.y = 0, len(out.lines)
			row = row.fit(w).restyled(chosen)
		}
		out.lines = append(out.lines, row)
	}
	return out
}

// heads are where a click sorts: by another column, or by the same one the other way round.
func (l *linksScreen) heads(cols []linkColumn, x int, s *Snapshot) []spot {
	var out []spot
	for _, c := range cols {
		out = append(out, spot{x: x, w: 2 + c.width, h: 1, click: func(_, _ int) string {
			l.view.held = false
			l.turned = linkColumns()[l.by].name == c.name && !l.turned
			l.sortBy(c.name, s)
			return ""
		}})
		x += 2 + c.width
	}
	return out
}

func (l *linksScreen) line(r *linkRow, cols []linkColumn, name int, selected bool, s *Snapshot) line {
	mark := " "
	if selected {
		mark = ">"
	}
	if slices.ContainsFunc(s.pins, func(x pin) bool { return x.link == r.id }) {
		mark += "*"
	}
	st, state := plain, r.state()
	switch {
	case r.symptom != "":
		st, state = severity(float64(max(r.forward.Suspicion, r.backward.Suspicion))), r.symptom
	case state != "ok":
		st, state = warn, "? "+state
		if state == "? half dark" {
			state = "? half"
		}
	}
	out := line{}.left(plain, mark, 2).left(plain, shorten(s.Picture.Fabric.LinkName(r.id), name), name).gap(1).left(st, state, 9)
	for _, c := range cols {
		v := c.value(r)
		cell := "?"
		if !math.IsNaN(v) {
			cell = c.write(v)
		}
		out = out.gap(2).right(plain, cell, c.width)
	}
	return out
}
