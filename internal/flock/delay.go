package flock

import (
	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/delay"
)

// Delays collects what the flows of a trace took, which it tells in the last field of SS. The zero value is ready.
type Delays struct {
	obs    []delay.Observation
	arcs   []graphs.ArcID // as in Observe
	told   bool
	silent bool // it will not tell
	sets   bool
}

// enough is how many flows without any delay show that a trace tells none.
const enough = 1000

// Add takes in a flow.
func (d *Delays) Add(flow *Flow) {
	if d.silent {
		return
	}
	if d.told = d.told || flow.Delay > 0; !d.told && len(d.obs) >= enough {
		*d = Delays{silent: true}
		return
	}
	if cap(d.arcs)-len(d.arcs) < len(flow.Path) {
		d.arcs = make([]graphs.ArcID, 0, max(1<<16, len(flow.Path)))
	}
	d.arcs = append(d.arcs, flow.Path...)
	d.sets = d.sets || flow.First != flow.Last
	d.obs = append(d.obs, delay.Observation{
		Path: d.arcs[len(d.arcs)-len(flow.Path) : len(d.arcs) : len(d.arcs)], From: flow.First, To: flow.Last,
		Src: graphs.None, Dst: graphs.None, Delay: delay.Microseconds(flow.Delay),
	})
}

// Solve ranks what explains the delays; nil if the trace tells none.
func (d *Delays) Solve(f *graphs.Fabric, spread pathfind.Spread) *delay.Result {
	if !d.told {
		return nil
	}
	var cfg delay.Config
	if d.sets {
		cfg.Paths = pathfind.NewEqualCost(f, spread)
	}
	return delay.Solve(f, d.obs, cfg)
}
