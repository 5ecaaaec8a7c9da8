package localize

import (
	"cmp"
	"math"
	"slices"
)

// The search looks at the neighbours of the likeliest hypothesis that it expanded, the mode, but hardly at what differs from it in several places that have nothing to
// do with each other: their number grows exponentially. Normalising over what was seen alone would count many small doubts, each about another
// fault, as reasons to trust all the others. So the posterior is taken for a product: components whose presence depends on each other make a
// block, each block is normalised by itself, and blocks are independent.

// A factored posterior is a mode and the blocks that may differ from it.
type factored struct {
	mode   *hypothesis
	blocks map[int32]*block // by component
}

const (
	// faintest is the weight beside the mode's below which a hypothesis is left out.
	faintest = 1e-5
	// doubtful is the weight from which on it matters whether two differences depend on each other, and depends the log of the ratio from which on
	// they do.
	doubtful, depends = 1e-3, math.Ln2
)

// A neighbour is a hypothesis by what differs from the mode, with its weight relative to the mode's.
type neighbour struct {
	differs []int32
	weight  float64
}

// keyBut returns the key of the hypothesis that differs from this one in some components.
func (h *hypothesis) keyBut(differs []int32) uint64 {
	key := h.key
	for _, c := range differs {
		if _, in := slices.BinarySearch(h.comps, c); in {
			key -= scramble(uint64(c))
		} else {
			key += scramble(uint64(c))
		}
	}
	return key
}

// factor takes the posterior of the visited hypotheses apart, of which it is given the weights that the search went by, and those that each has by itself.
func (s *search) factor(weights, single []float64) *factored {
	top := s.mode(weights)
	mode := &s.hyps[top]
	var all []neighbour
	for i := range s.hyps {
		if w := single[i] / single[top]; i != top && w >= faintest {
			all = append(all, neighbour{difference(mode.comps, s.hyps[i].comps), w})
		}
	}
	slices.SortFunc(all, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(len(a.differs), len(b.differs)), cmp.Compare(b.weight, a.weight), slices.Compare(a.differs, b.differs))
	})
	b := builder{search: s, mode: mode, of: map[int32]*block{}, weight: func(key uint64) float64 {
		if i, ok := s.by[key]; ok {
			return single[i] / single[top]
		}
		return 0
	}}
	b.joinRivals(all)
	b.joinDependent(all)
	if !mode.expanded {
		// Its neighbours were not looked at.
		for j, w := range s.doubts(mode) {
			c := mode.comps[j]
			if _, seen := s.by[mode.keyBut([]int32{c})]; !seen && w >= faintest {
				b.root(c).add(&b, []int32{c}, w)
			}
		}
	}
	return b.factored()
}

// mode returns the likeliest hypothesis that was expanded, since what was not is not known from all sides; but the likeliest of all where those are left
// out beside it, because the search ended before it could be expanded.
func (s *search) mode(weights []float64) int {
	likeliest, top := 0, -1
	for i, w := range weights {
		if w > weights[likeliest] {
			likeliest = i
		}
		if s.hyps[i].expanded && (top < 0 || w > weights[top]) {
			top = i
		}
	}
	if top < 0 || weights[top] < faintest*weights[likeliest] {
		return likeliest
	}
	return top
}

// difference returns what is in one of two ascending slices but not in both.
func difference(a, b []int32) []int32 {
	var d []int32
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			d, a = append(d, a[0]), a[1:]
		case len(a) == 0 || b[0] < a[0]:
			d, b = append(d, b[0]), b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return d
}
