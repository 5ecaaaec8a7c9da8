package localize

import "math"

// A story is what may be true of the losses of all arcs.
type story int

const (
	heavy    story = iota // those of good ones have a heavy tail, log-normal; faults are of any kind
	light                 // those of good ones differ without one, in a gamma distribution; faults are of any kind
	epidemic              // like light, but most faults are of one kind, and lose about alike
)

const (
	// climbs is how many steps a distribution is fitted by in each turn.
	climbs = 10
	// grain is the variance of a logarithm that comes of rates being an octave from each other.
	grain = math.Ln2 * math.Ln2 / 12
)

// A population is the distribution of what arcs lose, and what the evidence says of the loss of each.
type population struct {
	*model
	story
	rates          []float64   // an octave from each other, ascending
	like           [][]float64 // by arc and rate, the likelihood beside that of the likeliest
	center, spread float64     // of good arcs: median, and standard deviation of the logarithm; or mean and shape
	kind           float64     // the log of what faults of one kind lose
	good, faults   float64     // how many there are
	evidence       float64     // log of the probability of the story, but for a constant
}

// newPopulation returns a population to begin with, where so many faults are supposed.
func newPopulation(m *model, told story, faults int) *population {
	p := &population{model: m, story: told, center: m.background, spread: 2, kind: log(m.bad[0]) + 1.5, faults: float64(faults) + 1}
	if told == heavy {
		p.spread = 0.8
		p.center *= math.Exp(-p.spread * p.spread / 2)
	}
	for rate := rounded(m.background / 8); rate < 0.2; rate *= 2 {
		p.rates = append(p.rates, rate)
	}
	return p
}

// usual returns how many arcs have each of the rates, and how many of these are good, and how many faults of one kind.
func (p *population) usual() (all, good, kin []float64) {
	all, good, kin = make([]float64, len(p.rates)), make([]float64, len(p.rates)), make([]float64, len(p.rates))
	below := 0.0
	for j, rate := range p.rates {
		up := p.below(rate * math.Sqrt2)
		good[j] = p.good * (up - below)
		of, any := p.fault(rate)
		kin[j] = p.faults * math.Ln2 * of
		all[j] = good[j] + kin[j] + p.faults*math.Ln2*any
		below = up
	}
	return all, good, kin
}

// fit fits the distribution to what the evidence says of each arc, by expectation maximisation.
func (p *population) fit() {
	for range climbs {
		all, good, kin := p.usual()
		var of, faults moments
		for j, w := range p.weights(all) {
			if all[j] > 0 {
				of.add(w*good[j]/all[j], p.rates[j])
				faults.add(w*kin[j]/all[j], p.rates[j])
			}
		}
		mean := of.logs / of.n
		if p.story == heavy {
			p.center, p.spread = math.Exp(mean), math.Sqrt(max(of.squares/of.n-mean*mean-grain, grain))
		} else {
			// Minka, Estimating a Gamma distribution (2002), whose first guess is off by 1.5 % at the most.
			p.center = of.sum / of.n
			x := max(math.Log(p.center)-mean-grain/2, grain/2)
			p.spread = (3 - x + math.Sqrt((x-3)*(x-3)+24*x)) / (12 * x)
		}
		if faults.n > 0 {
			p.kind = faults.logs / faults.n
		}
		p.good, p.faults = of.n, float64(len(p.like))-of.n+1
	}
}

// moments are how many rates there are, their sum, that of their logarithms, and that of the squares of these.
type moments struct{ n, sum, logs, squares float64 }

func (m *moments) add(n, rate float64) {
	u := math.Log(rate)
	m.n, m.sum, m.logs, m.squares = m.n+n, m.sum+n*rate, m.logs+n*u, m.squares+n*u*u
}

// weights shares out the arcs among the rates, given how usual these are.
func (p *population) weights(usual []float64) []float64 {
	weights := make([]float64, len(usual))
	for _, like := range p.like {
		sum := leastOwn
		for j, l := range like {
			sum += usual[j] * l
		}
		for j, l := range like {
			weights[j] += usual[j] * l / sum
		}
	}
	return weights
}

// logPrior returns the log prior of so many faults where one would bet on some, but for a constant: see censusPrior. What faults of one kind lose is one draw
// from the prior of all, of which it is known by how much it is off.
func (p *population) logPrior() float64 {
	prior := log(p.faults+1) - p.faults*math.Log1p(1/p.cfg.Faults)
	if p.story == epidemic {
		prior += p.logRatePrior(p.kind) + log(kindly*math.Sqrt(2*math.Pi/(kindred*p.faults)))
	}
	return prior
}

// below returns the share of good arcs that lose less than a rate.
func (p *population) below(rate float64) float64 {
	if p.story == heavy {
		return math.Erfc(-math.Log(rate/p.center)/(p.spread*math.Sqrt2)) / 2
	}
	return gammaBelow(p.spread, p.spread*rate/p.center)
}

// gammaBelow is the regularised lower incomplete gamma function, by its series (Abramowitz and Stegun 6.5.29).
func gammaBelow(shape, x float64) float64 {
	if x > shape+10*math.Sqrt(shape)+40 {
		return 1
	}
	term := 1 / shape
	sum := term
	for n := 1.0; term > 1e-16*sum; n++ {
		term *= x / (shape + n)
		sum += term
	}
	g, _ := math.Lgamma(shape)
	return min(sum*math.Exp(shape*math.Log(x)-x-g), 1)
}

// fault returns the densities of faults of one kind and of any others at a rate, per unit of its logarithm.
func (p *population) fault(rate float64) (kin, others float64) {
	if rate < p.cfg.NormalLoss {
		return 0, 0
	}
	u := math.Log(rate)
	others = exp(p.logRatePrior(u))
	if p.story == epidemic {
		z := (u - p.kind) / kindly
		return kindred * math.Exp(-z*z/2) / (kindly * math.Sqrt(2*math.Pi)), (1 - kindred) * others
	}
	return 0, others
}

// end returns the loss from which on an arc is likelier faulty than one of the heavy tail.
func (p *population) end() float64 {
	rate := p.center
	for next := rate; next < 0.2; next *= 1.05 {
		z := math.Log(next/p.center) / p.spread
		_, faults := p.fault(next)
		if p.good*math.Exp(-z*z/2)/(p.spread*math.Sqrt(2*math.Pi)) > p.faults*faults {
			rate = next
		}
	}
	return rate
}
