package tui

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"whichlink/internal/diagnose"
)

// The overview answers the question on one screen: the verdict, how much of the fabric it rests on, the ranked suspects,
// and the proof of the one under the cursor.
type overview struct {
	keys   *keyMap
	rows   rows
	filter filter
	scroll int    // of the proof
	proves string // what scroll is about
	reveal bool

	// peek is the screen that enter would open, of which a wide terminal shows a part. It is made when it is drawn.
	peek *linkScreen
}

func (o *overview) title() string { return "Overview" }

// refresh takes over what a new snapshot holds. With still, rows keep their places.
func (o *overview) refresh(s *Snapshot, still bool) {
	var next []rowRef
	if s.Diagnosis != nil {
		seen := map[string]int{}
		next = make([]rowRef, 0, len(s.Diagnosis.Suspects))
		for i := range s.Diagnosis.Suspects {
			x := &s.Diagnosis.Suspects[i]
			k := x.Kind + " " + x.ID
			if seen[k]++; seen[k] > 1 {
				k += fmt.Sprint(" ", seen[k])
			}
			if len(o.filter.terms) == 0 || o.filter.match(suspectText(x), suspectNumber(x)) {
				next = append(next, rowRef{k, i})
			}
		}
	}
	o.rows.update(next, still)
}

func suspectText(x *diagnose.Suspect) string {
	parts := []string{x.ID, x.Link, x.Kind, string(x.Symptom), x.For, x.Against}
	for _, e := range x.Evidence {
		parts = append(parts, e.Source, e.Text)
	}
	for _, n := range x.Next {
		parts = append(parts, n.Why, n.What())
	}
	parts = append(parts, x.Class...)
	return strings.ToLower(strings.Join(parts, "\n"))
}

func suspectNumber(x *diagnose.Suspect) func(string) (float64, bool) {
	return func(field string) (float64, bool) {
		switch field {
		case "p":
			return x.Probability, true
		case "rank":
			return float64(x.Rank), true
		case "loss":
			if x.Loss != nil {
				return *x.Loss * 100, true
			}
		}
		return 0, false
	}
}

func (o *overview) setFilter(query string, s *Snapshot) {
	o.filter = parseFilter(query, []string{"p", "rank", "loss"})
	o.refresh(s, false)
}

func (o *overview) filtered() *filter { return &o.filter }

// current returns the suspect under the cursor, nil if there is none.
func (o *overview) current(s *Snapshot) *diagnose.Suspect {
	r, ok := o.rows.current()
	if !ok {
		return nil
	}
	return suspectAt(s, r.at)
}

func suspectAt(s *Snapshot, i int) *diagnose.Suspect {
	if s.Diagnosis == nil || i < 0 || i >= len(s.Diagnosis.Suspects) {
		return nil
	}
	return &s.Diagnosis.Suspects[i]
}

func (o *overview) handle(msg tea.KeyPressMsg, w, h int, s *Snapshot) screen {
	if moveRows(&o.rows, o.keys, msg) {
		return nil
	}
	o.scroll, o.proves = o.offset(), o.rows.selected
	switch {
	case key.Matches(msg, o.keys.Open):
		if x := o.current(s); x != nil {
			return newLinkScreen(o.keys, x, s)
		}
		return nil
	case key.Matches(msg, o.keys.TextDown):
		o.scroll++
	case key.Matches(msg, o.keys.TextUp):
		o.scroll--
	default:
		return nil
	}
	n, room := o.proofSize(w, h, s)
	o.scroll = scrollTo(o.scroll, n, room)
	return nil
}

// offset is how far the proof under the cursor was scrolled.
func (o *overview) offset() int {
	if o.proves != o.rows.selected {
		return 0
	}
	return o.scroll
}

// moveRows does what the keys of lists ask for, and reports whether msg was one of them.
func moveRows(r *rows, k *keyMap, msg tea.KeyPressMsg) bool {
	return moveList(r.move, len(r.order), k, msg)
}

// copied returns the selected row as text to hand on.
func (o *overview) copied(s *Snapshot) string {
	x := o.current(s)
	if x == nil {
		return ""
	}
	return suspectNote(x)
}

