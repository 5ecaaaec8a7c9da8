package localize

import (
	"cmp"
	"slices"
)

// Where a hypothesis has many members, many changes of one of them may make it likelier, and most have nothing to do with each other. So all
// that go together are made at once, too.

// A move is a change of the hypothesis in expansion that makes it likelier.
type move struct {
	out, in []int32 // members that go and that come
	rates   []float64
	gain    float64
	alone   float64 // that without what devices add
}

const (
	// worth is what a move must gain, in nats, to be made together with others.
	worth = 0.3
	// inCommon is the share of their lossy observations that the components of two moves may have in common to be made together.
	inCommon = 0.6
)

// note keeps a neighbour of the hypothesis in expansion as a move, if it is one.
func (s *search) note(comps []int32, rates []float64, score, bonus float64) {
	if !s.moving || score < s.hyps[s.parent].score+worth {
		return
	}
	m := move{gain: score - s.hyps[s.parent].score}
	m.alone = m.gain - bonus + s.bonus
	old := s.hyps[s.parent].comps
	for _, c := range old {
		if !slices.Contains(comps, c) {
			m.out = append(m.out, c)
		}
	}
	for i, c := range comps {
		if !slices.Contains(old, c) {
			m.in, m.rates = append(m.in, c), append(m.rates, rates[i])
		}
	}
	s.moves = append(s.moves, m)
}

// leap remembers the hypothesis with the best moves that do not touch the same observations, if they are two or more.
func (s *search) leap(h *hypothesis) {
	slices.SortStableFunc(s.moves, func(a, b move) int {
		return cmp.Or(cmp.Compare(b.gain, a.gain), slices.Compare(a.out, b.out), slices.Compare(a.in, b.in))
	})
	comps, rates := slices.Clone(h.comps), slices.Clone(h.rates)
	var touched []int32
	score, made := h.score, 0
	for _, m := range s.moves {
		changes := slices.Concat(m.out, m.in)
		if slices.ContainsFunc(changes, func(c int32) bool {
			s.near(c)
			return slices.ContainsFunc(touched, func(x int32) bool {
				return float64(s.shared[x]) > inCommon*float64(min(s.lossy[c], s.lossy[x]))
			})
		}) {
			continue
		}
		for _, c := range m.out {
			j := slices.Index(comps, c)
			comps, rates = slices.Delete(comps, j, j+1), slices.Delete(rates, j, j+1)
		}
		comps, rates = append(comps, m.in...), append(rates, m.rates...)
		touched = append(touched, changes...)
		score += m.alone
		made++
	}
	if made > 1 && len(comps) <= s.cfg.MaxFaults {
		s.remember(comps, rates, score)
	}
}
