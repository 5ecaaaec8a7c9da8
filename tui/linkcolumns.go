package tui

import (
	"math"
	"slices"
	"strings"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// A linkRow is what a column may look at: the tallies of both directions.
type linkRow struct {
	id       graphs.LinkID
	forward  *diagnose.ArcTally
	backward *diagnose.ArcTally
	symptom  string // what it is suspected of, empty for nothing
	found    int    // findings of captures whose flow crosses it
}

// worst returns the larger of a value of both directions, NaN where neither has one.
func (r *linkRow) worst(of func(*diagnose.ArcTally) float64) float64 {
	a, b := of(r.forward), of(r.backward)
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}

func (r *linkRow) state() string {
	switch {
	case r.symptom != "":
		return strings.ToLower(r.symptom)
	case !r.forward.Measured && !r.backward.Measured:
		return "dark"
	case !r.forward.Measured || !r.backward.Measured:
		return "half dark"
	}
	return "ok"
}

// A linkColumn is one column: what it is called in heads and filters, how wide it is, what it sorts and compares by, and how it is written.
type linkColumn struct {
	name  string
	width int
	wide  bool // shown only when wide columns are asked for
	value func(*linkRow) float64
	write func(float64) string
}

func linkColumns() []linkColumn {
	tally := func(of func(*diagnose.ArcTally) float64) func(*linkRow) float64 {
		return func(r *linkRow) float64 { return r.worst(of) }
	}
	whole := func(v float64) string { return count(int(v)) }
	return []linkColumn{
		{"p", 4, false, tally(func(t *diagnose.ArcTally) float64 { return float64(t.Suspicion) }), probability},
		{"loss", 7, false, tally((*diagnose.ArcTally).Loss), percent},
		{"lossy", 6, false, tally(func(t *diagnose.ArcTally) float64 { return float64(t.Lossy) }), whole},
		{"flows", 6, false, tally(func(t *diagnose.ArcTally) float64 { return float64(t.Flows) }), whole},
		{"late", 7, false, tally(func(t *diagnose.ArcTally) float64 { return float64(t.Late) }), micros},
		{"flaps", 5, false, tally(func(t *diagnose.ArcTally) float64 { return float64(t.Flaps) }), whole},
		{"use", 7, false, tally(func(t *diagnose.ArcTally) float64 { return float64(t.Use) }), percent},
		{"expect", 7, true, tally(func(t *diagnose.ArcTally) float64 { return float64(t.Expected) }), percent},
		{"sent", 9, true, tally(func(t *diagnose.ArcTally) float64 { return float64(t.Sent) }), whole},
		{"lost", 7, true, tally(func(t *diagnose.ArcTally) float64 { return float64(t.Lost) }), whole},
		{foundColumn, 5, true, func(r *linkRow) float64 { return float64(r.found) }, whole},
	}
}

// foundColumn counts what captures found; it is always shown where they found something.
const foundColumn = "found"

// inPercent are the columns that a filter compares in hundredths.
func inPercent(name string) bool { return name == "loss" || name == "use" || name == "expect" }

func linkFields() []string {
	var names []string
	for _, c := range linkColumns() {
		names = append(names, c.name)
	}
	return names
}

// wanted are the columns that are to be shown, in their order. The one that sorts is always among them.
func (l *linksScreen) wanted() []linkColumn {
	all := linkColumns()
	if l.chosen == nil {
		var out []linkColumn
		for i, c := range all {
			if !c.wide || l.wide || i == l.by || c.name == foundColumn && l.marked {
				out = append(out, c)
			}
		}
		return out
	}
	out := l.picked()
	if !l.wide {
		return out
	}
	for _, c := range all { // those that somebody chose stand first, and what there is room for goes by the order
		if !slices.ContainsFunc(out, func(o linkColumn) bool { return o.name == c.name }) {
			out = append(out, c)
		}
	}
	return out
}

// picked are the columns that somebody chose, and the one that sorts.
func (l *linksScreen) picked() []linkColumn {
	all := linkColumns()
	var out []linkColumn
	for _, n := range l.chosen {
		out = append(out, all[slices.Index(linkFields(), n)])
	}
	if by := all[l.by]; !slices.Contains(l.chosen, by.name) {
		out = append([]linkColumn{by}, out...)
	}
	return out
}

// columns returns the columns that fit beside a name of at least 16 cells, and the cells of the name.
func (l *linksScreen) columns(w int, f *graphs.Fabric) (fit []linkColumn, name int) {
	const state = 10
	name = w - 2 - state
	by := linkColumns()[l.by].name
	least := min(l.longestName(f), w/2) // a name that is cut short may be that of another link
	for _, c := range l.wanted() {
		// The column that sorts is always in sight.
		if name-c.width-2 < least && c.name != by {
			continue
		}
		name -= c.width + 2
		fit = append(fit, c)
	}
	return fit, max(name, 4)
}

// longestName is the width of the longest name of a link.
func (l *linksScreen) longestName(f *graphs.Fabric) int {
	if l.named != f {
		l.named, l.longest = f, 0
		for id := range graphs.LinkID(f.NumLinks()) {
			l.longest = max(l.longest, width(f.LinkName(id)))
		}
	}
	return l.longest
}
