package localize

import (
	"math"
	"slices"

	"whichlink/graphs"
)

// What good arcs lose at most is taken for granted, but a fabric may be worse than that: some of its arcs lose a packet in a thousand, more of them half as
// much, and most a tenth. All that lose more than is normal would be told then, and what is really broken would be one of a hundred. So it is asked what all
// arcs together say: that good ones have a heavy tail, that they have none, or that they have none and that many faults of one kind are beside them.

const (
	// weakest is how many times the least bad rate a fault loses at the most to be weak.
	weakest = 4
	// swarm is how many weak faults there are at least where it is asked what good arcs lose, and twosome how many where these lose much in the mean: a third of
	// what is normal. In one of a hundred of a heavy tail that is more than normal, in none of those without.
	swarm, twosome = 6, 2
	much           = 1. / 3
	// worst is the loss above which none is normal, however many arcs have it.
	worst = 5e-3
	// turns is how often all arcs share the losses anew.
	turns = 3
)

// heavyTail returns the normal loss under which nothing is told of the tail of good arcs, and how many arcs lose what would be bad otherwise. Both are 0 unless
// the likeliest hypothesis has several weak faults, and a heavy tail is likelier than anything else. What is loaded is of no use afterwards.
func (s *search) heavyTail() (normal float64, many int) {
	h := &s.hyps[s.likeliest()]
	s.recall(h)
	top, least := s.normal[len(s.normal)-1], s.bad[0]
	weak := 0
	for j, c := range h.comps {
		if c < s.ix.nodes && h.rates[j] < weakest*least {
			weak++
		}
	}
	if weak < twosome || weak < swarm && s.background < much*s.cfg.NormalLoss {
		return 0, 0
	}
	tail := s.populate(h, heavy)
	// An arc is told from the middle between the normal and the least bad rate on.
	normal, many = min(tail.end()/math.Sqrt(3), worst), int(tail.good*(1-tail.below(least)))
	if !(normal > top) || many <= 0 {
		return 0, 0
	}
	for _, other := range [...]story{light, epidemic} {
		if s.populate(h, other).evidence >= tail.evidence {
			return 0, 0
		}
	}
	return normal, many
}

// populate lets all arcs that packets crossed share the losses, each with what all of them are found to lose as its prior. Nodes and groups of the hypothesis stay
// as they are, and so do arcs that a switch explains which is bad in part.
func (s *search) populate(h *hypothesis, told story) *population {
	s.recall(h)
	background := s.background
	p := newPopulation(s.model, told, len(h.comps))
	devices, _ := s.devs.devices(s.ix, h.comps)
	devices = slices.DeleteFunc(devices, func(d device) bool { return d.odds < 0 })
	var stay, arcs []int32
	var stayAt, at []float64
	for j, c := range h.comps {
		if c >= s.ix.nodes || slices.ContainsFunc(devices, func(d device) bool { return slices.Contains(d.members, c) }) {
			stay, stayAt = append(stay, c), append(stayAt, h.rates[j])
		}
	}
	for a := range s.ix.links {
		link := s.ix.link(graphs.ArcID(a).Link())
		if s.ev.crosses(a) && !slices.Contains(stay, a) && !slices.Contains(stay, link) {
			arcs, at = append(arcs, a), append(at, rounded(background-p.rates[0]+s.excess[a]+s.excess[link]))
		}
	}
	s.atHand = -1
	s.setBackground(p.rates[0])
	s.load(append(stay, arcs...), append(stayAt, at...))

	p.good = float64(len(arcs))
	for range turns {
		usual, _, _ := p.usual()
		all := 0.0
		for _, u := range usual {
			all += u
		}
		p.like, p.evidence = p.like[:0], -float64(len(arcs))*math.Log(all)
		for _, a := range arcs {
			p.evidence += s.shareOf(a, p, usual)
		}
		p.evidence += s.sum
		p.fit()
	}
	p.evidence += p.logPrior()
	return p
}

// shareOf gives a loaded arc the rate that it has in the mean, given how usual the rates are, the least of which is the background. It notes their likelihoods,
// and returns by how much the log-likelihood is greater if the rate is open, all others as they are.
func (s *search) shareOf(arc int32, p *population, usual []float64) float64 {
	like := make([]float64, len(p.rates))
	s.shift(arc, 0)
	for j, rate := range p.rates {
		like[j] = s.gain(arc, rate-p.rates[0])
	}
	most, all, mean := slices.Max(like), leastOwn, 0.0
	for j := range like {
		like[j] = exp(like[j] - most)
		all += usual[j] * like[j]
	}
	for j, l := range like {
		mean += usual[j] * l / all * (p.rates[j] - p.rates[0])
	}
	was := s.sum
	s.shift(arc, rounded(mean))
	p.like = append(p.like, like)
	return most + math.Log(all) - (s.sum - was)
}
