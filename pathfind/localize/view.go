package localize

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Where flows lose packets by themselves more often than usual, two explanations stand beside each other: few that do, and faults of few flows each; or
// many that do, and none of these faults. No change of one fault leads from one to the other. So the search is made a second time, with habits learnt from what
// evident faults leave, and both answers count by how well they explain the evidence.

// A view is what the search found under some habits of flows.
type view struct {
	share   float64 // its probability beside the other views
	score   float64 // log of that, but for a constant
	habits  habits
	hyps    []hypothesis
	by      map[uint64]int32
	best    float64
	weights []float64 // of the hypotheses
	parts   *factored
	seen    map[int32]mentions
}

const (
	// otherHabits is how likely flows have other habits than usual, before any evidence.
	otherHabits = 0.3
	// oftener is how many times as many flows as usual must seem to lose packets by themselves for that to be thought of.
	oftener = 3
	// doubtable is how many nats a fault may explain at the most for flows to stand for it that lose packets by themselves, of which each explains fitted
	// of them at least; fitting is how many more one may under habits that fit it.
	doubtable, fitted, fitting = 50, 2, 3
)

// heedFlows learns from flows that lose packets by themselves, if there are any, and ends the search.
func (s *search) heedFlows() {
	if s.ev.selected {
		s.conclude()
		return
	}
	evident, odd := s.evident()
	if !odd {
		if _, ok := s.attend(aboutUsual(s.cfg), s.likeliestSoFar()); ok {
			s.follow()
		}
		s.conclude()
		return
	}
	s.conclude()
	usual := s.view(unknownHabits(s.cfg))
	s.hyps, s.by = nil, map[uint64]int32{}
	work := s.work
	s.work = 0 // however long the first search took
	learnt, _ := s.attend(openMinded, evident)
	s.conclude()
	s.views = []view{usual, s.view(learnt)}
	s.work += work
	s.compare()
}

// conclude looks at what the likeliest hypotheses may have missed.
func (s *search) conclude() {
	s.doubt()
	s.recreate()
	s.revise()
}

// evident returns the likeliest hypothesis without the members that flows which lose packets by themselves might stand for, and reports whether it seems
// that many do.
func (s *search) evident() (h hypothesis, odd bool) {
	h = s.likeliestSoFar()
	h.comps, h.rates = slices.Clone(h.comps), slices.Clone(h.rates)
	flows, lossy, own := float64(s.ev.flows), 0.0, 0.0
	for _, n := range s.ev.clean {
		flows += float64(n)
	}
	s.setBackground(h.background)
	s.load(h.comps, h.rates)
	for i := range s.ev.flows {
		if t := &s.ev.terms[i]; t.lost > 0 && !s.ev.obs[t.obs].ttl() {
			lossy++
			if odds := s.oddsOfOwn(t); odds > negligibleOdds {
				own += odds / ((1 + odds) * t.same)
			}
		}
	}
	usual := s.cfg.Outlier * flows
	many := max(fewOwn, oftener*usual)
	// Where not even half as many as usual stand for themselves faults do not hide others.
	if lossy < many || own < usual/2 || own+float64(len(h.comps))*doubtable/fitted < many {
		return h, false
	}
	// More cannot be gained of a flow that stands for itself, if all that are lossy do.
	most := log(lossy/flows/s.cfg.Outlier) + fitting
	kept := 0
	for j, c := range h.comps {
		s.shift(c, 0)
		margin := s.gain(c, h.rates[j]) + s.ix.logPrior(c)
		s.shift(c, h.rates[j])
		if crossing := float64(s.lossy[c]) / fullWeight; margin < min(most*crossing, doubtable) {
			own += min(crossing, max(margin, 0)/fitted)
			continue
		}
		h.comps[kept], h.rates[kept] = c, h.rates[j]
		kept++
	}
	h.comps, h.rates = h.comps[:kept], h.rates[:kept]
	return h, own >= many
}

// view returns what the search found under the habits that are set.
func (s *search) view(h habits) view {
	v := view{share: 1, habits: h, hyps: s.hyps, by: s.by, best: s.best}
	v.weights, v.score = s.weights()
	v.score += s.ev.ofHabits(&h)
	v.parts, v.seen = s.factor(v.weights), s.mentioned(v.weights)
	return v
}

// ofHabits is the log of how likely habits are beforehand, and the flows without loss with them: what is true of all hypotheses.
func (ev *evidence) ofHabits(h *habits) float64 {
	sum := h.prior
	for bits, n := range ev.clean {
		if n > 0 {
			sum += float64(n) * math.Log1p(-h.rate+h.rate*(1-usuallyTotal)*h.mean(lossless(bits)))
		}
	}
	return sum
}

// compare shares the probability out among the views, and has the search think as the likeliest does, which comes first.
func (s *search) compare() {
	slices.SortStableFunc(s.views, func(a, b view) int { return cmp.Compare(b.score, a.score) })
	sum := 0.0
	for i := range s.views {
		s.views[i].share = math.Exp(s.views[i].score - s.views[0].score)
		sum += s.views[i].share
	}
	for i := range s.views {
		s.views[i].share /= sum
	}
	first := &s.views[0]
	s.setHabits(&first.habits)
	s.forget()
	s.hyps, s.by, s.best = first.hyps, first.by, first.best
}

// causes returns all components that may be faulty by any view, in the order of their numbers.
func (s *search) causes() []int32 {
	all := map[int32]bool{}
	for i := range s.views {
		for c := range s.views[i].seen {
			all[c] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// probability returns that of a member of a class being faulty, by all views together.
func (s *search) probability(class ...int32) float64 {
	p := 0.0
	for i := range s.views {
		p += s.views[i].share * s.views[i].probability(s.ix, class)
	}
	return min(p, 1)
}

// probability returns that of a member of a class being faulty: under the mode and what differs from it, or besides, or, of a switch, in part.
func (v *view) probability(ix *index, class []int32) float64 {
	p, besides, device := v.parts.holds(class), 0.0, 0.0
	for _, c := range class {
		t := v.seen[c]
		if t.with < 1 {
			besides += t.besides / (1 - t.with)
		}
		if ix.kindOf(c) == 2 {
			device = max(device, t.device)
		}
	}
	return min(max(p+(1-p)*min(besides, 1), device), 1)
}

// healthy returns the probability that nothing is faulty.
func (v *view) healthy() float64 {
	p := v.parts.healthy()
	for i := range v.hyps {
		if h := &v.hyps[i]; len(h.comps) == 0 {
			for _, x := range h.extra {
				p *= 1 - x.probability
			}
		}
	}
	return p
}
