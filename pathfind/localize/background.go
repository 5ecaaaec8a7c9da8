package localize

import (
	"cmp"
	"math"
	"slices"
)

// Before any evidence, the background is what half a loss in 20,000 crossings would show.
const (
	priorLosses     = 0.5
	priorCrossings  = 2e4
	leastBackground = 1e-6
	mostBackground  = 3e-3
)

// An uneven arc is good, but loses more than the others do, up to the normal loss: good links have a heavy tail.
type uneven struct {
	arc  int32
	rate float64 // above the background
}

// unevenCost is the log-likelihood that an uneven arc must gain. It stands for its prior and for its rate integrated out.
const unevenCost = 2.5

// setBackground sets the hazard of good arcs and what follows from it. The model must be loaded anew afterwards.
func (m *model) setBackground(b float64) {
	m.background = b
	// A good arc may lose the normal loss more than others, or half as much again. What loses clearly more is bad.
	top := m.cfg.NormalLoss + b/2
	m.normal = [...]float64{top / 16, top / 4, top}
	least := 1.5 * top
	m.spread = math.Log(mostHazard / least)
	for i := range m.bad {
		m.bad[i] = least * math.Exp(m.spread*float64(i)/(grid-1))
	}
}

// logBackgroundPrior is the prior of the background hazard: a Gamma density, per unit of log b.
func (m *model) logBackgroundPrior() float64 {
	return priorLosses*math.Log(m.background) - priorCrossings*m.background
}

// fitBackground estimates the hazard of good arcs under the loaded hypothesis by expectation maximisation: each loss
// belongs to the background with its share of the path's hazard, unless the flow is an outlier. Outliers keep faults that the
// hypothesis does not have yet from being taken for background.
func (m *model) fitBackground() {
	b := m.background
	for range 30 {
		losses := priorLosses
		for i := range m.ev.terms {
			t := &m.ev.terms[i]
			if t.lost == 0 {
				continue
			}
			for x := t.first; x < t.first+t.n; x++ {
				arcs := max(m.ev.arcs[x], 0.1)
				s := m.hazard[x] + (b-m.background)*arcs
				in, out := t.parts(s)
				weight := math.Exp(m.value[x]-m.terms[i]) / (1 + math.Exp(out-in))
				losses += weight * t.lost * b * arcs / s
			}
		}
		was := b
		b = min(max(losses/(priorCrossings+m.ev.crossings), leastBackground), mostBackground)
		if math.Abs(b-was) < 0.01*was {
			break
		}
	}
	m.setBackground(b)
}

// fitUneven finds the good arcs that lose more than the background, under the loaded hypothesis, greedily.
func (m *model) fitUneven(candidates []int32) {
	type find struct {
		uneven
		gain float64
	}
	best := func(c int32) find {
		f := find{uneven{c, 0}, math.Inf(-1)}
		for _, h := range m.normal {
			if g := m.gain(c, h); g > f.gain {
				f = find{uneven{c, h}, g}
			}
		}
		return f
	}
	var found []find
	for _, c := range candidates {
		if c >= m.ix.links {
			break // arcs come first
		}
		if m.excess[c] > 0 || m.ceiling(c, m.normal[0]) < unevenCost || m.gain(c, m.normal[0]) < 0 {
			continue
		}
		if f := best(c); f.gain > unevenCost {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b find) int { return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.arc, b.arc)) })
	for _, f := range found {
		if f = best(f.arc); f.gain > unevenCost {
			m.uneven = append(m.uneven, f.uneven)
			m.shift(f.arc, f.rate)
		}
	}
}
