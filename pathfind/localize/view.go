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
	single  []float64 // those that each has by itself: see apart
	parts   *factored
	seen    map[int32]mentions
	drawn   []draw // instead of all these, where the search leaves much open
}

const (
	// otherHabits is how likely flows have other habits than usual, before any evidence.
	otherHabits = 0.3
	// oftener is how many times as many flows as usual must seem to lose packets by themselves for that to be thought of, and several how many they must be
	// at least.
	oftener, several = 3, 2
	// doubtable is how many nats a fault may explain at the most for flows to stand for it that lose packets by themselves, of which each explains fitted
	// of them at least; fitting is how many more one may under habits that fit it.
	doubtable, fitted, fitting = 50, 2, 3
)

// heedFlows learns from flows that lose packets by themselves, if there are any, and ends the search.
func (s *search) heedFlows() {
	if s.cfg.Together {
		s.conclude()
		return
	}
	known := unknownHabits(s.cfg)
	h := s.likeliestSoFar()
	s.recall(&h)
	if s.ev.beyond {
		s.lossless = s.unseen()
	}
	left := s.strangers()
	evident, odd := s.evident(h, left, false)
	if bare, some := s.evident(h, left, true); some && len(bare.comps) < len(evident.comps) && s.passable(bare, h) {
		evident, odd = bare, true
	}
	if !odd {
		if _, ok := s.attend(aboutUsual(s.cfg), h, left); ok {
			s.follow()
		}
		s.conclude()
		return
	}
	s.conclude()
	usual := view{habits: known, hyps: s.hyps, by: s.by, best: s.best}
	s.hyps, s.by = nil, map[uint64]int32{}
	work := s.work
	s.work = 0 // however long the first search took
	s.recall(&evident)
	learnt, _ := s.attend(openMinded, evident, s.strangers())
	s.conclude()
	open := s.view(learnt)
	s.work += work
	if s.meet(&open) {
		s.think(&usual)
		return
	}
	s.views = []view{open}
	if usual.best+s.ev.ofHabits(&known) > open.score-doubtable { // else it counts for nothing
		s.think(&usual)
		s.views = []view{s.view(known), open}
	}
	s.compare()
}

// conclude looks at what the likeliest hypotheses may have missed.
func (s *search) conclude() {
	s.doubt()
	s.recreate()
	s.revise()
}

// evident returns a loaded hypothesis without the members that flows which lose packets by themselves might stand for, and reports whether it seems
// that many do, beside those that the hypothesis leaves. Loosely has any number of flows do so that may cross a member by some of their ways only.
func (s *search) evident(h hypothesis, left strangers, loosely bool) (hypothesis, bool) {
	usual, own := s.cfg.Outlier*s.allFlows(), left.own
	many := max(several, oftener*usual)
	// Where not even half as many as usual stand for themselves faults do not hide others. Half of a few says nothing.
	if left.lossy < many || !loosely && (own+1 < usual/2 || own+float64(len(h.comps))*doubtable/fitted < many) {
		return h, false
	}
	h.comps, h.rates = slices.Clone(h.comps), slices.Clone(h.rates)
	// More cannot be gained of a flow that stands for itself, if all that are lossy do.
	most := log(left.lossy/usual) + fitting
	kept := 0
	for j, c := range h.comps {
		s.shift(c, 0)
		any := s.carriedOver(c)
		if loosely {
			any += s.looselyOver(c)
		}
		margin := s.gain(c, h.rates[j]) + s.ix.logPrior(c)
		s.shift(c, h.rates[j])
		if crossing := float64(s.lossy[c]) / fullWeight; margin < min(most*crossing, doubtable+most*any) {
			own += min(crossing, max(margin, 0)/fitted)
			continue
		}
		h.comps[kept], h.rates[kept] = c, h.rates[j]
		kept++
	}
	h.comps, h.rates = h.comps[:kept], h.rates[:kept]
	return h, own >= many
}

// passable reports whether a hypothesis is likelier with habits of flows that suit it than another, which is loaded.
func (s *search) passable(h, loaded hypothesis) bool {
	habits := unknownHabits(s.cfg)
	was := view{habits: habits, hyps: s.hyps, by: s.by, best: s.best}
	least := loaded.score + s.ev.ofHabits(&habits)
	s.recall(&h)
	likelier := false
	if s.learn(&habits, openMinded, s.strangers()) {
		s.setHabits(&habits)
		s.leave()
		s.refit(&h)
		likelier = h.score+s.ev.ofHabits(&habits) > least
	}
	s.think(&was)
	s.recall(&loaded)
	return likelier
}

