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
	p, top, rows := &passing{}, int(t.top), rows()
	if t.bySize == nil {
		t.bySize, t.loud = make([]series, top), make([]weighted, (loudness+1)*top)
	}
	t.passes(c, func(i int32, share float64, _ graphs.ArcID) {
		switch {
		case share >= 1:
			for _, b := range t.bunchesOf(i) {
				p.certain += float64(b.copies) * t.packets[b.size]
			}
		case share > 0.5:
			row := int((2*share-1)*loudness) * top
			for _, b := range t.bunchesOf(i) {
				x := &t.loud[row+int(b.size)]
				x.size = b.size
				x.share += share * float64(b.copies)
				x.copies += float64(b.copies)
			}
		default:
			s := &rows[rowOf(share)]
			for _, b := range t.bunchesOf(i) {
				w := share * float64(b.copies)
				to := &t.bySize[b.size]
				for k := range to {
					to[k] += w * s[k]
				}
			}
		}
	})
	for size := range t.bySize {
		if t.bySize[size][0] != 0 {
			p.sizes, p.sums = append(p.sizes, int32(size)), append(p.sums, t.bySize[size])
		}
	}
	clear(t.bySize)
	for i := range t.loud {
		if x := t.loud[i]; x.copies > 0 {
			x.share /= x.copies
			p.loud = append(p.loud, x)
			t.loud[i] = weighted{}
		}
	}
	t.flows[c] = p
	return p
}

// loudness is in how many parts shares from one half to one are told apart.
const loudness = 32
