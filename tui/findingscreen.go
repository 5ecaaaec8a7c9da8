package tui

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// The finding screen shows one finding of a capture, and the packets behind it once they are asked for: captures may be larger than memory.
type findingScreen struct {
	keys   *keyMap
	reader PacketReader
	record *evidence.Record
	real   *evidence.Record // what the record hides, if names are masked
	ways   []crossed
	filter filter
	rows   rows
	scroll int

	asked   bool // somebody wants the packets; handed out once
	reading bool
	packets *Packets
	found   *Packets // those, with their addresses as they are
	problem string
}

// A packetsMsg brings a screen the packets that it asked for.
type packetsMsg struct {
	to      *findingScreen
	packets *Packets
	err     error
}

func newFindingScreen(k *keyMap, reader PacketReader, r *evidence.Record, s *Snapshot) *findingScreen {
	return &findingScreen{keys: k, reader: reader, record: r, real: s.mask.unmasked(r), ways: waysOf(s.Picture, r)}
}

func (f *findingScreen) title() string { return f.record.Finding + " " + f.record.Subject }

// refresh does nothing: neither a finding nor its packets change.
func (f *findingScreen) refresh(*Snapshot, bool) {}

func (f *findingScreen) arrange() {
	var next []rowRef
	if f.packets != nil {
		for i := range f.packets.Lines {
			p := &f.packets.Lines[i]
			text := strings.ToLower(strings.Join([]string{p.Src, p.Dst, p.Proto, p.Info}, "\n"))
			if len(f.filter.terms) == 0 || f.filter.match(text, func(field string) (float64, bool) {
				if field == "len" {
					return float64(p.Len), true
				}
				return float64(p.Number), true
			}) {
				next = append(next, rowRef{fmt.Sprint(p.File, " ", p.Number), i})
			}
		}
	}
	f.rows.update(next, false)
}

func (f *findingScreen) setFilter(query string, _ *Snapshot) {
	f.filter = parseFilter(query, []string{"len", "no"})
	f.arrange()
}

func (f *findingScreen) filtered() *filter { return &f.filter }

func (f *findingScreen) handle(msg tea.KeyPressMsg, w, h int, s *Snapshot) screen {
	switch {
	case moveRows(&f.rows, f.keys, msg):
	case key.Matches(msg, f.keys.Packets, f.keys.Open):
		switch {
		case f.reader == nil:
			f.problem = "nothing here reads captures"
		case f.packets == nil && !f.reading:
			f.asked, f.reading, f.problem = true, true, ""
		}
	case key.Matches(msg, f.keys.TextDown):
		f.scroll++
	case key.Matches(msg, f.keys.TextUp):
		f.scroll--
	}
	about, _ := f.plan(w, h)
	f.scroll = scrollTo(f.scroll, len(findingLines(f.record, f.ways, w-4, s)), about-2)
	return nil
}

// want hands out the reading of packets, once it was asked for.
func (f *findingScreen) want() func(context.Context) tea.Msg {
	if !f.asked {
		return nil
	}
	f.asked = false
	return func(ctx context.Context) tea.Msg {
		p, err := f.reader.Packets(ctx, f.real)
		return packetsMsg{f, p, err}
	}
}

// took takes the packets.
func (f *findingScreen) took(m packetsMsg, hides *mask) {
	f.reading = false
	if m.err != nil {
		f.problem = hides.text(m.err.Error())
		return
	}
	f.found, f.packets = m.packets, hides.packets(m.packets)
	f.arrange()
}

func (f *findingScreen) finding() *evidence.Record { return f.record }

func (f *findingScreen) moment(*Snapshot) (time.Time, bool) {
	if p := f.current(); p != nil {
		return p.Time, true
	}
	return f.record.Start(), true
}

func (f *findingScreen) current() *Packet {
	if r, ok := f.rows.current(); ok && f.packets != nil && r.at < len(f.packets.Lines) {
		return &f.packets.Lines[r.at]
	}
	return nil
}

func (f *findingScreen) copied(*Snapshot) string { return tsharkCommand(f.record) }

// plan shares the rows out between what the finding says and its packets.
func (f *findingScreen) plan(w, h int) (about, packets int) {
	if w < stackFrom || h < 14 {
		return 0, h
	}
	about = min(max(h*2/5, 11), 16)
	return about, h - about
}

func (f *findingScreen) draw(w, h int, s *Snapshot) page {
	about, rest := f.plan(w, h)
	if about == 0 {
		lines := findingLines(f.record, f.ways, w-1, s)
		lines = lines[:min(len(lines), max(h/2, 2))]
		return text(lines...).below(f.table(w, h-len(lines), s)).fill(w, h)
	}
	shown, note := scrolled(findingLines(f.record, f.ways, w-4, s), f.scroll, about-2)
	if note != "" {
		note += f.keys.scrolls()
	}
	out := frame("Finding", note, w, about, text(shown...))
	inside := page{y: -1}
	room := rest - 2
	if f.packets != nil && len(f.packets.Lines) > 0 && room >= 6 {
		inside = text(f.density(w - 4)...)
		room -= len(inside.lines)
	}
	return out.below(frame("Packets", f.note(), w, rest, inside.below(f.table(w-4, room, s)))).fill(w, h)
}

func (f *findingScreen) note() string {
	switch {
	case f.packets == nil:
		return ""
	case f.filter.query != "":
		return fmt.Sprintf("filter %q: %s of %s", f.filter.query, count(len(f.rows.order)), count(len(f.packets.Lines)))
	case f.packets.Total > int64(len(f.packets.Lines)):
		return fmt.Sprintf("the first %s of %s", count(len(f.packets.Lines)), count(int(f.packets.Total)))
	}
	return counted(len(f.packets.Lines), "packet", "packets")
}

