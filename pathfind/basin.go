package pathfind

import (
	"runtime"
	"sync"
	"sync/atomic"

	"whichlink/graphs"
)

// A Basin is all that flows from some sources to one destination may do: what [Ways] is for one source. It costs about as much to make as one Ways, and
// is gone when the call ends that handed it over.
type Basin struct {
	x    *explorer
	at   []int32 // by source: its station
	mass []float64
}

// Basins hands over the basin of each destination. The destinations are divided into parts; those of one part follow each other, in their order, while
// parts may be worked on at the same time: what visit changes must belong to its part. It reports false, and does nothing, under models
// in which packets are not forwarded by destination alone. Of destinations to which packets may go in circles there is no basin.
func Basins(m Model, dsts, sources []graphs.NodeID, parts int, visit func(part, dst int, b *Basin)) bool {
	t := forwarding(m)
	if t == nil {
		return false
	}
	var turn atomic.Int32
	var wait sync.WaitGroup
	for range min(parts, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			b := &Basin{x: t.pool.Get().(*explorer)}
			defer t.pool.Put(b.x)
			for part := int(turn.Add(1)) - 1; part < parts; part = int(turn.Add(1)) - 1 {
				for i := part * len(dsts) / parts; i < (part+1)*len(dsts)/parts; i++ {
					if b.gather(t, dsts[i], sources) {
						visit(part, i, b)
					}
				}
			}
		})
	}
	wait.Wait()
	return true
}

// forwarding returns the table by which a model forwards; nil if there is none.
func forwarding(m Model) *table {
	switch m := m.(type) {
	case *ECMP:
		return m.forward
	case *Spraypoint:
		return m.table
	case *table:
		return m
	}
	return nil
}

// gather makes the basin of a destination.
func (b *Basin) gather(t *table, dst graphs.NodeID, sources []graphs.NodeID) bool {
	b.x.begin(dst)
	b.at = b.at[:0]
	for _, s := range sources {
		b.at = append(b.at, b.x.station(s, 0))
	}
	b.x.walk(t.toward(dst))
	b.mass = append(b.mass[:0], make([]float64, len(b.x.stations))...)
	return b.x.sort()
}

// Down lets what each source sends flow to the destination. Each is called for every arc, in an order that is always the same, with what leaves by it
// there and by how many next hops its node divides that; an arc may come more than once.
func (b *Basin) Down(volume func(source int) float64, each func(a graphs.ArcID, flow float64, among int)) {
	clear(b.mass)
	for i, at := range b.at {
		b.mass[at] += volume(i)
	}
	for _, i := range b.x.order {
		s := &b.x.stations[i]
		if b.mass[i] == 0 || s.node == b.x.dst {
			continue
		}
		for _, t := range b.x.steps[s.first:s.last] {
			flow := b.mass[i] * t.share
			b.mass[t.to] += flow
			each(t.arc, flow, int(s.last-s.first))
		}
	}
}

// Up sums a value over the arcs that flows cross, and returns for each source the mean over its flows.
func (b *Basin) Up(value func(graphs.ArcID) float64, into []float64) {
	for k := len(b.x.order) - 1; k >= 0; k-- {
		i := b.x.order[k]
		s := &b.x.stations[i]
		b.mass[i] = 0
		for _, t := range b.x.steps[s.first:s.last] {
			b.mass[i] += t.share * (value(t.arc) + b.mass[t.to])
		}
	}
	for i, at := range b.at {
		into[i] = b.mass[at]
	}
}

// Crosses reports whether any flow may cross an arc.
func (b *Basin) Crosses(a graphs.ArcID) bool {
	for _, t := range b.x.steps {
		if t.arc == a {
			return true
		}
	}
	return false
}
