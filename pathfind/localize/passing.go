package localize

import (
	"math"
	"sync"

	"whichlink/graphs"
)

// Of flows without loss, a share of which passes a component at hazard h, each of n packets adds log(1-share v) to the log-likelihood, with
// v = 1-exp(-n h). Over the shares of a component, which are hundreds, that is a sum for each size of flows. Up to a share of one half it is v times a
// polynomial in v to a few parts in a million, whose coefficients add up; a share of one makes it linear in h; what is between is kept by itself.

// A passing is what passes a component without loss.
type passing struct {
	certain float64    // packets of which all cross it
	sizes   []int32    // of flows of which half or less do
	sums    []series   // of those, by size
	loud    []weighted // of which more do
}

// A series is a polynomial in 2v-1, lowest power first.
type series [7]float64

// Shares are told apart to one in fineness of their power of two, down to one in 2^octaves.
const fineness, octaves = 128, 14

// rowOf returns the place of a share, at most one half, among the rows.
func rowOf(share float64) int {
	fraction, exponent := math.Frexp(share) // fraction is in [0.5, 1)
	return max(0, (octaves+exponent-1)*fineness+int((2*fraction-1)*fineness+0.5))
}

// rows are, by row, the polynomials of log(1-share v)/v/share.
var rows = sync.OnceValue(func() *[(octaves-1)*fineness + 1]series {
	const n = len(series{})
	var all [(octaves-1)*fineness + 1]series
	var at, chebyshev [n][n]float64 // the polynomials T by degree at the nodes, and by powers
	for j := range n {
		for k := range n {
			at[j][k] = math.Cos(float64(j) * math.Pi * (float64(k) + 0.5) / float64(n))
		}
		switch j {
		case 0, 1:
			chebyshev[j][j] = 1
		default:
			for k := range n {
				chebyshev[j][k] = -chebyshev[j-2][k]
				if k > 0 {
					chebyshev[j][k] += 2 * chebyshev[j-1][k-1]
				}
			}
		}
	}
	for row := range all {
		share := math.Ldexp(1+float64(row%fineness)/fineness, row/fineness-octaves)
		for j := range n {
			c := 0.0
			for k := range n {
				v := (1 + at[1][k]) / 2
				c += math.Log1p(-share*v) / (v * share) * at[j][k] * 2 / float64(n)
			}
			if j == 0 {
				c /= 2
			}
			for k := range n {
				all[row][k] += c * chebyshev[j][k]
			}
		}
	}
	return &all
})

// at returns the value of a polynomial.
func (s *series) at(z float64) float64 {
	return s[0] + z*(s[1]+z*(s[2]+z*(s[3]+z*(s[4]+z*(s[5]+z*s[6])))))
}

// at returns the log-likelihood at a hazard, of which lose knows what it does to flows by size.
func (p *passing) at(h float64, lose []float64) float64 {
	sum := -h * p.certain
	for i, size := range p.sizes {
		v := -lose[size]
		sum += v * p.sums[i].at(2*v-1)
	}
	for _, x := range p.loud {
		sum += x.copies * log(max(1+x.share*lose[x.size], leastPassed))
	}
	return sum
}

// leastPassed is the least share that is taken to pass unharmed.
const leastPassed = 1e-15

// weigh adds up what passes a component.
func (t *setTable) weigh(c int32) *passing {
	if t.flows[c] != nil {
		return t.flows[c]
	}
	p, sum := &passing{}, t.summing(nil)
	t.passes(c, func(i int32, share float64, _ graphs.ArcID) { sum.add(share, t.bunchesOf(i), 1) })
	sum.end(p)
	t.flows[c] = p
	return p
}

// A summing adds up what passes a component. All but the packets of flows is zero outside of it.
type summing struct {
	packets []float64
	certain float64
	bySize  []series
	loud    []weighted // their share is times their copies
}

// summing begins to add to what is known already, if not nil. One is done at a time.
func (t *setTable) summing(known *passing) *summing {
	s := &t.adding
	if s.packets == nil {
		s.packets, s.bySize, s.loud = t.packets[:t.top], make([]series, t.top), make([]weighted, (loudness+1)*t.top)
	}
	if known == nil {
		return s
	}
	s.certain = known.certain
	for i, size := range known.sizes {
		s.bySize[size] = known.sums[i]
	}
	for _, x := range known.loud {
		*s.of(x.share, x.size) = weighted{x.size, x.share * x.copies, x.copies}
	}
	return s
}

// of returns where flows of a size are added up of which a share from a half on passes. Means of equal shares, a little less by rounding, have their place.
func (s *summing) of(share float64, size int32) *weighted {
	return &s.loud[int((2*share-1)*loudness+1e-9)*len(s.packets)+int(size)]
}

// add adds flows so many times, of which a share passes.
func (s *summing) add(share float64, flows []bunch, times float64) {
	switch {
	case share >= 1:
		for _, b := range flows {
			s.certain += times * float64(b.copies) * s.packets[b.size]
		}
	case share > 0.5:
		for _, b := range flows {
			x := s.of(share, b.size)
			x.size = b.size
			x.share += times * share * float64(b.copies)
			x.copies += times * float64(b.copies)
		}
	default:
		row := &rows()[rowOf(share)]
		for _, b := range flows {
			w := times * share * float64(b.copies)
			to := &s.bySize[b.size]
			for k := range to {
				to[k] += w * row[k]
			}
		}
	}
}

// end hands over the sums.
func (s *summing) end(p *passing) {
	p.certain, p.sizes, p.sums, p.loud = s.certain, p.sizes[:0], p.sums[:0], p.loud[:0]
	for size := range s.bySize {
		if s.bySize[size][0] != 0 {
			p.sizes, p.sums = append(p.sizes, int32(size)), append(p.sums, s.bySize[size])
		}
	}
	for _, x := range s.loud {
		if x.copies > leastPassed { // else rounding errors of what was taken out again
			p.loud = append(p.loud, weighted{x.size, x.share / x.copies, x.copies})
		}
	}
	s.certain = 0
	clear(s.bySize)
	clear(s.loud)
}

// loudness is in how many parts shares from one half to one are told apart.
const loudness = 32
