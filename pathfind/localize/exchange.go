package localize

import (
	"cmp"
	"slices"

	"whichlink/graphs"
)

// Several faults can hide behind others. Where paths are not known, of a and b, one alone may be put in place of neither, but c and d in place of
// both; and a switch explains about what a host beside it and a link beyond do, while neither of them takes its place alone. Then all swaps of one
// member are downhill from a hypothesis that is no likelier than one it never sees, and would be believed. So two are put in the place of one
// that is made of several, and of pairs.

const (
	// exchanged bounds the size of a hypothesis whose members are exchanged for pairs, and firsts how many components are tried as the first of a pair.
	exchanged, firsts = 6, 8
	// underrated is by how much a pair may be better, in nats, than it seems with the rate of one told before there is the other.
	underrated = 6
)

// doubt looks at the hypotheses with two others in place of one member of the likeliest, or of two that share losses, or with one in place of two that share
// none, or with some the other way, and follows what is better. It comes last, because it takes time that is better spent on simpler changes as long as one of them is any use.
func (s *search) doubt() {
	done := map[uint64]bool{}
	for range 4 {
		i := s.likeliest()
		h := s.hyps[i]
		if len(h.comps) > handful || done[h.key] {
			return
		}
		done[h.key] = true
		s.parent = i
		s.refit(&h)
		work, known := s.work, len(s.hyps)
		s.mirror(&h)
		s.unite(&h, work+patience)
		if len(h.comps) <= exchanged {
			s.exchangeAll(&h, s.work+patience)
		}
		s.work = work
		s.expandBest(known)
		if slices.ContainsFunc(s.hyps, func(h hypothesis) bool { return !h.expanded && h.score > s.best+even }) {
			s.follow()
		}
	}
}

// exchangeAll looks at the hypotheses with two others in place of one member, for each its share of half of the effort, or of two that share losses.
func (s *search) exchangeAll(h *hypothesis, until int) {
	half := s.work + (until-s.work)/2
	for j, c := range h.comps {
		if s.ix.kindOf(c) > 0 {
			s.exchangeFor(h, s.work+(half-s.work)/(len(h.comps)-j), j)
		}
	}
	for j, c := range h.comps {
		for k := j + 1; k < len(h.comps); k++ {
			d := h.comps[k]
			if s.near(c); 6*s.shared[d] >= min(s.lossy[c], s.lossy[d]) {
				s.exchangeFor(h, until, j, k)
			}
		}
	}
}

// unite looks at the hypotheses with one other in place of two members that share losses with it and not with each other, as two hosts do with a link beyond their
// switch where what else they cross is dead. Neither of them alone gives way to it, since it would make the other's flows lose more than they do.
func (s *search) unite(h *hypothesis, until int) {
	const share = 3 // one in so many of the losses of either must be those of what takes their place
	rivals := make([][]int32, len(h.comps))
	for j, c := range h.comps {
		rivals[j] = slices.DeleteFunc(s.rivalsOf(c, share), func(x int32) bool { return s.excess[x] > 0 })
		slices.Sort(rivals[j])
	}
	type change struct {
		twin uint64
		j, k int
	}
	done, twins := map[change]bool{}, map[int32]uint64{} // what looks alike need not be tried each for itself
	linkOf := func(j int) int32 {
		if c := h.comps[j]; s.ix.kindOf(c) == 0 {
			return s.ix.link(graphs.ArcID(c).Link())
		}
		return -1
	}
	for _, own := range [...]bool{true, false} { // first the link of either, then whatever else
		for j := range h.comps {
			for k := j + 1; k < len(h.comps); k++ {
				for _, x := range rivals[k] {
					if _, both := slices.BinarySearch(rivals[j], x); !both || own != (x == linkOf(j) || x == linkOf(k)) {
						continue
					}
					if s.work > until {
						return
					}
					if s.ev.sets != nil && !own {
						if twins[x] == 0 {
							twins[x] = s.twin(x)
						}
						like := change{twins[x], j, k}
						if done[like] {
							continue
						}
						done[like] = true
					}
					s.couple(h, x, j, k)
					s.trial(h, x, j, k)
				}
			}
		}
	}
}

// expandBest expands the best hypotheses that were found last, from one of them on: a few, if they are hardly less likely than the best of all.
func (s *search) expandBest(from int) {
	for range 3 {
		best := -1
		for i := from; i < len(s.hyps); i++ {
			if !s.hyps[i].expanded && (best < 0 || s.hyps[i].score > s.hyps[best].score) {
				best = i
			}
		}
		if best < 0 || s.hyps[best].score < s.best-rival {
			return
		}
		s.expand(int32(best))
	}
}

// likeliest returns the likeliest hypothesis of those that were expanded, or the first of all.
func (s *search) likeliest() int32 {
	best := 0
	for i := range s.hyps {
		if s.hyps[i].expanded && s.hyps[i].score > s.hyps[best].score {
			best = i
		}
	}
	return int32(best)
}

