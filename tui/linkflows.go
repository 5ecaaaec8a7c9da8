package tui

import (
	"fmt"
	"math"
	"time"

	"whichlink/graphs"
)

// drawSeries draws loss and delay of the flows across the link, each direction by itself.
func (l *linkScreen) drawSeries(w, h int, s *Snapshot) page {
	id := l.linkID(s)
	if id == graphs.None || l.detail == nil {
		return frame("Flows across it, end to end", "", w, h, text(line{}.add(warn, "? no evidence").add(plain, l.silence(id, s))))
	}
	inner := w - 4
	span := max(inner-28, 4)
	k := columns(l.bins(), span)
	note := fmt.Sprintf("%s a column", span5Bin(l.detail, k))
	return frame("Flows across it, end to end", note, w, h, text(l.seriesLines(inner, k, span, s)...))
}

func (l *linkScreen) silence(id graphs.LinkID, s *Snapshot) string {
	switch {
	case id == graphs.None:
		return ": the fabric has no such link"
	case s.History == nil:
		return " over time was kept"
	}
	return ": no flow was seen to cross it"
}

func (l *linkScreen) bins() int {
	n := 0
	for i := range l.detail.Flows {
		n = max(n, len(l.detail.Flows[i].Sent))
	}
	return n
}

func span5Bin(d *LinkDetail, k int) string { return span5(d.Bin * time.Duration(k)) }

// seriesLines draws the ends' names, four sparklines of at most span cells with k bins a column, and their time.
func (l *linkScreen) seriesLines(w, k, span int, s *Snapshot) []line {
	id := l.linkID(s)
	f := s.Fabric
	forward, backward := courseOf(l.detail, id.Forward(), k), courseOf(l.detail, id.Backward(), k)
	ends := f.Link(id).Ends
	half := max(w/2-3, 4)
	out := []line{line{}.add(dim, "A ").left(plain, shorten(f.PortName(ends[0]), half), half).gap(1).
		add(dim, "B ").add(plain, shorten(f.PortName(ends[1]), half))}

	lossTop := ceiling(append(append([]float64{}, forward.loss...), backward.loss...), 0.01)
	rttTop := ceiling(append(append([]float64{}, forward.rtt...), backward.rtt...), 10)
	put := func(what, way, value string, values []float64, scale string, top float64) {
		out = append(out, line{}.left(dim, what, 5).left(plain, way, 4).right(plain, value, 8).gap(2).
			ink(plain, sparkline(newest(values, span), top)).gap(1).right(dim, scale, 8))
	}
	for _, c := range []struct {
		way string
		*course
	}{{"A>B", &forward}, {"B>A", &backward}} {
		put("loss", c.way, percent(ratio(c.lost, c.sent)), c.loss, "0-"+scalePercent(lossTop), lossTop)
	}
	for _, c := range []struct {
		way string
		*course
	}{{"A>B", &forward}, {"B>A", &backward}} {
		put("rtt", c.way, micros(latest(c.rtt)), c.rtt, "0-"+micros(rttTop), rttTop)
	}
	out = append(out, line{}.left(dim, "down", 5).left(plain, "A=B", 4).gap(10).ink(bad, l.downs(k, span, s)).gap(1).right(dim, l.downCount(s), 8))
	from := l.detail.Start
	to := from.Add(l.detail.Bin * time.Duration(l.bins()))
	foot := line{}.add(dim, fmt.Sprintf("%s to %s, blank: no sample", s.at(from, s.dated(seconds)), s.at(to, s.dated(seconds))))
	if forward.whole || backward.whole {
		foot = foot.add(warn, "  loss: both ways together")
	}
	return append(out, foot)
}

func scalePercent(fraction float64) string { return fmt.Sprintf("%g %%", math.Round(fraction*1e6)/1e4) }

// Columns of the table of flows; 0 where there is no room.
type flowColumns struct{ by, sent, lost, loss, rtt, span int }

func flowColumnsFor(w int) flowColumns {
	switch {
	case w >= 130:
		c := flowColumns{by: 7, sent: 7, lost: 6, loss: 7, rtt: 8}
		c.span = w - 56 - c.fixed() - 2
		return c
	case w >= 90:
		c := flowColumns{by: 7, sent: 6, lost: 5, loss: 7, rtt: 7}
		c.span = w - 35 - c.fixed() - 2
		return c
	case w >= 70:
		return flowColumns{by: 7, sent: 6, lost: 5, loss: 7, rtt: 7}
	case w >= 46:
		return flowColumns{lost: 5, loss: 7}
	}
	return flowColumns{loss: 7}
}

