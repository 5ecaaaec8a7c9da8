package localize

import (
	"cmp"
	"math"
	"slices"
)

// Where many arcs lose much, many flows lose packets, each may lose them at several places, and whatever is added takes the losses of what is still to come:
// what grows from nothing costs all effort before it explains most of them. Then all arcs are put into a hypothesis together, with as much of the losses each
// as fits beside all others, and those that explain most of them are what is looked at from there on.

// flooding is the share of all flows that lose packets from which it is worth it: several bad switches reach it, a dozen bad arcs do not.
const flooding = 0.08

// floods is how often all arcs share the losses anew, and refills how often those that are left do.
const floods, refills = 3, 2

// abundance is the effort that may be made then.
const abundance = 3 * effort

// flood looks for what explains the evidence from the hypothesis that all arcs are faulty.
func (s *search) flood() {
	if !s.floods() {
		return
	}
	s.flooded = true
	best := s.best
	s.work, s.best, s.bonus, s.parent, s.atHand = effort-abundance, math.Inf(-1), 0, 0, -1
	comps := slices.DeleteFunc(slices.Clone(s.candidates), func(c int32) bool { return s.ix.kindOf(c) != 0 })
	clean := slices.Clone(s.ev.exposure)
	if s.ev.sets != nil {
		for a, n := range s.ev.sets.expected() {
			clean[a] += n
		}
	}
	rates := slices.Repeat([]float64{0.01}, len(comps))
	for i := range floods + refills {
		s.loadHazards(comps, rates)
		most := len(comps)
		if i >= floods {
			most = s.cfg.MaxFaults
		}
		comps, rates = hold(comps, rates, s.divide(comps, rates, clean), most)
	}
	s.load(comps, rates)
	score := s.sum + s.logBackgroundPrior()
	for _, c := range comps {
		score += s.priorOf(c)
	}
	for i := s.remember(comps, rates, score); i >= 0; {
		i = s.grow(i, 0)
	}
	s.best = max(s.best, best)
	s.follow()
}

// floods reports whether so many flows lose packets that it is worth it.
func (s *search) floods() bool { return float64(s.ev.flows) >= flooding*s.allFlows() }

// exhausted reports whether growing has to end. What grew in part explains little, and that badly: where no flood follows it goes on as long as anything may.
func (s *search) exhausted() bool { return s.work > utmost || s.work > effort && s.floods() }

// hold leaves the components that explain some losses, and no more than so many: those that explain most.
func hold(comps []int32, rates, losses []float64, most int) ([]int32, []float64) {
	order := make([]int, 0, len(comps))
	for j := range comps {
		if losses[j] > slight {
			order = append(order, j)
		}
	}
	if len(order) > most {
		slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(losses[b], losses[a]), cmp.Compare(a, b)) })
		order = order[:most]
		slices.Sort(order)
	}
	for kept, j := range order {
		comps[kept], rates[kept] = comps[j], rates[j]
	}
	return comps[:len(order)], rates[:len(order)]
}
