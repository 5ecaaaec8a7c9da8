package localize

import (
	"cmp"
	"math"
	"slices"
)

// Before any evidence, the background is what half a loss in 20,000 crossings would show.
const (
	priorLosses     = 0.5
	priorCrossings  = 5e3
	leastBackground = 1e-6
	mostBackground  = 3e-3
)

// An uneven arc is good, but loses more than the others do, up to the normal loss: good links have a heavy tail. Uneven arcs raise
// the likelihood of a hypothesis, so that their losses do not ask for another fault.
type uneven struct {
	arc  int32
	gain float64 // by how much it raises the log-likelihood, its cost taken off
}

// unevenCost is the log-likelihood that an uneven arc must gain. It stands for its prior, one good arc in twenty, and for its rate, of which three are
// tried: 3 + log 3.
const unevenCost = 4

// setBackground sets the hazard of good arcs and what follows from it. The model must be loaded anew afterwards.
func (m *model) setBackground(b float64) {
	if b = rounded(b); b == m.background {
		return
	}
	m.background, m.stale = b, true
	// A good arc may lose the normal loss more than others, or half as much again. What loses clearly more is bad.
	top := rounded(m.cfg.NormalLoss + b/2)
	m.normal = [...]float64{top / 16, top / 4, top}
	least := 3 * top
	m.spread = log(mostHazard / least)
	for i := range m.bad {
		m.bad[i] = least * exp(m.spread*float64(i)/(grid-1))
		m.logBad[i] = log(least) + m.spread*float64(i)/(grid-1)
		m.logPrior[i] = m.logRatePrior(m.logBad[i])
		if i%step == 0 {
			m.some[i/step] = m.bad[i]
		}
	}
	m.setOvers(&m.overBad, m.bad[:])
	m.setOvers(&m.overSome, m.some[:])
	m.setOvers(&m.overNormal, m.normal[:])
}

// logBackgroundPrior is the prior of the background hazard: a Gamma density, per unit of log b.
func (m *model) logBackgroundPrior() float64 {
	return priorLosses*log(m.background) - priorCrossings*m.background
}

// fitBackground estimates the hazard of good arcs under the loaded hypothesis by expectation maximisation: each loss
// belongs to the background with its share of the path's hazard, unless the flow is an outlier. Outliers keep faults that the
// hypothesis does not have yet from being taken for background. For the same reason there may be two answers: few outliers in a high
// background, or many in a low one. Anew looks for the better of them; otherwise the estimate stays near what it was.
func (m *model) fitBackground(anew bool) {
	best, b := m.climb(m.background)
	if anew {
		losses := priorLosses
		for i := range m.ev.flows {
			losses += m.ev.terms[i].lost
		}
		for _, start := range [...]float64{leastBackground, losses / (priorCrossings + m.ev.crossings)} {
			if start = rounded(start); start == m.background {
				continue
			}
			if v, x := m.climb(start); v > best {
				best, b = v, x
			}
		}
	}
	// Hypotheses that differ little keep the same background to the bit, and so share fits.
	if anew || math.Abs(log(b/m.background)) > 0.15 {
		m.setBackground(b)
	}
}

