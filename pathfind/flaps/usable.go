package flaps

import (
	"slices"

	"whichlink/graphs"
	"whichlink/internal/halves"
	"whichlink/pathfind/localize"
)

// usable returns the observations that can be ones of the fabric, each with its span, and how many others there are. Nothing is copied where all can be used. Where there are fewer spans, it is
// not known of the others when they were sent.
func usable(f *graphs.Fabric, obs []localize.Observation, spans []Span) ([]localize.Observation, []Span, int) {
	if n := len(obs) - len(spans); n > 0 {
		spans = append(slices.Clip(spans), slices.Repeat([]Span{unknown}, n)...)
	}
	spans = spans[:len(obs)]
	var odd [2][]int
	halves.Do(len(obs), func(half, from, to int) {
		for i := from; i < to; i++ {
			if !obs[i].Fits(f) {
				odd[half] = append(odd[half], i)
			}
		}
	})
	left := slices.Concat(odd[0], odd[1])
	if len(left) == 0 {
		return obs, spans, 0
	}
	var fit []localize.Observation
	var when []Span
	from := 0
	for _, i := range append(left, len(obs)) {
		fit, when = append(fit, obs[from:i]...), append(when, spans[from:i]...)
		from = i + 1
	}
	return fit, when, len(left)
}
