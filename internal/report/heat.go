package report

import (
	"cmp"
	"fmt"
	"slices"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// A Mark is what is known of an arc.
type Mark byte

// The marks, the worst last. Each is also the letter that stands for it.
const (
	NoLink   Mark = ' '
	Clean    Mark = '.' // measured, and no suspect
	Dark     Mark = '?' // no probe crossed it
	Possible Mark = '+' // a suspect below the probability at which it is named, or one of a class
	Named    Mark = '#'
)

// severity orders marks.
func (m Mark) severity() int { return slices.Index([]Mark{NoLink, Clean, Dark, Possible, Named}, m) }

// Word is the mark's name, which is also its class in HTML.
func (m Mark) Word() string {
	return map[Mark]string{NoLink: "none", Clean: "clean", Dark: "dark", Possible: "possible", Named: "named"}[m]
}

// A Heat is a table of arcs: from the switches of the rows to those of the columns.
type Heat struct {
	Title      string
	Rows, Cols []string
	Marks      [][]Mark
	// Omitted says which switches are not shown, "" if all are.
	Omitted string
}

// mostSide is the most rows or columns of a table; the worst are shown.
const mostSide = 32

// marks returns what is known of each arc.
func (c *Collector) marks(d *diagnose.Diagnosis) []Mark {
	out := make([]Mark, c.fabric.NumArcs())
	for a := range out {
		out[a] = Clean
	}
	for _, name := range d.Coverage.Unmeasured {
		if a, ok := c.fabric.ArcByName(name); ok {
			out[a] = Dark
		}
	}
	for i := len(d.Suspects) - 1; i >= 0; i-- {
		x := &d.Suspects[i]
		m := Possible
		if x.Probability >= diagnose.Named {
			m = Named
		}
		for _, id := range x.Class {
			for a := range arcsOf(c.fabric, id) {
				mark := m
				if id != x.ID {
					mark = Possible
				}
				if mark.severity() > out[a].severity() {
					out[a] = mark
				}
			}
		}
		for a := range arcsOf(c.fabric, x.ID) {
			if m.severity() > out[a].severity() {
				out[a] = m
			}
		}
	}
	return out
}

// tiers returns how far each switch is from the nearest host, hosts being 0, and the number of tiers; 0 if the fabric has none: two switches of the same
// tier have a link, or there is only one tier, or nobody to count from.
func tiers(f *graphs.Fabric) (tier []int, n int) {
	tier = f.HostDistances()
	n = slices.Max(append([]int{0}, tier...))
	for a := range graphs.ArcID(f.NumArcs()) {
		from, to := tier[f.Tail(a)], tier[f.Head(a)]
		if from < 0 || to < 0 || from == to && from > 0 {
			return tier, 0
		}
	}
	if n < 2 {
		return tier, 0
	}
	return tier, n
}

// drawMap draws the fabric: of one with tiers a table for each two of them and either direction, of any other one table of all switches, the
// worst first. The surroundings of the first suspect are drawn beside that.
func (c *Collector) drawMap(r *Report) {
	marks := c.marks(r.Diagnosis)
	tier, n := tiers(c.fabric)
	switches := c.fabric.Switches()
	joined := false
	for a := range graphs.ArcID(c.fabric.NumArcs()) {
		joined = joined || !c.fabric.IsHostArc(a)
	}
	switch {
	case n > 0:
		r.Map = fmt.Sprintf("%s has %d tiers of switches.", r.Fabric, n)
		for t := 1; t < n; t++ {
			low, high := ofTier(switches, tier, t), ofTier(switches, tier, t+1)
			r.Heats = append(r.Heats,
				c.heat(fmt.Sprintf("up, from tier %d to tier %d", t, t+1), low, high, marks),
				c.heat(fmt.Sprintf("down, from tier %d to tier %d", t+1, t), high, low, marks))
		}
	case !joined:
		r.Map = fmt.Sprintf("%s has no links between switches.", r.Fabric)
	default:
		r.Map = fmt.Sprintf("%s has no tiers: each switch is a row and a column, the worst first.", r.Fabric)
		slices.SortStableFunc(switches, func(a, b graphs.NodeID) int { return -cmp.Compare(c.worst(a, marks), c.worst(b, marks)) })
		r.Heats = append(r.Heats, c.heat("from the switch of the row to that of the column", switches, switches, marks))
	}
	if x := r.first(); x != nil {
		r.Ego = c.ego(x, marks)
	}
}

func ofTier(nodes []graphs.NodeID, tier []int, t int) []graphs.NodeID {
	return slices.DeleteFunc(slices.Clone(nodes), func(n graphs.NodeID) bool { return tier[n] != t })
}

// worst returns how bad the worst arc at a node is, to hosts or switches; of arcs that are equally bad one more weighs a little more.
func (c *Collector) worst(n graphs.NodeID, marks []Mark) int {
	worst, many := 0, 0
	for _, a := range c.fabric.Out(n) {
		for _, m := range [2]Mark{marks[a], marks[a.Reverse()]} {
			switch s := m.severity(); {
			case s > worst:
				worst, many = s, 1
			case s == worst:
				many++
			}
		}
	}
	return worst<<20 + many
}

// heat makes a table. If there is no room for all switches, the worst of them are shown.
func (c *Collector) heat(title string, rows, cols []graphs.NodeID, marks []Mark) Heat {
	h := Heat{Title: title}
	shownRows, shownCols := c.fitting(rows, marks), c.fitting(cols, marks)
	if nr, nc := len(rows)-len(shownRows), len(cols)-len(shownCols); nr+nc > 0 {
		h.Omitted = fmt.Sprintf("the worst %d of %d rows and %d of %d columns", len(shownRows), len(rows), len(shownCols), len(cols))
	}
	column := map[graphs.NodeID]int{}
	for j, n := range shownCols {
		column[n] = j
		h.Cols = append(h.Cols, c.fabric.NodeName(n))
	}
	for _, n := range shownRows {
		h.Rows = append(h.Rows, c.fabric.NodeName(n))
		row := slices.Repeat([]Mark{NoLink}, len(shownCols))
		for _, a := range c.fabric.Out(n) {
			if j, ok := column[c.fabric.Head(a)]; ok && marks[a].severity() > row[j].severity() {
				row[j] = marks[a] // of parallel links the worst
			}
		}
		h.Marks = append(h.Marks, row)
	}
	return h
}

// fitting returns the switches for which there is room, in the order that they had if all fit.
func (c *Collector) fitting(nodes []graphs.NodeID, marks []Mark) []graphs.NodeID {
	if len(nodes) <= mostSide {
		return nodes
	}
	sorted := slices.Clone(nodes)
	slices.SortStableFunc(sorted, func(a, b graphs.NodeID) int { return -cmp.Compare(c.worst(a, marks), c.worst(b, marks)) })
	return sorted[:mostSide]
}
