package localize

import "math"

// mostHazard is the hazard that stands for total loss: one packet in 160,000 passes.
const mostHazard = 12

// A model holds the likelihood of all evidence under one hypothesis, which can be changed by one component at a time.
type model struct {
	ix  *index
	ev  *evidence
	cfg Config

	background float64   // hazard of a good arc
	excess     []float64 // hazard of each component above that

	hazard []float64 // per branch: the sum over what it crosses
	value  []float64 // per branch: its share of the term's log-likelihood
	weight []float64 // per branch: its share of the term's likelihood, where there are others
	terms  []float64 // per term: its log-likelihood
	bound  []float64 // per term: how much more hazard could raise it at most
	sum    float64   // log-likelihood of everything

	work int // evaluations so far

	// The rates over which a component's hazard is integrated, log-spaced, and those that an uneven arc may have.
	bad    [grid]float64
	normal [3]float64
	spread float64 // log of the ratio of the greatest to the least bad rate
}

const grid = 13

func newModel(ix *index, ev *evidence, cfg Config) *model {
	m := &model{ix: ix, ev: ev, cfg: cfg,
		excess: make([]float64, ix.n),
		hazard: make([]float64, len(ev.share)),
		value:  make([]float64, len(ev.share)),
		weight: make([]float64, len(ev.share)),
		terms:  make([]float64, len(ev.terms)),
		bound:  make([]float64, len(ev.terms)),
	}
	m.setBackground(leastBackground)
	return m
}

// load computes everything for a hypothesis: components and their hazards.
func (m *model) load(comps []int32, hazards []float64) {
	clear(m.excess)
	for b := range m.hazard {
		m.hazard[b] = m.background * max(m.ev.arcs[b], 0.1) // a path without arcs has the background of its hosts
	}
	m.sum = -m.background * m.ev.linear
	for i, c := range comps {
		m.excess[c] = hazards[i]
		m.sum -= hazards[i] * m.ev.exposure[c]
		for _, e := range m.ev.entries[m.ev.start[c]:m.ev.start[c+1]] {
			m.hazard[e.branch] += hazards[i] * e.times
		}
	}
	for t := range m.terms {
		m.compute(int32(t))
		m.sum += m.ev.terms[t].copies * m.terms[t]
	}
}

// compute brings a term up to date with the hazards of its branches.
func (m *model) compute(ti int32) {
	t := &m.ev.terms[ti]
	v, best := math.Inf(-1), math.Inf(-1)
	for b := t.first; b < t.first+t.n; b++ {
		m.value[b] = m.ev.share[b] + t.at(m.hazard[b])
		v = logSum(v, m.value[b])
		if t.lost > 0 {
			best = max(best, t.best(m.hazard[b]))
		}
	}
	m.terms[ti] = v
	if t.n > 1 {
		for b := t.first; b < t.first+t.n; b++ {
			m.weight[b] = math.Exp(m.value[b] - v)
		}
	}
	m.bound[ti] = 0
	if t.lost > 0 {
		m.bound[ti] = max(0, best-v)
	}
}

// shift changes the hazard of one component.
func (m *model) shift(c int32, to float64) {
	d := to - m.excess[c]
	m.excess[c] = to
	m.sum -= d * m.ev.exposure[c]
	es := m.ev.entries[m.ev.start[c]:m.ev.start[c+1]]
	for i := 0; i < len(es); {
		t := es[i].term
		for ; i < len(es) && es[i].term == t; i++ {
			// Taking out what was put in leaves rounding errors, and a hazard is never below the background.
			b := es[i].branch
			m.hazard[b] = max(m.hazard[b]+d*es[i].times, m.background*max(m.ev.arcs[b], 0.1))
		}
		was := m.terms[t]
		m.compute(t)
		m.sum += m.ev.terms[t].copies * (m.terms[t] - was)
	}
}

// gain returns by how much the log-likelihood rises if component c, which has no excess, is given hazard h.
func (m *model) gain(c int32, h float64) float64 {
	g := -h * m.ev.exposure[c]
	ratio := 1.0 // of the likelihoods of terms with branches, so that one logarithm serves for many
	es := m.ev.entries[m.ev.start[c]:m.ev.start[c+1]]
	m.work += len(es)
	for i := 0; i < len(es); {
		ti := es[i].term
		t := &m.ev.terms[ti]
		was := m.terms[ti]
		if t.n == 1 {
			g += t.at(m.hazard[es[i].branch]+h*es[i].times) - was
			i++
			continue
		}
		rest, now, seen := 1.0, 0.0, int32(0)
		for ; i < len(es) && es[i].term == ti; i++ {
			b := es[i].branch
			rest -= m.weight[b]
			seen++
			switch {
			case t.lost > 0:
				now += math.Exp(m.ev.share[b] + t.at(m.hazard[b]+h*es[i].times) - was)
			case m.weight[b] > 1e-12:
				now += m.weight[b] * math.Exp(-t.passed*h*es[i].times)
			}
		}
		if seen < t.n {
			now += max(rest, 1e-15)
		}
		switch {
		case t.copies > 1:
			g += t.copies * math.Log(max(now, 1e-300))
		case now > 1e-100 && now < 1e100 && ratio > 1e-200 && ratio < 1e200:
			ratio *= now
		default:
			g += math.Log(ratio) + math.Log(min(max(now, 1e-300), 1e300))
			ratio = 1
		}
	}
	return g + math.Log(ratio)
}

// ceiling bounds gain from above, for all hazards from least on.
func (m *model) ceiling(c int32, least float64) float64 {
	g := -least * m.ev.exposure[c]
	last := int32(-1)
	for _, e := range m.ev.entries[m.ev.start[c]:m.ev.start[c+1]] {
		if e.term != last {
			g += m.bound[e.term]
			last = e.term
		}
	}
	return g
}
