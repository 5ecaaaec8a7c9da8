package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"whichlink/internal/diagnose"
)

// WriteMarkdown writes the report as Markdown of the kind that GitHub and GitLab read. Maps and series are drawn with letters, in code blocks.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s: %s\n\n", strings.ToUpper(string(r.Verdict)), text(r.Summary))
	fmt.Fprintf(&b, "Fabric %s", text(r.Fabric))
	if !r.From.IsZero() {
		fmt.Fprintf(&b, ", %s to %s", stamp(r.From), stamp(r.To))
	}
	fmt.Fprintf(&b, ". %d of %d arcs measured.\n", r.Coverage.Measured, r.Coverage.Arcs)
	r.mdSuspects(&b)
	for i, c := range r.Cleared {
		if i == 0 {
			b.WriteString("\n## Cleared\n\n")
		}
		fmt.Fprintf(&b, "- **%s**: %s\n", text(c.ID), text(c.Why))
	}
	for i, n := range r.Notes {
		if i == 0 {
			b.WriteString("\n## Notes\n\n")
		}
		fmt.Fprintf(&b, "- %s\n", text(n))
	}
	r.mdEvents(&b)
	r.mdMap(&b)
	r.mdCrossing(&b)
	r.mdCharts(&b)
	r.mdSources(&b)
	_, err := w.Write(b.Bytes())
	return err
}

func (r *Report) mdSources(b *bytes.Buffer) {
	if len(r.Sources) == 0 {
		return
	}
	b.WriteString("\n## Sources\n\n| by | source | records | newest |\n| --- | --- | ---: | --- |\n")
	for _, s := range r.Told() {
		fmt.Fprintf(b, "| %s | %s | %d | %s |\n", text(s.By), text(s.Source), s.Records, r.Clock(s.Newest))
	}
	if more := r.Untold(); more != "" {
		fmt.Fprintf(b, "\n%s\n", text(more))
	}
}

func (r *Report) mdSuspects(b *bytes.Buffer) {
	if len(r.Suspects) == 0 {
		return
	}
	b.WriteString("\n## Suspects\n")
	for i := range r.Suspects {
		x := &r.Suspects[i]
		fmt.Fprintf(b, "\n### %d. %s\n\n", x.Rank, text(x.ID))
		fmt.Fprintf(b, "- **%s** of %s, probability %.2f%s\n", strings.ToUpper(string(x.Symptom)), article(x.Kind), x.Probability, text(Extent(x)))
		if len(x.Class) > 1 {
			fmt.Fprintf(b, "- the evidence cannot tell it from: %s\n", text(strings.Join(others(x), ", ")))
		}
		list(b, "for", x.For)
		list(b, "against", x.Against)
		for _, e := range Proof(x) {
			fmt.Fprintf(b, "- %s: %s\n", text(e.Source), text(e.Text))
		}
		for _, e := range Doubts(x) {
			fmt.Fprintf(b, "- %s contradicts: %s\n", text(e.Source), text(e.Text))
		}
		for _, s := range x.Next {
			do := text(s.What())
			if s.Typed() {
				if do = code(s.Do); s.On != "" {
					do = "on " + text(s.On) + ": " + do
				}
			}
			fmt.Fprintf(b, "- next: %s: %s\n", text(s.Why), do)
		}
	}
}

// list writes what is said for or against a suspect, a line each where it is several sentences.
func list(b *bytes.Buffer, side, said string) {
	lines := Sentences(said)
	if len(lines) == 1 {
		fmt.Fprintf(b, "- %s: %s\n", side, text(said))
		return
	}
	fmt.Fprintf(b, "- %s:\n", side)
	for _, line := range lines {
		fmt.Fprintf(b, "  - %s\n", text(line))
	}
}

