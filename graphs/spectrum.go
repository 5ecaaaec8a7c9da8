package graphs

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A Spectrum tells how well the graph of the switches mixes: the larger a gap, the fewer bottlenecks it has.
//
// Lambda1 is the largest eigenvalue of the adjacency matrix, Lambda2 the largest magnitude among the others, and Gap their difference. For a graph whose
// switches have (nearly) the same degree d, Lambda1 is d, and no large such graph has a Lambda2 much below 2√(d-1) (Alon and Boppana).
// In a graph that falls into tiers with links only between them the gap is 0 by symmetry, and where degrees differ it means little: there, look at
// Laplacian, the second smallest eigenvalue of the normalised Laplacian (Chung 1997), which is 0 only where the graph falls apart.
type Spectrum struct {
	Lambda1, Lambda2, Gap, Laplacian float64
}

// Spectrum computes the spectrum of the graph of the switches. It reports false where that is not connected, or is less than two switches.
func (f *Fabric) Spectrum() (Spectrum, bool) {
	m := f.mesh()
	n := m.size()
	if n < 2 || !m.connected() {
		return Spectrum{}, false
	}
	var s Spectrum
	e := lanczos(n, nil, func(to, x []float64) {
		for i := range to {
			to[i] = 0
			for _, j := range m.neighbours(i) {
				to[i] += x[j]
			}
		}
	})
	s.Lambda1, s.Lambda2 = e.largest, max(math.Abs(e.smallest), e.second)
	if gap := s.Lambda1 - s.Lambda2; gap > 1e-9*s.Lambda1 { // else it is rounding
		s.Gap = gap
	}

	root := make([]float64, n)
	for i := range root {
		root[i] = math.Sqrt(float64(m.degree(i)))
	}
	trivial := slices.Clone(root)
	normalise(trivial)
	e = lanczos(n, trivial, func(to, x []float64) {
		for i := range to {
			to[i] = 0
			for _, j := range m.neighbours(i) {
				to[i] += x[j] / (root[i] * root[j])
			}
		}
	})
	s.Laplacian = max(0, 1-e.largest)
	return s, true
}

// Ends are the eigenvalues at the ends of the spectrum of a symmetric matrix. The three are the same where there are fewer.
type ends struct {
	smallest, second, largest float64
	vector                    []float64 // eigenvector of the largest
}

// Limits of lanczos: how many products with the matrix it takes at most, and how much of the largest eigenvalue its error may be before.
const (
	mostSteps = 320
	precision = 1e-10
)

// lanczos finds the ends of the spectrum of a symmetric matrix, which is given as what it makes of a vector. What lies along without, a unit
// vector, is left out; nil leaves out nothing. It is the method of Lanczos (1950) with full reorthogonalisation, always from the same start.
func lanczos(n int, without []float64, mul func(to, x []float64)) ends {
	rng := rand.New(rand.NewPCG('l', uint64(n)))
	q := make([]float64, n)
	for i := range q {
		q[i] = rng.Float64() - 0.5
	}
	most := min(n, mostSteps)
	if without != nil {
		subtract(q, without)
		most = min(n-1, mostSteps)
	}
	normalise(q)
	var t tridiagonal
	var basis [][]float64
	for check := 20; ; {
		basis = append(basis, q)
		next := make([]float64, n)
		mul(next, q)
		t.diagonal = append(t.diagonal, dot(next, q))
		for range 2 { // once leaves rounding errors
			if without != nil {
				subtract(next, without)
			}
			for _, b := range basis {
				subtract(next, b)
			}
		}
		length := normalise(next)
		k := len(basis)
		last := k == most || length < 1e-12*t.radius()
		if last || k == check {
			check += k / 2
			e := ends{smallest: t.eigenvalue(0), second: t.eigenvalue(max(0, k-2)), largest: t.eigenvalue(k - 1)}
			ritz := t.eigenvector(e.largest)
			// The error of a Ritz value is no more than what the last step adds to its vector (Paige 1972).
			wrong := max(math.Abs(ritz[k-1]), math.Abs(t.eigenvector(e.second)[k-1]), math.Abs(t.eigenvector(e.smallest)[k-1])) * length
			if last || wrong < precision*t.radius() {
				e.vector = make([]float64, n)
				for j, b := range basis {
					for i := range e.vector {
						e.vector[i] += ritz[j] * b[i]
					}
				}
				return e
			}
		}
		t.beside = append(t.beside, length)
		q = next
	}
}

