package diagnose

import (
	"fmt"
	"strings"
)

// Text writes the diagnosis for a person, the verdict first.
func (d *Diagnosis) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", d.Summary)
	for i := range d.Suspects {
		s := &d.Suspects[i]
		fmt.Fprintf(&b, "\n%2d. p %.2f  %-10s %s %s\n", s.Rank, s.Probability, s.Symptom, s.Kind, s.ID)
		if s.Loss != nil {
			fmt.Fprintf(&b, "    loss     %s (90 %%: %s to %s)\n", Percent(*s.Loss), Percent(*s.LossLow), Percent(*s.LossHigh))
		}
		if s.Delay != nil {
			fmt.Fprintf(&b, "    delay    %s (95 %%: %s to %s)\n", Micros(*s.Delay), Micros(*s.DelayLow), Micros(*s.DelayHigh))
		}
		if len(s.Class) > 1 {
			const most = 16 // that a reader looks at; JSON has them all
			fmt.Fprintf(&b, "    same     the evidence cannot tell it from %s\n", firstOf(s.Class[1:], most))
		}
		fmt.Fprintf(&b, "    for      %s\n", s.For)
		fmt.Fprintf(&b, "    against  %s\n", s.Against)
		for _, e := range s.Evidence {
			if !strings.Contains(s.For+s.Against, e.Text) {
				fmt.Fprintf(&b, "    %-8s %s\n", e.Source, e.Text)
			}
		}
		for _, step := range s.Next {
			fmt.Fprintf(&b, "    next     %s: %s\n", step.Why, step.What())
		}
	}
	if len(d.Suspects) > 0 || len(d.Cleared) > 0 || len(d.Notes) > 0 {
		b.WriteByte('\n')
	}
	for _, c := range d.Cleared {
		fmt.Fprintf(&b, "cleared    %s: %s\n", c.ID, c.Why)
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "note       %s\n", n)
	}
	fmt.Fprintf(&b, "coverage   %d of %d arcs measured\n", d.Coverage.Measured, d.Coverage.Arcs)
	return b.String()
}
