package diagnose

import (
	"maps"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// deadArcs are arcs that lose nearly all that crosses them, always or since a moment.
type deadArcs struct {
	arcs  map[graphs.ArcID]bool
	since time.Time
}

func (d deadArcs) none() bool { return len(d.arcs) == 0 }

// deadBetween returns the arcs of what loses nearly all between storms, too. What crosses it tells nothing of these, and where another link of the same switch goes down, both
// together would be taken for what flows cross before or behind them.
func (s *Store) deadBetween(storms []stretch) (dead deadArcs) {
	s.calm = calm{}
	if !slices.ContainsFunc(s.order, (*flowLog).wasDead) {
		return dead
	}
	s.calm = calm{storms: storms, seen: s.observe(s.goneBy(storms), time.Time{})}
	s.calm.solved, s.calm.together = s.solveBegun(s.calm.seen, localize.Config{Independent: s.atOnce, Paths: s.askedSets()})
	dead.arcs = s.deadOf(s.calm.solved)
	dead.since = s.deadSince(dead.arcs)
	return dead
}

// deadOf returns the arcs of what is named for losing nearly all.
func (s *Store) deadOf(solved *localize.Result) map[graphs.ArcID]bool {
	var found []localize.Suspect
	for _, x := range solved.Suspects {
		if x.Kind == localize.Arc {
			x.Cause = localize.Cause{Kind: localize.Link, ID: int32(graphs.ArcID(x.ID).Link())} // of what is dead one way, little is known of the other
		}
		if (x.Kind == localize.Link || x.Kind == localize.Node) && x.Loss > stormLoss {
			found = append(found, x)
		}
	}
	return s.beside(nil, found)
}

// calm is what was measured between storms, and what localization makes of it, where something may be dead. It is mostly asked for again, as all that does not come and go.
type calm struct {
	storms   []stretch
	seen     *observer
	solved   *localize.Result
	together bool // see beganTogether
}

// observeBetween is observe, of what was seen before where that is the same.
func (s *Store) observeBetween(storms []stretch, since time.Time) *observer {
	switch {
	case s.calm.seen == nil:
		return s.observe(storms, since)
	case since.IsZero() && slices.Equal(storms, s.fallen.dead.whole(s.calm.storms)):
		return s.calm.seen
	}
	return s.observe(s.goneBy(storms), since)
}

// goneBy returns storms as lasting until flows are back on their ways: where something is dead, those that were moved onto that lose packets until then. It returns them as they are where that
// would leave little to look at.
func (s *Store) goneBy(storms []stretch) []stretch {
	longer, lasting := slices.Clone(storms), time.Duration(0)
	for i := range longer {
		longer[i].to = longer[i].to.Add(rerouting)
	}
	longer = unbroken(longer)
	for _, st := range longer {
		lasting += st.to.Sub(st.from)
	}
	if 2*lasting > s.flowing.to.Sub(s.flowing.from) {
		return storms
	}
	return longer
}

// deadSince returns since when some arcs are dead: since flows are that cross them, or, where none is known to, that may; zero where they always are.
func (s *Store) deadSince(arcs map[graphs.ArcID]bool) time.Time {
	known, open := s.flowing.to, s.flowing.to
	for _, l := range s.order {
		if !l.wasDead() {
			continue
		}
		always := l.deadAlways()
		for i := range l.echoes {
			e := &l.echoes[i]
			if !always && !l.longDead(e.start) {
				continue
			}
			from := l.gone
			if always || e.start.Before(l.came) {
				from = time.Time{}
			}
			if path, back := l.at(e, true); path.someOf(arcs) || back.someOf(arcs) {
				known = earlier(known, from)
			} else if !path.known() || !back.known() {
				open = earlier(open, from)
			}
		}
	}
	if known.Before(s.flowing.to) {
		return known
	}
	return open
}

// living returns those of what went down in storms that were not dead by then: these have nothing left to lose.
func (d deadArcs) living(f *graphs.Fabric, storms []stretch, found []localize.Suspect) []localize.Suspect {
	if d.none() || len(storms) == 0 || !storms[0].to.After(d.since) {
		return found
	}
	return slices.DeleteFunc(found, func(x localize.Suspect) bool {
		for a := range arcsOf(f, x.Cause) {
			if !d.arcs[a] {
				return false
			}
		}
		return true
	})
}

// is reports whether these are no others than some arcs.
func (d deadArcs) is(arcs map[graphs.ArcID]bool) bool { return !d.none() && maps.Equal(d.arcs, arcs) }

// onDead reports whether what crosses some ways of a flow crosses arcs that are dead by then, or seems to, where its ways are not known.
func (l *flowLog) onDead(dead deadArcs, e *echo, path, back way) bool {
	if dead.none() || !e.end.After(dead.since) {
		return false
	}
	return path.someOf(dead.arcs) || back.someOf(dead.arcs) || !(path.known() && back.known()) && (l.deadAlways() || l.longDead(e.start))
}

// whole returns storms with those that follow at once taken for parts of the one before, where something is dead: what goes down loses packets first, and then flows do that it has moved onto that.
func (d deadArcs) whole(storms []stretch) (whole []stretch) {
	if d.none() {
		return storms
	}
	for _, st := range storms {
		if n := len(whole); n > 0 && st.from.Before(whole[n-1].from.Add(rerouting)) {
			whole[n-1].to = later(whole[n-1].to, st.to)
			continue
		}
		whole = append(whole, st)
	}
	return whole
}

// onset is how much of the beginning of a storm is looked at where something is dead: what goes down moves flows onto that, which then lose packets for as long as they are there. It is less
// than routing takes to go around a dead link.
const onset = 120 * time.Millisecond

// onsets returns the beginnings of storms where something is dead, and else the storms themselves.
func (d deadArcs) onsets(storms []stretch) []stretch {
	if d.none() {
		return storms
	}
	begun := slices.Clone(storms)
	for i := range begun {
		begun[i].to = earlier(begun[i].to, begun[i].from.Add(onset))
	}
	return begun
}

// goingOn returns stretches of time as lasting until the storms end that they lie in, where something is dead: what was moved onto that meanwhile is lost for what went down.
func (d deadArcs) goingOn(when, storms []stretch) []stretch {
	if d.none() {
		return when
	}
	when = slices.Clone(when)
	for i := range when {
		if b := stormAt(storms, when[i].from); b < len(storms) && when[i].overlaps(storms[b]) {
			when[i].to = later(when[i].to, storms[b].to)
		}
	}
	return when
}
