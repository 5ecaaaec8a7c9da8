package localize

import (
	"cmp"
	"math"
	"slices"

	"whichlink/internal/halves"
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
	rate float64
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
	best, b := m.climb(m.background, 0)
	if anew {
		losses := priorLosses
		for i := range m.ev.flows {
			losses += m.ev.terms[i].lost
		}
		for _, start := range [...]float64{leastBackground, losses / (priorCrossings + m.ev.crossings)} {
			if start = rounded(start); start == m.background {
				continue
			}
			if v, x := m.climb(start, b); v > best {
				best, b = v, x
			}
		}
	}
	// Hypotheses that differ little keep the same background to the bit, and so share fits.
	if anew || math.Abs(log(b/m.background)) > 0.15 {
		m.setBackground(b)
	}
}

// climb improves a background until it changes little, or leads to one that is known, if not 0. It returns the log-likelihood as well, but for what does not depend on it.
func (m *model) climb(b, known float64) (value, background float64) {
	b = min(max(b, leastBackground), mostBackground)
	for range 40 {
		var parts [2]ascent
		halves.Briefly(m.ev.flows, func(half, from, to int) { parts[half] = m.ascend(b, from, to) })
		value = parts[0].value + parts[1].value - b*(m.ev.linear+priorCrossings) + priorLosses*log(b)
		losses, missing := priorLosses+parts[0].losses+parts[1].losses, parts[0].missing+parts[1].missing
		was := b
		b = min(max(losses/(priorCrossings+m.ev.crossings+missing), leastBackground), mostBackground)
		if math.Abs(b-known) < 0.1*known { // no step leads past where others end
			return math.Inf(-1), known
		}
		if math.Abs(b-was) < 0.02*was {
			break
		}
	}
	return value, b
}

// An ascent is what some flows say of a background.
type ascent struct {
	value   float64 // their log-likelihood
	losses  float64 // those that are the background's
	missing float64 // crossings of packets of which nothing is known
}

// ascend asks some of the flows, by their numbers, for a step of climb.
func (m *model) ascend(b float64, from, to int) ascent {
	value, losses, missing, ratio := 0.0, 0.0, 0.0, 1.0
	for i := from; i < to; i++ {
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
		if t.n > 1 && t.outright() {
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
	return ascent{value + log(ratio), losses, missing}
}

// blatant is by how much a fault must explain losses better than the same arc does if it is uneven, in nats, for something to be surely faulty.
const blatant = 300

// surelyFaulty reports whether something is so evidently faulty that, with nothing faulty loaded, it does not matter what uneven arcs explain: they are many
// then, and soon explain nothing.
func (m *model) surelyFaulty(candidates []int32) bool {
	first, most := int32(-1), float64(blatant)
	for _, c := range candidates {
		if m.unsure[c] {
			continue
		}
		if g := m.mostGain(c); g > most {
			first, most = c, g
		}
	}
	if first < 0 {
		return false
	}
	good := 0.0
	for _, h := range m.normal {
		good = max(good, m.gain(first, h))
	}
	rate, _, _ := m.guess(first, m.some[few/2])
	return rate > m.least(first) && m.gain(first, rate)-good > blatant
}

// fitUneven finds the uneven arcs among the candidates under the loaded hypothesis, greedily. It changes what is loaded. What it returns lies where open does, which is empty.
func (m *model) fitUneven(open []uneven, candidates []int32) []uneven {
	best := func(m *model, u *uneven) {
		u.gain = 0
		for _, h := range m.normal {
			if g := m.gain(u.arc, h); g > u.gain {
				u.gain, u.rate = g, h
			}
		}
		u.gain -= unevenCost
	}
	arcs, _ := slices.BinarySearch(candidates, m.ix.links) // they come first
	for _, c := range candidates[:arcs] {
		slope := m.pulls[c].slope - m.ev.exposure[c]
		if m.excess[c] == 0 && (m.unsure[c] || m.normal[len(m.normal)-1]*slope >= unevenCost) {
			open = append(open, uneven{arc: c})
		}
	}
	m.each(len(open), func(m *model, i int) {
		var most [len(m.normal)]float64
		m.work += m.overGain(open[i].arc, &m.overNormal, unevenCost, most[:])
		open[i].gain = slices.Max(most[:]) - unevenCost
	})
	exact := func(m *model, i int) {
		switch u := &open[i]; {
		case u.gain < 0:
		case m.ev.sets != nil && !slices.ContainsFunc(m.overNormal.at, func(x over) bool { return m.gainAtMost(u.arc, &x) >= unevenCost }):
			u.gain = 0
		default:
			best(m, u)
		}
	}
	if m.ev.sets == nil {
		m.each(len(open), exact)
	} else { // which look at one component at a time
		for i := range open {
			exact(m, i)
		}
	}
	found := slices.DeleteFunc(open, func(u uneven) bool { return u.gain <= 0 })
	slices.SortFunc(found, func(a, b uneven) int { return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.arc, b.arc)) })
	// Arcs of the same paths explain the same losses: each counts for what the ones before it leave.
	kept := found[:0]
	m.round++
	for _, u := range found {
		if m.ev.sets != nil || m.touched(u.arc) {
			best(m, &u)
		}
		if u.gain > 0 {
			kept = append(kept, u)
			m.shift(u.arc, u.rate)
			m.touch(u.arc)
		}
	}
	return kept
}

// touch marks the terms that a component is part of in this round, and touched reports whether some of those of another are marked.
func (m *model) touch(c int32) {
	for _, e := range m.ev.entries[m.ev.start[c]:m.ev.start[c+1]] {
		m.met[e.term] = m.round
	}
}

func (m *model) touched(c int32) bool {
	return slices.ContainsFunc(m.ev.entries[m.ev.start[c]:m.ev.start[c+1]], func(e entry) bool { return m.met[e.term] == m.round })
}
