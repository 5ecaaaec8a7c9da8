package localize

import (
	"maps"
	"math"
	"slices"
)

// Faults of one fabric are often of one kind, as of one batch of transceivers, and then they lose about alike. So beside that each loses what it will, it is asked
// whether most of them lose about as much: where two surely lose a packet in a thousand, a third that seems to lose as much is no surprise, and one that seems to lose
// twenty times as much is more of one.

const (
	// akin is how likely faults are of one kind before any evidence.
	akin = 0.2
	// kindred is the share of faults that are of one kind, if any are, and kindly the standard deviation of the logarithm of what these lose.
	kindred, kindly = 0.8, 0.7
	// undecided is the least probability of a fault, and of none, for it to be in doubt, and kinsmen how many faults there are to be for one to be like the others.
	undecided, kinsmen = 0.02, 2
	// vague is the spread from which the evidence tells next to nothing of what a fault loses, as where others explain all that it may have lost.
	vague = 2.0
)

// A lossRate is what the evidence tells of the hazard of a component if that is faulty: mean and standard deviation of its logarithm.
type lossRate struct{ mean, spread float64 }

// heedKind puts beside each view one in which most faults are of one kind. Where only flows that lost packets are known, next to nothing is of what an arc loses.
func (s *search) heedKind() {
	if s.ev.beyond {
		return
	}
	var kin []view
	for i := range s.views {
		v := &s.views[i]
		if i > 0 {
			s.think(v)
		}
		if k, ok := s.ofOneKind(v); ok {
			kin = append(kin, k)
			v.score += math.Log(1 - akin)
		}
	}
	switch {
	case len(kin) > 0:
		s.views = append(s.views, kin...)
		s.compare()
	case len(s.views) > 1:
		s.think(&s.views[0])
	}
}

// ofOneKind returns a view, which the search has in mind, as it is if most faults are of the likeliest kind. It is false where no fault is in doubt, or there are
// too few.
func (s *search) ofOneKind(v *view) (kin view, ok bool) {
	if v.drawn != nil {
		return view{}, false
	}
	var comps []int32
	doubt, faults := false, 0.0
	for _, c := range slices.Sorted(maps.Keys(v.seen)) {
		if p := v.probability(s, []int32{c}); p >= undecided {
			comps = append(comps, c)
			doubt = doubt || p < 1-undecided
			faults += p
		}
	}
	if !doubt || faults < kinsmen {
		return view{}, false
	}
	rates := make([]lossRate, len(comps))
	loaded := -1
	for i, c := range comps {
		if top := s.likeliestWith(v.weights, c); top != loaded { // as few are
			s.recall(&s.hyps[top])
			loaded = top
		}
		supposed := s.suppose(c)
		rates[i] = s.lossRate(c)
		if supposed { // what is loaded is as it was
			s.shift(c, 0)
		}
	}
	lifts := make([]float64, s.ix.n) // by component, how many times as likely a fault of it is
	for c := range lifts {
		lifts[c] = 1
	}
	of := func(kind float64) {
		for i, c := range comps {
			lifts[c] = s.liftOf(rates[i], kind)
		}
	}
	const step = kindly / 2
	likeliest, top, all := 0.0, 0.0, 0.0
	for u := s.logBad[0]; u < s.logBad[0]+s.spread; u += step {
		of(u)
		sum := 0.0
		for i, w := range v.weights {
			if w > faintest {
				sum += w * v.lifted(i, lifts)
			}
		}
		sum *= step * exp(s.logRatePrior(u))
		if all += sum; sum > top {
			likeliest, top = u, sum
		}
	}
	of(likeliest)
	return s.underKind(v, lifts, all), true
}

// lossRate returns what the evidence tells of the hazard of a faulty component, by parabolas through its likelihood about the peak.
func (m *model) lossRate(c int32) lossRate {
	f := m.likelihoodOf(c)
	r := lossRate{log(m.excess[c]), 0.5}
	for range 3 {
		was := r
		below, at, above := f(was.mean-was.spread), f(was.mean), f(was.mean+was.spread)
		bend := 2*at - below - above
		if r.spread = vague; bend > was.spread*was.spread/(vague*vague) {
			r.spread = was.spread / math.Sqrt(bend)
		}
		off := r.spread * r.spread / was.spread * (above - below) / 2
		r.mean = min(was.mean+min(max(off, -r.spread), r.spread), log(mostHazard))
		if math.Abs(r.mean-was.mean) < r.spread/8 && math.Abs(r.spread-was.spread) < r.spread/4 {
			break
		}
	}
	return r
}

// liftOf returns how many times as likely a fault is that loses so much if most lose about as much as exp(kind).
func (m *model) liftOf(r lossRate, kind float64) float64 {
	if r.spread >= vague {
		return 1
	}
	own, spread := r.spread*r.spread, kindly*kindly
	both, off := own+spread, kind-r.mean
	prior := exp(m.logRatePrior((r.mean*spread + kind*own) / both)) // where both agree
	return 1 - kindred + kindred*math.Exp(-off*off/(2*both))/(math.Sqrt(2*math.Pi*both)*prior)
}

// lifted returns how many times as likely a hypothesis is, with what may be faulty besides, if a fault of each component is.
func (v *view) lifted(i int, lifts []float64) float64 {
	h := &v.hyps[i]
	all := 1.0
	for _, c := range h.comps {
		all *= lifts[c]
	}
	if !h.expanded {
		h = &v.hyps[h.parent]
	}
	for _, x := range h.extra {
		all *= 1 + x.probability*(lifts[x.comp]-1)
	}
	return all
}

// underKind returns a view, which the search has in mind, if a fault of each component is so many times as likely, and all of it so much likelier.
func (s *search) underKind(v *view, lifts []float64, evidence float64) view {
	kin := *v
	kin.score += math.Log(akin * evidence)
	kin.weights, kin.single, kin.hyps = slices.Clone(v.weights), slices.Clone(v.single), slices.Clone(v.hyps)
	sum := 0.0
	for i := range kin.hyps {
		l := v.lifted(i, lifts)
		kin.weights[i] *= l
		kin.single[i] *= l
		sum += kin.weights[i]
	}
	for i := range kin.hyps {
		kin.weights[i] /= sum
		h := &kin.hyps[i]
		h.extra = slices.Clone(h.extra)
		for j := range h.extra {
			x := &h.extra[j]
			l := lifts[x.comp]
			x.probability *= l / (1 + x.probability*(l-1))
		}
	}
	s.hyps = kin.hyps
	kin.parts, kin.seen = s.factor(kin.weights, kin.single), s.mentioned(kin.weights)
	s.hyps = v.hyps
	return kin
}
