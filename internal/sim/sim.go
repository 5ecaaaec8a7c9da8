// Package sim simulates what the probers of a fabric would measure, for fabrics that no machine can hold. It is a simulator and nothing
// else: where packets can be real, they are (see internal/lab).
//
// It works by flows. [Route] lets every flow of a probe plan take one way there and one way back, drawn from the shares of a forwarding
// model, as a hash would. [Routes.Measure] sends each flow its packets by the budget of a prober (whichlink/probes), step by step in
// time, and draws how many of them are lost, which is exact: losses of one flow are independent as long as its path stays as it is.
// No switch reroutes around a fault, so all faults are grey ones. What comes out is what the program reasons from: [Measurement.Observations].
//
// Everything follows from seeds.
package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/plan"
	"whichlink/probes"
)

// A Fault is a part of the fabric that loses packets, or delays them.
type Fault struct {
	localize.Cause
	// Loss is the share (0..1) of the packets that it loses, each time that one crosses it.
	Loss float64
	// Delay is added to the round trip of what crosses it, each time.
	Delay time.Duration
	// The fault begins at From, and is there for good unless it has a Period: then only for the first part of each, Down long.
	From, Period, Down time.Duration
}

// active reports whether the fault is there at a time.
func (f *Fault) active(at time.Duration) bool {
	return at >= f.From && (f.Period <= 0 || (at-f.From)%f.Period < f.Down)
}

// next returns when the fault comes or goes after a time; the farthest future if never.
func (f *Fault) next(after time.Duration) time.Duration {
	switch {
	case after < f.From:
		return f.From
	case f.Period <= 0 || f.Down >= f.Period:
		return math.MaxInt64
	}
	since := (after - f.From) % f.Period
	if since < f.Down {
		return after - since + f.Down
	}
	return after - since + f.Period
}

// Config says what is measured, and how. The zero value is a healthy fabric without noise, probed by the default budget of whichlink probe.
type Config struct {
	Seed   uint64
	Faults []Fault
	// Background is the median loss per crossing of a good arc. The losses of arcs are spread around it log-normally, so that some lose far more;
	// Spread is the standard deviation of the logarithm; none loses more than [localize.NormalLoss], for then it would not be good.
	Background, Spread float64
	// Outliers is the share of flows that lose packets by themselves, in either direction: evenly between nothing and OutlierLoss.
	Outliers, OutlierLoss float64
	// Rate is how many packets a second a host sends, a tenth of them to trace; 0 means that of whichlink probe.
	Rate float64
	// SwitchRate is how many TTL-expired probes a second a switch answers to all hosts together; 0 means that of whichlink probe. Below 0 no flow is
	// ever traced.
	SwitchRate float64
}

func (c Config) withDefaults() Config {
	if c.Rate == 0 {
		c.Rate = probes.DefaultRate
	}
	if c.SwitchRate == 0 {
		c.SwitchRate = probes.DefaultSwitchRate
	}
	return c
}

// Routes are flows with the ways that they take. Many measurements may follow one another on the same.
type Routes struct {
	f     *graphs.Fabric
	model pathfind.Model
	flows []routed // those of a host stand together
}

// A routed flow has a way there and a way back.
type routed struct {
	plan.Flow
	ways [2]way
}

// A way is the path that a flow takes, and the switches that a trace must ask for it to be known: each that stands behind a choice.
type way struct {
	arcs  []graphs.ArcID
	ask   []graphs.NodeID
	paths float64 // how many the pair has
	// Once asked for: what lies between the first and the last arc on those that have both.
	between []localize.Alternative
}

// Route draws the ways of flows, those of a host standing together. Flows that a model leads nowhere are left out.
func Route(m pathfind.Model, flows []plan.Flow, seed uint64) *Routes {
	r := &Routes{f: m.Fabric(), model: m}
	rng := rand.New(rand.NewPCG(seed, 'r'))
	for _, fl := range flows {
		there, ok := r.draw(rng, fl.Src, fl.Dst)
		back, returns := r.draw(rng, fl.Dst, fl.Src)
		if ok && returns {
			r.flows = append(r.flows, routed{fl, [2]way{there, back}})
		}
	}
	return r
}

func (r *Routes) draw(rng *rand.Rand, src, dst graphs.NodeID) (way, bool) {
	ways := r.model.Ways(src, dst)
	arcs, among := ways.Draw(rng.Float64)
	if len(arcs) == 0 || r.f.Head(arcs[len(arcs)-1]) != dst {
		return way{}, false
	}
	w := way{arcs: arcs, paths: ways.Count()}
	for i, a := range arcs {
		if n := r.f.Head(a); among[i] > 1 && !r.f.Node(n).IsHost() {
			w.ask = append(w.ask, n)
		}
	}
	return w, true
}

// NumFlows returns how many flows there are.
func (r *Routes) NumFlows() int { return len(r.flows) }

// Crossings returns how often each arc is crossed by flows, there or back.
func (r *Routes) Crossings() []int {
	n := make([]int, r.f.NumArcs())
	for i := range r.flows {
		for _, w := range r.flows[i].ways {
			for _, a := range w.arcs {
				n[a]++
			}
		}
	}
	return n
}
