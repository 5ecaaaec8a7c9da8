package tui

import (
	"fmt"
	"math"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// What the ports at both ends of a link counted, over time.

// A counterRow is one quantity of one port.
type counterRow struct {
	what, way string
	value     func(*diagnose.PortPoint) float64 // NaN: not known
	// share is true of what is a share of the port's speed, else it is packets a second.
	share bool
}

func counterRows() []counterRow {
	use := func(of func(*diagnose.PortPoint) *diagnose.PortFlow) func(*diagnose.PortPoint) float64 {
		return func(p *diagnose.PortPoint) float64 {
			if x := of(p); x.Known && p.Speed > 0 {
				return x.Rate / p.Speed
			}
			return math.NaN()
		}
	}
	perSecond := func(of func(*diagnose.PortPoint) uint64) func(*diagnose.PortPoint) float64 {
		return func(p *diagnose.PortPoint) float64 { return float64(of(p)) / p.Over.Seconds() }
	}
	in := func(p *diagnose.PortPoint) *diagnose.PortFlow { return &p.In }
	out := func(p *diagnose.PortPoint) *diagnose.PortFlow { return &p.Out }
	return []counterRow{
		{"use", "in", use(in), true},
		{"use", "out", use(out), true},
		{"errors", "in", perSecond(func(p *diagnose.PortPoint) uint64 { return p.In.Errors }), false},
		{"errors", "out", perSecond(func(p *diagnose.PortPoint) uint64 { return p.Out.Errors }), false},
		{"discard", "in", perSecond(func(p *diagnose.PortPoint) uint64 { return p.In.Discards }), false},
		{"discard", "out", perSecond(func(p *diagnose.PortPoint) uint64 { return p.Out.Discards }), false},
	}
}

// ends returns what the ports at both ends counted, and false if neither counted anything.
func (l *linkScreen) ends(s *Snapshot) (points [2][]diagnose.PortPoint, any bool) {
	id := l.linkID(s)
	if s.Ports == nil || id == graphs.None {
		return points, false
	}
	for i, p := range s.Fabric.Link(id).Ends {
		points[i] = s.Ports.Port(p)
		// What is shown is of a moment: nothing that was counted after it.
		for n := len(points[i]); n > 0 && points[i][n-1].At.After(s.Now); n-- {
			points[i] = points[i][:n-1]
		}
		any = any || len(points[i]) > 0
	}
	return points, any
}

// drawCounters draws errors, discards, light and use of both ends. Errors that never happened take one row in words.
func (l *linkScreen) drawCounters(w, h int, s *Snapshot) page {
	shown, note := scrolled(l.counterLines(w-4, s), l.scroll, h-2)
	return frame("Counters of the ports", note, w, h, text(shown...)).sensitive(spot{w: w, h: h, text: true})
}

func (l *linkScreen) counterLines(w int, s *Snapshot) []line {
	points, any := l.ends(s)
	if !any {
		return []line{line{}.add(warn, "? none").add(plain, elide(": no switch told what its port counted (whichlink snmp watch, or --snmp)", max(w-6, 4)))}
	}
	var from, to time.Time
	for _, list := range points {
		if len(list) == 0 {
			continue
		}
		if a := list[0].At.Add(-list[0].Over); from.IsZero() || a.Before(from) {
			from = a
		}
		if b := list[len(list)-1].At; b.After(to) {
			to = b
		}
	}
	span := max(w-34, 4)
	var lines []line
	for i, list := range points {
		lines = append(lines, l.endLines(i, list, from, to, span, w, s)...)
	}
	for _, fade := range fades(points) {
		if fade != "" {
			lines = append(lines, line{}.add(plain, elide(fade, w)))
		}
	}
	return append(lines, line{}.add(dim, elide(fmt.Sprintf("%s to %s, blank: no sample, each reading over its own interval", s.at(from, s.dated(seconds)), s.at(to, s.dated(seconds))), w)))
}

// endLines draws what one end counted.
func (l *linkScreen) endLines(end int, list []diagnose.PortPoint, from, to time.Time, span, w int, s *Snapshot) []line {
	id := l.linkID(s)
	letter := string(rune('A' + end))
	name := line{}.add(dim, letter+" ").add(strong, shorten(s.Fabric.PortName(s.Fabric.Link(id).Ends[end]), max(w/2, 8)))
	if len(list) == 0 {
		return []line{name.add(dim, "  told nothing: unknown, not zero")}
	}
	last := &list[len(list)-1]
	if v := speed(graphs.BitsPerSecond(last.Speed)); v != "" {
		name = name.add(plain, "  "+v)
	}
	name = name.add(dim, fmt.Sprintf("  %s, the newest %s ago", counted(len(list), "reading", "readings"), span5(s.Now.Sub(last.At))))
	out := []line{name}
	var use []line
	var never, near []string
	for _, r := range counterRows() {
		values := readingsIn(list, r.value, from, to, span)
		worst, known := 0.0, false
		for _, v := range values {
			if !math.IsNaN(v) {
				worst, known = max(worst, v), true
			}
		}
		switch {
		case !known:
		case r.share:
			use = append(use, r.line(values))
			if says, off := l.expected(end, r.way, latest(values), s); off {
				use = append(use, line{}.gap(14).add(warn, says))
			} else if says != "" {
				near = append(near, strings.TrimPrefix(says, "expected "))
			}
		case worst == 0:
			never = append(never, r.what+" "+r.way)
		default:
			out = append(out, r.line(values))
		}
	}
	out = append(append(out, lightLines(list, from, to, span, s)...), use...)
	if len(near) > 0 {
		out = append(out, line{}.gap(14).add(dim, "expected "+strings.Join(near, ", ")))
	}
	if len(never) > 0 {
		out = append(out, line{}.gap(2).add(dim, elide("never: "+strings.Join(never, ", "), max(w-2, 4))))
	}
	return out
}

// line draws the values of a row: the newest, and all of them over time.
func (r *counterRow) line(values []float64) line {
	now := latest(values)
	top := ceiling(values, 0.1)
	value, scale, st := fmt.Sprintf("%.3g/s", now), fmt.Sprintf("0-%g/s", top), bad
	if r.share {
		top = ceiling(values, 0.01)
		value, scale, st = percent(now), "0-"+scalePercent(top), plain
	}
	return line{}.left(dim, r.what, 8).left(plain, r.way, 4).right(st, value, 9).gap(2).ink(plain, sparkline(values, top)).gap(1).right(dim, scale, 9)
}

// expected says beside use how much the traffic as a whole would put there, nothing where that is not known, and whether that is far off.
func (l *linkScreen) expected(end int, way string, now float64, s *Snapshot) (says string, off bool) {
	if s.Picture == nil || s.Picture.Fabric != s.Fabric {
		return "", false
	}
	arc := l.linkID(s).Forward()
	if (end == 0) != (way == "out") {
		arc = arc.Reverse()
	}
	e := float64(s.Picture.Arcs[arc].Expected)
	says = "expected " + way + " " + percent(e)
	switch {
	case math.IsNaN(e) || math.IsNaN(now):
		return "", false
	case e > 0 && now > 1.5*e:
		return fmt.Sprintf("%s, it is %.1f times that", says, now/e), true
	case now < e/2:
		return says + ", it is less than half of that", true
	}
	return says, false
}

// readingsIn puts readings into n columns between two times: of several in one the largest, NaN where there is none. A reading fills all the columns
// of its interval.
func readingsIn(list []diagnose.PortPoint, value func(*diagnose.PortPoint) float64, from, to time.Time, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	for i := range list {
		p := &list[i]
		v := value(p)
		if math.IsNaN(v) {
			continue
		}
		for c := columnOf(p.At.Add(-p.Over+time.Nanosecond), from, to, n); c <= columnOf(p.At, from, to, n); c++ {
			if !(out[c] >= v) {
				out[c] = v
			}
		}
	}
	return out
}
