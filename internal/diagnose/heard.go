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
	// behind are all links of such switches: that they were gone for a while is no news.
	behind map[graphs.LinkID]bool
}

// hearPorts gathers what ports say.
func (s *Store) hearPorts() *portWords {
	w := &portWords{counted: s.counted(), states: s.linkStates(), cabled: s.wired(), covered: map[graphs.LinkID]bool{}, behind: map[graphs.LinkID]bool{}}
	w.meters, w.hints = s.meters(w.counted), s.hints(w.states)
	return w
}

// notes says what of it could not be used, and what is no fault but worth a look.
func (w *portWords) notes(s *Store, d *Diagnosis, seen *observer) []string {
	notes := append(slices.Clone(w.counted.notes), w.cabled.notes...)
	notes = append(notes, s.discardNotes(d, w.counted, seen)...)
	if w.counted.ports > 0 && d.Verdict == Inconclusive {
		read := fmt.Sprintf("the counters of %d ports were", w.counted.ports)
		if w.counted.ports == 1 {
			read = "the counters of one port were"
		}
		notes = append(notes, read+" read: half of all faults show in none")
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

// discardNotes tells of ports that discard packets on their way out where probes that cross them lose none, and which no suspect has to do with.
func (s *Store) discardNotes(d *Diagnosis, c *counted, seen *observer) []string {
	const worth, most = 1000, 3 // one in so many packets; and how many ports are told of
	var ports []string
	for a := range graphs.ArcID(s.fabric.NumArcs()) {
		port := s.fabric.TailPort(a)
		t := c.out[port]
		if t == nil || !t.hasPackets || t.discards*worth < t.packets || t.discards == 0 || s.fabric.Node(s.fabric.Tail(a)).IsHost() {
			continue
		}
		link, node := s.fabric.LinkName(a.Link()), s.fabric.NodeName(s.fabric.Tail(a))
		if slices.ContainsFunc(d.Suspects, func(x Suspect) bool { return x.Link == link || x.ID == node }) {
			continue
		}
		if w := seen.hear(localize.Cause{Kind: localize.Arc, ID: int32(a)}); w.probes.sent > 0 {
			ports = append(ports, fmt.Sprintf("%s %s packets%s, of %s probes across it %d were lost",
				s.fabric.PortName(port), thousands(int(t.discards)), t.of(t.discards), thousands(w.probes.sent), w.probes.lost))
		}
	}
	if len(ports) == 0 {
		return nil
	}
	return []string{"discarded on the way out, though probes hardly meet it (another queue than theirs, or moments between them): " + firstOf(ports, most)}
}

// miswireSuspects adds the links that are plugged otherwise than planned. What probes found of routing going around them is the effect.
func (s *Store) miswireSuspects(d *Diagnosis, c *cabled, gone []withdrawal) []withdrawal {
	suspects, cleared := s.miswired(c)
	d.Cleared = append(d.Cleared, cleared...)
	for _, x := range suspects {
		l, _ := s.fabric.LinkByName(x.Link)
		for _, w := range gone {
			if w.has(l) {
				x.Evidence = append(x.Evidence, Evidence{"probe", w.words()})
				x.Probability = min(surest, 1-(1-x.Probability)/4)
			}
		}
		// A link may be told to be down because it is plugged wrong: that is the same trouble.
		d.Suspects = slices.DeleteFunc(d.Suspects, func(y Suspect) bool { return y.Link == x.Link && x.Probability >= Named })
		d.Suspects = append(d.Suspects, x)
		if x.Probability >= Named {
			gone = settle(gone, l)
		}
	}
	return gone
}
