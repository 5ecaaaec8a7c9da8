package flock

import (
	"io"

	"whichlink/graphs"
	"whichlink/internal/halves"
	"whichlink/pathfind"
	"whichlink/pathfind/flaps"
	"whichlink/pathfind/localize"
)

// Observed is what a trace tells.
type Observed struct {
	Observations []localize.Observation
	// Spans is when the packets of each were sent.
	Spans []flaps.Span
	// Sent and Lost count their packets, Unknown those of whose path only the ends are known.
	Sent, Lost, Unknown int
	// Selected tells that flows without loss were left out.
	Selected bool
}

// Observe reads a trace as observations, as far as the evidence allows. Each flow is also handed to each of also. What was read before an error is returned
// with it.
func Observe(r io.Reader, file string, f *graphs.Fabric, seen Evidence, also ...func(*Flow)) (*Observed, error) {
	x := Observed{Selected: seen == A2}
	var arcs []graphs.ArcID // memory of many paths: one piece of it for each would be more than all of them
	err := ReadTrace(r, file, f, seen, func(flow *Flow) {
		if cap(arcs)-len(arcs) < len(flow.Path) {
			arcs = make([]graphs.ArcID, 0, max(1<<16, len(flow.Path)))
		}
		arcs = append(arcs, flow.Path...)
		path := arcs[len(arcs)-len(flow.Path) : len(arcs) : len(arcs)]
		x.Observations = append(x.Observations, localize.Observation{
			Path: path, From: flow.First, To: flow.Last,
			Src: graphs.None, Dst: graphs.None, Responder: graphs.None, // hosts are no suspects in these traces
			Sent: flow.Sent, Lost: flow.Lost, Flow: len(x.Observations),
		})
		x.Sent, x.Lost = x.Sent+flow.Sent, x.Lost+flow.Lost
		if flow.First != flow.Last {
			x.Unknown++
		}
		for _, use := range also {
			use(flow)
		}
		x.Spans = append(x.Spans, flow.Span)
	})
	halves.Wake() // to solve what was read
	return &x, err
}

// Solve ranks what explains the observations of a trace over a fabric. Path sets are found only where some path is not known.
func (x *Observed) Solve(f *graphs.Fabric, spread pathfind.Spread) *flaps.Result {
	cfg := localize.Config{OneWay: true, Selected: x.Selected} // the form has no other components
	if x.Unknown > 0 || x.Selected {
		cfg.Paths = pathfind.NewEqualCost(f, spread)
	}
	return flaps.Solve(f, x.Observations, x.Spans, cfg)
}
