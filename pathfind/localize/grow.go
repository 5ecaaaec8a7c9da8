package localize

import (
	"math"
	"slices"
)

// handful is how many faults are found one after the other, with a look at all alternatives on the way.
const handful = 12

// crowd is the share of their lossy observations that two additions may have in common to be made at once.
const crowd = 0.34

// grow refits a hypothesis, drops what it does not need and adds all that it asks for. It returns the hypothesis that comes of it, or -1 if
// it is content or that has no more than the least number of members. No other neighbours are looked at on the way to a good hypothesis.
func (s *search) grow(i int32, least int) int32 {
	h := s.hyps[i]
	h.comps, h.rates = slices.Clone(h.comps), slices.Clone(h.rates)
	s.parent = i
	s.refit(&h)
	s.hyps[i].score, s.hyps[i].background, s.hyps[i].refitted = h.score, h.background, true
	copy(s.hyps[i].rates, h.rates)
	if s.prune(&h) {
		s.refit(&h)
		seen := int32(len(s.hyps))
		if i = s.remember(h.comps, h.rates, h.score); i < seen {
			return -1 // it has been here before
		}
	}
	copy(s.hyps[i].rates, h.rates)
	s.hyps[i].score, s.hyps[i].background, s.hyps[i].refitted = h.score, h.background, true
	s.best = max(s.best, h.score)
	if s.work > effort || len(h.comps) >= s.cfg.MaxFaults {
		return -1
	}
	s.weigh(&h, 0, func(addition) {})
	next := s.addAll(&h, crowd)
	if next <= i || len(s.hyps[next].comps) <= least {
		return -1
	}
	return next
}

// prune drops the components of the loaded hypothesis that it is clearly likelier without, by a nat and more, one after the other.
func (s *search) prune(h *hypothesis) bool {
	pruned := false
	for j := 0; j < len(h.comps); j++ {
		c := h.comps[j]
		rate := s.excess[c]
		s.shift(c, 0)
		if s.gain(c, rate)+s.occam[j]+1 > 0 {
			s.shift(c, rate)
			continue
		}
		h.comps, h.rates = slices.Delete(h.comps, j, j+1), slices.Delete(h.rates, j, j+1)
		s.occam = slices.Delete(s.occam, j, j+1)
		pruned = true
		j--
	}
	return pruned
}

// settle makes sure, where the search ended for the effort, that the likeliest hypothesis is no guess: it is refitted and freed of what it does not
// need, until no other is thought to be likelier.
func (s *search) settle() {
	const rounds = 8
	for range rounds {
		top := 0
		for i := range s.hyps {
			if s.hyps[i].score > s.hyps[top].score {
				top = i
			}
		}
		if h := &s.hyps[top]; h.expanded || h.refitted {
			return
		}
		s.grow(int32(top), 0)
	}
}

// doubts returns, by member of a hypothesis that was not expanded, how likely it is without that member: the weight beside its own. It loads the
// hypothesis.
func (s *search) doubts(h *hypothesis) []float64 {
	s.setBackground(h.background)
	s.load(h.comps, h.rates)
	_, bonus := s.devs.devices(s.ix, h.comps)
	weights := make([]float64, len(h.comps))
	for j, c := range h.comps {
		s.shift(c, 0)
		odds := s.fit(c).bayes + s.ix.logPrior(c)
		s.shift(c, h.rates[j])
		_, without := s.devs.devices(s.ix, slices.Delete(slices.Clone(h.comps), j, j+1))
		weights[j] = math.Exp(without - bonus - odds)
	}
	return weights
}
