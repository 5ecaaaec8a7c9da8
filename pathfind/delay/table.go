package delay

import (
	"math"
	"slices"
)

// The shapes that added delay may have, all of the same mean.
const (
	queue    = iota // exponential: a queue that comes and goes
	standing        // Erlang with standing phases: a queue that stays, or a detour
	half            // exponential, to every second flow
	shapes
)

// phases is how nearly constant a standing delay is: its standard deviation is 1/sqrt(phases) of its mean.
const phases = 9

// step is the ratio of one level of added delay to the one before.
var step = math.Cbrt(2)

// doubling is by how many levels twice a mean is above it.
const doubling = 3

// A table holds the probability of every bin of delays, for every class and for every shape and level of added delay. Bins are relative to
// the median of the class.
type table struct {
	edges  []float64 // bin i is from edges[i-1] to edges[i], the first and the last are open
	levels []float64 // means of added delay; level 0 is none
	bins   int
	// p is the probability, at place(own, bin), where own is the shape of the flow's class, for each shape and, within it, each level; log its logarithm.
	p, log []float64
}

// newTable chooses bins and levels for all that was seen, and for the least delay that counts.
func newTable(ev *evidence, b *baselines, least float64) *table {
	t := &table{levels: []float64{0}}
	most := 0.0
	for i := range ev.flows {
		most = max(most, ev.flows[i].delay-b.classes[ev.flows[i].class].at)
	}
	s := b.spread
	for e := -6.0; e <= 6; e += 0.2 {
		t.edges = append(t.edges, e*s)
	}
	for e := 6 * s * 1.1; e < 3*most; e *= 1.1 {
		t.edges = append(t.edges, e)
	}
	for l := s / 8; l < max(2*most, 8*s, 2*least); l *= step {
		t.levels = append(t.levels, l)
	}
	t.bins = len(t.edges) + 1
	n := len(b.shapes) * shapes * len(t.levels) * t.bins
	t.p, t.log = make([]float64, n), make([]float64, n)
	return t
}

// fill computes the table and puts every flow into its bin.
func (t *table) fill(ev *evidence, b *baselines, outlier float64) {
	below := make([]float64, t.bins)
	for own := range b.shapes {
		for shape := range shapes {
			for l := range t.levels {
				t.cumulate(below, &b.shapes[own], shape, t.levels[l])
				last := 0.0
				for i, upTo := range below {
					at := t.place(own, i) + shape*len(t.levels) + l
					t.p[at] = (1-outlier)*max(0, upTo-last) + outlier/float64(t.bins)
					t.log[at] = math.Log(t.p[at])
					last = upTo
				}
			}
		}
	}
	for i := range ev.flows {
		x := &ev.flows[i]
		x.own = b.classes[x.class].shape
		x.bin, _ = slices.BinarySearch(t.edges, x.delay-b.classes[x.class].at)
	}
}

// place is where the probabilities of a bin begin: for each shape, those of all levels.
func (t *table) place(own, bin int) int { return (own*t.bins + bin) * shapes * len(t.levels) }

// at is the place of one shape and level of a flow's bin.
func (t *table) at(x *flow, shape, level int) int {
	return t.place(x.own, x.bin) + shape*len(t.levels) + level
}

// faster is the probability that a flow is in a bin before its own.
func (t *table) faster(x *flow, shape, level int) float64 {
	sum := 0.0
	for i := range x.bin {
		sum += t.p[t.place(x.own, i)+shape*len(t.levels)+level]
	}
	return sum
}

// cumulate computes the probability to be below every edge.
func (t *table) cumulate(below []float64, own *[points]float64, shape int, level float64) {
	below[len(t.edges)] = 1 // the last bin is open
	for i, e := range t.edges {
		sum := 0.0
		for k, q := range own {
			if e > q && level > 0 {
				sum += added(shape, (e-q)/level)
			}
			if level == 0 || shape == half {
				part := within(own, k, e)
				if level > 0 {
					part /= 2
				}
				sum += part
			}
		}
		below[i] = sum / points
	}
}

// within is how much of a point's probability, which is spread from half way to the point before to half way to the one after,
// lies below an edge.
func within(own *[points]float64, k int, edge float64) float64 {
	low, high := own[max(0, k-1)], own[min(points-1, k+1)]
	low, high = (low+own[k])/2, (high+own[k])/2
	switch {
	case edge >= high:
		return 1
	case edge <= low:
		return 0
	}
	return (edge - low) / (high - low)
}

// added is the probability that a shape adds less than x times its mean; that of half is halved.
func added(shape int, x float64) float64 {
	switch shape {
	case queue:
		return -math.Expm1(-x)
	case half:
		return -math.Expm1(-x/2) / 2
	}
	x *= phases
	if x > 60 {
		return 1
	}
	sum, term := 0.0, 1.0
	for k := range phases {
		if k > 0 {
			term *= x / float64(k)
		}
		sum += term
	}
	return max(0, 1-math.Exp(-x)*sum)
}

// level returns the level nearest to a mean of added delay.
func (t *table) level(mean float64) int {
	if mean <= t.levels[1]/2 {
		return 0
	}
	l := 1 + int(math.Round(math.Log(mean/t.levels[1])/math.Log(step)))
	return min(max(l, 1), len(t.levels)-1)
}
