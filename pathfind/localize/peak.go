package localize

import "math"

// A fault that loses packets of several flows leaves little doubt how much it loses: the likelihood has one peak, of which a few looks tell enough.

// sharply is how many losses make the gain of a component a parabola around its peak.
const sharply = 12

// sharp fits a component whose losses are many, which make the gain a parabola around its peak: four looks at it are enough then. It is given what is gained at
// the hazard from which it starts, if that is known; else not a number.
func (m *model) sharp(c int32, h, losses, mid float64) (fit, bool) {
	if losses < sharply || h < m.bad[0]/2 || h > 1 {
		return fit{}, false
	}
	x, w := log(h), 1.5/math.Sqrt(losses)
	for range 3 {
		if math.IsNaN(mid) {
			mid = m.gain(c, exp(x))
		}
		left, right := m.gain(c, exp(x-w)), m.gain(c, exp(x+w))
		bend := (2*mid - left - right) / (w * w)
		if !(bend > sharply/2) {
			return fit{}, false
		}
		off := (right - left) / (2 * w) / bend
		if math.Abs(off) < 1.2*w {
			rate := rounded(exp(x + off))
			peak := m.gain(c, rate)
			return fit{rate, peak, peak + 0.5*log(2*math.Pi/bend) + m.logRatePrior(x+off)}, rate > 2*m.bad[0] || rate > m.least(c)
		}
		x, mid = x+min(max(off, -4*w), 4*w), math.NaN()
	}
	return fit{}, false
}

// blunt fits a component whose losses are few.
func (m *model) blunt(c int32, rate, losses, bend float64) (fit, bool) {
	if m.unsure[c] || losses > 2*sharply || rate >= 1 {
		return fit{}, false
	}
	least := m.least(c)
	if rate <= least {
		return fit{}, false
	}
	f := m.around(func(h float64) float64 { return m.gain(c, h) }, rate, least, bend*rate*rate)
	f.peak = m.gain(c, f.rate)
	return f, f.rate > least
}

// around integrates the likelihood over the bad rates, given the log of it, a rate near its peak and how it bends there, by the log of the rate. A sum of steps of
// most of a deviation is enough: over a peak it converges faster than any power of these. What is gained at the peak it leaves out.
func (m *model) around(gain func(h float64) float64, rate, least, bend float64) fit {
	const reach = 64
	step := 0.9 / math.Sqrt(bend+1/(usualSpread*usualSpread))
	mid, low := log(rate), log(least)
	var gains [2*reach + 1]float64
	at := func(j int) float64 {
		u := mid + float64(j)*step
		gains[reach+j] = gain(exp(u))
		return gains[reach+j] + m.logRatePrior(u)
	}
	first := at(0)
	most, sum := first, 1.0
	ends := [2]int{}
	for i, d := range [...]int{-1, 1} {
		last := first
		for j := d; last > most-negligible && max(j, -j) <= reach; j += d {
			u := mid + float64(j)*step
			if u < low { // to where it ends, half a step of which is counted
				end := gain(least) + m.logRatePrior(low)
				sum += segment(u+step-low, last-end, exp(end-first), exp(last-first))/step - exp(last-first)/2
				break
			}
			if u > log(mostHazard) {
				break
			}
			last = at(j)
			most = max(most, last)
			sum += exp(last - first)
			ends[i] = j
		}
	}
	top := ends[0]
	for j := top; j <= ends[1]; j++ {
		if gains[reach+j] > gains[reach+top] {
			top = j
		}
	}
	u := mid + float64(top)*step
	if top > ends[0] && top < ends[1] {
		left, here, right := gains[reach+top-1], gains[reach+top], gains[reach+top+1]
		u += step * (right - left) / 2 / max(2*here-left-right, 1e-9)
	} else if top == ends[0] {
		u = low
	}
	return fit{rate: rounded(exp(u)), bayes: first + log(sum*step)}
}

// guess returns the hazard of a component that explains best the losses which nothing else explains, how many these are, and how the log-likelihood bends: by
// Newton's method, from some hazard on, because where other faults explain most of the losses, expectation maximisation would take long. What it maximises is concave.
func (m *model) guess(c int32, from float64) (h, losses, bend float64) {
	h = from
	es := m.ev.entries[m.ev.start[c]:m.ev.start[c+1]]
	m.work += len(es)
	for range 8 {
		ti, last, byPath := int32(-1), 0., 0. // as in compute
		slope := -m.ev.exposure[c]
		losses, bend = 0, 0
		for i := range es {
			e := &es[i]
			t := &m.ev.terms[e.term]
			weight := m.weight[e.branch]
			if t.lost == 0 {
				slope -= weight * t.copies * t.passed * e.times
				continue
			}
			s := m.hazard[e.branch] + h*e.times
			if t.outlier > often && t.meter == nil {
				if e.term != ti || s != last {
					ti, last, byPath = e.term, s, t.sureByPath(s)
				}
				weight *= byPath
			}
			x := e.times / (s * (1 + s*(1./2)*(1+s*(1./3)*(1+s*(1./4))))) // over exp(s)-1
			slope += weight * (t.lost*x - t.passed*e.times)
			bend += weight * t.lost * x * (x + e.times)
			losses += weight * t.lost * h * e.times / s
		}
		if bend == 0 {
			return 1e-9, 0, 0 // nothing was lost
		}
		was := h
		h = min(max(h+slope/bend, h/16, 1e-9), mostHazard)
		if math.Abs(h-was) < 0.05*was {
			break
		}
	}
	return h, losses, bend
}

// often is the log of the chance to be an outlier from which on an observation's losses may well be its own.
const often = -4
