package localize

import (
	"math"
	"slices"

	"whichlink/internal/halves"
)

// mostHazard is the hazard that stands for total loss: one packet in 160,000 passes.
const mostHazard = 12

// A model holds the likelihood of all evidence under one hypothesis, which can be changed by one component at a time.
type model struct {
	ix  *index
	ev  *evidence
	cfg Config

	background float64   // hazard of a good arc
	excess     []float64 // hazard of each component above that
	faulty     []int32   // components with an excess
	stale      bool      // whether the background, or what load has not seen, changed since a hypothesis was loaded

	hazard  []float64 // per branch: the sum over what it crosses
	portion []float64 // per branch: its share of the flows
	weight  []float64 // per branch: its share of the term's likelihood
	lift    []float64 // per branch, where there are others: its portion over the term's likelihood, infinite where that needs a logarithm
	// Per branch, where not all ways are known: the share of its likelihood that losses of the flow's own have no part in; below 0 where that is not told.
	byPath []float64
	terms  []float64 // per term: its log-likelihood
	sum    float64   // log-likelihood of everything

	work int // evaluations so far

	tries []tried // see try
	met   []int32 // by term, the last round in which it was met
	round int32

	pulls  []pull    // by component, see feel
	pulled []pull    // what half of the flows add to that
	losses []float64 // by component, those of observations that cross it
	most   float64   // how often a branch crosses a component, at most

	single  bool      // all ways are known: every term has one branch
	unsure  []bool    // by component, whether some observations that cross it may have gone other ways, or a device counted
	metered []bool    // by component, whether a device counted
	twins   []float64 // by component, the log of how many look like it, itself among them: see chooseTwins
	looks   []int32   // by component, the first of these

	// The rates over which a component's hazard is integrated, log-spaced, and those that an uneven arc may have.
	bad, logBad, logPrior [grid]float64
	some                  [few]float64 // every step-th of them
	normal                [3]float64
	overBad               overs // bad, some and normal, as overGain takes them
	overSome, overNormal  overs
	spread                float64 // log of the ratio of the greatest to the least bad rate
}

const grid = 13

// Every step-th of the bad rates is looked at first: a few.
const step, few = 3, grid/3 + 1

func newModel(ix *index, ev *evidence, cfg Config) *model {
	m := &model{ix: ix, ev: ev, cfg: cfg,
		excess:  make([]float64, ix.n),
		hazard:  make([]float64, len(ev.share)),
		portion: make([]float64, len(ev.share)),
		weight:  make([]float64, len(ev.share)),
		lift:    make([]float64, len(ev.share)),
		terms:   make([]float64, len(ev.terms)),
		losses:  make([]float64, ix.n),
		pulls:   make([]pull, ix.n),
		pulled:  make([]pull, ix.n),
		met:     make([]int32, len(ev.terms)),

		unsure:  make([]bool, ix.n),
		metered: make([]bool, ix.n),
		twins:   make([]float64, ix.n),
		looks:   make([]int32, ix.n),
	}
	for c := range m.looks {
		m.looks[c] = int32(c)
	}
	for b, share := range ev.share {
		m.portion[b], m.weight[b] = exp(share), 1
	}
	for i := range ev.terms { // in the order in which they lie in memory
		t := &ev.terms[i]
		for x := ev.first[t.first]; x < ev.first[t.first+t.n]; x++ {
			c := ev.comps[x]
			m.losses[c] += t.lost
			m.metered[c] = m.metered[c] || t.meter != nil
			m.unsure[c] = m.unsure[c] || t.n > 1 || t.meter != nil
			m.most = max(m.most, float64(ev.times[x]))
		}
	}
	m.single = ev.sets == nil && len(ev.share) == len(ev.terms)
	m.overBad.step, m.overSome.step, m.overNormal.step = 1, step, 1
	if !m.single {
		m.byPath = make([]float64, len(ev.share))
		m.overBad.rise, m.overNormal.rise = &rises{}, &rises{}
		m.overSome.rise = m.overBad.rise
	}
	m.setBackground(leastBackground)
	return m
}

