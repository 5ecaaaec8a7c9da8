package diagnose

import (
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// astray is how likely it is that packets went another way than the one that their flow was traced on, where paths change: nobody sees one change before it is traced anew.
const astray = 0.02

// loosened returns observations as they tell of what is dead where paths change. A flow that lost nothing was perhaps elsewhere, as what comes and goes moves flows off a dead way for
// moments: taken to have crossed that, a few of its packets would acquit it, and whatever else the dead flows have in common was named, such as the links of a host of several.
func (s *Store) loosened(list []localize.Observation) []localize.Observation {
	deadly, changes := s.deadly()
	if len(deadly) == 0 || !changes && (len(s.stormy) == 0 || s.mostlyTraced()) { // where something comes and goes and hardly any path is known, they may change
		return list
	}
	near := func(arcs []graphs.ArcID) bool {
		return slices.ContainsFunc(arcs, func(a graphs.ArcID) bool { return deadly[a] })
	}
	list = slices.Clone(list)
	for i := range list {
		o := &list[i]
		set := o.Alternatives
		if len(set) == 0 {
			set = []localize.Alternative{{Arcs: o.Path, Share: 1}}
		} else if len(o.Path) > 0 {
			continue
		}
		if o.Lost > 0 || o.From != o.To || o.Responder != graphs.None || !slices.ContainsFunc(set, func(a localize.Alternative) bool { return near(a.Arcs) }) {
			continue
		}
		loose := make([]localize.Alternative, 0, len(set)+1)
		for _, a := range set {
			loose = append(loose, localize.Alternative{Arcs: a.Arcs, Share: a.Share * (1 - astray)})
		}
		o.Path, o.Alternatives = nil, append(loose, localize.Alternative{Share: astray})
	}
	return list
}

// deadlyArcs returns the arcs on which flows may have been lost that were dead for long, and reports whether the path of any flow was seen to change.
func (s *Store) deadlyArcs() (arcs map[graphs.ArcID]bool, changes bool) {
	arcs = map[graphs.ArcID]bool{}
	for _, l := range s.order {
		changes = changes || l.moved()
		if !l.wasDead() {
			continue
		}
		var last *echo
		for i := range l.echoes {
			e := &l.echoes[i]
			if last != nil && e.path.is(last.path) && e.back.is(last.back) {
				continue
			}
			for _, way := range slices.Concat(e.path.alternatives, e.back.alternatives) {
				for _, a := range way {
					arcs[a] = true
				}
			}
			last = e
		}
	}
	return arcs, changes
}

// moved reports whether a flow was traced on ways that cannot both be its way. That one became known is no change.
func (l *flowLog) moved() bool {
	for i := 1; i < len(l.paths); i++ {
		if !l.paths[i-1].settledBy(&l.paths[i]) {
			return true
		}
	}
	return false
}
