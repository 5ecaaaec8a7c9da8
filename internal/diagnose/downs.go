package diagnose

import (
	"iter"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// verge is how far beside what is known of an outage it may have begun and ended.
const verge = 40 * time.Millisecond

// downs is when arcs were down, in the order of time, as far as is known: what may have crossed one of them then tells of nothing else.
type downs map[graphs.ArcID][]stretch

// on returns when one of the arcs was down, while an echo was measured, that some ways may cross.
func (d downs) on(e *echo, path, back way) []stretch {
	if len(d) == 0 {
		return nil
	}
	return unbroken(append(d.onAny(e.start, e.end, path.alternatives), d.onAny(e.start, e.end, back.alternatives)...))
}

// onAny returns the times at which arcs of some paths were down in a time.
func (d downs) onAny(from, to time.Time, paths [][]graphs.ArcID) (when []stretch) {
	for _, arcs := range paths {
		for _, a := range arcs {
			list := d[a]
			for b := stormAt(list, from); b < len(list) && !list[b].from.After(to); b++ {
				when = append(when, list[b])
			}
		}
	}
	return unbroken(when)
}

// mostly returns the times at which one of the arcs was down that is down for most of a time.
func (d downs) mostly(whole stretch) (long []stretch) {
	for _, when := range d {
		for _, st := range when {
			if st.mostOf(whole) {
				long = append(long, st)
			}
		}
	}
	return unbroken(long)
}

// deadIn reports whether a flow lost nearly all that it sent in some stretches of time.
func (l *flowLog) deadIn(stretches []stretch) bool {
	var sum fate
	for _, st := range stretches {
		sum.add(l.in(st))
	}
	return float64(sum.lost) > stormLoss*float64(sum.sent)
}

// stretches are all times at which one of the arcs was down.
func (d downs) stretches() []stretch {
	var all []stretch
	for _, when := range d {
		all = append(all, when...)
	}
	return unbroken(all)
}

// fallen is when arcs went down, by what that is told of: an arc alone, its link, or a switch of which all links went down.
type fallen struct {
	outages map[localize.Cause]downs
	dead    deadArcs // arcs that lost nearly all at other times, too
}

// beside returns when arcs were down, or may have been, for another cause than one, and of these those of the cause itself: a link lies at two switches.
func (x *fallen) beside(f *graphs.Fabric, c localize.Cause) (all, own downs) {
	all, own = downs{}, downs{}
	links, arcs := linksOf(f, c), arcsOf(f, c)
	for other, when := range x.outages {
		sameLink := other.Kind != localize.Node && c.Kind != localize.Node && slices.Equal(linksOf(f, other), links)
		if other == c || sameLink {
			continue
		}
		for a, stretches := range when {
			for _, st := range stretches {
				st = stretch{st.from.Add(-verge), st.to.Add(verge)}
				all[a] = append(all[a], st)
				if arcs[a] {
					own[a] = append(own[a], st)
				}
			}
		}
	}
	for _, d := range []downs{all, own} {
		for a, stretches := range d {
			d[a] = unbroken(stretches)
		}
	}
	return all, own
}

// observed returns what was seen of a cause while it was down and nothing else of its flows' paths was, or all that was seen in storms where that is not known.
func (s *Store) observed(c localize.Cause, seen *observer) *observer {
	when := s.fallen.outages[c].stretches()
	if seen.storms == 0 || len(when) == 0 {
		return seen
	}
	others, _ := s.fallen.beside(s.fabric, c)
	return s.observeStorms(when, s.fallen.dead, others, false)
}

// losses iterates over when an echo lost packets, but for those that one of the arcs lost.
func (d downs) losses(l *flowLog, e *echo) iter.Seq[time.Time] {
	if e.lost == 0 {
		return func(func(time.Time) bool) {}
	}
	path, back := l.at(e, true)
	return e.lossesBeside(d.on(e, path, back))
}

// lossesBeside iterates over when an echo lost packets at other times than some.
func (e *echo) lossesBeside(bad []stretch) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for _, ms := range e.lossTimes() {
			at := e.start.Add(time.Duration(ms) * time.Millisecond)
			if !during(bad, at) && !yield(at) {
				return
			}
		}
	}
}

// inStorms iterates over those of these losses that lie in storms, which are in the order of time, by the number of the storm.
func (d downs) inStorms(storms []stretch, l *flowLog, e *echo) iter.Seq2[int, time.Time] {
	if first, end := e.among(storms); first == end || e.lost == 0 {
		return func(func(int, time.Time) bool) {}
	}
	path, back := l.at(e, true)
	return e.lossesIn(storms, d.on(e, path, back))
}

// lossesIn iterates over when an echo lost packets in storms, which are in the order of time, at other times than some, by the number of the storm.
func (e *echo) lossesIn(storms, beside []stretch) iter.Seq2[int, time.Time] {
	return func(yield func(int, time.Time) bool) {
		for at := range e.lossesBeside(beside) {
			if b := stormAt(storms, at); b < len(storms) && !at.Before(storms[b].from) && !yield(b, at) {
				return
			}
		}
	}
}

// leave returns the parts of storms in which what an echo measured tells of other arcs than those.
func (d downs) leave(storms []stretch, l *flowLog, e *echo) []stretch {
	path, back := l.at(e, true)
	known := d.on(e, path, back)
	if len(known) == 0 {
		return storms
	}
	var left []stretch
	for _, st := range storms {
		left = append(left, beside(st, known)...)
	}
	return left
}

// beyond returns the parts of an echo that lie in none of some stretches, which are in the order of time.
func (e *echo) beyond(stretches []stretch) []echo {
	if len(stretches) == 0 || e.lost > 0 && len(e.lostAt) == 0 {
		return []echo{*e}
	}
	var parts []echo
	add := func(from, to time.Time) {
		if !from.Before(to) {
			return
		}
		part := *e
		part.start, part.end, part.lostAt = from, to, nil
		for _, ms := range e.lossTimes() {
			if at := e.start.Add(time.Duration(ms) * time.Millisecond); !at.Before(from) && at.Before(to) {
				part.lostAt = append(part.lostAt, int(at.Sub(from).Milliseconds()))
			}
		}
		part.lost, part.split = len(part.lostAt), false
		if part.sent = max(part.lost, e.sentBefore(to)-e.sentBefore(from)); part.sent > 0 {
			parts = append(parts, part)
		}
	}
	from := e.start
	for _, st := range stretches {
		add(from, earlier(st.from, e.end))
		from = later(from, st.to)
	}
	add(from, e.end)
	return parts
}
