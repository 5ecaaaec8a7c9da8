package tui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// The captures screen lists what captures prove, the worst first.
type capturesScreen struct {
	keys   *keyMap
	reader PacketReader
	filter filter
	rows   rows
	from   *Findings // what the list was made of
	over   string    // the link on whose findings it is, empty for all
	list   []*evidence.Record
}

func newCapturesScreen(k *keyMap, r PacketReader) *capturesScreen {
	return &capturesScreen{keys: k, reader: r}
}

func (c *capturesScreen) title() string {
	if c.over != "" {
		return "captures over " + c.over
	}
	return "Captures"
}

func (c *capturesScreen) refresh(s *Snapshot, still bool) {
	if c.from != s.Findings || c.list == nil {
		c.arrange(s, still)
	}
}

// arrange filters. The order is that of the book.
func (c *capturesScreen) arrange(s *Snapshot, still bool) {
	c.from, c.list = s.Findings, s.Findings.all()
	if c.over != "" && s.Fabric != nil {
		c.list = nil
		if id, ok := s.Fabric.LinkByName(c.over); ok {
			c.list, _ = s.Findings.on(s.Picture, id)
		}
	}
	var next []rowRef
	for i, r := range c.list {
		text := strings.ToLower(strings.Join([]string{r.Severity, r.Finding, r.Subject, r.Text, r.By}, "\n"))
		if len(c.filter.terms) == 0 || c.filter.match(text, func(string) (float64, bool) { return float64(timesOf(r)), true }) {
			next = append(next, rowRef{strings.Join([]string{r.By, r.Finding, r.Subject, r.Time.String()}, "\n"), i})
		}
	}
	c.rows.update(next, still)
}

func (c *capturesScreen) setFilter(query string, s *Snapshot) {
	c.filter = parseFilter(query, []string{"count"})
	c.arrange(s, false)
}

func (c *capturesScreen) filtered() *filter { return &c.filter }

func (c *capturesScreen) current() *evidence.Record {
	if r, ok := c.rows.current(); ok && r.at < len(c.list) {
		return c.list[r.at]
	}
	return nil
}

func (c *capturesScreen) handle(msg tea.KeyPressMsg, w, h int, s *Snapshot) screen {
	if moveRows(&c.rows, c.keys, msg) {
		return nil
	}
	if r := c.current(); r != nil && key.Matches(msg, c.keys.Open) {
		return newFindingScreen(c.keys, c.reader, r, s)
	}
	return nil
}

// finding is the one that a viewer would show.
func (c *capturesScreen) finding() *evidence.Record { return c.current() }

// moment is when the finding under the cursor began.
func (c *capturesScreen) moment(*Snapshot) (time.Time, bool) {
	if r := c.current(); r != nil {
		return r.Start(), true
	}
	return time.Time{}, false
}

func (c *capturesScreen) copied(*Snapshot) string {
	if r := c.current(); r != nil {
		return tsharkCommand(r)
	}
	return ""
}

func (c *capturesScreen) draw(w, h int, s *Snapshot) page {
	if len(c.list) == 0 {
		says := "none: no capture was read. whichlink FILE.pcap opens one, and so does what whichlink pcap -o jsonl wrote"
		switch {
		case s.Captures > 0:
			says = "none: nothing is wrong in the " + counted(s.Captures, "capture that was", "captures that were") + " read, as far as " + map[bool]string{true: "it shows", false: "they show"}[s.Captures == 1] + " it"
		case len(s.Findings.all()) > 0:
			says = "none: no flow with findings is known to cross this link"
		}
		return text(append([]line{line{}.gap(1).add(strong, "Findings of captures")}, labelled("", 1, dim, says, w-1)...)...).fill(w, h)
	}
	if w < stackFrom || h < 14 {
		return c.table(w, h, s).fill(w, h)
	}
	below := 9
	if h >= 24 {
		below = 11
	}
	note := counted(len(c.list), "finding", "findings")
	if c.filter.query != "" {
		note = fmt.Sprintf("filter %q: %d of %d", c.filter.query, len(c.rows.order), len(c.list))
	}
	title := "Findings, the worst first"
	if c.over != "" {
		title = "Findings of flows that may cross it, the surest first"
	}
	out := frame(title, note, w, h-below, c.table(w-4, h-below-2, s))
	r := c.current()
	if r == nil {
		return out.fill(w, h)
	}
	about := text(findingLines(r, waysOf(s.Picture, r), w-4, s)...)
	about.lines = about.lines[:min(len(about.lines), below-4)]
	about.lines = append(about.lines, c.spans(r, w-4)...)
	return out.below(frame(r.Finding, "enter opens it", w, below, about)).fill(w, h)
}

