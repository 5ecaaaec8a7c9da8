package tui

import (
	"math"
	"strings"
	"unicode/utf8"
)

// blocks are the eight heights of a sparkline, and ramp what stands for each of them in ASCII.
const (
	blocks = "▁▂▃▄▅▆▇█"
	ramp   = ".::-++#@"
)

// sparkline draws values from 0 to top, one cell each. NaN is a moment without a sample and stays blank: it is not a zero.
func sparkline(values []float64, top float64) string {
	const size = len("▁")
	var b strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		default:
			i := 0
			// Anything above zero shows, however small: a rare loss must not look like none.
			if v > 0 && top > 0 {
				i = max(1, int(math.Round(v/top*float64(utf8.RuneCountInString(blocks)-1))))
			}
			i = min(max(i, 0), len(blocks)/size-1)
			b.WriteString(blocks[i*size : (i+1)*size])
		}
	}
	return b.String()
}

// ceiling returns the next of 1, 2, 5, 10, 20 ... at or above the largest value, and at least least. Scales that move in
// steps do not wobble with every sample.
func ceiling(values []float64, least float64) float64 {
	top := least
	for _, v := range values {
		if v > top && !math.IsInf(v, 0) {
			top = v
		}
	}
	if top <= 0 {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(top)))
	for _, m := range []float64{1, 2, 5, 10} {
		if top <= m*p*(1+1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// columns returns how many bins of n go into one of w columns, so that all of them can be seen.
func columns(n, w int) int {
	if w < 1 {
		return 1
	}
	return max(1, (n+w-1)/w)
}

// newest returns values in exactly w cells, the newest at the right edge, with blanks for the time before the first.
func newest(values []float64, w int) []float64 {
	if len(values) >= w {
		return values[len(values)-max(w, 0):]
	}
	out := make([]float64, w)
	for i := range out {
		out[i] = math.NaN()
	}
	copy(out[w-len(values):], values)
	return out
}
