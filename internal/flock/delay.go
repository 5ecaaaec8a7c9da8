package flock

import (
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/delay"
)

// Delays collects what the flows of a trace took, which it tells in the last field of SS. The zero value is ready.
type Delays struct {
	// before counts the flows before the first that tells of a delay. In most traces none does.
	before int
	obs    []delay.Observation
	arcs   []graphs.ArcID // as in Observe
}

// Add takes in a flow.
func (d *Delays) Add(flow *Flow) {
	if len(d.obs) == 0 && flow.Delay == 0 {
		d.before++
		return
	}
	if cap(d.arcs)-len(d.arcs) < len(flow.Path) {
		d.arcs = make([]graphs.ArcID, 0, max(1<<16, len(flow.Path)))
	}
	d.arcs = append(d.arcs, flow.Path...)
	d.obs = append(d.obs, delay.Observation{
		Path: d.arcs[len(d.arcs)-len(flow.Path) : len(d.arcs) : len(d.arcs)], There: delay.Ways{From: flow.First, To: flow.Last},
		Src: graphs.None, Dst: graphs.None, Delay: delay.Microseconds(flow.Delay),
	})
}

// Solve ranks what explains the delays; nil if the trace tells none. It takes what the same trace told besides.
func (d *Delays) Solve(f *graphs.Fabric, seen *Observed, spread pathfind.Spread) *delay.Result {
	if len(d.obs) == 0 {
		return nil
	}
	quick := make([]delay.Observation, d.before)
	for i := range quick {
		o := &seen.Observations[i]
		quick[i] = delay.Observation{Path: o.Path, There: delay.Ways{From: o.From, To: o.To}, Src: graphs.None, Dst: graphs.None}
	}
	var cfg delay.Config
	if seen.Unknown > 0 {
		cfg.Paths = pathfind.NewEqualCost(f, spread)
	}
	return delay.Solve(f, slices.Concat(quick, d.obs), cfg)
}
