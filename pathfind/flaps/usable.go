package flaps

import (
	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// usable returns the observations that can be ones of the fabric, each with its span.
func usable(f *graphs.Fabric, obs []localize.Observation, spans []Span) (fit []localize.Observation, when []Span) {
	for i := range obs {
		if obs[i].Fits(f) {
			fit, when = append(fit, obs[i]), append(when, spans[i])
		}
	}
	return fit, when
}
