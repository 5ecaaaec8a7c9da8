package diagnose

import (
	"maps"
	"slices"
	"time"

	"whichlink/graphs"
)

// cutTogether is how far apart pairs may be heard of for the last time that one change cuts off: each is told by its own probes.
const cutTogether = time.Second

// leaveOutCutOff takes out of the evidence what pairs lost since a filter has been between them that came while they were measured, where that is sure, and notes these in s.cut: what comes
// and goes, or begins, is told of links by what all flows lost together, and these would be blamed for it. Where it may as well be a link's doing, it returns since when: what was measured
// since then is weighed as a whole. Nothing is sure where other flows end with them.
func (s *Store) leaveOutCutOff(ports *portWords) (doubtful time.Time) {
	for _, since := range s.cutOffs() {
		u := s.cutOffAt(since)
		if n := len(u.pairs) + len(u.oneWay); n == 0 || n > mostUnheard || s.othersCutOff(u, since) {
			continue
		}
		cfg := s.solver(ports)
		seen := s.observe(nil, since)
		_, _, list := s.besideFiltersOf(u, seen, s.localize(seen, cfg), cfg)
		for i := range list {
			switch x := &list[i]; {
			case x.probability >= (1-leastListed)*surelyUnheard:
				s.leaveOutPair(x)
			case x.probability >= leastListed:
				doubtful = since
			}
		}
	}
	return doubtful
}

// othersCutOff reports whether flows of others than such pairs were heard of for the last time then, too: what cut these off did it.
func (s *Store) othersCutOff(u *unheard, since time.Time) bool {
	return slices.ContainsFunc(s.order, func(l *flowLog) bool {
		heard, until := l.lastHeard()
		if heard.IsZero() || until.Sub(heard) < leastSilent || since.Sub(heard).Abs() > cutTogether {
			return false
		}
		_, dead := s.unheardAs(u, l.src, l.dst)
		return !dead
	})
}

// cutOffs returns when pairs were heard of for the last time that are probed in vain since, the latest first; of those that were so together the latest. Flows that were dead
// already while others of their pair were heard of tell of no change.
func (s *Store) cutOffs() []time.Time {
	heardOf, asked := map[pairing]time.Time{}, map[pairing]time.Time{}
	heard := make([]time.Time, len(s.order)) // of each flow
	for i, l := range s.order {
		if heard[i], _ = l.heardTill(); l.src != graphs.None && l.dst != graphs.None {
			heardOf[pairing{l.src, l.dst}] = later(heardOf[pairing{l.src, l.dst}], heard[i])
		}
	}
	for i, l := range s.order {
		p := pairing{l.src, l.dst}
		last := heardOf[p]
		if !last.IsZero() && (last.Sub(heard[i]) < cutTogether || len(l.echoes) > 0 && !l.echoes[0].start.Before(last)) {
			_, until := l.lastHeard()
			asked[p] = later(asked[p], until)
		}
	}
	var list []time.Time
	for p, until := range asked {
		if until.Sub(heardOf[p]) >= leastSilent {
			list = append(list, heardOf[p])
		}
	}
	slices.SortFunc(list, func(a, b time.Time) int { return b.Compare(a) })
	var last time.Time
	return slices.DeleteFunc(list, func(at time.Time) bool {
		if !last.IsZero() && last.Sub(at) < cutTogether {
			return true
		}
		last = at
		return false
	})
}

// cutOffAt returns the pairs that do not hear each other since a moment, and did until then.
func (s *Store) cutOffAt(since time.Time) *unheard {
	u := s.unheardOf(since)
	heard := s.heardLast(u)
	before := func(p pairing, _ fate) bool { return since.Sub(heard[p]) >= cutTogether }
	maps.DeleteFunc(u.pairs, before)
	maps.DeleteFunc(u.oneWay, before)
	return u
}

// heardLast returns when pairs were heard of for the last time that are not heard any more.
func (s *Store) heardLast(u *unheard) map[pairing]time.Time {
	heard := map[pairing]time.Time{}
	for _, l := range s.order {
		if p, dead := s.unheardAs(u, l.src, l.dst); dead {
			at, _ := l.heardTill()
			heard[p] = later(heard[p], at)
		}
	}
	return heard
}

// leaveOutPair takes out of the evidence what a pair lost since it was heard of for the last time.
func (s *Store) leaveOutPair(x *weighedPair) {
	only := &unheard{pairs: map[pairing]fate{x.pairing: x.fate}}
	if x.oneWay {
		only.pairs, only.oneWay = nil, only.pairs
	}
	last := s.heardLast(only)[x.pairing]
	x.fate, x.since = fate{}, last
	for _, l := range s.order {
		if _, is := s.unheardAs(only, l.src, l.dst); !is {
			continue
		}
		heard := last
		if own, _ := l.heardTill(); last.Sub(own) < cutTogether {
			heard = own
		}
		if one := l.fate(heard); one.sent > 0 {
			x.fate.add(one)
		}
		for i := l.firstAt(heard); i < len(l.echoes); i++ {
			switch e := &l.echoes[i]; {
			case !e.start.Before(heard) || e.lost > 0 && len(e.lostAt) == 0:
				e.leaveOut()
			case e.lost > 0:
				*e = e.keeping(e.within([]stretch{{heard, e.end.Add(1)}}, false))
			}
		}
	}
	s.cut = append(s.cut, *x)
}

// heardTill is lastHeard, of a flow that was answered more often than not until then. One on a dead link that others move while they flap is answered now and then: that it is not any more is no
// change, and it counts as one that never was.
func (l *flowLog) heardTill() (heard, until time.Time) {
	heard, until = l.lastHeard()
	if was := l.in(stretch{to: heard}); 2*was.lost > was.sent {
		heard = time.Time{}
	}
	return heard, until
}

// lastHeard returns until when a flow was answered, as far as is known, zero if it never was, and until when it was measured.
func (l *flowLog) lastHeard() (heard, until time.Time) {
	for i := len(l.echoes) - 1; i >= 0; i-- {
		e := &l.echoes[i]
		if e.sent == 0 {
			continue
		}
		until = later(until, e.end)
		if e.lost < e.sent {
			return e.lastHeard(), until
		}
	}
	return heard, until
}

// lastHeard returns from when on nearly all of an echo's probes were lost, until its end; its end where they were not.
func (e *echo) lastHeard() time.Time {
	heard := e.end
	times := e.lossTimes()
	for i := len(times) - 1; i >= 0; i-- {
		at := e.start.Add(time.Duration(times[i]) * time.Millisecond)
		due := float64(e.end.Sub(at)) / float64(max(1, e.every()))
		if lost := float64(len(times) - i); lost >= lostShare*due-1 {
			heard = at
		} else if due > lost+unevenly {
			break
		}
	}
	return heard
}
