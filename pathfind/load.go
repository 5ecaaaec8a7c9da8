package pathfind

import (
	"runtime"
	"sync"
	"sync/atomic"

	"whichlink/graphs"
)

// A Demand says how much traffic is offered between which nodes.
type Demand struct {
	// Ends are the nodes that send and receive.
	Ends []graphs.NodeID
	// Volume is the traffic from one end to another, in any unit, and safe for concurrent calls. Nil stands for 1 between any two.
	// It is not asked about traffic from an end to itself.
	Volume func(src, dst graphs.NodeID) float64
}

// Uniform is one unit of traffic from every switch that has hosts to every other; where no switch has any, between all switches.
func Uniform(f *graphs.Fabric) Demand {
	var d Demand
	for _, s := range f.Switches() {
		for _, a := range f.Out(s) {
			if f.Node(f.Head(a)).IsHost() {
				d.Ends = append(d.Ends, s)
				break
			}
		}
	}
	if d.Ends == nil {
		d.Ends = f.Switches()
	}
	return d
}

func (d Demand) volume(src, dst graphs.NodeID) float64 {
	switch {
	case src == dst:
		return 0
	case d.Volume == nil:
		return 1
	}
	return d.Volume(src, dst)
}

// Loads is what a demand puts on a fabric, in the demand's unit.
type Loads struct {
	// Arcs is the load of every arc, by its id.
	Arcs []float64
	// Offered is the sum of the demand; Lost is what of it does not arrive.
	Offered, Lost float64
}

func (l *Loads) add(other *Loads) {
	for a, v := range other.Arcs {
		l.Arcs[a] += v
	}
	l.Offered += other.Offered
	l.Lost += other.Lost
}

// loadShards is into how many parts the destinations of a demand are divided. Sums are taken part by part in their order, so that they
// do not depend on how many processors there are.
const loadShards = 16

// shardLoads computes the loads of n jobs in parallel; work adds those of jobs from (included) to to (excluded).
func shardLoads(arcs, n int, work func(l *Loads, from, to int)) *Loads {
	parts := make([]*Loads, loadShards)
	var turn atomic.Int32
	var wait sync.WaitGroup
	for range min(loadShards, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := int(turn.Add(1)) - 1; i < loadShards; i = int(turn.Add(1)) - 1 {
				parts[i] = &Loads{Arcs: make([]float64, arcs)}
				work(parts[i], i*n/loadShards, (i+1)*n/loadShards)
			}
		})
	}
	wait.Wait()
	for _, p := range parts[1:] {
		parts[0].add(p)
	}
	return parts[0]
}

// addWays adds the load of one pair.
func (l *Loads) addWays(w *Ways, volume float64) {
	for i := range w.stations {
		s := &w.stations[i]
		if s.loss != NotLost {
			l.Lost += volume * s.mass
		}
		for _, t := range w.steps[s.first:s.last] {
			l.Arcs[t.arc] += volume * s.mass * t.share
		}
	}
	l.Offered += volume
}

// loadPairs adds up the loads pair by pair, for models that cannot do better.
func loadPairs(m Model, d Demand) *Loads {
	return shardLoads(m.Fabric().NumArcs(), len(d.Ends), func(l *Loads, from, to int) {
		for _, dst := range d.Ends[from:to] {
			for _, src := range d.Ends {
				if v := d.volume(src, dst); v > 0 {
					l.addWays(m.Ways(src, dst), v)
				}
			}
		}
	})
}

func (t *table) Loads(d Demand) *Loads { return t.flow(d.Ends, d.Ends, d.volume) }

// flow lets all sources of a destination flow at once: the work for a destination is in proportion to the arcs.
func (t *table) flow(from, to []graphs.NodeID, volume func(src, dst graphs.NodeID) float64) *Loads {
	return shardLoads(t.f.NumArcs(), len(to), func(l *Loads, first, last int) {
		x := t.pool.Get().(*explorer)
		defer t.pool.Put(x)
		for _, dst := range to[first:last] {
			x.begin(dst)
			for _, src := range from {
				if v := volume(src, dst); v > 0 {
					x.stations[x.station(src, 0)].mass += v
				}
			}
			if len(x.stations) == 0 {
				continue
			}
			sources := len(x.stations)
			x.walk(t.toward(dst))
			if x.sort() {
				x.pour(l)
				continue
			}
			for _, s := range x.stations[:sources] {
				l.addWays(t.Ways(s.node, dst), s.mass)
			}
		}
	})
}

// pour lets what stands at the stations flow on, and adds it to the load of the arcs.
func (x *explorer) pour(l *Loads) {
	for i := range x.stations {
		l.Offered += x.stations[i].mass
	}
	for _, i := range x.order {
		s := &x.stations[i]
		if s.loss != NotLost {
			l.Lost += s.mass
		}
		for _, t := range x.steps[s.first:s.last] {
			flow := s.mass * t.share
			l.Arcs[t.arc] += flow
			x.stations[t.to].mass += flow
		}
	}
}
