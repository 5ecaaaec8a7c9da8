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
		s.loadHazards(comps, rates)
		comps, rates = hold(comps, rates, s.divide(comps, rates, s.ev.exposure), len(comps))
	}
	if len(comps) > s.cfg.MaxFaults {
		return -1
	}
	s.load(comps, rates)
	score := s.sum + s.logBackgroundPrior() + s.bonus
	for _, c := range comps {
		score += s.priorOf(c)
	}
	return s.remember(comps, rates, score)
}

// piecemeal lets what explains the losses grow without any switch or group and one at a time, as far as a handful does. Where ways are not known a switch explains what arcs
// lose that lie at any of those like it, and its own arcs in its place do so as well as they can: no change of a few leads from them to one arc here and another there. Neither
// does one from what was added at once, of which each takes some of the losses of others that lie at the other end of the same flows.
func (s *search) piecemeal() {
	until := s.work + patience
	s.barred, s.careful = s.ix.manifold, true
	s.growAnew(s.hyps[0].background, func(i int32) bool { return len(s.hyps[i].comps) <= handful && s.work < until })
	s.barred, s.careful = nil, false
}

// divide gives each component of a loaded hypothesis the rate that its share of all losses asks for, until all rates agree (expectation
// maximisation); clean are the packets of flows without loss that crossed it. It asks for the hazards of branches and changes them only, and returns the losses that each explains.
func (m *model) divide(comps []int32, rates []float64, clean []float64) []float64 {
	losses := make([]float64, len(comps))
	m.stale = true
	// What the hazards do not change is looked up once.
	type crossing struct {
		branch      int32
		times, lost float64
	}
	n := 0
	for _, c := range comps {
		n += m.crossed(c)
	}
	crossings := make([]crossing, 0, n)
	ends, passed := make([]int, len(comps)), make([]float64, len(comps))
	for i, c := range comps {
		passed[i] = clean[c]
		for _, e := range m.ev.entries[m.ev.start[c]:m.ev.start[c+1]] {
			x := crossing{branch: e.branch, times: e.times}
			if t := &m.ev.terms[e.term]; t.lost > 0 && t.meter == nil {
				w := m.weight[e.branch]
				x.lost = w * t.lost * e.times
				passed[i] += w * t.passed
			}
			crossings = append(crossings, x)
		}
		ends[i] = len(crossings)
	}
	for range 30 {
		most, begin := 0.0, 0
		for i := range comps {
			crosses := crossings[begin:ends[i]]
			begin = ends[i]
			mine := 0.0
			for _, x := range crosses {
				mine += x.lost * rates[i] / m.hazard[x.branch]
			}
			rate := rounded(min(max(mine/max(passed[i], 1), 1e-7), mostHazard))
			d := rate - rates[i]
			for _, x := range crosses {
				m.hazard[x.branch] += d * x.times
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
