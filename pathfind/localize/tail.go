package localize

import (
	"math"
	"slices"

	"whichlink/graphs"
)

// What good arcs lose at most is taken for granted, but a fabric may be worse than that: some of its arcs lose a packet in a thousand, more of them half as
// much, and most a tenth. All that lose more than is normal would be told then, and what is really broken would be one of a hundred. That so many are faulty is
// less likely than that good arcs have a heavy tail, as long as that shows: faults stand apart, and what lies between is part of a tail.

const (
	// swarm is how many weak faults there are at least where it is asked whether they are faults, weak being those of up to weakest times the least bad rate.
	swarm, weakest = 6, 4
	// tailed is how much likelier a heavy tail must be than faults, in nats.
	tailed = 3
	// worst is the loss above which none is normal, however many arcs have it.
	worst = 5e-3
	// turns is how often all arcs share the losses anew.
	turns = 3
	// climbs is how many steps distributions are fitted by.
	climbs = 100
)

// heavyTail returns the normal loss under which nothing is told of the tail of good arcs, and how many arcs lose what would be bad otherwise. It is 0 unless
// the likeliest hypothesis has many weak faults, and these are such a tail rather. What is loaded is of no use afterwards.
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
	if weak < swarm {
		return 0, 0
	}
	p := s.populate(h)
	weights, value := p.mixture(func(rate float64) bool { return rate <= top || rate >= least })
	t := p.fitTail(s.model)
	faults := 0.0
	for j, rate := range p.rates {
		if rate >= least {
			faults += weights[j]
		}
	}
	if t.value+logOf(t.faults, s.cfg.Faults) < value+logOf(faults, s.cfg.Faults)+tailed {
		return 0, 0
	}
	// An arc is told from the middle between the normal and the least bad rate on.
	return min(t.end()/math.Sqrt(3), worst), int(faults - t.faults)
}

// logOf is the log prior of so many faults where one would bet on some, but for a constant: see censusPrior.
func logOf(faults, some float64) float64 {
	return log(faults+1) - faults*math.Log1p(1/some)
}

// A population is what the evidence says of the loss of each arc.
type population struct {
	rates []float64   // an octave from each other, ascending
	like  [][]float64 // by arc and rate, the likelihood beside that of the likeliest
}

// populate lets all arcs that packets crossed share the losses, each with what all of them are found to lose as its prior. Nodes and groups of the hypothesis stay
// as they are, and so do arcs that a switch explains which is bad in part.
func (s *search) populate(h *hypothesis) *population {
	p := &population{}
	background := s.background
	for rate := rounded(background / 8); rate < 0.2; rate *= 2 {
		p.rates = append(p.rates, rate)
	}
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

	usual := slices.Repeat([]float64{1}, len(p.rates))
	for range turns {
		p.like = p.like[:0]
		next := slices.Repeat([]float64{slight}, len(p.rates))
		for _, a := range arcs {
			p.like = append(p.like, s.shareOf(a, p.rates, usual, next))
		}
		usual = next
	}
	return p
}

// shareOf gives a loaded arc the rate that it has in the mean, given how usual the rates are, the least of which is the background, and adds to next how likely each is. It returns
// their likelihoods beside that of the likeliest.
func (s *search) shareOf(arc int32, rates, usual, next []float64) []float64 {
	like := make([]float64, len(rates))
	s.shift(arc, 0)
	for j, rate := range rates {
		like[j] = s.gain(arc, rate-rates[0])
	}
	most, all, mean := slices.Max(like), 0.0, 0.0
	for j := range like {
		like[j] = exp(like[j] - most)
		all += usual[j] * like[j]
	}
	for j, l := range like {
		share := usual[j] * l / all
		next[j] += share
		mean += share * (rates[j] - rates[0])
	}
	s.shift(arc, rounded(mean))
	return like
}

// mixture returns how many arcs have each of the rates that they may have, as it is likeliest, and the log-likelihood of all arcs then.
func (p *population) mixture(may func(rate float64) bool) (weights []float64, value float64) {
	weights = make([]float64, len(p.rates))
	for j, rate := range p.rates {
		if may(rate) {
			weights[j] = 1
		}
	}
	for range climbs {
		weights, value = p.share(weights)
	}
	return weights, value
}

// share shares out the arcs among the rates, given how usual these are.
func (p *population) share(usual []float64) (weights []float64, value float64) {
	all := 0.0
	for _, u := range usual {
		all += u
	}
	weights = make([]float64, len(usual))
	for _, like := range p.like {
		sum := leastOwn
		for j, l := range like {
			sum += usual[j] * l
		}
		for j, l := range like {
			weights[j] += usual[j] * l / sum
		}
		value += math.Log(sum / all)
	}
	return weights, value
}

// A tail is a distribution of what arcs lose: log-normal for good ones, and that of any faults for the others.
type tail struct {
	*model
	median, spread float64 // the spread is the standard deviation of the logarithm
	good, faults   float64 // how many there are
	value          float64 // the log-likelihood of all arcs
}

// fitTail fits the distribution by expectation maximisation.
func (p *population) fitTail(m *model) tail {
	t := tail{model: m, median: p.rates[len(p.rates)/4], spread: 1, good: float64(len(p.like))}
	good, usual := make([]float64, len(p.rates)), make([]float64, len(p.rates))
	for range climbs {
		below := 0.0
		for j, rate := range p.rates {
			up := t.below(rate * math.Sqrt2)
			good[j], below = t.good*(up-below), up
			usual[j] = good[j] + t.faults*math.Ln2*t.fault(rate)
		}
		var weights []float64
		weights, t.value = p.share(usual)
		n, sum, squares := 0.0, 0.0, 0.0
		for j, w := range weights {
			if usual[j] > 0 {
				w *= good[j] / usual[j]
			}
			u := math.Log(p.rates[j])
			n, sum, squares = n+w, sum+w*u, squares+w*u*u
		}
		mean := sum / n
		t.median, t.spread = math.Exp(mean), math.Sqrt(max(squares/n-mean*mean-math.Ln2*math.Ln2/12, math.Ln2*math.Ln2/12))
		t.good, t.faults = n, float64(len(p.like))-n+1
	}
	return t
}

// below returns the share of good arcs that lose less than a rate.
func (t *tail) below(rate float64) float64 {
	return math.Erfc(-math.Log(rate/t.median)/(t.spread*math.Sqrt2)) / 2
}

// fault returns the density of faults at a rate, per unit of its logarithm.
func (t *tail) fault(rate float64) float64 {
	if rate < t.cfg.NormalLoss {
		return 0
	}
	return exp(t.logRatePrior(math.Log(rate)))
}

// end returns the loss from which on an arc is likelier faulty than good.
func (t *tail) end() float64 {
	rate := t.median
	for next := rate; next < 0.2; next *= 1.05 {
		z := math.Log(next/t.median) / t.spread
		if t.good*math.Exp(-z*z/2)/(t.spread*math.Sqrt(2*math.Pi)) > t.faults*t.fault(next) {
			rate = next
		}
	}
	return rate
}
