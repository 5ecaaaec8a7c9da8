package diagnose

import (
	"fmt"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// A withdrawal is a link or switch that no flow crosses although the forwarding model sends flows over it: it is down or
// drained, and routing goes around it.
type withdrawal struct {
	class []absent // what the evidence cannot tell apart, the most usual first
	// ways is how many traced ways could have crossed it, chance the probability that none did if it was up.
	ways   int
	chance float64
	since  time.Time // when the last flow left it; zero if none was seen on it
}

// words say that no flow crosses it.
func (w *withdrawal) words() string {
	return fmt.Sprintf("none of %d traced paths crosses it, though each might (chance %s)", w.ways, chanceWords(w.chance))
}

// has reports whether a link is among what a withdrawal may be, by itself or with its switch.
func (w *withdrawal) has(l graphs.LinkID) bool {
	return slices.ContainsFunc(w.class, func(a absent) bool { return slices.Contains(a.links, l) })
}

// holds reports whether a cause is among what a withdrawal may be.
func (w *withdrawal) holds(c localize.Cause, f *graphs.Fabric) bool {
	if c.Kind == localize.Node {
		return slices.ContainsFunc(w.class, func(a absent) bool { return a.node == graphs.NodeID(c.ID) })
	}
	return slices.ContainsFunc(linksOf(f, c), w.has)
}

// isGone reports whether routing goes around a link.
func isGone(gone []withdrawal, l graphs.LinkID) bool {
	return slices.ContainsFunc(gone, func(w withdrawal) bool { return w.has(l) })
}

// explainedByDown reports whether a suspect is the burst of loss that a link made when it went down, which is told already or will be.
func (s *Store) explainedByDown(d *Diagnosis, sus *localize.Suspect, gone []withdrawal) bool {
	down := func(x Suspect) bool {
		l, ok := s.fabric.LinkByName(x.Link)
		is := func(c localize.Cause) bool {
			return c.Kind != localize.Node && slices.Contains(linksOf(s.fabric, c), l)
		}
		// Where it can be nothing else, what packets say of it is told with it.
		return ok && x.Symptom == Down && x.Probability >= Named && slices.ContainsFunc(sus.Class, is) && !is(sus.Cause)
	}
	return slices.ContainsFunc(d.Suspects, down) || slices.ContainsFunc(sus.Class, func(c localize.Cause) bool {
		return c.Kind != localize.Node && slices.ContainsFunc(gone, func(w withdrawal) bool { return w.holds(c, s.fabric) })
	})
}

// settle takes the withdrawals out that a link explains.
func settle(gone []withdrawal, l graphs.LinkID) []withdrawal {
	return slices.DeleteFunc(slices.Clone(gone), func(w withdrawal) bool { return w.has(l) })
}

// An absent thing is one link, or a switch with all of its links.
type absent struct {
	node  graphs.NodeID // None for a single link
	links []graphs.LinkID
}

// withdrawnChance is how improbable it must be that no flow crosses a link by chance. There may be thousands of links.
const withdrawnChance = 1e-6

// freshSighting is how old the last sighting of a flow may be to say where it goes now.
const freshSighting = 20 * time.Second

// firstTrace is how long the first trace of a flow takes at most if its switches answer slowly or not at all. After that it waits
// for its budget, which says nothing of where it goes.
const firstTrace = 3 * time.Second

// mostForeign is of how many records of paths one may name arcs that the fabric does not have, for the others to tell what no flow crosses.
const mostForeign = 20

// maxWithdrawn bounds the search: beyond it the fabric file and the fabric have little in common.
const maxWithdrawn = 8

// withdrawn finds what routing avoids.
func (s *Store) withdrawn() []withdrawal {
	if s.model != pathfind.Model(s.ecmp) {
		return nil // where flows are expected is known of shortest paths only
	}
	if mostForeign*s.skipped[elsewhere] > s.routed {
		return nil // those that cross it may be the ones of which the fabric file does not have the paths
	}
	return s.absences(s.currentWays())
}

// absences finds what no way crosses. One link that is down may take all traffic from others, so the fewest absent things that
// explain all the silence are the answer.
func (s *Store) absences(ways []tracedWay) []withdrawal {
	var found []withdrawal
	v := s.survey(ways)
	for left := v.unexpected(); len(left) > 0 && len(found) < maxWithdrawn; {
		// Switches come last, and explain the most: what surely leaves more than they do need not be looked at.
		candidates := v.candidates(left)
		var class []absent
		var rest []silence
		var then *survey
		fewest := len(left) - 1
		for _, c := range slices.Backward(candidates) {
			if v.remain(left, c.links, fewest) > fewest {
				continue
			}
			without := v.without(c.links)
			after := without.unexpected()
			if len(after) > fewest {
				continue
			}
			if len(after) < fewest {
				class = nil
			}
			class = append(class, c)
			fewest, rest, then = len(after), after, without
		}
		if class == nil {
			break // no single absence explains any of it
		}
		slices.Reverse(class)
		w := withdrawal{ways: left[0].ways, chance: left[0].chance}
		// What explains as much is no other name for it where it is silent without it, too: two links that are down are two.
		w.class = slices.DeleteFunc(class, func(c absent) bool {
			return slices.ContainsFunc(rest, func(x silence) bool { return slices.Contains(c.links, x.link) })
		})
		for _, l := range w.class[0].links {
			w.since = later(w.since, s.leftAt(l))
			if i := slices.IndexFunc(left, func(x silence) bool { return x.link == l }); i >= 0 {
				w.ways, w.chance = left[i].ways, left[i].chance
			}
		}
		found = append(found, w)
		left, v = rest, then
	}
	return found
}

// candidates lists the links that are silent, then the switches of which no link is crossed: few hosts see no more of a switch that is gone than one link of it.
func (v *survey) candidates(left []silence) []absent {
	var list []absent
	ends := map[graphs.NodeID]bool{}
	for _, x := range left {
		list = append(list, absent{graphs.None, []graphs.LinkID{x.link}})
		ends[v.f.Tail(x.link.Forward())], ends[v.f.Head(x.link.Forward())] = true, true
	}
	for _, n := range v.f.Switches() {
		if !ends[n] || v.f.Degree(n) < 2 {
			continue
		}
		var links []graphs.LinkID
		for _, a := range v.f.Out(n) {
			if v.silent[a.Link()] {
				links = append(links, a.Link())
			}
		}
		if len(links) == v.f.Degree(n) {
			list = append(list, absent{n, links})
		}
	}
	return list
}

// A tracedWay is the arcs that a flow now takes between two nodes; nil where that is not known, but perhaps several ways of which one is it.
type tracedWay struct {
	pair  [2]graphs.NodeID
	arcs  []graphs.ArcID
	oneOf way
}

// spares reports whether a way that may be one of several is known not to cross a link.
func (w *tracedWay) spares(l graphs.LinkID) bool { return w.oneOf.known() && !w.oneOf.crosses(l) }

// currentWays returns where the flows go now. Those whose trace left it open are among them: they may go over the very link that
// no other flow crosses, if for instance a switch next to it does not answer. So are, for a while, those not traced yet. The way back can be traced only when an answer
// told how long it is, so it is often not traced yet where the way there is: if it was, and may be one of few, these are listed.
func (s *Store) currentWays() []tracedWay {
	var ways []tracedWay
	for _, l := range s.order {
		if l.src == graphs.None || l.dst == graphs.None {
			continue
		}
		p := l.sighted()
		if p == nil {
			continue
		}
		if age := s.newestOf(l.by).Sub(p.at); age > freshSighting || len(l.paths) == 1 && !p.path.known() && age > firstTrace {
			continue
		}
		for _, w := range []struct {
			pair [2]graphs.NodeID
			way  way
		}{{[2]graphs.NodeID{l.src, l.dst}, p.path}, {[2]graphs.NodeID{l.dst, l.src}, p.back}} {
			traced := tracedWay{pair: w.pair, oneOf: w.way}
			if w.way.certain() {
				traced.arcs = w.way.alternatives[0]
			} else if !w.way.known() && p.path.known() && s.ecmp.Count(w.pair[0], w.pair[1]) <= evidence.MaxCandidates {
				continue
			}
			ways = append(ways, traced)
		}
	}
	return ways
}

// sighted returns where a flow was last seen to go: by its last trace or, where echoes alone tell its path, by the last of them; nil if that is not known.
func (l *flowLog) sighted() *sighting {
	if n := len(l.paths); n > 0 {
		return &l.paths[n-1]
	}
	if n := len(l.echoes); n > 0 && l.echoes[n-1].path.known() {
		e := &l.echoes[n-1]
		return &sighting{at: e.end, previous: e.start, path: e.path, back: e.back}
	}
	return nil
}

// A silence is a link between switches that no way crosses against expectation.
type silence struct {
	link   graphs.LinkID
	ways   int
	chance float64
}

// stale is how long a prober may take to see that a flow has another path, and name the old one.
const stale = 3 * time.Second

// crossedSince reports whether a flow was seen to go over a link after a time: when it was traced, or, where echoes alone tell its path, by one that was
// answered long enough after it for its path not to be one from before.
func (s *Store) crossedSince(k graphs.LinkID, t time.Time) bool {
	for _, l := range s.order {
		if len(l.paths) == 0 && slices.ContainsFunc(l.echoes, func(e echo) bool {
			return e.start.After(t) && e.sent > e.lost && surelyCrosses(e.path, e.back, k)
		}) {
			return true
		}
		for i := range l.paths {
			if p := &l.paths[i]; p.at.After(t.Add(stale)) && surelyCrosses(p.path, p.back, k) {
				return true
			}
		}
	}
	return false
}

// leftAt returns when a flow was last seen to leave a link for another path, or the zero time.
func (s *Store) leftAt(k graphs.LinkID) time.Time {
	var at time.Time
	for _, l := range s.order {
		for i := 1; i < len(l.paths); i++ {
			was, is := &l.paths[i-1], &l.paths[i]
			if (was.path.crosses(k) || was.back.crosses(k)) && !is.path.crosses(k) && !is.back.crosses(k) {
				at = later(at, is.previous)
			}
		}
		for i := 1; len(l.paths) == 0 && i < len(l.echoes); i++ {
			was, is := &l.echoes[i-1], &l.echoes[i]
			if (was.path.crosses(k) || was.back.crosses(k)) && is.path.known() && !is.path.crosses(k) && !is.back.crosses(k) {
				at = later(at, was.end)
			}
		}
	}
	return at
}
