package localize

import (
	"math"
	"slices"
)

// A switch or a group of which some parts are bad explains all their losses at once, but none of them well, and stands in the way of
// what would: each part alone takes away too little. So all parts are put in its place together, with as much of the losses each as fits.

// slight are the expected losses of a part below which it is left out.
const slight = 2

// scatter remembers the hypothesis with the parts of its switches and groups in their place. It returns the number of what comes of it, or -1.
func (s *search) scatter(i int32) int32 {
	h := &s.hyps[i]
	var comps []int32
	var rates []float64
	for j, c := range h.comps {
		if !s.ix.manifold(c) {
			comps, rates = append(comps, c), append(rates, h.rates[j])
			continue
		}
		for _, x := range s.ix.parts(nil, c) {
			if s.lossy[x] > 0 && !slices.Contains(comps, x) {
				comps, rates = append(comps, x), append(rates, h.rates[j])
			}
		}
	}
	s.parent, s.atHand = i, -1
	s.setBackground(h.background)
	for range 2 {
		s.load(comps, rates)
		losses := s.divide(comps, rates)
		kept := 0
		for j, c := range comps {
			if losses[j] > slight {
				comps[kept], rates[kept] = c, rates[j]
				kept++
			}
		}
		comps, rates = comps[:kept], rates[:kept]
	}
	if len(comps) > s.cfg.MaxFaults {
		return -1
	}
	s.load(comps, rates)
	score := s.sum + s.logBackgroundPrior() + s.bonus
	for _, c := range comps {
		score += s.ix.logPrior(c)
	}
	return s.remember(comps, rates, score)
}

// divide gives each component of a loaded hypothesis the rate that its share of all losses asks for, until all rates agree (expectation
// maximisation). It changes the hazards of branches only, and returns the losses that each explains.
func (m *model) divide(comps []int32, rates []float64) []float64 {
	losses := make([]float64, len(comps))
	m.stale = true
	for range 30 {
		most := 0.0
		for i, c := range comps {
			es := m.ev.entries[m.ev.start[c]:m.ev.start[c+1]]
			mine, passed := 0.0, m.ev.exposure[c]
			for _, e := range es {
				t := &m.ev.terms[e.term]
				if t.lost > 0 && t.meter == nil {
					w := m.weight[e.branch]
					mine += w * t.lost * rates[i] * e.times / m.hazard[e.branch]
					passed += w * t.passed
				}
			}
			rate := rounded(min(max(mine/max(passed, 1), 1e-7), mostHazard))
			d := rate - rates[i]
			for _, e := range es {
				m.hazard[e.branch] += d * e.times
			}
			if losses[i] = mine; mine > slight/2 {
				most = max(most, math.Abs(d)/rates[i])
			}
			rates[i] = rate
		}
		if most < 0.05 {
			break
		}
	}
	return losses
}

// manifold reports whether a component is a switch or a group.
func (ix *index) manifold(c int32) bool {
	k := ix.kindOf(c)
	return k == 2 || k == 4
}
