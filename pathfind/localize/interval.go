package localize

import (
	"math"
	"slices"
)

// join adds what other observations tell, and reports whether it could: they have to have met the same hazard.
func (p *share) join(q *share) bool {
	if p.other != q.other || p.times != q.times || p.selected != nil || q.selected != nil {
		return false
	}
	p.lost, p.passed = p.lost+q.lost, p.passed+q.passed
	return true
}

// An interval is a loss per crossing: the posterior median, and the 90 % credible interval.
type interval struct{ median, low, high float64 }

// A share is what observations tell of one component's losses, as far as they crossed it and lost no packets by themselves: one, or several that met the same
// hazard besides.
type share struct {
	lost, passed, other, times float64 // other is the hazard of what else it crossed
	selected                   *term   // if nothing would be known of it had it lost nothing
}

// interval estimates the loss of a faulty component of the loaded hypothesis. Unlike the search it uses all losses, divided by how
// much more they scatter from flow to flow than independent losses would.
func (m *model) interval(c int32) interval {
	f := m.likelihoodOf(c)
	const from, points = 1e-5, 24
	var u, g [points + 24]float64
	step := log(mostHazard/from) / (points - 1)
	for i := range points {
		u[i] = log(from) + float64(i)*step
		g[i] = f(u[i])
	}
	n, _ := refine(u[:], g[:], points, f)
	q := quantiles(u[:n], g[:n], 0.05, 0.5, 0.95)
	loss := func(x float64) float64 { return -math.Expm1(-exp(x)) }
	iv := interval{median: loss(q[1]), low: loss(q[0]), high: loss(q[2])}
	if exp(q[2]) > 0.8*mostHazard {
		iv.high = 1
	}
	return iv
}

// likelihoodOf returns the log-likelihood of the logarithm of a faulty component's hazard, up to a constant.
func (m *model) likelihoodOf(c int32) func(x float64) float64 {
	own, clean := m.excess[c], m.ev.exposure[c]*m.ev.run
	shares, meters, over := m.sharesOf(c)
	return func(x float64) float64 {
		h := exp(x)
		g := -clean * h
		for _, p := range shares {
			s := p.other + h*p.times
			if p.lost > 0 {
				g += p.lost * log(missed(s))
			}
			g -= p.passed * s
			if p.selected != nil {
				g -= log(p.selected.kept(s))
			}
		}
		if m.ev.sets != nil {
			g += m.ev.sets.at(c, h) * m.ev.run
		}
		g /= over
		for _, e := range meters {
			g += m.ev.terms[e.term].meter.at(max(m.hazard[e.branch]-own*e.times, 0) + h*e.times)
		}
		return g
	}
}

// sharesOf returns what observations tell of the losses of a faulty component, what devices counted of it, and by which factor those losses vary more than
// independent ones would.
func (m *model) sharesOf(c int32) (shares []share, meters []entry, over float64) {
	own, clean := m.excess[c], m.ev.exposure[c]*m.ev.run
	spread, flows := m.cleanScatter(clean, own)
	es := m.ev.entries[m.ev.start[c]:m.ev.start[c+1]]
	// Losses in runs look like a flow's own as long as losses are taken for independent. But of the flows of a faulty component no more lose packets by
	// themselves than of others, or one more: what seems to beyond that loses them in runs.
	odd, expected := 0.0, 1+flows*m.cfg.Outlier
	alone := make([]float64, len(es)) // by entry, the probability of that
	var like [64]int32                // by a hash of the hazard besides, which share met it last, plus one
	for i, e := range es {
		t := &m.ev.terms[e.term]
		if t.meter != nil || t.lost == 0 {
			continue
		}
		if alone[i] = m.byItself(e); !t.answers {
			odd += m.weight[e.branch] * alone[i]
			expected += m.weight[e.branch] * exp(t.outlier)
		}
	}
	for i, e := range es {
		t := &m.ev.terms[e.term]
		if t.meter != nil {
			meters = append(meters, e)
			continue
		}
		o := &m.ev.obs[t.obs]
		weight := m.weight[e.branch] * t.copies
		switch {
		case t.lost == 0:
		case t.answers:
			weight *= 1 - alone[i]
		default:
			weight *= 1 - alone[i]*min(1, expected/odd)
		}
		k, n := float64(o.lost), float64(o.sent)
		p := share{lost: weight * k, passed: weight * (n - k), other: max(m.hazard[e.branch]-own*e.times, 0), times: e.times}
		spread.add(k, n, m.hazard[e.branch], weight)
		if t.none > 0 {
			p.selected = t
		}
		at := &like[scramble(math.Float64bits(p.other))%uint64(len(like))]
		if *at > 0 && shares[*at-1].join(&p) {
			continue
		}
		shares = append(shares, p)
		*at = int32(len(shares))
	}
	return shares, meters, spread.over(2*m.ev.run - 1)
}

