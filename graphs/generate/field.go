package generate

import "fmt"

// A field is a finite field: q elements, numbered from 0, the prime p and how q is its power. Number x stands for the polynomial over the
// integers modulo p whose coefficients are the digits of x to the base p; 0 and 1 are what they are called.
type field struct {
	q, p int
	// power[i] is the i-th power of a primitive element, 0 <= i < q-1; log is its inverse and is not defined for 0.
	power, log []int
}

// maxField keeps tables small; the graphs made of larger fields have more links than a fabric may have.
const maxField = 512

func newField(q int) (*field, error) {
	if q < 2 || q > maxField {
		return nil, fmt.Errorf("q must be between 2 and %d", maxField)
	}
	p := 2
	for q%p != 0 {
		p++
	}
	for rest := q; rest > 1; rest /= p {
		if rest%p != 0 {
			return nil, fmt.Errorf("q must be a power of a prime, as only then there is a field of q elements")
		}
	}
	f := &field{q: q, p: p, log: make([]int, q)}
	// Modulo a primitive polynomial, the powers of its root run through all elements but 0. Every field has one; they are tried in order.
	for low := 1; low < q; low++ {
		f.power = f.power[:0]
		for x := 1; len(f.power) == 0 || x != 1; x = f.timesRoot(x, low) {
			if x == 0 || len(f.power) == q-1 {
				break
			}
			f.power = append(f.power, x)
		}
		if len(f.power) == q-1 && f.timesRoot(f.power[q-2], low) == 1 {
			break
		}
	}
	for i, x := range f.power {
		f.log[x] = i
	}
	return f, nil
}

// timesRoot multiplies an element by the root of a monic polynomial of which low are the coefficients below the highest, negated.
func (f *field) timesRoot(x, low int) int {
	top := f.q / f.p
	lead := x / top
	x = x % top * f.p
	for range lead {
		x = f.add(x, low)
	}
	return x
}

func (f *field) add(x, y int) int {
	sum := 0
	for digit := 1; x > 0 || y > 0; digit *= f.p {
		sum += (x%f.p + y%f.p) % f.p * digit
		x, y = x/f.p, y/f.p
	}
	return sum
}

func (f *field) sub(x, y int) int {
	difference := 0
	for digit := 1; x > 0 || y > 0; digit *= f.p {
		difference += (x%f.p + f.p - y%f.p) % f.p * digit
		x, y = x/f.p, y/f.p
	}
	return difference
}

func (f *field) mul(x, y int) int {
	if x == 0 || y == 0 {
		return 0
	}
	return f.power[(f.log[x]+f.log[y])%(f.q-1)]
}
