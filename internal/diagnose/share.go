package diagnose

import (
	"maps"
	"math"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/rhythm"
)

// share returns the share of the ways of a flow that cross the arcs.
func (t *timeline) share(w way) float64 {
	n := 0
	for _, arcs := range w.alternatives {
		if slices.ContainsFunc(arcs, func(a graphs.ArcID) bool { return t.arcs[a] }) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(w.alternatives)))
}

// someOf reports whether a way may cross one of some arcs.
func (w way) someOf(arcs map[graphs.ArcID]bool) bool {
	return len(arcs) > 0 && slices.ContainsFunc(w.alternatives, func(path []graphs.ArcID) bool {
		return slices.ContainsFunc(path, func(a graphs.ArcID) bool { return arcs[a] })
	})
}

// allOf reports whether a way surely crosses one of some arcs.
func (w way) allOf(arcs map[graphs.ArcID]bool) bool {
	return w.known() && !slices.ContainsFunc(w.alternatives, func(path []graphs.ArcID) bool {
		return !slices.ContainsFunc(path, func(a graphs.ArcID) bool { return arcs[a] })
	})
}

// Shares are those of the ways there and back of a flow that cross some arcs, as long as these ways stay the same.
type shares struct {
	flow        *flowLog
	path, back  way
	open        [2]bool
	there, home float64
}

// shares returns the shares of the ways there and back of an echo that cross the arcs, none of one that is left out, and what the echo tells of them. Of a flow that was never traced, which ways the
// forwarding model allows tells, and so it does of one of which no way was known just then and that lost packets: it may have lost them where it was before, and been moved after the last of them.
func (t *timeline) shares(l *flowLog, e *echo, untraced [2]bool) (part *echo, there, home float64) {
	path, back := l.at(e, false)
	part = e
	if len(e.lostAt) > 0 && (!untraced[0] && !path.known() || !untraced[1] && !back.known()) {
		untraced = [2]bool{!path.known(), !back.known()}
		part = e.untilLost()
	}
	if x := &t.newest; x.flow != l || !path.is(x.path) || !back.is(x.back) || x.open != untraced {
		there, home = t.sharesOf(l, path, back, untraced)
		*x = shares{l, path, back, untraced, there, home}
	}
	return part, t.newest.there, t.newest.home
}

// untilLost is the part of an echo until the last of its losses.
func (e *echo) untilLost() *echo {
	end := e.start.Add(time.Duration(e.lostAt[len(e.lostAt)-1]+1) * time.Millisecond)
	part := e.within([]stretch{{e.start, end}}, true)
	part.end = earlier(end, e.end)
	return &part
}

func (t *timeline) sharesOf(l *flowLog, path, back way, untraced [2]bool) (there, home float64) {
	there, aside := t.share(path), path.someOf(t.without) || back.someOf(t.without)
	home = t.share(back)
	if untraced[0] {
		x := t.pair(l.there())
		there, aside = x.share, aside || x.aside
	}
	if untraced[1] {
		x := t.pair(l.home())
		home, aside = x.share, aside || x.aside
	}
	if aside {
		return 0, 0
	}
	return there, home
}

// hardly is the probability below which a flow without loss is not counted by itself: where paths are not known, these are thousands, of which some few cross the arcs.
const hardly = 0.1

// grained is a time to the grain at which such flows are counted together.
func (t *timeline) grained(at time.Time) float64 {
	return t.at(at.Truncate(grain))
}

// addThin counts what is to be expected of all flows that hardly cross the arcs.
func (t *timeline) addThin() {
	for _, k := range slices.SortedFunc(maps.Keys(t.thin), func(a, b [2]float64) int { return slices.Compare(a[:], b[:]) }) {
		if n := int(math.Round(t.thin[k])); n > 0 {
			t.counts = append(t.counts, rhythm.Count{From: k[0], To: k[1], Sent: n, Share: 1})
		}
	}
}

// untraced reports of which of the ways there and back of a flow nothing was ever known.
func (l *flowLog) untraced() [2]bool {
	known := func(of func(*echo) way) bool {
		return slices.ContainsFunc(l.echoes, func(e echo) bool { return of(&e).known() })
	}
	return [2]bool{!known(func(e *echo) way { return e.path }), !known(func(e *echo) way { return e.back })}
}

// A pairShare is the share of the ways from one host to another that cross the arcs, and whether some may cross those that are left out.
type pairShare struct {
	share float64
	aside bool
}

// pair asks the forwarding model for the ways of a pair.
func (t *timeline) pair(k trip) pairShare {
	x, ok := t.pairs[k]
	if !ok {
		x = pairShare{t.model.over(k, t.arcs), t.model.over(k, t.without) > 0}
		t.pairs[k] = x
	}
	return x
}

// over returns the share of what is sent from one host to another, by ways that are not known, that crosses some arcs: of several that one way does not cross
// together, the one that most cross.
func (o *observer) over(k trip, arcs map[graphs.ArcID]bool) float64 {
	sum := 0.0
	x, many := o.spread(k)
	if !many {
		for _, alt := range o.set(k) {
			if slices.ContainsFunc(alt.Arcs, func(a graphs.ArcID) bool { return arcs[a] }) {
				sum += alt.Share
			}
		}
		return min(sum, 1)
	}
	for a := range arcs {
		if slices.Contains(x.ends, a) {
			return 1
		}
		sum = max(sum, o.arcShare(x.from, x.to, a))
	}
	return sum
}
