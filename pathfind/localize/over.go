package localize

import "whichlink/internal/halves"

// An over is a hazard at which gains are bounded from above, and what is needed for that of it alone.
type over struct {
	hazard float64
	own    [len(keeping)]float64 // what a flow that loses packets by itself may gain, by what it keeps: exp(keep*hazard)
	most   float64               // that a loss may, in nats
	// It lies in a cell of fixed hazards, a part of the way to the next.
	cell int
	part float64
}

// overs are hazards, ascending, at which gains are bounded from above: at most as many as a grid has.
type overs struct {
	at   []over
	rise *rises
	step int // they are every step-th of those of rise
}

// rises are, by term of several ways, what it may gain at each of some hazards on a way that has but the background, less one. Most ways have no more, and
// many components are on them.
type rises struct {
	known bool
	n     int       // hazards
	most  []float64 // of one term after the other
}

// setOvers sets what is needed of hazards.
func (m *model) setOvers(x *overs, hazards []float64) {
	x.at = x.at[:0]
	for _, h := range hazards {
		y := over{hazard: h, most: log(1 + h*m.most/(leastArcs*m.background))}
		for k, keep := range keeping {
			y.own[k] = exp(min(keep*h, 300))
		}
		y.cell, y.part = cellOf(h)
		x.at = append(x.at, y)
	}
	x.forget()
}

// forget tells that what terms may gain has changed.
func (x *overs) forget() {
	if x.rise != nil {
		x.rise.known = false
	}
}

// riseAtMost bounds what a flow may gain at a hazard, as a ratio. The share of packets lost rises with a hazard from s to s+h by no more than (s+h)/s, and
// what passes falls by exp(h) a packet; what a flow loses by itself leaves exp(h) to be gained. Of which of the two it lost packets, as it is, byPath says,
// or not, below 0: see model.
func (t *term) riseAtMost(x *over, by, times, byPath float64) float64 {
	y := power(1+x.hazard*by, t.lost)
	own, path := min(power(x.own[t.kind], times), y), y/underExp(x.hazard*t.passed*times)
	if byPath < 0 {
		return max(own, path)
	}
	return byPath*path + max(1-byPath, leastOwn)*own
}

// rise multiplies ratios, of which top is the greatest, by what riseAtMost says at some hazards where byPath is not told. It returns the greatest of them.
func (t *term) rise(at []over, by, times float64, ratio []float64, top float64) float64 {
	lost, passed, kind := t.lost, t.passed, t.kind
	for j := range ratio {
		x := &at[j]
		y := power(1+x.hazard*by, lost)
		r := x.own[kind] // times one
		if times > 1 {
			r = power(r, times)
		}
		if r > y {
			r = y
		}
		if path := y / underExp(x.hazard*passed*times); path > r {
			r = path
		}
		r *= ratio[j]
		ratio[j] = r
		if r > top {
			top = r
		}
	}
	return top
}

// leastOwn is a share that the difference of two others may have lost.
const leastOwn = 1e-15

// setRises finds what terms of several ways may gain at the hazards at which gains are bounded.
func (m *model) setRises() {
	for _, x := range [...]*overs{&m.overBad, &m.overNormal} {
		if x.rise != nil && !x.rise.known {
			m.setRise(x)
		}
	}
}

func (m *model) setRise(x *overs) {
	r := x.rise
	if r.n = len(x.at); r.most == nil {
		r.most = make([]float64, r.n*m.ev.flows)
	}
	for i := range m.ev.flows {
		t := &m.ev.terms[i]
		if t.n == 1 || t.lost == 0 {
			continue
		}
		base := m.background * m.ev.arcs[t.first]
		byPath := t.byPath(base)
		for j := range x.at {
			r.most[i*r.n+j] = t.riseAtMost(&x.at[j], 1/base, 1, byPath) - 1
		}
	}
	r.known = true
}

