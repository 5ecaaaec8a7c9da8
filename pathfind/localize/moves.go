package localize

import (
	"cmp"
	"math"
	"slices"
)

// replace looks at the neighbours of a hypothesis without its j-th component, or with another for it.
func (s *search) replace(h *hypothesis, j int) {
	c := h.comps[j]
	rate := s.excess[c]
	s.couple(h, c, j)
	near := s.near(c)
	s.shift(c, 0)
	own := s.gain(c, rate)
	rest := h.score - s.occam[j] - own // with what spare adds
	if len(s.coupled) == 0 {
		s.neighbour(h, j, -1, 0, rest)
	}
	share := int32(2) // one in so many of its losses must be those of what takes its place
	if s.ev.beyond {
		share = 3 // that others lost nothing is not known, and what they lose besides tells more
	}
	for _, x := range near {
		if x == c || s.excess[x] > 0 || share*s.shared[x] < s.lossy[c] || s.joins(h, x) || s.hopeless(x, s.best-horizon-rest-s.priorOf(x)) {
			continue
		}
		f := s.fit(x)
		s.neighbour(h, j, x, f.rate, rest+f.bayes+s.priorOf(x)-s.overlap[x])
	}
	var whole []int32
	for _, x := range s.ix.relatives(nil, c) {
		if s.excess[x] == 0 && s.lossy[x] > 0 && !s.joins(h, x) && !s.hopeless(x, own-sure) {
			whole = append(whole, x)
		}
	}
	s.shift(c, rate)
	coupled := len(s.coupled) > 0
	if coupled {
		s.trial(h, -1, j)
	}
	for _, x := range whole {
		// What is whole may share losses with a member that its part has nothing to do with. With several, they are its parts: see join.
		if s.couple(h, x, j); len(s.coupled) > 0 && (coupled || len(s.coupled) == 1) {
			s.trial(h, x, j)
		}
	}
}

// joins reports whether several members of a hypothesis are parts of a component, which then takes the place of all of them or of none: see join.
func (s *search) joins(h *hypothesis, whole int32) bool {
	parts := 0
	for _, c := range h.comps {
		if s.ix.within(c, whole) {
			parts++
		}
	}
	return parts > 1
}

// sure is what a component must explain alone, in nats, for no hypothesis without it or something like it to be worth a look.
const sure = 30

// couple sets coupled to the members of a hypothesis that share much of their lossy observations with component c, the skipped ones left
// out: those whose rates must be fitted anew if c comes or goes.
func (s *search) couple(h *hypothesis, c int32, skip ...int) {
	last, all := int32(-1), int32(0)
	for _, e := range s.ev.entries[s.ev.start[c]:s.ev.start[c+1]] {
		t := &s.ev.terms[e.term]
		if e.term == last || t.lost == 0 {
			continue
		}
		last = e.term
		weight := t.weight()
		all += weight
		for _, x := range s.ev.comps[s.ev.first[t.first]:s.ev.first[t.first+t.n]] {
			if s.excess[x] > 0 {
				s.common[x] += weight
			}
		}
	}
	s.coupled = s.coupled[:0]
	for j, d := range h.comps {
		// On a third of either one's: arcs into and out of one switch share less, and change each other's rates hardly.
		if s.common[d]*3 > min(all, s.lossy[d]) && !slices.Contains(skip, j) {
			s.coupled = append(s.coupled, j)
		}
		s.common[d] = 0
	}
}

// settled is the share of a rate by which a refit may move it for no other round to be needed.
const settled = 0.05

// trial remembers the hypothesis without some of its members and with component add, unless that is negative, after refitting
// the members in coupled. The hypothesis is loaded before and after.
func (s *search) trial(h *hypothesis, add int32, without ...int) {
	comps, rates := s.comps[:0], s.rates[:0]
	score := s.logBackgroundPrior() + s.spare
	for j, c := range h.comps {
		if slices.Contains(without, j) {
			continue
		}
		comps, rates = append(comps, c), append(rates, h.rates[j])
		if !slices.Contains(s.coupled, j) {
			score += s.occam[j]
		}
	}
	if add >= 0 {
		score -= s.overlap[add]
		comps, rates = append(comps, add), append(rates, 0)
	}
	s.comps, s.rates = comps, rates
	_, bonus := s.devs.devices(s.ix, comps)
	if i, ok := s.by[keyOf(comps)]; ok && s.hyps[i].expanded {
		s.keep(finding{s.hyps[i].comps, s.hyps[i].rates, s.hyps[i].score, bonus, true})
		return
	}
	if s.dim(h, score+bonus, add, without) {
		return
	}
	for _, j := range without {
		s.shift(h.comps[j], 0)
	}
	if s.promising(h, score+bonus, add) {
		occam := s.refitCoupled(h, add, comps, rates)
		s.remember(comps, rates, score+s.bonus+occam+s.sum)
	}
	if add >= 0 {
		s.shift(add, 0)
	}
	for _, j := range s.coupled {
		s.shift(h.comps[j], h.rates[j])
	}
	for _, j := range without {
		s.shift(h.comps[j], h.rates[j])
	}
}

