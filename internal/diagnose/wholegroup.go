package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// groupSuspects tells of links that routing goes around all together as the shared-risk group that they are: that it failed is likelier than that each of them did. Those
// that are down by the word of their ports count as well where the agents of the others were not asked since, and are told with it. It returns the other withdrawals.
func (s *Store) groupSuspects(d *Diagnosis, gone []withdrawal, ports *portWords) []withdrawal {
	for g := range graphs.GroupID(s.fabric.NumGroups()) {
		links := s.fabric.Group(g).Links
		around := func(w withdrawal) bool {
			return w.class[0].node == graphs.None && slices.Contains(links, w.class[0].links[0])
		}
		down := func(x Suspect) bool {
			l, ok := s.fabric.LinkByName(x.Link)
			return ok && x.Kind == string(localize.Link) && x.Symptom == Down && x.Probability >= Named && slices.Contains(links, l)
		}
		of, rest := parted(gone, around)
		said, others := parted(d.Suspects, down)
		if len(links) < 2 || len(of) == 0 || len(of)+len(said) < len(links) {
			continue
		}
		w, up := withdrawal{class: []absent{{graphs.None, links}}}, false
		for _, x := range of {
			_, is := s.portsUp(&x)
			up = up || is
			w.ways, w.chance, w.since = max(w.ways, x.ways), max(w.chance, x.chance), later(w.since, x.since)
		}
		if len(said) > 0 && up {
			continue // one is down, another one drained
		}
		name := s.name(localize.Cause{Kind: localize.Group, ID: int32(g)})
		out := s.downSuspect(w)
		out.Kind, out.ID, out.Link, out.Class = string(localize.Group), name, "", []string{name}
		which := fmt.Sprintf("its %d links", len(links))
		if len(said) > 0 {
			which = fmt.Sprintf("%d of %s", len(of), which)
		}
		out.For = fmt.Sprintf("none of up to %d traced paths crosses any of %s, though each might (chance of one of them %s at most)", w.ways, which, chanceWords(w.chance))
		out.Evidence[0].Text = out.For
		out.Next = []Step{{Why: "what they share is sick, not each link, or was drained", Do: "inspect " + name}}
		if len(said) > 0 {
			out.tellDown(said)
			for _, l := range links {
				ports.covered[l] = true
			}
		}
		d.Suspects, gone = append(others, out), rest
	}
	return gone
}

// parted returns those of a list that meet a condition, and the others.
func parted[T any](list []T, is func(T) bool) (those, others []T) {
	for _, x := range list {
		if is(x) {
			those = append(those, x)
		} else {
			others = append(others, x)
		}
	}
	return those, others
}

// tellDown puts to a group that routing goes around what ports say of those of its links that are down by their word.
func (x *Suspect) tellDown(said []Suspect) {
	x.idle, x.Against, x.Next[0].Why = "", said[0].Against, "what they share is sick, not each link"
	var words []string
	for _, y := range said {
		words = append(words, y.For)
		x.Probability = min(x.Probability, y.Probability)
		x.Evidence, x.Doubts = append(y.Evidence[:1:1], x.Evidence...), append(x.Doubts, y.Doubts...)
	}
	x.For = strings.Join(append(words, x.For), "; ")
}

// tellShared tells of links that are named each for itself that they are of one shared-risk group: where most of it is sick, it is rather what they share, at a loss of
// its own for each, as the lanes of one cable have.
func (s *Store) tellShared(d *Diagnosis) {
	for g := range graphs.GroupID(s.fabric.NumGroups()) {
		name, links := s.name(localize.Cause{Kind: localize.Group, ID: int32(g)}), s.fabric.Group(g).Links
		sick, told := map[string]bool{}, false
		var of []int
		for i := range d.Suspects {
			x := &d.Suspects[i]
			if x.Probability < Named {
				continue
			}
			told = told || slices.Contains(x.Class, name)
			if l, ok := s.fabric.LinkByName(x.Link); ok && len(x.Class) == 1 && slices.Contains(links, l) {
				sick[x.Link] = true
				of = append(of, i)
			}
		}
		if told || len(sick) < 2 || 2*len(sick) <= len(links) {
			continue
		}
		step := Step{Why: fmt.Sprintf("%d of the %d links of %s are named: what they share is sick rather than each link", len(sick), len(links), name), Do: "inspect " + name}
		for _, i := range of {
			d.Suspects[i].Next = slices.Insert(d.Suspects[i].Next, 0, step)
		}
	}
}
