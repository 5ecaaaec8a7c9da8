package localize

import (
	"cmp"
	"slices"
)

// dispensable is what a component gains at most, in nats, that may be spared beside the others of its hypothesis.
const dispensable = 3

// doubled returns by how much the score of the loaded hypothesis is too high since several of its components explain the same losses. Each may be spared as long as the others
// are as bad as they are, and then pays nothing for its freedom; but one of them pays for all.
func (s *search) doubled(h *hypothesis) float64 {
	if len(s.dispensed) < 2 {
		return 0
	}
	was := s.sum
	for _, j := range s.dispensed {
		was += s.occam[j]
		s.shift(h.comps[j], 0)
	}
	inTurn := s.sum
	worth := map[int]float64{}
	for _, j := range s.dispensed {
		worth[j] = s.fit(h.comps[j]).bayes
	}
	slices.SortFunc(s.dispensed, func(a, b int) int {
		return cmp.Or(cmp.Compare(worth[b], worth[a]), cmp.Compare(h.comps[a], h.comps[b]))
	})
	for _, j := range s.dispensed {
		f := s.fit(h.comps[j])
		s.shift(h.comps[j], f.rate)
		inTurn += f.bayes + s.priorOf(h.comps[j])
	}
	s.load(h.comps, h.rates)
	return max(0, was-inTurn)
}
