package localize

import (
	"math"
	"slices"
)

// A search walks over hypotheses, best first: it refits the best one not yet expanded, looks at all its neighbours (one component
// more, one less, one for another, several parts for their whole and the reverse), and remembers what it saw for the posterior.
type search struct {
	*model
	hyps []hypothesis
	by   map[uint64]int32 // hypothesis by key
	best float64          // score of the best hypothesis so far

	candidates []int32 // components that a lossy observation crosses
	seen       []int32 // stamp per component, for near
	stamp      int32
	nearby     []int32
	scratch    []int32
	rates      []float64
}

// A hypothesis is a set of faulty components, with their likeliest hazards.
type hypothesis struct {
	key      uint64
	comps    []int32 // ascending
	rates    []float64
	score    float64 // log of its posterior probability, but for a constant
	expanded bool
	// more is the log of the factor for hypotheses with yet another component: those of an expanded one were seen themselves.
	more float64
}

const (
	// horizon is how much less likely than the best a hypothesis may be, in nats, to be remembered.
	horizon = 10
	// rival is how much less likely one may be to be refitted and expanded after the best was found, and rivals how many are.
	rival, rivals = 2.5, 5
	// expansions bounds the work of all.
	expansions = 100
)

func newSearch(m *model) *search {
	s := &search{model: m, by: map[uint64]int32{}, best: math.Inf(-1), seen: make([]int32, m.ix.n)}
	weighShyness(m.ix, m.ev)
	for c := range m.ix.n {
		for _, e := range m.ev.entries[m.ev.start[c]:m.ev.start[c+1]] {
			if m.ev.terms[e.term].lost > 0 {
				s.candidates = append(s.candidates, c)
				break
			}
		}
	}
	return s
}

func (s *search) run() {
	s.remember(nil, nil, 0, 0)
	top, since := math.Inf(-1), 0
	for range expansions {
		next := int32(-1)
		for i := range s.hyps {
			if h := &s.hyps[i]; !h.expanded && (next < 0 || h.score > s.hyps[next].score) {
				next = int32(i)
			}
		}
		if next < 0 || s.hyps[next].score < top-rival || since > rivals {
			return
		}
		s.expand(next)
		since++
		if v := s.hyps[next].score; v > top+0.01 {
			top, since = v, 0
		}
	}
}

// expand refits a hypothesis and looks at its neighbours.
func (s *search) expand(i int32) {
	h := s.hyps[i] // a copy: remember may move the slice
	occam := s.refit(&h)
	h.expanded, h.more = true, 0
	s.hyps[i] = h
	s.best = max(s.best, h.score)

	more := 0.0
	if len(h.comps) < s.cfg.MaxFaults {
		for _, c := range s.candidates {
			if s.excess[c] > 0 || h.score+s.ceiling(c)+s.ix.logPrior(c) < s.best-horizon-1 {
				continue
			}
			f := s.fit(c)
			odds := f.bayes + s.ix.logPrior(c)
			s.neighbour(&h, -1, c, f.rate, h.score+odds, 0)
			if odds < 0 {
				more += math.Exp(odds)
			}
		}
	}
	more = math.Log1p(more)
	for j, c := range h.comps {
		rate := s.excess[c]
		s.shift(c, 0)
		rest := h.score - occam[j] - s.gain(c, rate)
		s.neighbour(&h, j, -1, 0, rest, more)
		for _, x := range s.near(c) {
			if x == c || s.excess[x] > 0 || rest+s.ceiling(x)+s.ix.logPrior(x) < s.best-horizon-1 {
				continue
			}
			f := s.fit(x)
			s.neighbour(&h, j, x, f.rate, rest+f.bayes+s.ix.logPrior(x), more)
		}
		s.shift(c, rate)
	}
	s.join(&h, occam, more)
	s.split(&h, occam, more)
}

// refit estimates background and rates anew and scores the hypothesis. It returns what each component pays for its freedom.
func (s *search) refit(h *hypothesis) []float64 {
	occam := make([]float64, len(h.comps))
	s.load(h.comps, h.rates)
	for range 2 {
		s.fitBackground()
		s.load(h.comps, h.rates)
		for j, c := range h.comps {
			s.shift(c, 0)
			f := s.fit(c)
			s.shift(c, f.rate)
			h.rates[j] = f.rate
			occam[j] = f.bayes - f.peak + s.ix.logPrior(c)
		}
	}
	h.score = s.sum + s.logBackgroundPrior()
	for _, o := range occam {
		h.score += o
	}
	return occam
}

