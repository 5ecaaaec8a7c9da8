package diagnose

import (
	"fmt"
	"math"
	"sort"
	"time"

	"whichlink/graphs"
)

const (
	// clocksApart is how far the clocks of hosts and of whoever asks switches may be apart: what is told to have come so little later may have come before.
	clocksApart = 10 * time.Second
	// lldpHolds is how long what a port heard of its neighbour holds: the time to live that LLDP has by default (IEEE 802.1AB).
	lldpHolds = 2 * time.Minute
	// crossedNow is what it weighs against a link's being down that packets came over it since, if clocks may be to blame. seenCrossing is what one flow weighs
	// that surely came over it when the link was told not to be there, and mostCrossing what many of them do: they share one prober or one map.
	crossedNow, seenCrossing, mostCrossing = 6, 2, 4.5
	// toldAtOnce is what all ports together weigh at most against packets that cross while they speak, and toldRing what they do of a cable that both of its ends
	// hear elsewhere: paths of flows may be taken from the plan, in part.
	toldAtOnce, toldRing = 4, 5.5
)

// A passage is what surely came over a link in some stretch of time: of how many flows, and when the first was seen and the last.
type passage struct {
	flows       int
	first, last time.Time
}

// passages returns what surely came over a link after one time and not after another, if that is not zero, of flows that are on it to the end. A flow that is traced
// came over it at the moments at which it was: between them it goes on being counted on a path that it may have left. Where several probers measure, one alone
// is not believed: its clock may be off by far.
func (s *Store) passages(k graphs.LinkID, after, until time.Time) passage {
	within := func(from, to time.Time) bool { return from.After(after) && (until.IsZero() || !to.After(until)) }
	var x passage
	said, probers := map[string]bool{}, map[string]bool{}
	for _, l := range s.order {
		if len(l.paths)+len(l.echoes) == 0 {
			continue
		}
		probers[l.by] = true
		if path, back := l.now(); !surelyCrosses(path, back, k) {
			continue
		}
		had := false
		take := func(from, to time.Time) {
			x.first = soonest(x.first, from)
			x.last = later(x.last, to)
			had = true
		}
		for i := range l.paths {
			if p := &l.paths[i]; within(p.at, p.at) && surelyCrosses(p.path, p.back, k) && l.alive(p.at) {
				take(p.at, p.at)
			}
		}
		for i := range l.echoes {
			if e := &l.echoes[i]; len(l.paths) == 0 && within(e.start, e.end) && e.sent > e.lost && surelyCrosses(e.path, e.back, k) {
				take(e.start, e.end)
			}
		}
		if had {
			x.flows++
			said[l.by] = true
		}
	}
	if len(said) == 1 && len(probers) > 1 {
		return passage{}
	}
	return x
}

func surelyCrosses(path, back way, k graphs.LinkID) bool {
	return path.certain() && path.crosses(k) || back.certain() && back.crosses(k)
}

// crossedAfter returns when, after a time, a packet surely came over a link; zero if none did.
func (s *Store) crossedAfter(k graphs.LinkID, t time.Time) time.Time {
	var at time.Time
	for _, l := range s.order {
		for i := range l.paths {
			if p := &l.paths[i]; p.at.After(t) && surelyCrosses(p.path, p.back, k) && l.alive(p.at) {
				at = later(at, p.at)
			}
		}
		for i := range l.echoes {
			e := &l.echoes[i]
			if e.start.After(t) && e.sent > e.lost && surelyCrosses(e.path, e.back, k) {
				at = later(at, e.end)
			}
		}
	}
	return at
}

// alive reports whether nothing says that all packets of a flow were lost at a moment.
func (l *flowLog) alive(at time.Time) bool {
	i := sort.Search(len(l.echoes), func(i int) bool { return !l.echoes[i].end.Before(at) })
	return i == len(l.echoes) || l.echoes[i].lost < l.echoes[i].sent || at.Before(l.echoes[i].start)
}

// nats is what a passage weighs against a link that is told not to be there.
func (x passage) nats() float64 {
	if x.flows == 0 {
		return 0
	}
	return min(seenCrossing+math.Log(float64(x.flows)), mostCrossing)
}

// words tell of a passage, as in "12 flows crossed it meanwhile, from 03:00:05Z to 03:01:00Z".
func (x passage) words(how string, d dial) string {
	return fmt.Sprintf("%s crossed it %s, from %s to %s", flowsWord(x.flows), how, d.clock(x.first), d.clock(x.last))
}