// density draws how many packets there were over time, and under it where the finding lies.
func (f *findingScreen) density(w int) []line {
	const label = 9
	lines := f.packets.Lines
	from, to := lines[0].Time, lines[0].Time
	for i := range lines {
		if t := lines[i].Time; t.Before(from) {
			from = t
		} else if t.After(to) {
			to = t
		}
	}
	span := max(w-label-16, 4)
	values := make([]float64, span)
	for i := range lines {
		values[columnOf(lines[i].Time, from, to, span)]++
	}
	top := ceiling(values, 1)
	cells := []byte(strings.Repeat(".", span))
	if a, b := spanOf(f.record); !b.Before(from) && !a.After(to) {
		mark(cells, f.record, from, to, '=')
	}
	each := to.Sub(from) / time.Duration(span)
	for digit := time.Duration(1); digit <= each/10; digit *= 10 {
		each = each.Round(digit) // two digits are enough for a scale
	}
	return []line{
		line{}.left(dim, "packets", label).ink(plain, sparkline(values, top)).right(dim, fmt.Sprintf("0-%g in %s", math.Round(top), each), 16),
		line{}.left(dim, "finding", label).ink(severityStyle(f.record.Severity), string(cells)),
	}
}

func (f *findingScreen) table(w, h int, s *Snapshot) page {
	switch {
	case f.problem != "":
		return text(labelled("", 2, warn, "! "+f.problem, w)...)
	case f.reading:
		return text(line{}.gap(2).add(dim, "reading "+elide(clean(f.record.By), max(w-12, 4))))
	case f.packets == nil:
		return text(labelled("", 2, dim, f.keys.Packets.Help().Key+" reads them from "+f.record.By, w)...)
	case len(f.packets.Lines) == 0:
		return text(line{}.gap(2).add(dim, elide("the capture has none of them any more", w-2)))
	}
	wide, middle := w >= 96, w >= 70
	ends, info := 0, w-2-14-6-1
	if middle {
		ends = 15
		info = w - 2 - 14 - 2*(ends+1) - 6 - 1
	}
	if wide {
		ends = 16
		if w >= 130 {
			ends = 26
		}
		info = w - 2 - 8 - 1 - 17 - 2*(ends+1) - 6 - 7
	}
	heads := line{}.gap(2)
	switch {
	case wide:
		heads = heads.right(dim, "no.", 8).gap(1).left(dim, "time", 17).left(dim, "source", ends+1).left(dim, "destination", ends+1).left(dim, "proto", 6)
	case middle:
		heads = heads.left(dim, "time", 14).left(dim, "source", ends+1).left(dim, "destination", ends+1)
	default:
		heads = heads.left(dim, "time", 14)
	}
	heads = heads.right(dim, "len", 6).gap(1).left(dim, "what", max(info, 4))
	return f.rows.table(w, h, heads, f.keys.clears("packet"), func(at int, mark string) line {
		p := &f.packets.Lines[at]
		row := line{}.left(plain, mark, 2)
		if wide {
			row = row.right(plain, count(int(p.Number)), 8).gap(1).left(dim, s.at(p.Time, microseconds), 17)
		} else {
			row = row.left(dim, s.at(p.Time, milliseconds), 14)
		}
		if middle {
			row = row.left(plain, p.Src, ends).gap(1).left(plain, p.Dst, ends).gap(1)
		}
		if wide {
			row = row.left(plain, p.Proto, 6)
		}
		return row.right(plain, count(p.Len), 6).gap(1).left(plain, p.Info, max(info, 4))
	})
}

// A wanting screen wants something that takes time, such as packets of a capture.
type wanting interface {
	want() func(context.Context) tea.Msg
}

// fetch gets what the screen on top wants.
func (a *App) fetch() tea.Cmd {
	w, ok := a.top().(wanting)
	if !ok {
		return nil
	}
	f := w.want()
	if f == nil {
		return nil
	}
	ctx := a.ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
		defer cancel()
		return f(ctx)
	}
}

// packets goes from a link to the findings of flows that may cross it, and reports whether a link is shown.
func (a *App) packets() bool {
	l, ok := a.top().(*linkScreen)
	if !ok {
		return false
	}
	if id := l.linkID(a.shown); id != graphs.None {
		a.open(capturesOver(&a.keys, a.reader, id, a.shown))
	}
	return true
}

// An onFinding screen stands on a finding of a capture.
type onFinding interface{ finding() *evidence.Record }

func isCaptures(s screen) bool { _, ok := s.(onFinding); return ok }

// shark asks whether to show the packets of the finding under the cursor in tshark.
func (a *App) shark() {
	f := a.top().(onFinding).finding()
	if f == nil {
		return
	}
	if a.mask != nil {
		a.say("! names are masked, and tshark would show them; :mask off first")
		return
	}
	if a.reader == nil {
		a.say("! nothing here reads captures")
		return
	}
	v, err := a.reader.Viewer(f)
	if err != nil {
		a.say("! " + err.Error())
		return
	}
	a.dialog = &askDialog{keys: &a.keys, title: "Open in tshark", what: "Run this?", why: []string{typedWords(v.Words), "It reads the capture, and sends nothing."}, yes: "do it", no: "back",
		errand: &errand{says: "back from tshark", show: v.Show}}
}
