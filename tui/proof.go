package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whichlink/internal/diagnose"
)

// proofLabel is the width of the labels before the sentences of a proof.
const proofLabel = 9

// proof says why a suspect is one, what speaks against it, and what to do next. A claim without its strongest
// contradiction is not shown. Single readings come last: on a small screen the next step is in sight without scrolling.
func proof(x *diagnose.Suspect, w int) []line {
	var out []line
	put := func(label string, s style, sentence string) {
		out = append(out, labelled(label, proofLabel, s, sentence, w)...)
	}
	put("for", plain, orElse(x.For, "not said"))
	put("against", plain, orElse(x.Against, "nothing seen that contradicts it"))
	if x.PeriodMS > 0 {
		put("rhythm", plain, "every "+(time.Duration(x.PeriodMS)*time.Millisecond).String())
	}
	if len(x.Class) > 1 {
		others := slices.DeleteFunc(slices.Clone(x.Class), func(id string) bool { return id == x.ID })
		put("class", plain, fmt.Sprintf("this evidence cannot tell it from %s: %s",
			counted(len(others), "other", "others"), strings.Join(others, ", ")))
	}
	for i, n := range x.Next {
		label := "next"
		if len(x.Next) > 1 {
			label += fmt.Sprint(" ", i+1)
		}
		why, do := n.Why, n.What()
		if why == "" {
			why, do = do, ""
		}
		put(label, plain, why)
		if do != "" {
			put("", press, do)
		}
	}
	for _, e := range x.Evidence {
		put(e.Source, plain, e.Text)
	}
	return out
}

// reasons is the proof in h rows: the strongest sentence for, against and next, cut rather than wrapped.
func reasons(x *diagnose.Suspect, w, h int) []line {
	row := func(label string, s style, sentence string) line {
		return line{}.gap(1).left(dim, label, proofLabel-1).left(s, sentence, w-proofLabel-1)
	}
	out := []line{
		row("for", plain, orElse(x.For, "not said")),
		row("against", plain, orElse(x.Against, "nothing seen that contradicts it")),
	}
	if len(x.Next) > 0 {
		out = append(out, row("next", press, orElse(x.Next[0].What(), x.Next[0].Why)))
	}
	if len(x.Class) > 1 {
		out = append(out, row("class", plain, fmt.Sprintf("one of %d that the evidence cannot tell apart", len(x.Class))))
	}
	return out[:min(len(out), max(h, 0))]
}

// aside says what looked wrong and is not, and what else is to be known.
func aside(s *Snapshot, reveal bool, w int) []line {
	var out []line
	if reveal && len(s.Faults) > 1 { // one alone stands in the row above the footer
		for i, f := range s.Faults {
			label := ""
			if i == 0 {
				label = "truth"
			}
			out = append(out, labelled(label, proofLabel, warn, f.Text, w)...)
		}
	}
	for _, c := range s.Diagnosis.Cleared {
		out = append(out, labelled("cleared", proofLabel, plain, c.ID+": "+c.Why, w)...)
	}
	for _, n := range s.Diagnosis.Notes {
		out = append(out, labelled("note", proofLabel, plain, n, w)...)
	}
	if len(out) == 0 {
		out = append(out, line{}.add(dim, elide("nothing was cleared, and there are no notes", w)))
	}
	return out
}

// mostDark is how many arcs that no probe crossed are listed: more cannot be read.
const mostDark = 200

// dark lists what no probe crossed. It stands where the proof would if there is no suspect.
func dark(c diagnose.Coverage, w int) []line {
	if c.Arcs == 0 {
		return []line{line{}.add(warn, "? ").add(plain, elide("no arc is known", max(w-2, 4)))}
	}
	if c.Arcs == c.Measured {
		return []line{line{}.add(dim, "none: every arc was crossed by a probe")}
	}
	var out []line
	sentence := fmt.Sprintf("%s were crossed by no probe: unknown, which is not healthy.", counted(c.Arcs-c.Measured, "arc", "arcs"))
	for _, r := range wrap(sentence, w) {
		out = append(out, line{}.add(plain, r))
	}
	for i, id := range c.Unmeasured {
		if i == mostDark {
			return append(out, line{}.gap(2).add(dim, "and "+count(len(c.Unmeasured)-mostDark)+" more"))
		}
		out = append(out, line{}.gap(2).add(plain, "? "+shorten(id, w-4)))
	}
	return out
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