// climb improves a background until it changes little. It returns the log-likelihood as well, but for what does not depend on it.
func (m *model) climb(b float64) (value, background float64) {
	b = min(max(b, leastBackground), mostBackground)
	for range 40 {
		losses, ratio := priorLosses, 1.0
		missing := 0.0 // crossings of packets of which nothing is known
		value = -b*(m.ev.linear+priorCrossings) + priorLosses*log(b)
		for i := range m.ev.flows {
			t := &m.ev.terms[i]
			if t.n == 1 { // most are, and none of them needs a logarithm of its own
				arcs := m.ev.arcs[t.first]
				s := m.hazard[t.first] + (b-m.background)*arcs
				if in, out := t.over(s); out > 0 {
					value += t.base + t.keep*s
					if ratio *= in + out; ratio < 1e-140 || ratio > 1e140 {
						value += log(ratio)
						ratio = 1
					}
					losses += in * t.lost * b * arcs / ((in + out) * s)
					continue
				}
			}
			if t.n > 1 && t.whole > 0 {
				all := 0.0
				for x := t.first; x < t.first+t.n; {
					// Ways that meet the same hazard, as most do, are told together.
					h, arcs, portion, weight := m.hazard[x], m.ev.arcs[x], 0.0, 0.0
					for ; x < t.first+t.n && m.hazard[x] == h && m.ev.arcs[x] == arcs; x++ {
						portion += m.portion[x]
						weight += m.weight[x]
					}
					s := h + (b-m.background)*arcs
					in, out := t.both(s)
					all += portion * (in + out)
					if in > 0 {
						losses += weight * in / (in + out) * t.lost * b * arcs / s
					}
				}
				if all < leastLikelihood {
					value += log(max(all, 1e-300))
				} else if ratio *= all; ratio < leastLikelihood || ratio > 1/leastLikelihood {
					value += log(ratio)
					ratio = 1
				}
				continue
			}
			all := math.Inf(-1)
			for x := t.first; x < t.first+t.n; x++ {
				arcs := m.ev.arcs[x]
				s := m.hazard[x] + (b-m.background)*arcs
				if t.lost == 0 {
					all = logSum(all, m.ev.share[x]+t.at(s))
					continue
				}
				in, out := t.parts(s)
				v := logSum(in, out)
				if t.none > 0 {
					kept := t.kept(s)
					v -= log(kept)
					missing += (1/kept - 1) * (t.lost + t.passed) * arcs
				}
				all = logSum(all, m.ev.share[x]+v)
				weight := m.weight[x] / (1 + exp(out-in))
				losses += weight * t.lost * b * arcs / s
			}
			value += t.copies * all
		}
		value += log(ratio)
		was := b
		b = min(max(losses/(priorCrossings+m.ev.crossings+missing), leastBackground), mostBackground)
		if math.Abs(b-was) < 0.02*was {
			break
		}
	}
	return value, b
}

// fitUneven finds the uneven arcs among the candidates under the loaded hypothesis, greedily. It changes what is loaded.
func (m *model) fitUneven(candidates []int32) []uneven {
	best := func(c int32) (gain, rate float64) {
		for _, h := range m.normal {
			if g := m.gain(c, h); g > gain {
				gain, rate = g, h
			}
		}
		return gain - unevenCost, rate
	}
	arcs, _ := slices.BinarySearch(candidates, m.ix.links) // they come first
	even := make([]bool, arcs)
	m.eachOf(arcs, func(i int) (work int) {
		c := candidates[i]
		even[i] = m.excess[c] > 0
		if slope := m.pulls[c].slope - m.ev.exposure[c]; !m.unsure[c] && m.normal[len(m.normal)-1]*slope < unevenCost {
			even[i] = true
		}
		if even[i] {
			return 0
		}
		var most [len(m.normal)]float64
		work = m.overGain(c, &m.overNormal, unevenCost, most[:])
		even[i] = slices.Max(most[:]) < unevenCost
		return work
	})
	var found []uneven
	for i, c := range candidates[:arcs] {
		if even[i] {
			continue
		}
		if m.ev.sets != nil && !slices.ContainsFunc(m.overNormal.at, func(x over) bool { return m.gainAtMost(c, &x) >= unevenCost }) {
			continue
		}
		if g, _ := best(c); g > 0 {
			found = append(found, uneven{c, g})
		}
	}
	slices.SortFunc(found, func(a, b uneven) int { return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.arc, b.arc)) })
	// Arcs of the same paths explain the same losses: each counts for what the ones before it leave.
	kept := found[:0]
	for _, u := range found {
		if g, rate := best(u.arc); g > 0 {
			kept = append(kept, uneven{u.arc, g})
			m.shift(u.arc, rate)
		}
	}
	return kept
}
