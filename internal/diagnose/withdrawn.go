package diagnose

import (
	"math"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind"
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

// An absent thing is one link, or a switch with all of its links.
type absent struct {
	node  graphs.NodeID // None for a single link
	links []graphs.LinkID
}

// withdrawnChance is how improbable it must be that no flow crosses a link by chance. There may be thousands of links.
const withdrawnChance = 1e-6

// freshSighting is how old the last sighting of a flow may be to say where it goes now.
const freshSighting = 10 * time.Second

// firstTrace is how long the first trace of a flow takes at most if its switches answer slowly or not at all. After that it waits
// for its budget, which says nothing of where it goes.
const firstTrace = 3 * time.Second

// maxWithdrawn bounds the search: beyond it the fabric file and the fabric have little in common.
const maxWithdrawn = 8

// withdrawn finds what routing avoids. One link that is down may take all traffic from others, so the fewest absent things that
// explain all the silence are the answer.
func (s *Store) withdrawn() []withdrawal {
	ways := s.currentWays()
	unseen := s.unexpected(s.ecmp, ways)
	gone := map[graphs.LinkID]bool{}
	var found []withdrawal
	for left := unseen; len(left) > 0 && len(found) < maxWithdrawn; {
		candidates := s.candidates(left)
		rests := make([][]silence, len(candidates))
		for i, c := range candidates {
			without := func(k graphs.LinkID) bool { return gone[k] || slices.Contains(c.links, k) }
			rests[i] = s.unexpected(pathfind.NewECMPWithout(s.fabric, without), ways)
		}
		best := slices.IndexFunc(rests, func(r []silence) bool {
			return !slices.ContainsFunc(rests, func(o []silence) bool { return len(o) < len(r) })
		})
		if len(rests[best]) >= len(left) {
			break // no single absence explains any of it
		}
		w := withdrawal{ways: left[0].ways, chance: left[0].chance}
		for i, c := range candidates {
			if len(rests[i]) == len(rests[best]) {
				w.class = append(w.class, c)
			}
		}
		for _, l := range w.class[0].links {
			gone[l] = true
			w.since = later(w.since, s.leftAt(l))
			if i := slices.IndexFunc(left, func(x silence) bool { return x.link == l }); i >= 0 {
				w.ways, w.chance = left[i].ways, left[i].chance
			}
		}
		found = append(found, w)
		left = rests[best]
	}
	return found
}

// candidates lists the links that are silent, then the switches of which every link is.
func (s *Store) candidates(left []silence) []absent {
	var list []absent
	silent := map[graphs.LinkID]bool{}
	for _, x := range left {
		silent[x.link] = true
		list = append(list, absent{graphs.None, []graphs.LinkID{x.link}})
	}
	for _, n := range s.fabric.Switches() {
		var links []graphs.LinkID
		for _, a := range s.fabric.Out(n) {
			if silent[a.Link()] {
				links = append(links, a.Link())
			}
		}
		if len(links) > 1 && len(links) == s.fabric.Degree(n) {
			list = append(list, absent{n, links})
		}
	}
	return list
}

// A tracedWay is the arcs that a flow now takes between two nodes; nil where that is not known.
type tracedWay struct {
	pair [2]graphs.NodeID
	arcs []graphs.ArcID
}

// currentWays returns where the flows go now. Those whose trace left it open are among them: they may go over the very link that
// no other flow crosses, if for instance a switch next to it does not answer. So are, for a while, those not traced yet.
func (s *Store) currentWays() []tracedWay {
	var ways []tracedWay
	for _, l := range s.order {
		if l.src == graphs.None || l.dst == graphs.None || len(l.paths) == 0 {
			continue
		}
		p := &l.paths[len(l.paths)-1]
		if s.to.Sub(p.at) > freshSighting || len(l.paths) == 1 && !p.path.known() && s.to.Sub(p.at) > firstTrace {
			continue
		}
		for _, w := range []struct {
			pair [2]graphs.NodeID
			way  way
		}{{[2]graphs.NodeID{l.src, l.dst}, p.path}, {[2]graphs.NodeID{l.dst, l.src}, p.back}} {
			traced := tracedWay{pair: w.pair}
			if w.way.certain() {
				traced.arcs = w.way.alternatives[0]
			}
			ways = append(ways, traced)
		}
	}
	return ways
}

// A silence is a link between switches that no way crosses against expectation.
type silence struct {
	link   graphs.LinkID
	ways   int
	chance float64
}

// unexpected returns the links that no way crosses, against all expectation of a forwarding model.
func (s *Store) unexpected(e *pathfind.ECMP, ways []tracedWay) []silence {
	crossed := make([]bool, s.fabric.NumLinks())
	count := map[[2]graphs.NodeID][2]int{} // ways as long as the model says, and longer ones
	var pairs [][2]graphs.NodeID
	for _, w := range ways {
		if w.arcs == nil {
			for _, sh := range e.Shares(w.pair[0], w.pair[1]) {
				crossed[sh.Arc.Link()] = true
			}
			continue
		}
		n, seen := count[w.pair]
		if !seen {
			pairs = append(pairs, w.pair)
		}
		if len(w.arcs) > e.Distance(w.pair[0], w.pair[1]) {
			n[1]++
		} else {
			n[0]++
		}
		count[w.pair] = n
		for _, a := range w.arcs {
			crossed[a.Link()] = true
		}
	}
	tried := make([]int, s.fabric.NumLinks())
	logChance := make([]float64, s.fabric.NumLinks())
	for _, pair := range pairs {
		n := count[pair]
		for _, sh := range e.Shares(pair[0], pair[1]) {
			l := sh.Arc.Link()
			if crossed[l] {
				continue
			}
			tried[l] += n[0] + n[1]
			// A share of one would make a single way proof enough; but routes may be on the move while it is traced. A way that is longer
			// than it need be is more telling: something on all the short ones is gone.
			logChance[l] += float64(n[0])*math.Log1p(-min(sh.Share, 0.9)) + float64(n[1])*math.Log1p(-min(sh.Share, 0.999))
		}
	}
	var out []silence
	for l := range graphs.LinkID(s.fabric.NumLinks()) {
		if !crossed[l] && logChance[l] < math.Log(withdrawnChance) && !s.fabric.IsHostArc(l.Forward()) {
			out = append(out, silence{l, tried[l], math.Exp(logChance[l])})
		}
	}
	return out
}

// crossedSince reports whether a flow was seen to go over a link after a time.
func (s *Store) crossedSince(k graphs.LinkID, t time.Time) bool {
	for _, l := range s.order {
		for i := range l.paths {
			if p := &l.paths[i]; p.at.After(t) && (p.path.certain() && p.path.crosses(k) || p.back.certain() && p.back.crosses(k)) {
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
	}
	return at
}