// refitCoupled fits the members in coupled and component add, the last of comps unless negative, anew. It returns what they pay for their freedom.
func (s *search) refitCoupled(h *hypothesis, add int32, comps []int32, rates []float64) (occam float64) {
	if add >= 0 {
		s.shift(add, 0)
		f := s.fit(add)
		s.shift(add, f.rate)
		rates[len(rates)-1] = f.rate
		occam = f.bayes - f.peak + s.priorOf(add)
	}
	for range sweeps {
		if len(s.coupled) == 0 {
			break
		}
		occam = 0
		sum := s.sum
		moved := false
		for i, c := range comps {
			if c == add || slices.ContainsFunc(s.coupled, func(j int) bool { return h.comps[j] == c }) {
				was := rates[i]
				var o float64
				rates[i], o, _ = s.again(c)
				occam += o
				moved = moved || math.Abs(rates[i]-was) > settled*was
			}
		}
		if !moved || s.sum < sum+gained {
			break
		}
	}
	return occam
}

// doubted is by how much the log-likelihood at guessed rates may fall short of that at fitted ones.
const doubted = 5

// promising reports whether a trial may come to a hypothesis that is remembered. If several rates are to be fitted it tells by guesses at them, which it
// leaves loaded. A guess takes the ways of flows to be as likely as they are without the component, and falls far short where the component makes its own
// ways likely: then the rate that it had does better, and what is new is fitted.
func (s *search) promising(h *hypothesis, score float64, add int32) bool {
	floor := s.best - horizon - score
	if add >= 0 {
		floor -= s.priorOf(add)
	}
	if len(s.coupled) == 0 {
		return add < 0 && s.sum >= floor || add >= 0 && !s.hopeless(add, floor-s.sum)
	}
	again := func(c int32) {
		was := s.excess[c]
		from := was // what is dead would be a long way from what most lose
		if was == 0 {
			from = s.some[few/2]
		}
		s.shift(c, 0)
		rate, _, _ := s.guess(c, from)
		switch {
		case !s.unsure[c]:
		case was == 0:
			rate = s.fit(c).rate
		case s.gain(c, was) > s.gain(c, rate):
			rate = was
		}
		s.shift(c, rounded(rate))
	}
	for range 2 {
		if add >= 0 {
			again(add)
		}
		for _, j := range s.coupled {
			again(h.comps[j])
		}
		if s.sum+sure < floor {
			return false
		}
	}
	for _, j := range s.coupled {
		if s.excess[h.comps[j]] > 0 {
			floor -= s.occam[j]
		}
	}
	return s.sum+doubted >= floor
}

// join replaces several members of the hypothesis by a component of which they are parts.
func (s *search) join(h *hypothesis) {
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
		if n < 2 || s.excess[w] > 0 || s.lossy[w] == 0 {
			continue
		}
		var parts []int
		for j, c := range h.comps {
			if s.ix.within(c, w) {
				parts = append(parts, j)
			}
		}
		s.couple(h, w, parts...)
		s.trial(h, w, parts...)
		if len(parts) > 1 {
			// The worst part may be worse by a fault of its own.
			worst := slices.MaxFunc(parts, func(a, b int) int { return cmp.Or(cmp.Compare(h.rates[a], h.rates[b]), b-a) })
			parts = slices.DeleteFunc(parts, func(j int) bool { return j == worst })
			s.couple(h, w, parts...)
			s.trial(h, w, parts...)
		}
	}
}

// split replaces a component by those of its parts that the evidence asks for.
func (s *search) split(h *hypothesis) {
	for j, w := range h.comps {
		if s.ix.kindOf(w) == 0 {
			continue
		}
		was := s.sum
		s.shift(w, 0)
		score := h.score - s.occam[j] + s.sum - was
		comps := slices.Delete(append(s.comps[:0], h.comps...), j, j+1)
		rates := slices.Delete(append(s.rates[:0], h.rates...), j, j+1)
		parts := s.ix.parts(nil, w)
		for len(comps) < s.cfg.MaxFaults {
			best, at, odds := fit{}, int32(-1), 0.0
			for _, p := range parts {
				if s.excess[p] > 0 || s.hopeless(p, odds-s.priorOf(p)) {
					continue
				}
				f := s.fit(p)
				if o := f.bayes + s.priorOf(p) - s.overlap[p]; o > odds {
					best, at, odds = f, p, o
				}
			}
			if at < 0 {
				break
			}
			comps, rates = append(comps, at), append(rates, best.rate)
			s.shift(at, best.rate)
			score += odds
			s.remember(comps, rates, score)
		}
		s.comps, s.rates = comps, rates
		s.load(h.comps, h.rates)
	}
}