// load computes everything for a hypothesis: components and their hazards.
func (m *model) load(comps []int32, hazards []float64) {
	if !m.stale && (m.ev.sets != nil || m.turns(comps, hazards) < len(m.terms)) {
		m.turn(comps, hazards)
		return
	}
	m.place(comps, hazards)
	m.stale = false
	m.sum = -m.background * m.ev.linear
	for i, c := range comps {
		m.sum -= hazards[i] * m.ev.exposure[c]
	}
	if m.ev.sets != nil {
		m.ev.sets.clear()
		for i, c := range comps {
			if hazards[i] > 0 {
				m.ev.sets.shift(c, hazards[i])
			}
		}
		m.sum += m.ev.sets.sum
	}
	var sums [2]float64
	halves.Briefly(len(m.terms), func(half, from, to int) {
		sum := 0.0
		for t := from; t < to; t++ {
			m.compute(int32(t))
			sum += m.ev.terms[t].copies * m.terms[t]
		}
		sums[half] = sum
	})
	m.sum += sums[0] + sums[1]
}

// place gives all branches the hazards of a hypothesis, without the likelihoods that follow from these: it has to be loaded before those are asked for.
func (m *model) place(comps []int32, hazards []float64) {
	m.stale, m.faulty = true, m.faulty[:0]
	clear(m.excess)
	for b := range m.hazard {
		m.hazard[b] = m.background * m.ev.arcs[b]
	}
	for i, c := range comps {
		if hazards[i] == 0 {
			continue
		}
		m.excess[c] = hazards[i]
		m.faulty = append(m.faulty, c)
		for _, e := range m.ev.entries[m.ev.start[c]:m.ev.start[c+1]] {
			m.hazard[e.branch] += hazards[i] * e.times
		}
	}
}

// loadHazards does of load what is needed to ask for the hazards and weights of branches.
func (m *model) loadHazards(comps []int32, hazards []float64) {
	if m.single { // where a branch is all of its term
		m.place(comps, hazards)
	} else {
		m.load(comps, hazards)
	}
}

// loaded are the slices that tell of what is loaded.
func (m *model) loaded() [6]*[]float64 {
	return [...]*[]float64{&m.hazard, &m.weight, &m.lift, &m.byPath, &m.terms, &m.excess}
}

// copyTo makes another model one that has loaded the same.
func (m *model) copyTo(o *model) {
	was := *o
	*o = *m
	o.faulty = append(was.faulty[:0], m.faulty...)
	if o.tries, o.met, o.round = was.tries, was.met, was.round; o.met == nil {
		o.met = make([]int32, len(m.met))
	}
	own := was.loaded()
	for i, x := range o.loaded() {
		if *x != nil {
			*x = append((*own[i])[:0], *x...)
		}
	}
	o.work = 0
}

// turns is how many terms turn would look at, those that several components cross once for each.
func (m *model) turns(comps []int32, hazards []float64) (n int) {
	for _, c := range m.faulty {
		if !slices.Contains(comps, c) {
			n += m.crossed(c)
		}
	}
	for i, c := range comps {
		if hazards[i] != m.excess[c] {
			n += m.crossed(c)
		}
	}
	return n
}

// crossed is how often branches cross a component.
func (m *model) crossed(c int32) int { return int(m.ev.start[c+1] - m.ev.start[c]) }

// turn changes what is loaded into another hypothesis.
func (m *model) turn(comps []int32, hazards []float64) {
	for i := len(m.faulty) - 1; i >= 0; i-- {
		if c := m.faulty[i]; !slices.Contains(comps, c) {
			m.shift(c, 0)
		}
	}
	for i, c := range comps {
		m.shift(c, hazards[i])
	}
}

// rounded returns a hazard to thirteen bits, finer than any evidence is. Sums of such hazards are exact, whatever their order: taking one out leaves
// what was there before it came, to the bit, and what was found out about that then still holds.
func rounded(h float64) float64 {
	const unit = 1 << (52 - 12)
	return math.Float64frombits((math.Float64bits(h) + unit/2) &^ (unit - 1))
}

// leastArcs is how many arcs a path without any counts as: it has the background of its hosts. A power of two keeps sums exact.
const leastArcs = 1. / 8

