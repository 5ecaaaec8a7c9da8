package diagnose

import (
	"fmt"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// A portWords is all that ports say, in the form in which it is evidence.
type portWords struct {
	counted *counted
	states  []linkState
	cabled  *cabled
	meters  []localize.Meter
	hints   []localize.Hint
	// covered are the links of groups and switches that are told to be down or to have begun anew: what they lost by that is no news.
	covered map[graphs.LinkID]bool
}

// hearPorts gathers what ports say.
func (s *Store) hearPorts() *portWords {
	w := &portWords{counted: s.counted(), states: s.linkStates(), cabled: s.wired(), covered: map[graphs.LinkID]bool{}}
	w.meters, w.hints = s.meters(w.counted), s.hints(w.states)
	return w
}

// notes says what of it could not be used, and what is no fault but worth a look.
func (w *portWords) notes(s *Store, d *Diagnosis) []string {
	notes := append(slices.Clone(w.counted.notes), w.cabled.notes...)
	if w.counted.ports > 0 && d.Verdict == Inconclusive {
		notes = append(notes, fmt.Sprintf("the counters of %d ports were read: half of all faults show in none", w.counted.ports))
	}
	for i := range w.states {
		if text := s.slowerThanPlanned(w.states[i].link); text != "" {
			notes = append(notes, text+": failing lanes, a bad cable, or autonegotiation")
		}
	}
	const most = 8
	if len(notes) > most {
		notes = append(notes[:most], fmt.Sprintf("and %d more notes on ports", len(notes)-most))
	}
	return notes
}

// miswireSuspects adds the links that are plugged otherwise than planned. What probes found of routing going around them is the effect.
func (s *Store) miswireSuspects(d *Diagnosis, c *cabled, gone []withdrawal) []withdrawal {
	for _, x := range s.miswired(c) {
		l, _ := s.fabric.LinkByName(x.Link)
		for _, w := range gone {
			if w.holds(localize.Cause{Kind: localize.Link, ID: int32(l)}, s.fabric) {
				x.Evidence = append(x.Evidence, Evidence{"probe",
					fmt.Sprintf("none of %d traced paths crosses it, though each might (chance %s)", w.ways, chanceWords(w.chance))})
				x.Probability = min(surest, 1-(1-x.Probability)/4)
			}
		}
		// A link may be told to be down because it is plugged wrong: that is the same trouble.
		d.Suspects = slices.DeleteFunc(d.Suspects, func(y Suspect) bool { return y.Link == x.Link && x.Probability >= Named })
		d.Suspects = append(d.Suspects, x)
		if x.Probability >= Named {
			gone = s.settle(gone, graphs.LinkID(l))
		}
	}
	return gone
}
