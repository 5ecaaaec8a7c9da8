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
	blocks []block
	of     map[int32]int // the block of a component
}

// A block is components and the states that they may be in together.
type block struct {
	states []state // the first is that of the mode
	sum    float64 // of the weights
}

// A state is what is faulty of a block, with its weight relative to the mode's.
type state struct {
	comps  []int32
	weight float64
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

// factor takes the posterior of the visited hypotheses apart.
func (s *search) factor(weights []float64) *factored {
	top := s.mode(weights)
	mode := &s.hyps[top]
	var all []neighbour
	for i := range s.hyps {
		if w := weights[i] / weights[top]; i != top && w >= faintest {
			all = append(all, neighbour{difference(mode.comps, s.hyps[i].comps), w})
		}
	}
	slices.SortFunc(all, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(len(a.differs), len(b.differs)), cmp.Compare(b.weight, a.weight), slices.Compare(a.differs, b.differs))
	})
	u := union{}
	s.joinDependent(mode, all, u, func(key uint64) float64 {
		if i, ok := s.by[key]; ok {
			return weights[i] / weights[top]
		}
		return 0
	})
	s.joinRivals(mode, all, u)
	if !mode.expanded {
		// Its neighbours were not looked at.
		for j, w := range s.doubts(mode) {
			c := mode.comps[j]
			if _, seen := s.by[mode.keyBut([]int32{c})]; !seen && w >= faintest {
				all = append(all, neighbour{[]int32{c}, w})
			}
		}
	}
	f := &factored{mode: mode, of: map[int32]int{}}
	f.split(all, u)
	return f
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

// joinDependent joins what differs from the mode at once and depends on each other: the weight of all is not the product of each one's.
func (s *search) joinDependent(mode *hypothesis, all []neighbour, u union, weight func(key uint64) float64) {
	for _, n := range all {
		parts := u.parts(n.differs)
		if len(parts) < 2 {
			continue
		}
		expected := 1.0
		for _, part := range parts {
			expected *= weight(mode.keyBut(part))
		}
		if max(n.weight, expected) >= doubtful && math.Abs(math.Log(n.weight/expected)) > depends || expected == 0 {
			u.join(n.differs)
		}
	}
}

// joinRivals joins differences which nothing was seen of together, though that would matter if they did not depend on each other: components
// that explain the same losses are faulty in place of each other, and none of them is the likelier for there being many.
func (s *search) joinRivals(mode *hypothesis, all []neighbour, u union) {
	for i, a := range all {
		if len(u.parts(a.differs)) > 1 {
			continue
		}
		for _, c := range a.differs {
			s.near(c)
			for _, b := range all[:i] {
				if a.weight*b.weight < doubtful || u.find(a.differs[0]) == u.find(b.differs[0]) || len(u.parts(b.differs)) > 1 {
					continue
				}
				if _, ok := s.by[mode.keyBut(slices.Concat(a.differs, b.differs))]; !ok &&
					slices.ContainsFunc(b.differs, func(d int32) bool { return 2*s.shared[d] > min(s.lossy[c], s.lossy[d]) }) {
					u.join(slices.Concat(a.differs, b.differs))
				}
			}
		}
	}
}

// split makes blocks of what belongs together.
func (f *factored) split(all []neighbour, u union) {
	for _, n := range all {
		if len(u.parts(n.differs)) > 1 {
			continue
		}
		root := u.find(n.differs[0])
		at, ok := f.of[root]
		if !ok {
			at = len(f.blocks)
			f.blocks = append(f.blocks, block{states: []state{{weight: 1}}, sum: 1})
		}
		for _, c := range append(n.differs, root) {
			f.of[c] = at
		}
		b := &f.blocks[at]
		b.states = append(b.states, state{n.differs, n.weight})
		b.sum += n.weight
	}
	for _, c := range f.mode.comps {
		if at, ok := f.of[c]; ok {
			b := &f.blocks[at]
			b.states[0].comps = append(b.states[0].comps, c)
		}
	}
	for i := range f.blocks {
		states := f.blocks[i].states
		for j := 1; j < len(states); j++ {
			states[j].comps = difference(states[0].comps, states[j].comps)
		}
	}
}

// holds returns the probability that a member of a class is faulty.
func (f *factored) holds(class []int32) float64 {
	none := 1.0
	var done []int
	for _, c := range class {
		at, ok := f.of[c]
		if !ok {
			if _, ok := slices.BinarySearch(f.mode.comps, c); ok {
				return 1
			}
			continue
		}
		if slices.Contains(done, at) {
			continue
		}
		done = append(done, at)
		b := &f.blocks[at]
		without := 0.0
		for _, s := range b.states {
			if !slices.ContainsFunc(s.comps, func(c int32) bool { return slices.Contains(class, c) }) {
				without += s.weight
			}
		}
		none *= without / b.sum
	}
	return 1 - none
}

// healthy returns the probability that nothing is faulty.
func (f *factored) healthy() float64 {
	p := 1.0
	for _, c := range f.mode.comps {
		if _, ok := f.of[c]; !ok {
			return 0
		}
	}
	for i := range f.blocks {
		none := 0.0
		for _, s := range f.blocks[i].states {
			if len(s.comps) == 0 {
				none += s.weight
			}
		}
		p *= none / f.blocks[i].sum
	}
	return p
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

// A union knows which components belong together: each has a parent, the least of all is the root.
type union map[int32]int32

func (u union) find(c int32) int32 {
	for {
		p, ok := u[c]
		if !ok || p == c {
			return c
		}
		c = p
	}
}

func (u union) join(comps []int32) {
	for _, c := range comps[1:] {
		a, b := u.find(comps[0]), u.find(c)
		u[max(a, b)] = min(a, b)
	}
}

// parts splits components by what belongs together.
func (u union) parts(comps []int32) [][]int32 {
	var parts [][]int32
	for _, c := range comps {
		i := slices.IndexFunc(parts, func(p []int32) bool { return u.find(p[0]) == u.find(c) })
		if i < 0 {
			i, parts = len(parts), append(parts, nil)
		}
		parts[i] = append(parts[i], c)
	}
	return parts
}
