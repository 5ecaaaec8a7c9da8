package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/page"
)

// A Chart is one series over time.
type Chart struct {
	Name, Most string
	// Values has one number for each step of time, NaN where nothing was measured.
	Values []float64
}

// Path draws the values, Known marks where something was measured.
func (c *Chart) Path() string { path, _ := page.Bars(c.Values); return path }

// Known is the path of a line under what was measured.
func (c *Chart) Known() string {
	var b []byte
	for i := 0; i < len(c.Values); i++ {
		j := i
		for j < len(c.Values) && !math.IsNaN(c.Values[j]) {
			j++
		}
		if j > i {
			b = fmt.Appendf(b, "M%d 100h%dv4h-%dz", i, j-i, j-i)
			i = j
		}
	}
	return string(b)
}

// widths are the steps of time that charts may have, mostSteps how many there may be.
var widths = []time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
	30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 12 * time.Hour,
}

const mostSteps = 60

// An axis is the steps of time of all charts.
type axis struct {
	from  time.Time
	width time.Duration
	n     int
}

// axis chooses steps: no more than there is room for, and none shorter than what one record sums up.
func (c *Collector) axis() axis {
	span := c.last.Sub(c.first)
	least := span / mostSteps
	if n := len(c.windows); n > 0 {
		windows := slices.Clone(c.windows)
		slices.Sort(windows)
		least = max(least, time.Duration(windows[n/2])*time.Millisecond)
	}
	width := span/mostSteps + 1
	for _, w := range widths {
		if w >= least {
			width = w
			break
		}
	}
	a := axis{from: c.first.Truncate(width), width: width}
	a.n = max(1, int((c.last.Sub(a.from)+width-1)/width))
	return a
}

func (a *axis) step(t time.Time) int { return min(max(int(t.Sub(a.from)/a.width), 0), a.n-1) }

// drawCharts draws what all probes saw, and for each drawn suspect what crossed it and what its ports counted.
func (c *Collector) drawCharts(r *Report) {
	if len(c.echoes)+len(c.ports) == 0 {
		return
	}
	a := c.axis()
	r.Span = fmt.Sprintf("%s to %s, in steps of %s", stamp(a.from), r.Clock(a.from.Add(time.Duration(a.n)*a.width)), a.width)
	c.drawEchoes(r, &a, "all probes", nil)
	for _, x := range r.drawn() {
		arcs := arcsOf(c.fabric, x.ID)
		if len(arcs) == 0 {
			continue
		}
		c.drawEchoes(r, &a, x.ID, arcs)
		if x.Kind == "arc" || x.Kind == "link" {
			c.drawPorts(r, &a, &x, arcs)
		}
	}
}

// drawEchoes draws loss and delay of what crossed some arcs, or of all if arcs is nil.
func (c *Collector) drawEchoes(r *Report, a *axis, name string, arcs map[graphs.ArcID]bool) {
	sent, lost, rtts := make([]int, a.n), make([]int, a.n), make([][]float64, a.n)
	some := false
	for i := range c.echoes {
		e := &c.echoes[i]
		s, l := int(e.sent), int(e.lost)
		if arcs != nil {
			s, l = c.crossed(e, arcs)
		}
		if s <= 0 {
			continue
		}
		some = true
		k := a.step(e.at)
		sent[k] += s
		lost[k] += l
		if !math.IsNaN(e.rtt) {
			rtts[k] = append(rtts[k], e.rtt)
		}
	}
	if !some {
		return
	}
	share, delay := make([]float64, a.n), make([]float64, a.n)
	for k := range share {
		share[k], delay[k] = math.NaN(), math.NaN()
		if sent[k] > 0 {
			share[k] = float64(lost[k]) / float64(sent[k])
		}
		if n := len(rtts[k]); n > 0 {
			slices.Sort(rtts[k])
			delay[k] = rtts[k][n/2]
		}
	}
	r.chart(name+": lost of the probes that crossed it", share, diagnose.Percent)
	if arcs == nil {
		r.Charts[len(r.Charts)-1].Name = name + ": lost"
	}
	r.chart(name+": median round trip", delay, diagnose.Micros)
}

// chart adds a series. One that is measured and zero throughout is told, too: that nothing was lost is news.
func (r *Report) chart(name string, values []float64, word func(float64) string) {
	most, known := 0.0, false
	for _, v := range values {
		if !math.IsNaN(v) {
			most, known = max(most, v), true
		}
	}
	if known {
		r.Charts = append(r.Charts, Chart{name, word(most), values})
	}
}

// drawPorts draws what the ports of a suspect counted: the receiving one errors, the sending one discards, both their load.
func (c *Collector) drawPorts(r *Report, a *axis, x *diagnose.Suspect, arcs map[graphs.ArcID]bool) {
	var sorted []graphs.ArcID
	for arc := range arcs {
		sorted = append(sorted, arc)
	}
	slices.Sort(sorted)
	rate := func(v float64) string {
		if v >= 100 {
			return fmt.Sprintf("%.0f a second", v)
		}
		return fmt.Sprintf("%.3g a second", v)
	}
	for _, arc := range sorted {
		from, to := c.fabric.TailPort(arc), c.fabric.HeadPort(arc)
		for _, s := range []struct {
			port  graphs.PortID
			what  string
			value func(*counting) float64
			word  func(float64) string
			quiet bool // not drawn where there was none
		}{
			{to, "input errors", func(n *counting) float64 { return n.errors }, rate, false},
			{from, "output discards", func(n *counting) float64 { return n.discardsOut }, rate, true},
			{to, "input discards", func(n *counting) float64 { return n.discards }, rate, true},
			{from, "sent, of its speed", func(n *counting) float64 { return n.usedOut }, diagnose.Percent, false},
			{to, "pause frames received", func(n *counting) float64 { return n.pause }, rate, true},
		} {
			values, most := c.counted(a, s.port, s.value)
			if !s.quiet || most > 0 {
				r.chart(c.fabric.PortName(s.port)+": "+s.what, values, s.word)
			}
		}
	}
}

// counted returns the greatest of what a port counted in each step.
func (c *Collector) counted(a *axis, p graphs.PortID, value func(*counting) float64) (values []float64, most float64) {
	values = make([]float64, a.n)
	for k := range values {
		values[k] = math.NaN()
	}
	for i := range c.ports {
		if n := &c.ports[i]; n.port == p {
			k := a.step(n.at)
			values[k] = greater(values[k], value(n))
			most = greater(most, values[k])
		}
	}
	return values, most
}

// stamp writes a time with its day.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000Z") }

// Clock writes a time without its day, unless the evidence has several.
func (r *Report) Clock(t time.Time) string {
	if r.From.UTC().Format(time.DateOnly) != r.To.UTC().Format(time.DateOnly) {
		return stamp(t)
	}
	return t.UTC().Format("15:04:05.000Z")
}