// exchangeFor looks at the hypotheses with two others in place of one or two members.
func (s *search) exchangeFor(h *hypothesis, until int, out ...int) {
	share := int32(3) // one in so many of the losses of a member must be those of what takes its place
	if len(out) == 1 {
		share = 6
	}
	var candidates []int32
	for _, j := range out {
		candidates = append(candidates, s.rivalsOf(h.comps[j], share)...)
	}
	slices.Sort(candidates)
	candidates = slices.Compact(candidates)
	was, rest := s.sum, h.score
	for _, j := range out {
		s.shift(h.comps[j], 0)
		rest -= s.occam[j]
	}
	base := s.sum
	rest += base - was
	var first []addition
	for _, x := range candidates {
		if s.excess[x] > 0 || slices.ContainsFunc(out, func(j int) bool { return h.comps[j] == x }) || s.hopeless(x, 0) {
			continue
		}
		f := s.fit(x)
		first = append(first, addition{comp: x, rate: f.rate, odds: f.bayes + s.priorOf(x) - s.overlap[x]})
	}
	slices.SortFunc(first, func(a, b addition) int {
		return cmp.Or(cmp.Compare(b.odds, a.odds), cmp.Compare(a.comp, b.comp))
	})
	if s.ev.sets != nil { // of several that look alike one is enough
		looks := map[uint64]bool{}
		first = slices.DeleteFunc(first, func(x addition) bool {
			if len(looks) == firsts {
				return true
			}
			like := s.twin(x.comp)
			seen := looks[like]
			looks[like] = true
			return seen
		})
	}
	for _, x := range first[:min(len(first), firsts)] {
		s.shift(x.comp, x.rate)
		known := map[uint64]pairing{}
		for _, y := range candidates {
			if s.work > until {
				break
			}
			if s.excess[y] > 0 || slices.ContainsFunc(out, func(j int) bool { return h.comps[j] == y }) {
				continue
			}
			floor := s.best - horizon - underrated - rest
			if prior := s.priorOf(y) - s.overlap[y]; !s.hopeless(y, floor-x.odds-prior) {
				if f := s.fit(y); f.bayes >= floor-x.odds-prior {
					s.exchangePair(h, out, x, addition{comp: y, rate: f.rate, odds: f.bayes + prior}, rest-base, known)
				}
			}
		}
		s.shift(x.comp, 0)
	}
	for _, j := range out {
		s.shift(h.comps[j], h.rates[j])
	}
}

// exchangePair remembers the hypothesis with a pair in place of some members, of which the first is loaded at the rate that it has alone. What the
// likelihood adds to the score without the pair is known, and so may be what comes of the pair: that of what looks like the second.
func (s *search) exchangePair(h *hypothesis, out []int, x, y addition, rest float64, known map[uint64]pairing) {
	comps, rates := s.comps[:0], s.rates[:0]
	for i, z := range h.comps {
		if !slices.Contains(out, i) {
			comps, rates = append(comps, z), append(rates, h.rates[i])
		}
	}
	s.comps, s.rates = append(comps, x.comp, y.comp), append(rates, x.rate, y.rate)
	if i, ok := s.by[keyOf(s.comps)]; ok && s.hyps[i].expanded {
		return
	}
	n := len(comps)
	found, ok, twin := pairing{}, false, uint64(0)
	if s.ev.sets != nil {
		twin = s.twin(y.comp)
		found, ok = known[twin]
	}
	if ok {
		s.work += found.work
	} else if found = s.pair(x, y); twin != 0 {
		known[twin] = found
	}
	s.rates[n], s.rates[n+1] = found.rates[0], found.rates[1]
	s.remember(s.comps, s.rates, rest+found.score-s.overlap[x.comp]-s.overlap[y.comp])
}

// A pairing is what comes of two members that are fitted together: their rates, what they add to the log-likelihood less what they pay, and the work that it was.
type pairing struct {
	rates [2]float64
	score float64
	work  int
}

// pair fits two members together, of which the first is loaded at the rate that it has alone, and leaves them as they were.
func (s *search) pair(x, y addition) (p pairing) {
	work := s.work
	s.shift(y.comp, y.rate)
	for range 3 {
		was := s.sum
		var first, second float64
		p.rates[0], first, _ = s.again(x.comp)
		p.rates[1], second, _ = s.again(y.comp)
		p.score = s.sum + first + second
		if s.sum < was+gained {
			break
		}
	}
	s.shift(y.comp, 0)
	s.shift(x.comp, x.rate)
	if p.rates != [2]float64{x.rate, y.rate} { // else they have nothing to do with each other, and of the first it was known what that comes to
		p.work = s.work - work
	}
	return p
}

// rivalsOf returns the components that share one in so many lossy observations of one, itself among them.
func (s *search) rivalsOf(c, share int32) []int32 {
	var rivals []int32
	for _, x := range s.near(c) {
		if share*s.shared[x] >= s.lossy[c] {
			rivals = append(rivals, x)
		}
	}
	return rivals
}