// findingLines say all that the record of a finding says.
func findingLines(r *evidence.Record, ways []crossed, w int, s *Snapshot) []line {
	const label = 9
	st := severityStyle(r.Severity)
	out := []line{line{}.add(st, "! "+strings.ToUpper(r.Severity)).gap(2).add(strong, elide(clean(r.Finding), max(w-20, 8))).gap(2).add(dim, "x"+count(timesOf(r)))}
	for _, x := range [][2]string{{"about", r.Subject}, {"what", r.Text}, {"when", whenWords(r, s)}, {"where", whereWords(s, ways)}, {"rule", r.Rule}, {"filter", r.Filter}, {"file", r.By}} {
		if x[1] != "" {
			out = append(out, labelled(x[0], label, plain, x[1], w)...)
		}
	}
	return out
}

// spans draw over one scale of time where findings lie: one row for all, and one for the finding itself.
func (c *capturesScreen) spans(r *evidence.Record, w int) []line {
	const label = 9
	from, to := c.list[0].Start(), c.list[0].Time
	for _, x := range c.list {
		a, b := spanOf(x)
		if a.Before(from) {
			from = a
		}
		if b.After(to) {
			to = b
		}
	}
	span := max(w-label, 4)
	all := make([]byte, span)
	one := make([]byte, span)
	for i := range all {
		all[i], one[i] = '.', '.'
	}
	for _, x := range c.list {
		mark(all, x, from, to, '!')
	}
	mark(one, r, from, to, '=')
	return []line{
		line{}.left(dim, "all", label).ink(plain, string(all)),
		line{}.left(dim, "this", label).ink(severityStyle(r.Severity), string(one)),
	}
}

// mark puts the span of a finding onto a row of cells.
func mark(cells []byte, r *evidence.Record, from, to time.Time, with byte) {
	a, b := spanOf(r)
	for i := columnOf(a, from, to, len(cells)); i <= columnOf(b, from, to, len(cells)); i++ {
		cells[i] = with
	}
}

// columnOf returns in which of n columns between two times a moment lies.
func columnOf(at, from, to time.Time, n int) int {
	all := max(to.Sub(from), time.Nanosecond)
	return min(max(int(float64(at.Sub(from))/float64(all)*float64(n)), 0), n-1)
}

func (c *capturesScreen) table(w, h int, s *Snapshot) page {
	wide := w >= 70
	name := 0
	if wide {
		name = 20
	}
	rest := w - 2 - 9 - 7
	if wide {
		rest -= name + 1 + 14
	}
	rest = max(rest, 4)
	heads := line{}.gap(2).left(dim, "severity", 9)
	if wide {
		heads = heads.left(dim, "finding", name).gap(1)
	}
	heads = heads.left(dim, "about", rest).right(dim, "count", 7)
	if wide {
		heads = heads.gap(1).left(dim, "began", 13)
	}
	return c.rows.table(w, h, heads, c.keys.clears("finding"), func(at int, mark string) line {
		if at >= len(c.list) {
			return nil
		}
		r := c.list[at]
		row := line{}.left(plain, mark, 2).left(severityStyle(r.Severity), r.Severity, 9)
		if !wide {
			return row.left(plain, r.Finding+" "+r.Subject, rest).right(plain, count(timesOf(r)), 7)
		}
		return row.left(plain, r.Finding, name).gap(1).left(plain, r.Subject, rest).right(plain, count(timesOf(r)), 7).
			gap(1).left(dim, s.at(r.Start(), milliseconds), 13)
	})
}

// capturesOver are the findings of flows that may cross a link.
func capturesOver(k *keyMap, reader PacketReader, l graphs.LinkID, s *Snapshot) screen {
	c := newCapturesScreen(k, reader)
	c.over = s.Fabric.LinkName(l)
	c.refresh(s, false)
	return c
}