// overGain bounds the gain from above at several hazards, without logarithms: products of ratios serve. What is not above a least is bounded more coarsely.
// It returns the work that it was, and may be called for two components at a time.
func (m *model) overGain(c int32, x *overs, least float64, g []float64) (work int) {
	m.setRises()
	useful := len(x.at)
	for i := range x.at {
		g[i] = -x.at[i].hazard * m.ev.exposure[c]
	}
	// Most hazards are too great for all that arrived, whatever was lost.
	for useful > 1 && !m.metered[c] {
		all := g[useful-1] + m.losses[c]*x.at[useful-1].most
		if all > -dismal {
			break
		}
		useful--
		g[useful] = all
	}
	work = m.overTerms(c, x, g[:useful])
	if m.ev.sets != nil {
		m.ev.sets.overAll(c, x.at[:useful], max(least, -dismal), g)
	}
	return work
}

// overTerms adds to bounds of the gain of a component what its lossy observations may gain.
func (m *model) overTerms(c int32, x *overs, g []float64) (work int) {
	var ratio, now [grid]float64
	at, rise := x.at[:len(g)], x.rise
	for i := range at {
		ratio[i] = 1
	}
	es := m.ev.entries[m.ev.start[c]:m.ev.start[c+1]]
	top := 1.0 // the greatest ratio
	for i := 0; i < len(es); {
		ti := es[i].term
		t := &m.ev.terms[ti]
		switch {
		case t.meter != nil:
			for j := range at {
				g[j] += t.meter.at(m.hazard[es[i].branch]+at[j].hazard*es[i].times) - m.terms[ti]
			}
			i++
		case t.lost == 0:
			i++
		case t.n == 1:
			times := es[i].times
			by := times / m.hazard[es[i].branch]
			if m.byPath == nil {
				top = t.rise(at, by, times, ratio[:len(at)], top)
			} else {
				byPath := m.byPath[es[i].branch]
				for j := range at {
					ratio[j] *= t.riseAtMost(&at[j], by, times, byPath)
					top = max(top, ratio[j])
				}
			}
			i++
		default:
			for j := range at {
				now[j] = 1
			}
			alike, base := 0.0, m.background*m.ev.arcs[t.first] // the weight of ways that have the background alone
			for ; i < len(es) && es[i].term == ti; i++ {
				b, times := es[i].branch, es[i].times
				if m.hazard[b] == base && times == 1 {
					alike += m.weight[b]
					continue
				}
				for j := range at {
					now[j] += m.weight[b] * (t.riseAtMost(&at[j], times/m.hazard[b], times, m.byPath[b]) - 1)
				}
			}
			most := rise.most[int(ti)*rise.n:]
			for j := range at {
				ratio[j] *= now[j] + alike*most[j*x.step]
				top = max(top, ratio[j])
			}
		}
		if top > 1e150 {
			for j := range at {
				g[j] += log(ratio[j])
				ratio[j] = 1
			}
			top = 1
		}
	}
	for j := range at {
		g[j] += log(ratio[j])
	}
	return len(es) / 4
}

// each calls use with each number below n, the place of a component, on two cores. It must change nothing that others see, but for the work of the model
// that it is given.
func (m *model) each(n int, use func(m *model, i int)) {
	m.setRises()
	other := *m
	other.work = 0
	halves.Shared(n, func(i int) { use(m, i) }, func(i int) { use(&other, i) })
	m.work += other.work
}

// dismal is a log-likelihood lost at which it does not matter how much more it might be.
const dismal = 60

// underExp is less than exp(u), for u from 0 on.
func underExp(u float64) float64 { return 1 + u*(1+u*(1./2+u*(1./6+u*(1./24)))) }

// power raises a number from 1 on to the n-th, n rounded up.
func power(x, n float64) float64 {
	p := x
	for ; n > 1; n-- {
		p *= x
	}
	return min(p, 1e150)
}
