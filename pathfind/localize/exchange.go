package localize

import (
	"cmp"
	"slices"
)

// Where paths are not known, several faults can hide behind others: of a and b, one alone may be put in place of neither, but c and d in place of
// both. Then all swaps of one member are downhill from a hypothesis that is no likelier than one it never sees, and would be believed.
// So pairs are exchanged together.

const (
	// exchanged bounds the size of a hypothesis whose pairs are exchanged, and firsts how many components are tried as the first of a pair.
	exchanged, firsts = 6, 8
)

// exchange looks at the hypotheses with two others in place of a pair of members.
func (s *search) exchange(h *hypothesis) {
	if len(h.comps) < 2 || len(h.comps) > exchanged {
		return
	}
	for j, c := range h.comps {
		if !s.vague(c) {
			continue
		}
		for k := j + 1; k < len(h.comps); k++ {
			if d := h.comps[k]; s.vague(d) {
				if s.near(c); s.shared[d] > 0 {
					s.exchangePair(h, j, k)
				}
			}
		}
	}
}

// vague reports whether most lossy observations of a component may have gone other ways.
func (s *search) vague(c int32) bool {
	open, last := int32(0), int32(-1)
	for _, e := range s.ev.entries[s.ev.start[c]:s.ev.start[c+1]] {
		if t := &s.ev.terms[e.term]; e.term != last && t.lost > 0 && t.n > 1 && len(s.ev.obs[t.obs].Alternatives) > 0 {
			last = e.term
			open++
		}
	}
	return 2*open > s.lossy[c]
}

func (s *search) exchangePair(h *hypothesis, j, k int) {
	c, d := h.comps[j], h.comps[k]
	candidates := s.rivalsOf(c)
	candidates = append(candidates, s.rivalsOf(d)...)
	slices.Sort(candidates)
	candidates = slices.Compact(candidates)
	was := s.sum
	s.shift(c, 0)
	s.shift(d, 0)
	rest := h.score - s.occam[j] - s.occam[k] + s.sum - was
	var first []addition
	for _, x := range candidates {
		if s.excess[x] > 0 || s.hopeless(x, 0) {
			continue
		}
		f := s.fit(x)
		first = append(first, addition{comp: x, rate: f.rate, odds: f.bayes + s.ix.logPrior(x) - s.overlap[x]})
	}
	slices.SortFunc(first, func(a, b addition) int {
		return cmp.Or(cmp.Compare(b.odds, a.odds), cmp.Compare(a.comp, b.comp))
	})
	for _, x := range first[:min(len(first), firsts)] {
		s.shift(x.comp, x.rate)
		for _, y := range candidates {
			prior := s.ix.logPrior(y)
			if s.excess[y] > 0 || s.hopeless(y, s.best-horizon-leeway-rest-x.odds-prior) {
				continue
			}
			f := s.fit(y)
			comps, rates := s.comps[:0], s.rates[:0]
			for i, z := range h.comps {
				if i != j && i != k {
					comps, rates = append(comps, z), append(rates, h.rates[i])
				}
			}
			s.comps, s.rates = append(comps, x.comp, y), append(rates, x.rate, f.rate)
			s.remember(s.comps, s.rates, rest+x.odds+f.bayes+prior-s.overlap[y])
		}
		s.shift(x.comp, 0)
	}
	s.shift(c, h.rates[j])
	s.shift(d, h.rates[k])
}

// rivalsOf returns the components that share most lossy observations of one, itself among them.
func (s *search) rivalsOf(c int32) []int32 {
	var rivals []int32
	for _, x := range s.near(c) {
		if 2*s.shared[x] >= s.lossy[c] {
			rivals = append(rivals, x)
		}
	}
	return rivals
}