// compute brings a term up to date with the hazards of its branches.
func (m *model) compute(ti int32) {
	t := &m.ev.terms[ti]
	if t.n == 1 {
		m.terms[ti] = m.ev.share[t.first] + t.at(m.hazard[t.first])
		if m.byPath != nil {
			m.byPath[t.first] = t.byPath(m.hazard[t.first])
		}
		return
	}
	sum := 0.0
	last, likely, byPath := -1., 0., -1. // most ways meet the hazard that the one before them did
	for b := t.first; t.outright() && b < t.first+t.n; b++ {
		if s := m.hazard[b]; s != last {
			in, out := t.both(s)
			if last, likely, byPath = s, in+out, -1; likely > 0 {
				byPath = in / likely
			}
		}
		m.weight[b], m.byPath[b] = m.portion[b]*likely, byPath
		sum += m.weight[b]
	}
	if sum > leastLikelihood {
		m.terms[ti] = log(sum)
		for b := t.first; b < t.first+t.n; b++ {
			m.weight[b] /= sum
			m.lift[b] = m.portion[b] / sum
		}
		return
	}
	best, last, at := math.Inf(-1), -1., 0.
	for b := t.first; b < t.first+t.n; b++ {
		if s := m.hazard[b]; s != last {
			last, at = s, t.at(s)
			best = max(best, at)
		}
		m.weight[b] = at
	}
	sum, last = 0, math.NaN()
	for b := t.first; b < t.first+t.n; b++ {
		if m.weight[b] != last {
			last = m.weight[b]
			likely = exp(last - best)
		}
		m.weight[b] = m.portion[b] * likely
		sum += m.weight[b]
	}
	m.terms[ti] = best + log(sum)
	for b := t.first; b < t.first+t.n; b++ {
		m.weight[b] /= sum
		m.lift[b], m.byPath[b] = math.Inf(1), -1
	}
}

// utter is how much likelier, in nats, a way may make a term: a likelihood holds no more.
const utter = 690

// leastLikelihood is the likelihood of a term from which on it is reckoned with as it is, not by its logarithm.
const leastLikelihood = 1e-130

// shift changes the hazard of one component.
func (m *model) shift(c int32, to float64) {
	d := to - m.excess[c]
	switch {
	case d == 0:
		return
	case m.excess[c] == 0:
		m.faulty = append(m.faulty, c)
	case to == 0:
		i := slices.Index(m.faulty, c)
		m.faulty = slices.Delete(m.faulty, i, i+1)
	}
	m.excess[c] = to
	m.sum -= d * m.ev.exposure[c]
	if m.ev.sets != nil {
		was := m.ev.sets.sum
		m.ev.sets.shift(c, to)
		m.sum += m.ev.sets.sum - was
	}
	es := m.ev.entries[m.ev.start[c]:m.ev.start[c+1]]
	for i := 0; i < len(es); {
		t := es[i].term
		for ; i < len(es) && es[i].term == t; i++ {
			m.hazard[es[i].branch] += d * es[i].times
		}
		was := m.terms[t]
		m.compute(t)
		m.sum += m.ev.terms[t].copies * (m.terms[t] - was)
	}
}

// gain returns by how much the log-likelihood rises if component c, which has no excess, is given hazard h.
func (m *model) gain(c int32, h float64) float64 {
	g := m.gainOfTerms(c, h)
	if m.ev.sets != nil {
		g += m.ev.sets.at(c, h)
	}
	return g
}

// gainAtMost bounds the gain from above where that is not sure before all that passes a component is weighed, and is the gain elsewhere.
func (m *model) gainAtMost(c int32, x *over) float64 {
	g := m.gainOfTerms(c, x.hazard)
	if m.ev.sets != nil {
		g += m.ev.sets.over(c, x.cell, x.part)
	}
	return g
}