// looselyOver is how many lossy flows may cross a component by some of the ways that they may have taken. What so many cross that a part of all of them does explains as many as lose
// packets by themselves.
func (s *search) looselyOver(c int32) (n float64) {
	entries := s.ev.entries[s.ev.start[c]:s.ev.start[c+1]]
	for i := 0; i < len(entries); {
		t, ways := &s.ev.terms[entries[i].term], int32(1)
		for i++; i < len(entries) && &s.ev.terms[entries[i].term] == t; i++ {
			ways++
		}
		if t.lost > 0 && ways < t.n {
			n++
		}
	}
	return n
}

// carriedOver is how many lossy flows of the fabric's own traffic cross a component, or may. Any number of these may lose packets by themselves.
func (s *search) carriedOver(c int32) (n float64) {
	last := int32(-1)
	for _, e := range s.ev.entries[s.ev.start[c]:s.ev.start[c+1]] {
		if t := &s.ev.terms[e.term]; e.term != last && t.carried && t.lost > 0 {
			n++
		}
		last = e.term
	}
	return n
}

// view returns what the search found under the habits that are set.
func (s *search) view(h habits) view {
	s.placeDevices()
	for i := range s.hyps { // with that while it goes on, the search would not get from a switch to many of its arcs
		s.hyps[i].score -= s.crowding(s.hyps[i].comps)
	}
	v := view{share: 1, habits: h, hyps: s.hyps, by: s.by, best: s.best}
	v.weights, v.score = s.weights()
	single, less := s.apart(v.weights)
	v.single = single
	v.score += less + s.ev.ofHabits(&h)
	v.parts, v.seen = s.factor(v.weights, single), s.mentioned(v.weights)
	if n := min(strides, s.work/pace); n >= leastStrides && s.leavesOpen(v.weights) {
		v.drawn = s.wander(n)
	}
	return v
}

// unseen returns the flows without loss that are to be expected under the loaded hypothesis where only those are known that lost packets: for each of these as many
// as lose none where one does.
func (s *search) unseen() []losslessFlows {
	var flows, packets [2 * magnitudes]float64
	for i := range s.ev.flows {
		t := &s.ev.terms[i]
		kept := 0.0
		for b := t.first; b < t.first+t.n; b++ {
			kept += s.portion[b] * t.kept(s.hazard[b])
		}
		n := s.ev.obs[t.obs].sent
		at := binOf(n, t.carried)
		flows[at] += 1/kept - 1
		packets[at] += (1/kept - 1) * float64(n)
	}
	unseen := make([]losslessFlows, len(flows))
	for i := range unseen {
		unseen[i] = losslessFlows{flows: int(min(flows[i], mostSent)), packets: int(min(packets[i], mostSent)), carried: i >= magnitudes}
	}
	return unseen
}

// ofHabits is the log of how likely habits are beforehand, and the flows without loss with them: what is true of all hypotheses.
func (ev *evidence) ofHabits(h *habits) float64 {
	sum := h.prior
	for _, b := range ev.clean {
		if b.flows > 0 {
			sort := sortOf(b.carried)
			rate := h.rate[sort]
			sum += float64(b.flows) * math.Log1p(-rate+rate*(1-h.total)*h.mean(sort, b.lossless()))
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
	s.think(&s.views[0])
}

// think has the search think as a view does.
func (s *search) think(v *view) {
	s.setHabits(&v.habits)
	s.leave()
	s.hyps, s.by, s.best = v.hyps, v.by, v.best
}

// causes returns all components that may be faulty by any view, in the order of their numbers.
func (s *search) causes() []int32 {
	var all []int32
	for i := range s.views {
		all = slices.AppendSeq(all, maps.Keys(s.views[i].seen))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// probability returns that of a member of a class being faulty, by all views together.
func (s *search) probability(class ...int32) float64 {
	p := 0.0
	for i := range s.views {
		p += s.views[i].share * s.views[i].probability(s, class)
	}
	return min(p, 1)
}

// probability returns that of a member of a class being faulty: under the mode and what differs from it, or besides, or, of a switch, in part.
func (v *view) probability(s *search, class []int32) float64 {
	if v.drawn != nil {
		return v.often(s, class, 1)
	}
	p, besides, device := v.parts.holds(class), 0.0, 0.0
	for _, c := range class {
		t := v.seen[c]
		if t.with < 1 {
			besides += t.besides / (1 - t.with)
		}
		if s.ix.kindOf(c) == 2 {
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

// often returns how often so many members of a class, at least, were met: under how many of the hypotheses drawn they are faulty, or, of a switch, one like it in part.
func (v *view) often(s *search, class []int32, least int) float64 {
	met := 0.5 // what was not met, or always, may be so by chance
	for _, d := range v.drawn {
		p, in := 0.0, 0
		for _, c := range class {
			if _, is := slices.BinarySearch(d.comps, c); is {
				if in++; in == least {
					p = 1
					break
				}
			}
			if s.ix.kindOf(c) == 2 {
				p = max(p, d.parts[s.looks[c]])
			}
		}
		met += p
	}
	return met / float64(len(v.drawn)+1)
}