// byItself returns the probability that the observation of an entry lost packets of its own, if it went that way.
func (m *model) byItself(e entry) float64 {
	t := &m.ev.terms[e.term]
	if in, out := t.over(m.hazard[e.branch]); out > 0 {
		return out / (in + out)
	}
	in, out := t.parts(m.hazard[e.branch])
	return 1 / (1 + exp(in-out))
}

// A scatter is by how much losses vary from flow to flow beyond what independent ones do: the squares of what was lost beyond the mean over the variance,
// both summed up over flows. A flow counts by 1/(1+v) where v is its variance. In Pearson's statistic that is 1/v, and one loss of a flow that was to have
// hardly any outweighs all others.
type scatter struct{ squares, variances float64 }

// scatterPrior is how much independent losses are believed in beforehand: as much as in so many flows that lost some as they should.
const scatterPrior = 3

// add counts flows that lost k of n packets each under a hazard.
func (x *scatter) add(k, n, hazard, flows float64) {
	miss := missed(hazard)
	v := n * miss * (1 - miss)
	r := k - n*miss
	x.squares += flows * r * r / (1 + v)
	x.variances += flows * v / (1 + v)
}

// over returns the factor by which they vary more, given by which one they do beforehand.
func (x *scatter) over(prior float64) float64 {
	return max(1, (x.squares+scatterPrior*prior)/(x.variances+scatterPrior))
}

// cleanScatter is what flows without loss tell that crossed a hazard with so many packets in all. How many packets each had is not known of these, but of
// all flows without loss. How many flows these are is the second result.
func (m *model) cleanScatter(packets, hazard float64) (x scatter, flows float64) {
	all := 0.0
	for _, b := range m.ev.clean {
		all += float64(b.packets)
	}
	if all == 0 {
		return scatter{variances: packets * hazard}, 0
	}
	for _, b := range m.ev.clean {
		if b.flows > 0 {
			n := float64(b.flows) * packets / all
			x.add(0, b.size(), hazard, n)
			flows += n
		}
	}
	return x, flows
}

// quantiles returns where the distribution with log-density g, linear between the points u, has the given shares below.
func quantiles(u, g []float64, shares ...float64) []float64 {
	most := slices.Max(g)
	cum := make([]float64, len(u))
	for i := 1; i < len(u); i++ {
		cum[i] = cum[i-1] + segment(u[i]-u[i-1], g[i]-g[i-1], exp(g[i-1]-most), exp(g[i]-most))
	}
	all := cum[len(u)-1]
	out := make([]float64, len(shares))
	for j, share := range shares {
		i := 1
		for i < len(u)-1 && cum[i] < share*all {
			i++
		}
		at := 0.5
		if w := cum[i] - cum[i-1]; w > 0 {
			at = min(max((share*all-cum[i-1])/w, 0), 1)
		}
		// Within a segment the density is exponential: invert its distribution.
		if d := g[i] - g[i-1]; math.Abs(d) > 1e-6 && math.Abs(d) < 500 {
			at = math.Log1p(at*math.Expm1(d)) / d
		}
		out[j] = u[i-1] + at*(u[i]-u[i-1])
	}
	return out
}
