package localize

import "slices"

// What is found beside a hypothesis is scored with its background and most of its rates. That tells too little of neighbours which leave losses to the
// background, or to a member that would have to lose more: what they do without would be believed too surely.

const (
	// revisable is how much less likely than the best a hypothesis may seem, in nats, to be refitted before it is weighed.
	revisable = 8
	// revisions bounds how many are for one that was expanded, which takes as long as several refits.
	revisions = 3
)

// promised returns the likeliest hypothesis that was not expanded, or -1. Those that come near the best are refitted first.
func (s *search) promised() int32 {
	for {
		next := int32(-1)
		for i := range s.hyps {
			if h := &s.hyps[i]; !h.expanded && (next < 0 || h.score > s.hyps[next].score) {
				next = int32(i)
			}
		}
		if next < 0 || s.hyps[next].revised || !s.shrunk(&s.hyps[next]) || s.hyps[next].score < s.best-rival || s.work > effort {
			return next
		}
		s.reviseOne(next)
	}
}

// revise refits the likeliest hypotheses that were not expanded.
func (s *search) revise() {
	left := 0
	for i := range s.hyps {
		if s.hyps[i].expanded {
			left += revisions
		}
	}
	for ; left > 0 && s.work <= effort; left-- {
		next := int32(-1)
		for i := range s.hyps {
			h := &s.hyps[i]
			if !h.expanded && !h.revised && s.shrunk(h) && h.score > s.best-revisable && (next < 0 || h.score > s.hyps[next].score) {
				next = int32(i)
			}
		}
		if next < 0 {
			return
		}
		if s.inPart(&s.hyps[next]) {
			s.hyps[next].revised = true
			continue
		}
		s.reviseOne(next)
	}
}

// inPart reports whether a hypothesis differs from the one that it was found beside only in the parts of switches that are surely bad in part: both blame the
// same switches.
func (s *search) inPart(h *hypothesis) bool {
	was := s.hyps[h.parent].comps
	devices, _ := s.devs.devices(s.ix, was)
	return !slices.ContainsFunc(difference(was, h.comps), func(c int32) bool {
		return !slices.ContainsFunc(devices, func(d device) bool { return d.odds > sure && s.ix.within(c, d.comp) })
	})
}

// shrunk reports whether a hypothesis has no more members than the one that it was found beside. Those that have more leave less to others, and
// gain little.
func (s *search) shrunk(h *hypothesis) bool {
	return len(h.comps) <= len(s.hyps[h.parent].comps)
}

// reviseOne refits a hypothesis, and does not look at its neighbours.
func (s *search) reviseOne(i int32) {
	h := s.hyps[i] // shares its rates
	s.refit(&h)
	s.hyps[i].adopt(&h)
	s.atHand = i
}

// adopt keeps what came of refitting a copy of a hypothesis.
func (h *hypothesis) adopt(c *hypothesis) {
	h.score, h.background, h.revised = c.score, c.background, true
	copy(h.rates, c.rates)
}

// simpler returns the likeliest hypothesis that was not expanded, is hardly less likely than the best, and has at least two members less than another;
// or -1. A few faults that explain about what many do may lack but one for what all of them do, and are soon looked at.
func (s *search) simpler(than int32) int32 {
	next, n := int32(-1), len(s.hyps[than].comps)
	for i := range s.hyps {
		if h := &s.hyps[i]; !h.expanded && len(h.comps)+2 <= n && h.score >= s.best-rival && (next < 0 || h.score > s.hyps[next].score) {
			next = int32(i)
		}
	}
	return next
}