// suspectNote is a suspect in one line, for a chat or a ticket.
func suspectNote(x *diagnose.Suspect) string {
	note := fmt.Sprintf("#%d %s %s p=%s", x.Rank, x.ID, x.Symptom, probability(x.Probability))
	if x.Loss != nil {
		note += " loss=" + percent(*x.Loss)
		if x.LossLow != nil && x.LossHigh != nil {
			note += " (" + interval(x.LossLow, x.LossHigh) + ")"
		}
	}
	if x.For != "" {
		note += "; for: " + x.For
	}
	if x.Against != "" {
		note += "; against: " + x.Against
	}
	if len(x.Next) > 0 {
		note += "; next: " + orElse(x.Next[0].What(), x.Next[0].Why)
	}
	return clean(note)
}

// The layouts, by the width at hand. Heights depend on the size alone, never on the data: what stands still can be read. Only
// what somebody pins makes room for itself.
const (
	wideFrom  = 160 // list and proof side by side
	panesFrom = 100
	stackFrom = 80 // panes under each other; below, the list alone
)

// A plan is how the rows of a screen are shared out.
type overviewPlan struct {
	verdict, evidence, pins, table, proof, series, aside int // heights with their frames; 0: not shown
}

func planOverview(w, h int, s *Snapshot) overviewPlan {
	p := overviewPlan{verdict: 1}
	switch {
	case w < stackFrom || h < 14:
		return overviewPlan{}
	case w >= wideFrom:
		p.evidence = 6
		p.pins = pinPane(s, (h-p.verdict-p.evidence)/3)
		p.table = h - p.verdict - p.evidence - p.pins
		p.aside = max((h-p.verdict)/4, 5)
		if h >= 30 {
			p.series = seriesRows + 2
		}
		p.proof = h - p.verdict - p.series - p.aside
		return p
	case w < panesFrom:
		p.verdict, p.evidence = 2, 1
	case h >= 25:
		p.evidence = 6
	case h >= 20:
		p.evidence = 5
	default:
		p.evidence = 1
	}
	rest := h - p.verdict - p.evidence
	p.pins = pinPane(s, min(rest-13, 8))
	rest -= p.pins
	if rest >= 18 { // else what it would hold stands at the end of the proof
		p.aside = min(max(rest/5, 4), 12)
	}
	rest -= p.aside
	p.table = max(rest*2/5, 6)
	p.proof = rest - p.table
	return p
}

func (o *overview) draw(w, h int, s *Snapshot) page {
	d := s.Diagnosis
	if d == nil {
		return text(line{}.gap(1).add(warn, "? MEASURING").gap(2).add(plain, "no diagnosis yet")).fill(w, h)
	}
	p := planOverview(w, h, s)
	if p.table == 0 {
		return o.drawList(w, h, s).fill(w, h)
	}
	out := text(verdictLines(d, w, p.verdict)...).fill(w, p.verdict)
	left := w
	if w >= wideFrom {
		left = max(w*11/20, 96)
	}
	body := o.drawEvidence(left, p.evidence, s).below(drawPins(left, p.pins, s)).below(o.drawTable(left, p.table, s))
	lower := o.drawProof(w, p.proof, p.aside == 0, s)
	if w >= wideFrom {
		right := w - left
		detail := o.drawProof(right, p.proof, false, s).below(o.drawSeries(right, p.series, s)).below(o.drawAside(right, p.aside, s))
		body = body.beside(detail, left)
		return out.below(body).fill(w, h)
	}
	return out.below(body).below(lower).below(o.drawAside(w, p.aside, s)).fill(w, h)
}

func (o *overview) drawEvidence(w, h int, s *Snapshot) page {
	if h < 5 {
		return text(evidenceInShort(s, w)).fill(w, h)
	}
	left := w / 2
	right := w - left
	return frame("Coverage", "", left, h, text(coverageLines(s, 10)...)).
		beside(frame("Sources", "records, age", right, h, text(sourceLines(s, right-4, h-2)...)), left)
}

func (o *overview) drawTable(w, h int, s *Snapshot) page {
	return frame("Suspects", o.tableNote(s), w, h, o.table(w-4, h-2, s))
}

