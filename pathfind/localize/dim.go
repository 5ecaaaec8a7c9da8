package localize

import "slices"

// Most trials come to nothing. Where all ways are known that is told by the hazards of branches alone: the likelihoods of the flows are asked for once, when
// all rates have been guessed, and what is loaded remains as it is.

// dim reports that a trial surely comes to no hypothesis that is remembered, as promising does, before anything is loaded. The members in coupled are
// those to be fitted anew.
func (s *search) dim(h *hypothesis, score float64, add int32, without []int) bool {
	clear := func(j int) bool { return !s.unsure[h.comps[j]] }
	if s.ev.sets != nil || add >= 0 && s.unsure[add] || !all(s.coupled, clear) || !all(without, clear) {
		return false
	}
	floor := s.best - horizon - score
	if add >= 0 {
		floor -= s.priorOf(add)
	}
	for _, j := range without {
		s.try(h.comps[j], 0)
	}
	again := func(c int32) {
		from := s.excess[c]
		if from == 0 {
			from = s.some[few/2]
		}
		s.try(c, 0)
		rate, _, _ := s.guess(c, from)
		s.try(c, rounded(rate))
	}
	hopeless, sum := false, 0.0
	for range 2 {
		if add >= 0 {
			again(add)
		}
		for _, j := range s.coupled {
			again(h.comps[j])
		}
		sum = s.triedSum()
		if hopeless = sum+sure < floor; hopeless || len(s.coupled) == 0 {
			break
		}
	}
	for _, j := range s.coupled {
		if s.excess[h.comps[j]] > 0 {
			floor -= s.occam[j]
		}
	}
	hopeless = hopeless || len(s.coupled) > 0 && sum+doubted < floor
	for _, l := range slices.Clone(s.tries) {
		s.try(l.comp, l.was)
	}
	s.tries = s.tries[:0]
	return hopeless
}

func all(js []int, is func(int) bool) bool {
	return !slices.ContainsFunc(js, func(j int) bool { return !is(j) })
}

// A tried is a component whose hazard was changed, and the one that is loaded.
type tried struct {
	comp int32
	was  float64
}

// try changes the hazard of a component, but not the likelihoods that depend on it.
func (m *model) try(c int32, to float64) {
	d := to - m.excess[c]
	if d == 0 {
		return
	}
	if !slices.ContainsFunc(m.tries, func(l tried) bool { return l.comp == c }) {
		m.tries = append(m.tries, tried{c, m.excess[c]})
	}
	m.excess[c] = to
	for _, e := range m.ev.entries[m.ev.start[c]:m.ev.start[c+1]] {
		m.hazard[e.branch] += d * e.times
	}
}

// triedSum returns what the log-likelihood would be if what is tried were loaded.
func (m *model) triedSum() float64 {
	sum, ratio := m.sum, 1.0 // one logarithm serves for many, as in gainOfTerms
	m.round++
	for _, l := range m.tries {
		sum -= (m.excess[l.comp] - l.was) * m.ev.exposure[l.comp]
		for _, e := range m.ev.entries[m.ev.start[l.comp]:m.ev.start[l.comp+1]] {
			if m.met[e.term] == m.round {
				continue
			}
			m.met[e.term] = m.round
			m.work++
			t, s, was := &m.ev.terms[e.term], m.hazard[e.branch], m.terms[e.term]
			in, out := t.over(s)
			if !(out > 0) {
				sum += t.at(s) - was
				continue
			}
			sum += t.base + t.keep*s - was
			if ratio *= in + out; ratio < 1e-140 || ratio > 1e140 {
				sum += log(ratio)
				ratio = 1
			}
		}
	}
	return sum + log(ratio)
}
