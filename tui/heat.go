package tui

import (
	"fmt"
	"math"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// A layer is a quantity that the map shows, with the steps of its ramp: below the first it is of no interest.
type layer struct {
	name  string
	steps [5]float64
	value func(*diagnose.ArcTally) float64 // NaN: not known
	scale string
	// words say a value with its unit.
	words func(float64) string
}

// heatRamp is what stands for the steps of a layer. No evidence is ?, and no link a blank.
const heatRamp = ".:-+#@"

func layers() []layer {
	return []layer{
		{"suspicion", [5]float64{0.05, 0.1, 0.3, 0.5, 0.9}, func(t *diagnose.ArcTally) float64 {
			if !t.Measured && t.Suspicion == 0 {
				return math.NaN()
			}
			return float64(t.Suspicion)
		}, "p  . <.05 : <.1 - <.3 + <.5 # <.9 @ more", func(v float64) string { return "p " + probability(v) }},
		{"loss", [5]float64{1e-9, 1e-3, 5e-3, 1e-2, 5e-2}, (*diagnose.ArcTally).Loss, "loss  . none : <.1 % - <.5 + <1 # <5 @ more", percent},
		{"use", [5]float64{0.3, 0.5, 0.7, 0.8, 0.9}, func(t *diagnose.ArcTally) float64 { return float64(t.Use) }, "use  . <30 % : <50 - <70 + <80 # <90 @ more", percent},
		{"excess", [5]float64{1.1, 1.25, 1.5, 2, 3}, func(t *diagnose.ArcTally) float64 { return float64(t.Use / t.Expected) }, "times  . <1.1 : <1.25 - <1.5 + <2 # <3 @", func(v float64) string { return fmt.Sprintf("%.2g times", v) }},
		{"delay", [5]float64{10, 20, 50, 100, 500}, func(t *diagnose.ArcTally) float64 { return float64(t.Late) }, "late  . <10 us : <20 - <50 + <100 # <500 @", micros},
		{"flaps", [5]float64{1, 2, 3, 5, 10}, func(t *diagnose.ArcTally) float64 { return float64(t.Flaps) }, "went down  . never : 1 - 2 + 3 # 5 @ 10", func(v float64) string { return counted(int(v), "flap", "flaps") }},
		{"coverage", [5]float64{0.5, 0.5, 0.5, 0.5, 0.5}, func(t *diagnose.ArcTally) float64 {
			if !t.Measured {
				return math.NaN()
			}
			return 0
		}, "measured .", func(float64) string { return "measured" }},
	}
}

// of returns the worse of both directions of a link. If one is not known, and the other is nothing, the link is not known.
func (l *layer) of(p *diagnose.Picture, id graphs.LinkID) float64 {
	a, b := l.value(&p.Arcs[id.Forward()]), l.value(&p.Arcs[id.Backward()])
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return a
	case math.IsNaN(a) || math.IsNaN(b):
		v := b
		if math.IsNaN(b) {
			v = a
		}
		if v < l.steps[0] {
			return math.NaN()
		}
		return v
	}
	return max(a, b)
}

// rank orders values of links: what is bad, then what is not known, then the rest.
func (l *layer) rank(v float64) float64 {
	if math.IsNaN(v) {
		return l.steps[0] * (1 - 1e-9)
	}
	return v
}

func (l *layer) glyph(v float64) (byte, style) {
	if math.IsNaN(v) {
		return '?', dim
	}
	i := 0
	for i < len(l.steps) && v >= l.steps[i] {
		i++
	}
	st := plain
	switch {
	case i >= 5:
		st = bad
	case i >= 3:
		st = warn
	case i == 0:
		st = dim
	}
	return heatRamp[i], st
}

// A heat is a grid filled in: the worst link of every cell, None where there is none. Cells are blocks of so many rows and columns that all fit.
type heat struct {
	grid       *grid
	rowBlock   int // rows of the grid in one of cells
	colBlock   int
	rows, cols int // of cells
	worst      []graphs.LinkID
	value      []float64
	links      []int32 // how many a cell holds
}

// fill puts the links of a grid into at most rows x cols cells.
func (g *grid) fill(l *layer, p *diagnose.Picture, rows, cols int) *heat {
	h := &heat{grid: g, rowBlock: 1, colBlock: 1}
	if len(g.rows) == 0 || len(g.cols) == 0 || rows < 1 || cols < 1 {
		return h
	}
	up := func(n, of int) int { return (n + of - 1) / of }
	h.rowBlock, h.colBlock = up(len(g.rows), rows), up(len(g.cols), cols)
	h.rows, h.cols = up(len(g.rows), h.rowBlock), up(len(g.cols), h.colBlock)
	h.worst = make([]graphs.LinkID, h.rows*h.cols)
	h.value = make([]float64, h.rows*h.cols)
	h.links = make([]int32, h.rows*h.cols)
	for i := range h.worst {
		h.worst[i] = graphs.None
	}
	put := func(cell int, id graphs.LinkID, v float64) {
		h.links[cell]++
		if h.worst[cell] == graphs.None || l.rank(v) > l.rank(h.value[cell]) {
			h.worst[cell], h.value[cell] = id, v
		}
	}
	for id := range graphs.LinkID(len(g.rowOf)) {
		r, c, ok := g.at(id)
		if !ok {
			continue
		}
		v := l.of(p, id)
		cell := r/h.rowBlock*h.cols + c/h.colBlock
		put(cell, id, v)
		if other := c/h.rowBlock*h.cols + r/h.colBlock; g.both && other != cell {
			put(other, id, v)
		}
	}
	return h
}

// find returns the cell of a link.
func (h *heat) find(id graphs.LinkID) (row, col int, ok bool) {
	r, c, ok := h.grid.at(id)
	if !ok || h.rows == 0 {
		return 0, 0, false
	}
	return r / h.rowBlock, c / h.colBlock, true
}

// draw draws the cells with the names of the rows, the cursor's cell in brackets. wide gives each cell two columns.
func (h *heat) draw(l *layer, row, col, label int, wide bool) page {
	out := page{y: -1}
	for r := range h.rows {
		out.lines = append(out.lines, h.drawRow(l, r, row, col, label, wide))
		if r == row {
			out.x, out.y = label+col, r
			if wide {
				out.x = label + 2*col
			}
		}
	}
	return out
}

func (h *heat) drawRow(l *layer, r, row, col, label int, wide bool) line {
	st := dim
	if r == row {
		st = strong
	}
	ln := line{}.left(st, shorten(h.grid.rows[r*h.rowBlock], label-1), label)
	run, runStyle := make([]byte, 0, 2*h.cols), plain
	flush := func() {
		ln = ln.ink(runStyle, string(run))
		run = run[:0]
	}
	for c := range h.cols {
		g, s := byte(' '), plain
		if id := h.worst[r*h.cols+c]; id != graphs.None {
			g, s = l.glyph(h.value[r*h.cols+c])
		}
		if r == row && c == col {
			s = chosen
		}
		if s != runStyle {
			flush()
			runStyle = s
		}
		run = append(run, g)
		if wide {
			if s == chosen {
				flush()
				runStyle = plain
			}
			run = append(run, ' ')
		}
	}
	flush()
	return ln
}
