package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// verdictWord returns a verdict's glyph, word and style.
func verdictWord(v diagnose.Verdict) (glyph, word string, s style) {
	switch v {
	case diagnose.Healthy:
		return "✓", "HEALTHY", good
	case diagnose.Suspects:
		return "!", "SUSPECTS", bad
	}
	return "?", strings.ToUpper(clean(string(v))), warn
}

// verdictLines says what the diagnosis says, in at most n rows.
func verdictLines(d *diagnose.Diagnosis, w, n int) []line {
	glyph, word, s := verdictWord(d.Verdict)
	head := line{}.gap(1).add(s, glyph+" "+word).gap(2)
	indent := head.width()
	if w < 60 {
		indent = 3
	}
	rows := wrapAfter(d.Summary, max(w-head.width()-1, 12), max(w-indent-1, 12))
	if len(rows) == 0 {
		return []line{head}
	}
	if len(rows) > n {
		rows = rows[:n]
		rows[n-1] = elide(rows[n-1]+" …", max(w-indent-1, 12))
	}
	out := []line{head.add(strong, rows[0])}
	for _, r := range rows[1:] {
		out = append(out, line{}.gap(indent).add(strong, r))
	}
	return out
}

// coverageLines says how much of the fabric was measured. What was not is unknown, and is never counted as healthy.
func coverageLines(s *Snapshot, label int) []line {
	c := s.Diagnosis.Coverage
	out := []line{line{}.left(dim, "measured", label).add(plain, measured(c))}
	dark := c.Arcs - c.Measured
	l := line{}.left(dim, "dark", label)
	switch {
	case c.Arcs == 0:
		l = l.add(warn, "? ").add(plain, unmapped(s))
	case dark > 0:
		l = l.add(warn, "? "+counted(dark, "arc", "arcs")).add(plain, ": unknown, not healthy")
	default:
		l = l.add(plain, "none: every arc was crossed")
	}
	return append(out, l, line{}.left(dim, "evidence", label).add(plain, evidenceWindow(s)))
}

// unmapped says why there is no link to speak of, and what to do about it.
func unmapped(s *Snapshot) string {
	if s.Fabric == nil {
		return "no fabric is known: --fabric FILE"
	}
	return "nothing was measured on this fabric yet"
}

func measured(c diagnose.Coverage) string {
	if c.Arcs == 0 {
		return "no arcs known"
	}
	return fmt.Sprintf("%s of %s arcs   %s", count(c.Measured), count(c.Arcs), percentDown(c.Measured, c.Arcs))
}

// percentDown never says 100 % of what is not all.
func percentDown(n, of int) string {
	if n >= of {
		return "100 %"
	}
	return fmt.Sprintf("%.1f %%", float64(1000*n/of)/10)
}

func evidenceWindow(s *Snapshot) string {
	d := s.Diagnosis
	if d.To.IsZero() {
		return "none yet"
	}
	return fmt.Sprintf("%s of it, newest %s ago", span5(d.To.Sub(d.From)), span5(s.Now.Sub(d.To)))
}

// stale reports whether a source has gone quiet for longer than its kind does. Files and notes do not age, nor does a replay.
func stale(s *Snapshot, src diagnose.Source) bool {
	if !s.Live {
		return false
	}
	age := s.Now.Sub(src.Newest)
	switch evidence.Source(src.Source) {
	case evidence.SourceProbe:
		return age > 10*time.Second
	case evidence.SourceSNMP:
		return age > time.Minute
	}
	return false
}

// sourcesByNeed returns the sources, those that went quiet first.
func sourcesByNeed(s *Snapshot) (list []diagnose.Source, quiet int) {
	list = slices.Clone(s.Diagnosis.Sources)
	slices.SortStableFunc(list, func(a, b diagnose.Source) int {
		return rankOf(stale(s, a)) - rankOf(stale(s, b))
	})
	for _, src := range list {
		if stale(s, src) {
			quiet++
		}
	}
	return list, quiet
}

func rankOf(first bool) int {
	if first {
		return 0
	}
	return 1
}

// sourceLines lists the sources with their ages in h rows of w cells.
func sourceLines(s *Snapshot, w, h int) []line {
	list, quiet := sourcesByNeed(s)
	if len(list) == 0 {
		return []line{line{}.add(warn, "? none: nothing has been measured yet")}
	}
	var out []line
	for i, src := range list {
		if i == h-1 && len(list) > h {
			more, tail := "and "+count(len(list)-i)+" more", ", all fresh"
			if left := quiet - i; left > 0 {
				tail = ", " + count(left) + " of them STALE"
			}
			return append(out, line{}.add(dim, more+tail))
		}
		st, word := plain, ""
		if stale(s, src) {
			st, word = dim, "! STALE"
		}
		age := "?"
		if !src.Newest.IsZero() {
			age = span5(s.Now.Sub(src.Newest))
		}
		out = append(out, line{}.left(st, src.By, max(w-34, 6)).gap(1).left(st, src.Source, 5).
			right(st, count(src.Records), 8).gap(1).right(st, age, 7).gap(2).add(warn, word))
	}
	return out
}

// evidenceInShort says coverage and sources in one row, for screens that have no room for panes. A source that went quiet
// is said before anything is explained.
func evidenceInShort(s *Snapshot, w int) line {
	c := s.Diagnosis.Coverage
	if c.Arcs == 0 {
		return line{}.gap(1).add(warn, "? ").add(plain, elide(unmapped(s), max(w-4, 4)))
	}
	l := line{}.gap(1).add(plain, fmt.Sprintf("%s of %s arcs measured", count(c.Measured), count(c.Arcs)))
	why := ""
	if dark := c.Arcs - c.Measured; dark > 0 {
		l = l.add(plain, ", ").add(warn, "? "+count(dark)+" dark")
		why = ": unknown, not healthy"
	}
	list, quiet := sourcesByNeed(s)
	if quiet == 0 {
		return l.add(plain, why).gap(2).add(plain, counted(len(list), "source", "sources"))
	}
	tail := line{}.gap(2).add(warn, fmt.Sprintf("! %d of %d sources STALE", quiet, len(list)))
	if l.width()+width(why)+tail.width() <= w {
		l = l.add(plain, why)
	}
	return append(l, tail...)
}