func (r *Report) mdEvents(b *bytes.Buffer) {
	if len(r.Events) == 0 {
		return
	}
	b.WriteString("\n## Timeline\n\n| time | seen by | where | what |\n| --- | --- | --- | --- |\n")
	for i, e := range r.Events {
		if r.Omitted > 0 && i == mostEvents/2 {
			fmt.Fprintf(b, "| | | | *%d events left out* |\n", r.Omitted)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", r.When(e), text(e.Lane), text(e.Subject), text(e.Told()))
	}
}

func (r *Report) mdMap(b *bytes.Buffer) {
	if len(r.Heats) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Map\n\n%s `#` suspect, `+` possible, `?` not measured, `.` measured and clean.\n", text(r.Map))
	for _, h := range r.Heats {
		fmt.Fprintf(b, "\n%s", text(h.Title))
		if h.Omitted != "" {
			fmt.Fprintf(b, " (%s)", text(h.Omitted))
		}
		b.WriteString(":\n\n```text\n")
		wide := 0
		for _, n := range h.Rows {
			wide = max(wide, len([]rune(short(n))))
		}
		for j, n := range h.Cols {
			fmt.Fprintf(b, "%*s %s%s\n", wide, "", strings.Repeat("| ", j), plain(short(n)))
		}
		for i, n := range h.Rows {
			fmt.Fprintf(b, "%-*s", wide, plain(short(n)))
			for _, m := range h.Marks[i] {
				fmt.Fprintf(b, " %c", m)
			}
			b.WriteByte('\n')
		}
		b.WriteString("```\n")
	}
}

func (r *Report) mdCrossing(b *bytes.Buffer) {
	if r.Crossing.Many == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Paths across %s\n\n%s\n\n| flow | lost | path |\n| --- | ---: | --- |\n", text(r.Crossing.Suspect), text(r.Crossing.Told()))
	for _, f := range r.Crossing.Flows {
		var path strings.Builder
		for i, h := range f.Hops {
			switch {
			case h.At:
				fmt.Fprintf(&path, " **=> %s**", text(h.Node))
			case i > 0:
				path.WriteString(" - " + text(h.Node))
			default:
				path.WriteString(text(h.Node))
			}
		}
		fmt.Fprintf(b, "| %s | %d of %d (%s) | %s |\n", text(f.Flow), f.Lost, f.Sent, f.Share, path.String())
	}
}

func (r *Report) mdCharts(b *bytes.Buffer) {
	if len(r.Charts) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Over time\n\n%s. A blank is a step in which nothing was measured.\n\n```text\n", text(r.Span))
	for _, c := range r.Charts {
		fmt.Fprintf(b, "%s, at most %s\n|%s|\n", plain(c.Name), c.Most, Sparks(c.Values, r.ASCII))
	}
	b.WriteString("```\n")
}

// Sparks draws values as a line of blocks, or of ASCII alone: the lowest is 0, a space nothing measured.
func Sparks(values []float64, ascii bool) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	if ascii {
		levels = []rune("_.:-=+*#")
	}
	most := 0.0
	for _, v := range values {
		most = greater(most, v)
	}
	var b strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case v <= 0 || most <= 0:
			b.WriteRune(levels[0])
		default:
			b.WriteRune(levels[1+min(6, int(7*v/most))])
		}
	}
	return b.String()
}

// Extent says how much is lost and late, with a comma before it; "" where the symptom has no number.
func Extent(x *diagnose.Suspect) string {
	text := ""
	if x.Loss != nil && x.LossLow != nil && x.LossHigh != nil {
		text += fmt.Sprintf(", %s of packets (90 %%: %s to %s)", diagnose.Percent(*x.Loss), diagnose.Percent(*x.LossLow), diagnose.Percent(*x.LossHigh))
	}
	if x.Delay != nil && x.DelayLow != nil && x.DelayHigh != nil {
		text += fmt.Sprintf(", %s more (95 %%: %s to %s)", diagnose.Micros(*x.Delay), diagnose.Micros(*x.DelayLow), diagnose.Micros(*x.DelayHigh))
	}
	return text
}

// Proof returns what speaks for a suspect and is not in its for and against already.
func Proof(x *diagnose.Suspect) []diagnose.Evidence { return unsaid(x, x.Evidence) }

// Doubts returns what speaks against a suspect and is not in its for and against already.
func Doubts(x *diagnose.Suspect) []diagnose.Evidence { return unsaid(x, x.Doubts) }

func unsaid(x *diagnose.Suspect, list []diagnose.Evidence) []diagnose.Evidence {
	var out []diagnose.Evidence
	for _, e := range list {
		if !strings.Contains(x.For+x.Against, e.Text) {
			out = append(out, e)
		}
	}
	return out
}

// Sentences takes what is said for or against a suspect apart.
func Sentences(said string) []string { return strings.Split(said, "; ") }

// others returns what the evidence cannot tell from a suspect.
func others(x *diagnose.Suspect) []string {
	var out []string
	for _, c := range x.Class {
		if c != x.ID {
			out = append(out, c)
		}
	}
	return out
}

func article(kind string) string {
	if kind == "arc" {
		return "an arc"
	}
	return "a " + kind
}

// When writes when an event was.
func (r *Report) When(e Event) string {
	if e.To.Sub(e.From) < time.Millisecond {
		return r.Clock(e.From)
	}
	return r.Clock(e.From) + " to " + r.Clock(e.To)
}

// Told writes what happened, and how often.
func (e *Event) Told() string {
	if e.Count > 1 {
		return fmt.Sprintf("%s (%d times)", e.What, e.Count)
	}
	return e.What
}

// Told sums up the flows of a crossing.
func (c *Crossing) Told() string {
	s := fmt.Sprintf("%d of %d flows that are known to cross it lose probes", c.Lossy, c.Many)
	if n := len(c.Flows); n < c.Many {
		s += fmt.Sprintf("; %d are shown", n)
	}
	return s + "."
}

// marked are the characters that mean something in Markdown, or in the HTML that may stand in it.
var marked = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "|", "\\|", "~", "\\~", "#", "\\#", "!", "\\!",
	"&", "&amp;", "<", "&lt;", "@", "\\@", "$", "\\$",
	"://", "\\://", "www.", "www\\.") // or else a name becomes a link

// text escapes a string for Markdown. What is printed is what it says, on one line.
func text(s string) string { return marked.Replace(plain(s)) }

// plain puts a string on one line.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, s)
	return strings.ReplaceAll(s, "```", "'''") // the end of a code block
}

// code writes a command that may be copied.
func code(s string) string {
	s = plain(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}
