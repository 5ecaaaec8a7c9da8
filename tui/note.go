package tui

import (
	"fmt"
	"strings"
	"time"

	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

// handOff is the note for whoever takes over: the verdict, the first suspects with what speaks for and against them, the next steps, and what is not known.
func handOff(s *Snapshot) string {
	d := s.Diagnosis
	if d == nil {
		return ""
	}
	var b strings.Builder
	put := func(format string, args ...any) {
		b.WriteString(clean(fmt.Sprintf(format, args...)))
		b.WriteByte('\n')
	}
	put("whichlink, fabric %s, %s", d.Fabric, s.Now.UTC().Format(time.RFC3339))
	put("verdict: %s. %s", d.Verdict, d.Summary)
	for i := range d.Suspects {
		x := &d.Suspects[i]
		if x.Probability < diagnose.Named && i > 0 || i == 3 {
			break
		}
		put("#%d %s %s %s, p %s", x.Rank, x.Symptom, x.Kind, x.ID, probability(x.Probability))
		put("   for: %s", orElse(x.For, "not said"))
		put("   against: %s", orElse(x.Against, "nothing seen that contradicts it"))
		for _, n := range x.Next {
			put("   next: %s", strings.TrimSuffix(n.Why+": "+n.What(), ": "))
		}
	}
	put("measured: %s", measured(d.Coverage))
	if dark := d.Coverage.Arcs - d.Coverage.Measured; dark > 0 {
		put("not measured: %s, which is unknown and not healthy", counted(dark, "arc", "arcs"))
	}
	return b.String()
}

// notedFor is for how long a note stands on all screens when a replay comes to it.
const notedFor = 10 * time.Second

// noted is the newest note that a replay has just come to, nil if there is none.
func noted(s *Snapshot) *diagnose.Event {
	p := s.Playing
	if p == nil || p.Whole {
		return nil
	}
	list := events(s)
	for i := len(list) - 1; i >= 0 && p.At.Sub(list[i].At) < notedFor; i-- {
		if x := &list[i]; x.Lane == string(evidence.SourceNote) && !x.At.After(p.At) {
			return x
		}
	}
	return nil
}
