package localize

import (
	"cmp"
	"math"
	"slices"
)

// handful is how many faults are found one after the other, with a look at all alternatives on the way.
const handful = 12

// crowd is the share of their lossy observations that two additions may have in common to be made at once.
const crowd = 0.34

// batch is how many additions are weighed at a time, best first, where two cores may do that.
const batch = 16

// ahead is for how many it is told at a time what looks alike where ways are not known, before one after the other is weighed.
const ahead = 128

// grow refits a hypothesis, drops what it does not need and adds all that it asks for. It returns the hypothesis that comes of it, or -1 if
// it is content or that has no more than the least number of members. No other neighbours are looked at on the way to a good hypothesis.
func (s *search) grow(i int32, least int) int32 {
	h := s.hyps[i]
	h.comps, h.rates = slices.Clone(h.comps), slices.Clone(h.rates)
	s.parent, s.hyps[i].grown = i, true
	if s.atHand != i {
		s.refit(&h)
	}
	s.hyps[i].adopt(&h)
	if s.prune(&h) {
		s.refit(&h)
		seen := int32(len(s.hyps))
		if i = s.remember(h.comps, h.rates, h.score); i < seen {
			return -1 // it has been here before
		}
		s.hyps[i].adopt(&h)
	}
	s.best = max(s.best, h.score)
	s.atHand, s.hyps[i].grown = i, true
	if s.exhausted() || len(h.comps) >= s.cfg.MaxFaults {
		return -1
	}
	next := s.addAll(&h, s.pick(&h))
	again := next <= i && s.barred == nil // what it may not add leads it where it has been on other ways
	if again || next < 0 || next == i || len(s.hyps[next].comps) <= least {
		return -1
	}
	return next
}

// growOn goes on from what came of the hypothesis that nothing is faulty, if that is likely enough.
func (s *search) growOn() {
	if len(s.hyps) < 2 || s.hyps[1].score < s.best-horizon {
		return
	}
	for i := int32(1); i >= 0; {
		i = s.grow(i, 0)
	}
}

// pick returns, best first, the components that should be faulty besides, but for those that share more than crowd of their lossy
// observations with a better one. Most share with the best ones, and need not be weighed.
func (s *search) pick(h *hypothesis) (additions []addition) {
	list, sets := s.prospects(h, 0, s.barred), s.ev.sets != nil
	if sets { // where ways are not known nothing but a look tells
		list = s.bounded(list)
	}
	slices.SortFunc(list, func(a, b prospect) int { return cmp.Or(cmp.Compare(b.most, a.most), cmp.Compare(a.comp, b.comp)) })
	better := func(a, b addition) int {
		return cmp.Or(cmp.Compare(b.odds+b.beside, a.odds+a.beside), cmp.Compare(a.comp, b.comp))
	}
	blocked := make([]bool, s.ix.n)
	most, looks := batch, 0
	if sets { // which have but one state
		most, looks = 1, ahead
	}
	var weighed []addition  // best first
	w, at := &weighing{}, 0 // of the first of the list, and which of them is next
	for len(list) > 0 || len(weighed) > 0 {
		n := 0
		for n < min(most, len(list)) && (len(weighed) == 0 || list[n].most >= weighed[0].odds+weighed[0].beside) {
			n++
		}
		if n > 0 {
			if at == len(w.list) {
				w, at = s.weighing(list[:max(n, min(looks, len(list)))], 0, true), 0
			}
			if sets {
				w.lookAt(s, at)
			} else {
				s.weigh(w)
			}
			for end := at + n; at < end; at++ {
				if x := w.list[at]; !w.below[at] && x.odds+x.beside > 0 {
					i, _ := slices.BinarySearchFunc(weighed, x.addition, better)
					weighed = slices.Insert(weighed, i, x.addition)
				}
			}
			list = list[n:]
			continue
		}
		if len(weighed) == 0 {
			break
		}
		x := weighed[0]
		weighed = weighed[1:]
		if blocked[x.comp] {
			continue
		}
		if additions = append(additions, x); s.careful {
			break
		}
		for _, c := range s.near(x.comp) {
			blocked[c] = blocked[c] || float64(s.shared[c]) > crowd*float64(min(s.lossy[c], s.lossy[x.comp]))
		}
		list = slices.DeleteFunc(list, func(x prospect) bool { return blocked[x.comp] })
		w, at = &weighing{}, 0
	}
	return additions
}

// bounded leaves of a list, in place, what may be more likely than not, with the most that it may be.
func (s *search) bounded(list []prospect) []prospect {
	s.model.each(len(list), func(m *model, i int) {
		x := &list[i]
		most, work := s.upper(x.comp, -x.odds-x.beside)
		x.most = min(x.most, most+x.odds+x.beside)
		m.work += work
	})
	return slices.DeleteFunc(list, func(x prospect) bool { return x.most <= 0 })
}

// prune drops the components of the loaded hypothesis that it is clearly likelier without, by a nat and more, one after the other. Those stay that a switch
// which is surely bad in part asks for: else they would be found again one by one.
func (s *search) prune(h *hypothesis) bool {
	pruned := false
	devices, bonus := s.devs.devices(s.ix, h.comps)
	gains := s.gainsOf(h.comps)
	for j := 0; j < len(h.comps); j++ {
		c := h.comps[j]
		if pruned {
			gains[j] = s.gainOf(c)
		}
		needed, without := gains[j]+s.occam[j]+1, bonus
		if needed < dismal && slices.ContainsFunc(devices, func(d device) bool { return d.odds > sure && slices.Contains(d.members, c) }) {
			_, without = s.devs.devices(s.ix, slices.Delete(slices.Clone(h.comps), j, j+1))
		}
		if needed+bonus-without > 0 {
			continue
		}
		s.shift(c, 0)
		bonus = without
		h.comps, h.rates = slices.Delete(h.comps, j, j+1), slices.Delete(h.rates, j, j+1)
		s.occam = slices.Delete(s.occam, j, j+1)
		gains = slices.Delete(gains, j, j+1)
		pruned = true
		j--
	}
	return pruned
}

// gainsOf returns by how much the log-likelihood is greater with each of the loaded components than without.
func (m *model) gainsOf(comps []int32) []float64 {
	gains := make([]float64, len(comps))
	if !m.single {
		for j, c := range comps {
			gains[j] = m.gainOf(c)
		}
		return gains
	}
	m.each(len(comps), func(m *model, j int) { gains[j] = m.gainOf(comps[j]) })
	return gains
}

// gainOf returns by how much the log-likelihood is greater with a loaded component than without. Where not all ways are known it loads something else for a
// while.
func (m *model) gainOf(c int32) float64 {
	rate := m.excess[c]
	if m.single {
		return -m.gainOfTerms(c, -rate)
	}
	m.shift(c, 0)
	defer m.shift(c, rate)
	return m.gain(c, rate)
}

// doubts returns, by member of a hypothesis that was not expanded, how likely it is without that member: the weight beside its own. It loads the
// hypothesis.
func (s *search) doubts(h *hypothesis) []float64 {
	s.recall(h)
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
