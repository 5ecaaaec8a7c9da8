package diagnose

import (
	"fmt"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// earlySuspects are arcs that corrupt packets, though too few for probes to miss any; what counts something else is cleared.
func (s *Store) earlySuspects(d *Diagnosis, solved *localize.Result, seen *observer, ports *portWords) {
	named := map[graphs.LinkID]bool{}
	for i := range solved.Suspects {
		if x := &solved.Suspects[i]; x.Probability >= Named && x.Kind != localize.Host {
			for _, l := range linksOf(s.fabric, x.Cause) {
				named[l] = true
			}
		}
	}
	for i := range solved.Early {
		e := &solved.Early[i]
		link := s.fabric.LinkName(e.Arc.Link())
		on := func(x Suspect) bool { return x.Link == link && (x.Symptom == Loss || x.Symptom == Corruption) }
		at := slices.IndexFunc(d.Suspects, on)
		switch {
		case e.Noise >= Named && at < 0:
			d.Cleared = append(d.Cleared, s.noisy(e, seen))
			continue
		case e.Probability < leastListed, named[e.Arc.Link()], at >= 0 && d.Suspects[at].Probability >= e.Probability,
			slices.ContainsFunc(d.Suspects, func(x Suspect) bool { return x.Probability >= Named && x.Link == link }):
			continue
		case at >= 0:
			d.Suspects = slices.Delete(d.Suspects, at, at+1) // the same trouble, told of only a part of it
		}
		d.Suspects = append(d.Suspects, s.earlySuspect(e, seen, ports))
	}
}

// noisy says why errors that are counted are no fault.
func (s *Store) noisy(e *localize.Early, seen *observer) Cleared {
	w := seen.hear(localize.Cause{Kind: localize.Arc, ID: int32(e.Arc)})
	port := s.fabric.PortName(s.fabric.HeadPort(e.Arc))
	why := fmt.Sprintf("%s counts errors (%s), as many ports do: they count what is not lost", port, Percent(e.Rate))
	if w.probes.sent > 0 {
		why = fmt.Sprintf("%s counts errors (%s), yet of %s probes across it %d were lost: it counts what is not lost, or only packets larger than probes suffer",
			port, Percent(e.Rate), thousands(w.probes.sent), w.probes.lost)
	}
	return Cleared{ID: s.fabric.ArcName(e.Arc), Why: why}
}

// earlySuspect puts an arc that corrupts few packets into words.
func (s *Store) earlySuspect(e *localize.Early, seen *observer, ports *portWords) Suspect {
	cause := localize.Cause{Kind: localize.Arc, ID: int32(e.Arc)}
	arc := s.fabric.ArcName(e.Arc)
	loss, low, high := e.Rate, e.Low, e.High
	out := Suspect{Kind: string(localize.Arc), ID: arc, Link: s.fabric.LinkName(e.Arc.Link()), Symptom: Corruption,
		Probability: min(e.Probability, surest), Class: []string{arc}, Loss: &loss, LossLow: &low, LossHigh: &high, Against: "nothing"}
	s.prove(&out, cause, e.Rate, seen, ports)
	out.Next = []Step{s.opticStep(e.Arc), {"see it before it grows: few packets suffer yet", "watch the errors of " + s.fabric.PortName(s.fabric.HeadPort(e.Arc))}}
	return out
}
