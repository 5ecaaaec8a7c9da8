package localize

import (
	"maps"
	"math"
	"slices"
)

// Where several faults share their losses with each other, several others may explain them about as well, or better, and all that lies between the two is
// much less likely: no change of one or two leads from the one to the other. So what explains the evidence best without a member is looked for anew.

// recreations bounds how often that is done for the likeliest hypothesis, and regards how many hypotheses are expanded in place of one member.
const recreations, regards = 3, 3

// promise is how many times as much as they seem to, additions may gain: with them others lose less, and so does the background.
const promise = 3

// recreate takes each member out of the likeliest hypothesis for which there may be something else, with the members that share losses with it, and lets what
// is left grow without it and without what the evidence hardly tells from it; and likewise all others that share losses with a member, which stays, and all that
// meet at a switch. What comes of that is looked at from all sides, and followed if it is better.
func (s *search) recreate() {
	done := map[uint64]bool{}
	work := s.work
	s.work = 0 // however long the search took so far
	defer func() { s.work += work }()
	for range recreations {
		h := s.hyps[s.likeliest()]
		if len(h.comps) > exchanged || done[h.key] {
			return
		}
		done[h.key] = true
		for j := range h.comps {
			if s.work > patience {
				return
			}
			i, barred := s.without(h, j)
			s.regard(i, barred)
			i, barred = s.around(h, j)
			s.regard(i, barred)
		}
		at := s.meeting(&h)
		for _, x := range slices.Sorted(maps.Keys(at)) {
			if len(at[x]) > 1 && s.work <= patience {
				s.regard(s.beside(h, at[x], x))
			}
		}
		if slices.ContainsFunc(s.hyps, func(h hypothesis) bool { return !h.expanded && h.score > s.best+even }) {
			s.follow()
		}
	}
}

// without returns what grows from a hypothesis in place of its j-th member, and the components that were barred from it; or -1 if there is hardly anything.
func (s *search) without(h hypothesis, j int) (int32, []int32) {
	s.recall(&h)
	c := h.comps[j]
	s.couple(&h, c, j)
	// Where links do not fail as a whole an arc that shares no losses has only other arcs in its place, which replace has seen.
	if len(s.coupled) == 0 && (s.cfg.OneWay && s.ix.kindOf(c) == 0 || s.needed(&h, c) > sure) {
		return -1, nil
	}
	out := append(slices.Clone(s.coupled), j)
	return s.regrow(h, out, s.barring(c))
}

// meeting returns the members of a hypothesis that are next to a switch, for each: what the hosts of one send its uplinks carry, though neither two of the ones share losses
// nor two of the others.
func (s *search) meeting(h *hypothesis) map[int32][]int {
	at := map[int32][]int{}
	for j, c := range h.comps {
		for _, x := range s.ix.wholes(nil, c) {
			if s.ix.kindOf(x) == 2 {
				at[x] = append(at[x], j)
			}
		}
	}
	return at
}

// beside returns what grows from a hypothesis in place of some members, and the components that were barred from it, with some that must be.
func (s *search) beside(h hypothesis, out []int, barred ...int32) (int32, []int32) {
	s.recall(&h)
	for _, j := range out {
		barred = append(barred, s.barring(h.comps[j])...)
	}
	return s.regrow(h, out, barred)
}

// needed returns how much of the log-likelihood is lost without a component of the loaded hypothesis even if those coupled to it take over all
// that they can: what it gains on observations that none of them crosses.
func (s *search) needed(h *hypothesis, c int32) float64 {
	for _, j := range s.coupled {
		s.common[h.comps[j]] = 1
	}
	rate := s.excess[c]
	sum := -rate * s.ev.exposure[c]
	for _, e := range s.ev.entries[s.ev.start[c]:s.ev.start[c+1]] {
		t := &s.ev.terms[e.term]
		if t.n > 1 || slices.ContainsFunc(s.ev.comps[s.ev.first[e.branch]:s.ev.first[e.branch+1]], func(x int32) bool { return s.common[x] > 0 }) {
			sum -= 0.5 * t.lost
			continue
		}
		sum += s.terms[e.term] - t.at(s.hazard[e.branch]-rate*e.times)
	}
	for _, j := range s.coupled {
		s.common[h.comps[j]] = 0
	}
	return sum
}

// around returns what grows around the j-th member in place of all others that share losses with it, and the components that were barred from it; or -1.
func (s *search) around(h hypothesis, j int) (int32, []int32) {
	s.recall(&h)
	s.couple(&h, h.comps[j], j)
	if len(s.coupled) < 2 {
		return -1, nil
	}
	return s.beside(h, slices.Clone(s.coupled))
}

// regrow returns what grows from a hypothesis without some of its members and barred components.
func (s *search) regrow(h hypothesis, out []int, barred []int32) (int32, []int32) {
	var comps []int32
	var rates []float64
	for k, x := range h.comps {
		if !slices.Contains(out, k) {
			comps, rates = append(comps, x), append(rates, h.rates[k])
		}
	}
	best := s.best
	// On its way it may be as unlikely as can be.
	s.barred = func(c int32) bool { return slices.Contains(barred, c) }
	s.best, s.parent, s.atHand, s.bonus = math.Inf(-1), s.likeliest(), -1, 0
	last, next := int32(-1), s.remember(comps, rates, -math.MaxFloat64)
	for range handful {
		if next < 0 || s.hyps[next].expanded {
			break
		}
		last = next
		next = s.grow(next, 0)
		if next >= 0 && s.best+promise*(s.hyps[next].score-s.best) < best-horizon {
			break // not even far more than it promises would make it likely enough to be looked at
		}
	}
	s.barred, s.best = nil, max(s.best, best)
	return last, barred
}

// barring returns the components that may not grow in place of a member of the loaded hypothesis: itself and what the evidence hardly tells from it.
func (s *search) barring(c int32) []int32 {
	rate := s.excess[c]
	s.shift(c, 0)
	own := s.fit(c).bayes
	barred := []int32{c}
	for _, x := range s.near(c) {
		if x != c && s.excess[x] == 0 && 2*s.shared[x] >= s.lossy[c] && !s.hopeless(x, own-alike) && s.fit(x).bayes >= own-alike {
			barred = append(barred, x)
		}
	}
	s.shift(c, rate)
	return barred
}

// regard expands a hypothesis, and then the likeliest of those that have none of the barred components, as long as they are hardly less likely than the best.
func (s *search) regard(i int32, barred []int32) {
	floor := s.best - horizon
	for range regards {
		if i < 0 || s.hyps[i].score <= floor {
			return
		}
		if !s.hyps[i].expanded {
			s.expand(i)
		}
		i, floor = -1, s.best-rival
		for k := range s.hyps {
			if h := &s.hyps[k]; !h.expanded && (i < 0 || h.score > s.hyps[i].score) &&
				!slices.ContainsFunc(h.comps, func(c int32) bool { return slices.Contains(barred, c) }) {
				i = int32(k)
			}
		}
	}
}
