package diagnose

import (
	"fmt"
	"math"
	"slices"
	"time"

	"whichlink/internal/evidence"
)

// gapNotes tells of probers that stopped before the others, each for itself or, where they are many, together. Where they are many more than the others, it is these few
// that stand out. Others are those that probe, too: switches may be polled, and notes taken, for as long as anybody likes.
func (s *Store) gapNotes() []string {
	const most, manyMore = 4, 3
	var last time.Time
	list := slices.DeleteFunc(s.sourceList(), func(src Source) bool { return src.Source != string(evidence.SourceProbe) })
	for _, src := range list {
		last = later(last, src.Newest)
	}
	var ended, on, notes []string
	least := time.Duration(math.MaxInt64)
	for _, src := range list {
		age := last.Sub(src.Newest)
		if age <= 5*time.Second {
			on = append(on, src.By)
			continue
		}
		age = age.Round(time.Second)
		ended, least = append(ended, src.By), min(least, age)
		notes = append(notes, fmt.Sprintf("%s wrote nothing for %s before the others ended (or its clock is off): a coverage gap, not a fault", src.By, age))
	}
	began := s.beganAnew(last.Add(-least))
	switch {
	case len(ended) > 0 && !slices.ContainsFunc(on, func(by string) bool { return !began[by] }):
		return nil // as who follows the advice to send what tells more
	case len(on) > 0 && len(ended) >= manyMore*len(on):
		return []string{fmt.Sprintf("%s wrote on for %s after the %d other probers ended: these stopped, or clocks differ", firstOf(on, most), least, len(ended))}
	case len(notes) > most:
		return []string{fmt.Sprintf("%s: each wrote nothing for %s or longer before the others ended (or its clock is off): coverage gaps, no faults", firstOf(ended, most), least)}
	}
	return notes
}

// beganAnew returns the probers that had ended, too, soon after others did, and measured again later.
func (s *Store) beganAnew(ended time.Time) map[string]bool {
	const pause = 5 * time.Second
	soon := ended.Add(pause)
	began, before := map[string]time.Time{}, map[string]bool{}
	for _, l := range s.order {
		for i := range l.echoes {
			if e := &l.echoes[i]; e.end.After(soon) {
				began[l.by] = soonest(began[l.by], e.start)
			} else {
				before[l.by] = true
			}
		}
	}
	anew := map[string]bool{}
	for by, at := range began {
		anew[by] = before[by] && at.Sub(soon) > pause
	}
	return anew
}
