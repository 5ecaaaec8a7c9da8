package tui

import (
	"slices"
	"strconv"
	"strings"

	"whichlink/internal/diagnose"
)

// Columns of the table of suspects, with their widths; 0 where there is no room. The name takes what is left.
type suspectColumns struct {
	kind, symptom, bar, loss, interval, sources int
}

func columnsFor(w int) suspectColumns {
	switch {
	case w >= 108:
		return suspectColumns{kind: 5, symptom: 7, bar: 10, loss: 7, interval: 13, sources: 12}
	case w >= 88:
		return suspectColumns{kind: 5, symptom: 7, bar: 10, loss: 7, interval: 13}
	case w >= 70:
		return suspectColumns{symptom: 7, bar: 5, loss: 7, interval: 13}
	case w >= 52:
		return suspectColumns{symptom: 7, loss: 7}
	}
	return suspectColumns{}
}

// fixed returns the cells that everything but the name takes.
func (c suspectColumns) fixed() int {
	n := 2 + 2 + 1 + 2 + 4 // cursor, rank, gaps, p
	for _, x := range []int{c.kind, c.symptom, c.bar, c.loss, c.interval, c.sources} {
		if x > 0 {
			n += x + 2
		}
	}
	return n
}

// table draws the heads of the columns and the suspects in w x h.
func (o *overview) table(w, h int, s *Snapshot) page {
	c := columnsFor(w)
	name := max(w-c.fixed(), 4)
	return o.rows.table(w, h, c.heads(name), o.emptiness(s), func(at int, mark string) line {
		x := suspectAt(s, at)
		if x == nil {
			return nil
		}
		return c.row(x, name, mark)
	})
}

func (o *overview) emptiness(s *Snapshot) string {
	switch {
	case len(s.Diagnosis.Suspects) > 0:
		return o.keys.clears("suspect")
	case s.Diagnosis.Verdict == diagnose.Healthy:
		return "none: nothing measured is out of the ordinary"
	}
	return "none: too little evidence to say"
}

func (c suspectColumns) heads(name int) line {
	l := line{}.gap(2).right(dim, "#", 2).gap(1)
	if c.symptom == 0 {
		return l.left(dim, "p", 4).gap(1).left(dim, "suspect", name)
	}
	l = l.left(dim, "suspect", name)
	if c.kind > 0 {
		l = l.gap(2).left(dim, "kind", c.kind)
	}
	l = l.gap(2).left(dim, "symptom", c.symptom)
	l = l.gap(2).left(dim, "p", 4)
	if c.bar > 0 {
		l = l.gap(2).left(dim, "", c.bar)
	}
	l = l.gap(2).right(dim, "loss", c.loss)
	if c.interval > 0 {
		l = l.gap(2).right(dim, "90 % within", c.interval)
	}
	if c.sources > 0 {
		l = l.gap(2).left(dim, "evidence", c.sources)
	}
	return l
}

func (c suspectColumns) row(x *diagnose.Suspect, name int, mark string) line {
	s := severity(x.Probability)
	l := line{}.left(plain, mark, 2).right(plain, strconv.Itoa(x.Rank), 2).gap(1)
	if c.symptom == 0 {
		return l.left(s, probability(x.Probability), 4).gap(1).left(plain, shorten(x.ID, name), name)
	}
	l = l.left(plain, shorten(x.ID, name), name)
	if c.kind > 0 {
		l = l.gap(2).left(plain, x.Kind, c.kind)
	}
	l = l.gap(2).left(s, symptomWord(x.Symptom), c.symptom)
	l = l.gap(2).left(s, probability(x.Probability), 4)
	if c.bar > 0 {
		l = l.gap(2).left(s, bar(x.Probability, c.bar), c.bar)
	}
	l = l.gap(2).right(plain, optional(x.Loss), c.loss)
	if c.interval > 0 {
		l = l.gap(2).right(dim, interval(x.LossLow, x.LossHigh), c.interval)
	}
	if c.sources > 0 {
		l = l.gap(2).left(plain, evidenceWords(x), c.sources)
	}
	return l
}

// severity is the style of a probability. The number stands beside it.
func severity(p float64) style {
	switch {
	case p >= 0.9:
		return bad
	case p >= diagnose.Named:
		return warn
	}
	return plain
}

// symptomWord is a symptom as it stands in tables, in at most seven cells.
func symptomWord(y diagnose.Symptom) string {
	if y == diagnose.Corruption {
		return "CORRUPT"
	}
	return strings.ToUpper(string(y))
}

// bar draws a share of w cells. It has no cell for what is below half a cell: the number says it.
func bar(share float64, w int) string {
	n := int(min(max(share, 0), 1)*float64(w) + 0.5)
	return strings.Repeat("#", n)
}

// evidenceWords names the sources that a suspect rests on.
func evidenceWords(x *diagnose.Suspect) string {
	var words []string
	for _, e := range x.Evidence {
		if !slices.Contains(words, e.Source) {
			words = append(words, e.Source)
		}
	}
	return strings.Join(words, " ")
}