func (c flowColumns) fixed() int {
	n := 2 + 4
	for _, x := range []int{c.by, c.sent, c.lost, c.loss, c.rtt} {
		if x > 0 {
			n += x + 1
		}
	}
	if c.span > 0 {
		n += c.span + 2
	}
	return n
}

func (l *linkScreen) drawFlows(w, h int, s *Snapshot) page {
	note := ""
	if l.detail != nil {
		lossy := 0
		for i := range l.detail.Flows {
			if sum(l.detail.Flows[i].Lost) > 0 {
				lossy++
			}
		}
		note = fmt.Sprintf("%s, %d lossy", counted(len(l.detail.Flows), "flow", "flows"), lossy)
		if l.filter.query != "" {
			note = fmt.Sprintf("filter %q: %d of %d", l.filter.query, len(l.rows.order), len(l.detail.Flows))
		}
	}
	return frame("Flows", note, w, h, l.flows(w-4, h-2, s))
}

func (l *linkScreen) flows(w, h int, s *Snapshot) page {
	if l.detail == nil {
		return text(line{}.gap(2).add(dim, "none"+l.silence(l.linkID(s), s)))
	}
	c := flowColumnsFor(w)
	name := max(w-c.fixed(), 4)
	top := l.flowScale()
	return l.rows.table(w, h, c.heads(name, top), l.keys.clears("flow"), func(at int, mark string) line {
		if at >= len(l.detail.Flows) {
			return nil
		}
		return c.row(&l.detail.Flows[at], name, mark, top)
	})
}

// flowScale is one scale for all flows, or they could not be compared.
func (l *linkScreen) flowScale() float64 {
	top := 0.01
	for i := range l.detail.Flows {
		f := &l.detail.Flows[i]
		for b := range f.Sent {
			if v := ratio(f.Lost[b], f.Sent[b]); v > top {
				top = v
			}
		}
	}
	return ceiling([]float64{top}, top)
}

func (c flowColumns) heads(name int, scale float64) line {
	out := line{}.gap(2).left(dim, "flow", name).gap(1).left(dim, "way", 3)
	if c.by > 0 {
		out = out.gap(1).left(dim, "what", c.by)
	}
	if c.sent > 0 {
		out = out.gap(1).right(dim, "sent", c.sent)
	}
	if c.lost > 0 {
		out = out.gap(1).right(dim, "lost", c.lost)
	}
	out = out.gap(1).right(dim, "loss", c.loss)
	if c.rtt > 0 {
		out = out.gap(1).right(dim, "rtt", c.rtt)
	}
	if c.span > 0 {
		out = out.gap(2).left(dim, "loss, 0-"+scalePercent(scale), c.span)
	}
	return out
}

func (c flowColumns) row(f *FlowSeries, name int, mark string, top float64) line {
	sent, lost := sum(f.Sent), sum(f.Lost)
	s := plain
	if lost > 0 {
		s = strong
	}
	out := line{}.left(plain, mark, 2).left(plain, f.Flow, name).gap(1).left(plain, direction(f.Arc), 3)
	if c.by > 0 {
		out = out.gap(1).left(plain, carrier(f), c.by)
	}
	if c.sent > 0 {
		out = out.gap(1).right(plain, count(sent), c.sent)
	}
	if c.lost > 0 {
		out = out.gap(1).right(s, count(lost), c.lost)
	}
	out = out.gap(1).right(s, percent(ratio(lost, sent)), c.loss)
	if c.rtt > 0 {
		out = out.gap(1).right(plain, micros(latest(f.RTT)), c.rtt)
	}
	if c.span > 0 {
		var k course
		k.gather([]*FlowSeries{f}, columns(len(f.Sent), c.span))
		out = out.gap(2).ink(plain, sparkline(newest(k.loss, c.span), top))
	}
	return out
}

// drawSmall is the screen for small terminals: the verdict, the directions in words, the flows.
func (l *linkScreen) drawSmall(w, h int, s *Snapshot) page {
	out := page{y: -1}
	for _, r := range l.headline(s, w-2) {
		out.lines = append(out.lines, append(line{}.gap(1), r...))
	}
	id := l.linkID(s)
	if l.detail != nil && id != graphs.None && h >= 8 {
		span := w - 31
		if span < 4 {
			span = 0
		}
		k := columns(l.bins(), max(span, 1))
		for _, r := range l.seriesLines(w-2, k, span, s)[1:3] {
			out.lines = append(out.lines, append(line{}.gap(1), r...))
		}
	}
	room := h - len(out.lines)
	x := l.suspect(s)
	flows := room
	if x != nil && room >= 8 {
		flows = room - 3
	}
	out = out.below(l.flows(w-1, flows, s))
	if flows < room {
		out = out.fill(w, h-(room-flows)).below(text(reasons(x, w, room-flows)...))
	}
	return out
}