// near returns the components that share a lossy observation with c. The slice is valid until the next call.
func (s *search) near(c int32) []int32 {
	s.stamp++
	s.nearby = s.nearby[:0]
	for _, e := range s.ev.entries[s.ev.start[c]:s.ev.start[c+1]] {
		if s.ev.terms[e.term].lost == 0 {
			continue
		}
		for _, x := range s.ev.comps[s.ev.first[e.branch]:s.ev.first[e.branch+1]] {
			if s.seen[x] != s.stamp {
				s.seen[x] = s.stamp
				s.nearby = append(s.nearby, x)
			}
		}
	}
	return s.nearby
}

// join replaces several members of the hypothesis by a component of which they are parts.
func (s *search) join(h *hypothesis, occam []float64, more float64) {
	var wholes []int32
	for _, c := range h.comps {
		wholes = s.ix.wholes(wholes, c)
	}
	slices.Sort(wholes)
	for i := 0; i < len(wholes); {
		w, n := wholes[i], 0
		for ; i < len(wholes) && wholes[i] == w; i++ {
			n++
		}
		if n < 2 || s.excess[w] > 0 {
			continue
		}
		score, was := h.score, s.sum
		comps, rates := s.scratch[:0], s.rates[:0]
		for j, c := range h.comps {
			if !s.ix.within(c, w) {
				comps, rates = append(comps, c), append(rates, h.rates[j])
				continue
			}
			s.shift(c, 0)
			score -= occam[j]
		}
		score += s.sum - was
		f := s.fit(w)
		s.scratch, s.rates = append(comps, w), append(rates, f.rate)
		s.remember(s.scratch, s.rates, score+f.bayes+s.ix.logPrior(w), more)
		s.load(h.comps, h.rates)
	}
}

// split replaces a component by those of its parts that the evidence asks for.
func (s *search) split(h *hypothesis, occam []float64, more float64) {
	for j, w := range h.comps {
		if s.ix.kindOf(w) == 0 {
			continue
		}
		was := s.sum
		s.shift(w, 0)
		score := h.score - occam[j] + s.sum - was
		comps := slices.Delete(append(s.scratch[:0], h.comps...), j, j+1)
		rates := slices.Delete(append(s.rates[:0], h.rates...), j, j+1)
		parts := s.ix.parts(nil, w)
		for len(comps) < s.cfg.MaxFaults {
			best, at, odds := fit{}, int32(-1), 0.0
			for _, p := range parts {
				if s.excess[p] > 0 || s.ceiling(p)+s.ix.logPrior(p) < odds {
					continue
				}
				f := s.fit(p)
				if o := f.bayes + s.ix.logPrior(p); o > odds {
					best, at, odds = f, p, o
				}
			}
			if at < 0 {
				break
			}
			comps, rates = append(comps, at), append(rates, best.rate)
			s.shift(at, best.rate)
			score += odds
			s.remember(comps, rates, score, more)
		}
		s.scratch, s.rates = comps, rates
		s.load(h.comps, h.rates)
	}
}

// neighbour remembers the hypothesis without its j-th component, unless j is negative, and with component add, unless that is.
func (s *search) neighbour(h *hypothesis, j int, add int32, rate, score, more float64) {
	if score < s.best-horizon {
		return
	}
	comps, rates := append(s.scratch[:0], h.comps...), append(s.rates[:0], h.rates...)
	if j >= 0 {
		comps, rates = slices.Delete(comps, j, j+1), slices.Delete(rates, j, j+1)
	}
	if add >= 0 {
		comps, rates = append(comps, add), append(rates, rate)
	}
	s.scratch, s.rates = comps, rates
	s.remember(comps, rates, score, more)
}

// remember keeps a hypothesis if it is likely enough and new, or likelier than thought. It copies what it keeps.
func (s *search) remember(comps []int32, rates []float64, score, more float64) {
	if math.IsNaN(score) || score < s.best-horizon {
		return
	}
	key := uint64(0)
	for _, c := range comps {
		key += scramble(uint64(c))
	}
	if i, ok := s.by[key]; ok {
		if h := &s.hyps[i]; !h.expanded && score > h.score {
			h.score = score
		}
		return
	}
	s.by[key] = int32(len(s.hyps))
	h := hypothesis{key: key, comps: slices.Clone(comps), rates: slices.Clone(rates), score: score, more: more}
	for i := 1; i < len(h.comps); i++ { // insertion sort of two slices
		for j := i; j > 0 && h.comps[j] < h.comps[j-1]; j-- {
			h.comps[j], h.comps[j-1] = h.comps[j-1], h.comps[j]
			h.rates[j], h.rates[j-1] = h.rates[j-1], h.rates[j]
		}
	}
	s.hyps = append(s.hyps, h)
}

// scramble spreads the bits of a component's number, so that the sum over a set tells sets apart (splitmix64, Steele et al. 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