// gainOfTerms is the gain but for flows without loss of which only the path set is known.
func (m *model) gainOfTerms(c int32, h float64) float64 {
	g := -h * m.ev.exposure[c]
	ratio := 1.0 // of the likelihoods of terms with branches, so that one logarithm serves for many
	es := m.ev.entries[m.ev.start[c]:m.ev.start[c+1]]
	m.work += len(es)
	for i := 0; i < len(es); {
		ti := es[i].term
		t := &m.ev.terms[ti]
		was := m.terms[ti]
		if t.n == 1 {
			s := m.hazard[es[i].branch] + h*es[i].times
			i++
			if in, out := t.over(s); out > 0 {
				g += t.base + t.keep*s - was
				if ratio *= in + out; ratio < 1e-140 || ratio > 1e140 {
					g += log(ratio)
					ratio = 1
				}
				continue
			}
			g += t.at(s) - was
			continue
		}
		rest, now, seen := 1.0, 0.0, int32(0)
		last, likely := -1., 0. // as in compute
		for ; i < len(es) && es[i].term == ti; i++ {
			b := es[i].branch
			rest -= m.weight[b]
			seen++
			switch {
			case m.lift[b] <= math.MaxFloat64:
				if s := m.hazard[b] + h*es[i].times; s != last {
					in, out := t.both(s)
					last, likely = s, in+out
				}
				now += m.lift[b] * likely
			case t.lost > 0:
				if s := m.hazard[b] + h*es[i].times; s != last {
					last, likely = s, exp(min(t.at(s)-was, utter))
				}
				now += m.portion[b] * likely
			case m.weight[b] > 1e-12:
				if x := es[i].times; x != last {
					last, likely = x, exp(-t.passed*h*x)
				}
				now += m.weight[b] * likely
			}
		}
		if seen < t.n {
			now += max(rest, 1e-15)
		}
		switch {
		case t.copies > 1:
			g += t.copies * log(max(now, 1e-300))
		case now > 1e-100 && now < 1e100 && ratio > 1e-200 && ratio < 1e200:
			ratio *= now
		default:
			g += log(ratio) + log(min(max(now, 1e-300), 1e300))
			ratio = 1
		}
	}
	return g + log(ratio)
}

// priorOf returns the log prior odds that a component is faulty, or one of those that look like it in its place. The search goes by that: a hypothesis stands for all that
// the evidence cannot tell from it, and of two that explain it as well the one is likelier that may lie at more places.
func (m *model) priorOf(c int32) float64 { return m.ix.logPrior(c) + m.twins[c] }

// A pull is how a component's losses ask for a hazard of it, if all took a known way, with every bound from above.
type pull struct {
	slope float64 // of the log-likelihood of lossy observations, where they are loaded
	rise  float64 // by which it rises up to the least bad rate
	then  float64 // its slope from there on
}

// feel sets pulls for what is loaded.
func (m *model) feel() {
	least := m.bad[0] * m.most
	both := halves.Briefly(m.ev.flows, func(half, from, to int) {
		pulls := m.pulls
		if half == 1 {
			pulls = m.pulled
		}
		clear(pulls)
		for i := from; i < to; i++ {
			t := &m.ev.terms[i]
			if t.n > 1 || t.lost == 0 {
				continue
			}
			x := 1 / m.hazard[t.first]
			p := pull{t.lost * m.most * x, t.lost * log(1+least*x), t.lost * m.most / (m.hazard[t.first] + least)}
			for _, c := range m.ev.comps[m.ev.first[t.first]:m.ev.first[t.first+1]] {
				pulls[c].add(p)
			}
		}
	})
	if both {
		for c := range m.pulls {
			m.pulls[c].add(m.pulled[c])
		}
	}
}

func (p *pull) add(q pull) {
	p.slope, p.rise, p.then = p.slope+q.slope, p.rise+q.rise, p.then+q.then
}

// mostGain bounds the gain of a component at bad rates from above, without a look at its losses, by what it was felt to be pulled. Losses of different
// flows that ask with different force are worth no more than if all asked with the mean of it, because the logarithm is concave.
func (m *model) mostGain(c int32) float64 {
	p, exposure := &m.pulls[c], m.ev.exposure[c]
	switch {
	case m.unsure[c]:
		return math.Inf(1)
	case p.then <= exposure:
		return p.rise - m.bad[0]*exposure
	case exposure == 0:
		return math.Inf(1)
	}
	return m.losses[c] * (log(p.slope/exposure) - 1 + exposure/p.slope)
}