func (o *overview) tableNote(s *Snapshot) string {
	all := len(s.Diagnosis.Suspects)
	if o.filter.query != "" {
		return fmt.Sprintf("filter %q: %d of %d", o.filter.query, len(o.rows.order), all)
	}
	if all == 0 {
		return ""
	}
	named := 0
	for i := range s.Diagnosis.Suspects {
		if s.Diagnosis.Suspects[i].Probability >= diagnose.Named {
			named++
		}
	}
	return fmt.Sprintf("%d at or above p %.2f", named, diagnose.Named)
}

// proofSize returns how many lines the proof has at a size of the screen, and how many can be seen.
func (o *overview) proofSize(w, h int, s *Snapshot) (n, room int) {
	p := planOverview(w, h, s)
	if s.Diagnosis == nil || p.proof == 0 {
		return 0, 0
	}
	if w >= wideFrom {
		w -= max(w*11/20, 96)
	}
	_, lines := o.proofLines(w-4, p.aside == 0, s)
	return len(lines), p.proof - 2
}

// proofLines are the proof of what is under the cursor, or what is not measured; with all, what was cleared and noted, too.
func (o *overview) proofLines(w int, all bool, s *Snapshot) (title string, lines []line) {
	title = "Without evidence"
	var rest []line
	if all && (len(s.Diagnosis.Cleared)+len(s.Diagnosis.Notes) > 0 || o.reveal && len(s.Faults) > 1) {
		rest = aside(s, o.reveal, w)
	}
	x := o.current(s)
	if x == nil { // what is missing is the answer
		if len(rest) > 0 {
			rest, title = append(rest, nil), "Notes, and what is without evidence"
		}
		return title, append(rest, dark(s.Diagnosis.Coverage, w)...)
	}
	if len(rest) > 0 {
		rest = append([]line{nil}, rest...)
	}
	return fmt.Sprintf("Proof of #%d  %s", x.Rank, shorten(x.ID, max(w-44, 8))), append(proof(x, w), rest...)
}

func (o *overview) drawProof(w, h int, all bool, s *Snapshot) page {
	title, lines := o.proofLines(w-4, all, s)
	shown, note := scrolled(lines, o.offset(), h-2)
	if note != "" {
		note += o.keys.scrolls()
	}
	return frame(title, note, w, h, text(shown...)).sensitive(spot{w: w, h: h, text: true})
}

func (o *overview) drawSeries(w, h int, s *Snapshot) page {
	x := o.current(s)
	if h == 0 {
		return text()
	}
	if x == nil || x.Link == "" {
		return frame("Flows across it, end to end", "", w, h, text(line{}.add(dim, "select a link to see its flows over time")))
	}
	if o.peek == nil || o.peek.asked != s || o.peek.id != x.ID {
		o.peek = newLinkScreen(o.keys, x, s)
	}
	return o.peek.drawSeries(w, h, s)
}

func (o *overview) drawAside(w, h int, s *Snapshot) page {
	if h < 3 {
		return text()
	}
	lines := aside(s, o.reveal, w-4)
	note := ""
	if more := len(lines) - (h - 2); more > 0 {
		note = counted(more, "row", "rows") + " more"
	}
	return frame("Cleared, and notes", note, w, h, text(lines...))
}

// drawList is the screen for small terminals: the verdict, the list, and what reasons fit.
func (o *overview) drawList(w, h int, s *Snapshot) page {
	n := 1
	if h >= 10 {
		n = 2
	}
	out := text(verdictLines(s.Diagnosis, w, n)...)
	if h >= 9 {
		out = out.below(text(evidenceInShort(s, w))).below(text(pinLines(s, w-1, h/5)...))
	}
	rest := h - len(out.lines)
	x := o.current(s)
	room := rest
	switch {
	case x == nil:
		room = min(rest, 3)
	case rest >= 8:
		room = max(rest/2, 4) + 1
	}
	table := o.table(w-1, room, s)
	out = out.below(table)
	if room < rest {
		out = out.fill(w, h-(rest-room))
		if x != nil {
			return out.below(text(reasons(x, w, rest-room)...))
		}
		// Without a suspect, what is missing is the answer.
		for _, l := range aside(s, o.reveal, w-2) {
			out.lines = append(out.lines, append(line{}.gap(1), l...))
		}
	}
	return out
}