// A tridiagonal is a symmetric matrix whose other entries are 0.
type tridiagonal struct{ diagonal, beside []float64 }

// radius bounds the magnitude of the eigenvalues (Gershgorin).
func (t *tridiagonal) radius() float64 {
	r := 0.0
	for i, d := range t.diagonal {
		row := math.Abs(d)
		if i > 0 {
			row += t.beside[i-1]
		}
		if i < len(t.diagonal)-1 && i < len(t.beside) {
			row += t.beside[i]
		}
		r = max(r, row)
	}
	return r
}

// eigenvalue returns the k-th eigenvalue from below. It halves an interval, counting how many are below its middle: as many as there are
// negative pivots (Sylvester's law of inertia).
func (t *tridiagonal) eigenvalue(k int) float64 {
	high := t.radius()
	low := -high
	for range 80 {
		middle := (low + high) / 2
		below := 0
		pivot := 1.0
		for i, d := range t.diagonal {
			off := 0.0
			if i > 0 {
				off = t.beside[i-1] * t.beside[i-1] / pivot
			}
			pivot = d - middle - off
			if pivot == 0 {
				pivot = 1e-300
			}
			if pivot < 0 {
				below++
			}
		}
		if below > k {
			high = middle
		} else {
			low = middle
		}
	}
	return (low + high) / 2
}

// eigenvector returns the unit eigenvector of an eigenvalue, by inverse iteration.
func (t *tridiagonal) eigenvector(value float64) []float64 {
	n := len(t.diagonal)
	x := make([]float64, n)
	for i := range x {
		x[i] = 1 + float64(i%7)/16 // orthogonal to none that matters
	}
	for range 3 {
		t.solve(value, x)
		normalise(x)
	}
	return x
}

// solve replaces x by the solution of (T - value) y = x, by elimination with row exchanges.
func (t *tridiagonal) solve(value float64, x []float64) {
	n := len(x)
	// Row i of what is eliminated has the entries u[i] at i, i+1 and i+2.
	u := make([][3]float64, n)
	row := func(i int) [3]float64 { // at i-1, i and i+1
		var r [3]float64
		if i > 0 {
			r[0] = t.beside[i-1]
		}
		r[1] = t.diagonal[i] - value
		if i < n-1 {
			r[2] = t.beside[i]
		}
		return r
	}
	first := row(0)
	u[0] = [3]float64{first[1], first[2], 0}
	tiny := 1e-16 * (t.radius() + 1e-300)
	for i := 1; i < n; i++ {
		below := row(i)
		if math.Abs(below[0]) > math.Abs(u[i-1][0]) {
			u[i-1], below = below, u[i-1]
			x[i-1], x[i] = x[i], x[i-1]
		}
		if u[i-1][0] == 0 {
			u[i-1][0] = tiny
		}
		times := below[0] / u[i-1][0]
		u[i] = [3]float64{below[1] - times*u[i-1][1], below[2] - times*u[i-1][2], 0}
		x[i] -= times * x[i-1]
	}
	for i := n - 1; i >= 0; i-- {
		if math.Abs(u[i][0]) < tiny {
			u[i][0] = tiny
		}
		if i+1 < n {
			x[i] -= u[i][1] * x[i+1]
		}
		if i+2 < n {
			x[i] -= u[i][2] * x[i+2]
		}
		x[i] /= u[i][0]
	}
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

// subtract takes away from x what lies along a unit vector.
func subtract(x, unit []float64) {
	along := dot(x, unit)
	for i := range x {
		x[i] -= along * unit[i]
	}
}

// normalise makes a vector one of length 1, and returns what its length was.
func normalise(x []float64) float64 {
	length := math.Sqrt(dot(x, x))
	if length > 0 {
		for i := range x {
			x[i] /= length
		}
	}
	return length
}
