package localize

import (
	"math"
	"slices"

	"whichlink/internal/halves"
)

// Members of a hypothesis that share flows, as the arcs into and out of one switch do, give way to each other slowly if each is fitted with the others
// as they are. Where all ways are known, and flows without loss too, the log-likelihood is concave in all rates together, but for flows with losses of their own, and
// Newton's method finds them in a few steps.

const (
	// steps bounds how often all rates are changed together, until a step gains no more than so many nats: near the peak, what the next one would gain is a few
	// times the square of that.
	steps, still = 12, 0.005
	// firmness is the share by which members are held more firmly, each for itself, than what was lost asks for.
	firmness = 1e-5
)

// A system is the slope of the log-likelihood in the rates of some members, and how it bends.
type system struct {
	curve
	half  curve   // what half of the flows add to that
	of    []int32 // by term, how many members it crosses, then its place among the flows; zero outside of collect
	flows []sharedFlow
	parts []sharedPart
	alone []float64 // by member: how the log-likelihood bends in it alone, 0 if that does not tell how wide its peak is
}

type curve struct {
	bend   []float64 // the lower triangle: row i begins at i(i+1)/2
	slope  []float64
	losses []float64 // that each explains
}

// clear makes a curve for n members.
func (x *curve) clear(n int) {
	for _, part := range [...]*[]float64{&x.bend, &x.slope, &x.losses} {
		size := n
		if part == &x.bend {
			size = n * (n + 1) / 2
		}
		*part = slices.Grow((*part)[:0], size)[:size]
		clear(*part)
	}
}

// A sharedFlow is a term that members cross, with the hazard that it meets besides; the parts up to end, from that of the one before it on, are theirs.
type sharedFlow struct {
	term, end int32
	besides   float64
}

type sharedPart struct {
	member int32
	times  float64
}

// settle fits the rates of all members of the loaded hypothesis together, and reports whether it could. What those pay for their freedom whose losses are
// many enough for a parabola, as in sharp, it leaves in occam; the others have no number there. It does not load the rates.
func (s *search) settle(comps []int32, rates []float64) bool {
	if len(comps) == 0 || s.ev.sets != nil || s.ev.beyond || slices.ContainsFunc(comps, func(c int32) bool { return s.unsure[c] }) {
		return false
	}
	y := &s.system
	y.collect(s.model, comps)
	if !y.newton(s.model, comps, rates) {
		return false
	}
	for i, c := range comps {
		r := rates[i]
		rates[i] = rounded(r)
		s.occam[i] = math.NaN()
		if r <= s.bad[0] || r >= 1 {
			y.alone[i] = 0
		} else if bend := r * r * y.alone[i]; y.losses[i] >= sharply && bend > sharply/2 {
			s.occam[i] = 0.5*log(2*math.Pi/bend) + s.logRatePrior(log(r)) + s.ix.logPrior(c)
		}
	}
	return true
}

// weighFreedom leaves in occam what those members pay whose losses are too few for a parabola, but whose peaks are wide as told. Their rates were fitted together
// and are loaded.
func (s *search) weighFreedom(comps []int32, rates []float64) {
	s.each(len(comps), func(m *model, i int) {
		if bend := s.system.alone[i]; math.IsNaN(s.occam[i]) && bend > 0 {
			gain := func(h float64) float64 { return m.gainOfTerms(comps[i], h-rates[i]) }
			s.occam[i] = m.around(gain, rates[i], m.bad[0], bend*rates[i]*rates[i]).bayes + m.priorOf(comps[i])
		}
	})
}

// newton changes all rates together, step by step, and reports whether it could. None becomes less than the least.
func (y *system) newton(m *model, comps []int32, rates []float64) bool {
	for i := range comps {
		rates[i] = max(rates[i], m.bad[0])
	}
	for range steps {
		y.fill(m, comps, rates)
		for i := range comps {
			if rates[i] <= m.bad[0] && y.slope[i] <= 0 {
				y.hold(i)
			}
		}
		y.firm()
		gain, ok := solve(y.bend, y.slope)
		if !ok {
			return false
		}
		for i, r := range rates {
			rates[i] = min(max(r+y.slope[i], r/16, m.bad[0]), 4*r, mostHazard)
		}
		if gain < still {
			break
		}
	}
	return true
}

