package rhythm

import "math"

// softest is how much less a summand's logarithm may be than another's to matter, and softCells how many cubics stand for log(1+exp(-d)) in each unit of what
// it is less: they are right to 1e-8.
const softest, softCells = 40, 16

var softs = softCubics()

// softCubics are Hermite's: they have the function's values and slopes where cells meet.
func softCubics() (cubics [softest * softCells][4]float64) {
	value := func(i int) float64 { return math.Log1p(math.Exp(-float64(i) / softCells)) }
	slope := func(i int) float64 { return -1 / (1 + math.Exp(float64(i)/softCells)) / softCells }
	for i := range cubics {
		rise := value(i+1) - value(i)
		cubics[i] = [...]float64{value(i), slope(i), 3*rise - 2*slope(i) - slope(i+1), slope(i) + slope(i+1) - 2*rise}
	}
	return cubics
}

// logSum returns log(exp(a)+exp(b)).
func logSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	d := (a - b) * softCells
	if !(d < softest*softCells) { // or both are -Inf
		return a
	}
	i := int(d)
	c, x := &softs[i], d-float64(i)
	return a + c[0] + x*(c[1]+x*(c[2]+x*c[3]))
}

// integrated returns the log likelihood of so many that happened and so many that did not, each with a probability of which any is as likely.
func integrated(happened, not float64) float64 {
	k, _ := math.Lgamma(happened + 1)
	m, _ := math.Lgamma(not + 1)
	n, _ := math.Lgamma(happened + not + 2)
	return k + m - n
}
