package flock

import (
	"io"

	"whichlink/graphs"
	"whichlink/internal/halves"
	"whichlink/pathfind"
	"whichlink/pathfind/flaps"
	"whichlink/pathfind/localize"
)

// Observe reads a trace as observations, as far as the evidence allows, and when the packets of each were sent. Each flow is also handed to each of
// also.
func Observe(r io.Reader, file string, f *graphs.Fabric, seen Evidence, also ...func(*Flow)) ([]localize.Observation, []flaps.Span, error) {
	var obs []localize.Observation
	var spans []flaps.Span
	var arcs []graphs.ArcID // memory of many paths: one piece of it for each would be more than all of them
	err := ReadTrace(r, file, f, seen, func(flow *Flow) {
		if cap(arcs)-len(arcs) < len(flow.Path) {
			arcs = make([]graphs.ArcID, 0, max(1<<16, len(flow.Path)))
		}
		arcs = append(arcs, flow.Path...)
		path := arcs[len(arcs)-len(flow.Path) : len(arcs) : len(arcs)]
		obs = append(obs, localize.Observation{
			Path: path, From: flow.First, To: flow.Last,
			Src: graphs.None, Dst: graphs.None, Responder: graphs.None, // hosts are no suspects in these traces
			Sent: flow.Sent, Lost: flow.Lost, Flow: len(obs),
		})
		for _, use := range also {
			use(flow)
		}
		spans = append(spans, flow.Span)
	})
	return obs, spans, err
}

// Solve ranks what explains the observations of a trace, whose packets were sent within spans. Path sets are found only where some path is
// not known.
func Solve(f *graphs.Fabric, obs []localize.Observation, spans []flaps.Span, spread pathfind.Spread) *flaps.Result {
	cfg := localize.Config{OneWay: true} // the form has no other components
	var unknown [2]bool
	halves.Do(len(obs), func(half, from, to int) {
		for i := from; i < to && !unknown[half]; i++ {
			unknown[half] = obs[i].From != obs[i].To
		}
	})
	if unknown[0] || unknown[1] {
		cfg.Paths = pathfind.NewEqualCost(f, spread)
	}
	return flaps.Solve(f, obs, spans, cfg)
}