// collect finds the lossy terms that members cross, in their order.
func (y *system) collect(m *model, comps []int32) {
	if y.of == nil {
		y.of = make([]int32, m.ev.flows)
	}
	for _, c := range comps {
		for _, e := range m.ev.entries[m.ev.start[c]:m.ev.start[c+1]] {
			y.of[e.term]++
		}
	}
	y.flows = y.flows[:0]
	all := int32(0)
	for t, parts := range y.of {
		if parts > 0 {
			y.of[t] = int32(len(y.flows))
			y.flows = append(y.flows, sharedFlow{term: int32(t), end: all, besides: m.hazard[m.ev.terms[t].first]})
			all += parts
		}
	}
	y.parts = slices.Grow(y.parts[:0], int(all))[:all]
	for i, c := range comps {
		for _, e := range m.ev.entries[m.ev.start[c]:m.ev.start[c+1]] {
			f := &y.flows[y.of[e.term]]
			y.parts[f.end] = sharedPart{int32(i), e.times}
			f.end++ // from where its parts begin to where they end
			f.besides -= m.excess[c] * e.times
		}
	}
	for i := range y.flows {
		y.of[y.flows[i].term] = 0
	}
}

// fill sums up slope and bend.
func (y *system) fill(m *model, comps []int32, rates []float64) {
	m.work += len(y.flows)
	y.half.clear(0)
	halves.Briefly(len(y.flows), func(half, from, to int) {
		x := &y.curve
		if half == 1 {
			x = &y.half
		}
		x.clear(len(comps))
		y.add(x, m, rates, from, to)
	})
	for i, c := range comps {
		y.slope[i] -= m.ev.exposure[c]
		y.bend[i*(i+1)/2+i] += 1e-12
	}
	for _, part := range [...][2][]float64{{y.bend, y.half.bend}, {y.slope, y.half.slope}, {y.losses, y.half.losses}} {
		for i, v := range part[1] {
			part[0][i] += v
		}
	}
}

// add adds to a curve what some of the flows say. A flow counts as far as it is no outlier.
func (y *system) add(c *curve, m *model, rates []float64, from, to int) {
	begin := int32(0)
	if from > 0 {
		begin = y.flows[from-1].end
	}
	for i := from; i < to; i++ {
		f := &y.flows[i]
		parts := y.parts[begin:f.end]
		begin = f.end
		s := f.besides
		for _, p := range parts {
			s += rates[p.member] * p.times
		}
		t := &m.ev.terms[f.term]
		in, out := t.over(s)
		if out > 0 {
			in /= in + out
		} else {
			in, out = t.parts(s)
			in = 1 / (1 + exp(out-in))
		}
		miss := missed(s)
		x := (1 - miss) / miss
		slope, bend := in*(t.lost*x-t.passed), in*t.lost*x*(x+1)
		for j, p := range parts {
			c.slope[p.member] += slope * p.times
			c.losses[p.member] += in * t.lost * rates[p.member] * p.times / s
			for _, q := range parts[:j+1] {
				a, b := max(p.member, q.member), min(p.member, q.member)
				c.bend[a*(a+1)/2+b] += bend * p.times * q.times
			}
		}
	}
}

// hold leaves a member as it is: one that would have to be less than the least.
func (y *system) hold(i int) {
	row := y.bend[i*(i+1)/2:]
	clear(row[:i])
	for j := i + 1; j < len(y.slope); j++ {
		y.bend[j*(j+1)/2+i] = 0
	}
	row[i], y.slope[i] = 1, 0
}

// firm makes the system one that has an answer. What all packets cross that cross some members, and what they cross of others, as on the way into and out of
// a switch, may be exchanged between them without the losses telling.
func (y *system) firm() {
	y.alone = y.alone[:0]
	for i := range y.slope {
		at := &y.bend[i*(i+1)/2+i]
		y.alone = append(y.alone, *at)
		*at *= 1 + firmness
	}
}

// solve solves a positive definite system, of which it is given the lower triangle, and leaves what comes of it in b (Cholesky's method). It returns half of
// the product of that with what b was, which is what a step of Newton's method gains, and reports whether the system is one.
func solve(a, b []float64) (gain float64, ok bool) {
	n := len(b)
	for i := range n {
		row := a[i*(i+1)/2:]
		for j := range i + 1 {
			other := a[j*(j+1)/2:]
			sum := row[j]
			for k := range j {
				sum -= row[k] * other[k]
			}
			if j < i {
				row[j] = sum * other[j] // the inverse of the root is kept on the diagonal
				continue
			}
			if !(sum > 1e-9*row[i]) {
				return 0, false
			}
			row[i] = 1 / math.Sqrt(sum)
		}
	}
	for i := range n {
		row := a[i*(i+1)/2:]
		sum := b[i]
		for k := range i {
			sum -= row[k] * b[k]
		}
		b[i] = sum * row[i]
		gain += b[i] * b[i] / 2
	}
	for i := n - 1; i >= 0; i-- {
		b[i] *= a[i*(i+1)/2+i]
		for k := range i {
			b[k] -= a[i*(i+1)/2+k] * b[i]
		}
	}
	return gain, true
}
