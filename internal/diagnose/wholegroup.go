package diagnose

import (
	"fmt"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// groupSuspects tells of links that routing goes around all together as the shared-risk group that they are: that it failed is likelier than that each of them did. It returns
// the other withdrawals.
func (s *Store) groupSuspects(d *Diagnosis, gone []withdrawal) []withdrawal {
	for g := range graphs.GroupID(s.fabric.NumGroups()) {
		links := s.fabric.Group(g).Links
		of := func(w withdrawal) bool {
			return w.class[0].node == graphs.None && slices.Contains(links, w.class[0].links[0])
		}
		var whole []withdrawal
		for _, w := range gone {
			if of(w) {
				whole = append(whole, w)
			}
		}
		if len(links) < 2 || len(whole) < len(links) {
			continue
		}
		cause := localize.Cause{Kind: localize.Group, ID: int32(g)}
		w := withdrawal{class: []absent{{graphs.None, links}}, ways: whole[0].ways, chance: whole[0].chance}
		for _, x := range whole {
			w.ways, w.chance, w.since = max(w.ways, x.ways), max(w.chance, x.chance), later(w.since, x.since)
		}
		out := s.downSuspect(w)
		out.Kind, out.ID, out.Link, out.Class = string(localize.Group), s.name(cause), "", []string{s.name(cause)}
		out.For = fmt.Sprintf("none of up to %d traced paths crosses any of its %d links, though each might (chance of one of them %s at most)", w.ways, len(links), chanceWords(w.chance))
		out.Evidence[0].Text = out.For
		out.Next = []Step{{Why: "what they share is sick, not each link, or was drained", Do: "inspect " + out.ID}}
		d.Suspects = append(d.Suspects, out)
		gone = slices.DeleteFunc(slices.Clone(gone), of)
	}
	return gone
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
