package pathfind

import (
	"slices"
	"sync"

	"whichlink/graphs"
)

// A field is the forwarding state of all nodes for one destination.
type field interface {
	// next appends the next hops of a packet that is at a node in a state. Shares are of the packets there, and sum to 1.
	next(at graphs.NodeID, state int32, into []nextHop) []nextHop
}

// A nextHop is an arc by which packets leave, the share of them that do, and their state when they arrive.
type nextHop struct {
	arc   graphs.ArcID
	state int32
	share float64
}

// even gives all next hops the same share.
func even(next []nextHop) []nextHop {
	for i := range next {
		next[i].share = 1 / float64(len(next))
	}
	return next
}

// A table is a model in which a node forwards by the destination and the state of the packet alone: shortest paths, VRFs, a FIB. A
// packet begins in state 0.
type table struct {
	*mesh
	name   string
	states int
	toward func(dst graphs.NodeID) field
	pool   sync.Pool // of *explorer
}

func newTable(m *mesh, name string, states int, toward func(dst graphs.NodeID) field) *table {
	t := &table{mesh: m, name: name, states: states, toward: toward}
	t.pool.New = func() any { return &explorer{m: m, index: make([]int32, states*len(m.host))} }
	return t
}

func (t *table) String() string { return t.name }

func (t *table) Ways(src, dst graphs.NodeID) *Ways {
	x := t.pool.Get().(*explorer)
	defer t.pool.Put(x)
	w := &Ways{f: t.f, src: src, dst: dst}
	fld := t.toward(dst)
	x.begin(dst)
	x.station(src, 0)
	x.walk(fld)
	if !x.sort() {
		return t.unroll(src, dst, false)
	}
	w.stations, w.steps, w.order = slices.Clone(x.stations), slices.Clone(x.steps), slices.Clone(x.order)
	w.place, _ = fld.(placer)
	return w.settle()
}

// An explorer finds the stations that packets to one destination may come to, and their order. Its memory serves again and again.
type explorer struct {
	m        *mesh
	dst      graphs.NodeID
	index    []int32 // by state and node: its station and one; all zero between walks
	stations []station
	steps    []step
	order    []int32
	waits    []int32 // by station: how many steps lead to it
	next     []nextHop
}

// begin forgets the walk before.
func (x *explorer) begin(dst graphs.NodeID) {
	for i := range x.stations {
		x.index[x.slot(x.stations[i].node, x.stations[i].state)] = 0
	}
	x.dst = dst
	x.stations, x.steps = x.stations[:0], x.steps[:0]
}

// slot is where a station stands in the index. The destination is the same in every state.
func (x *explorer) slot(n graphs.NodeID, state int32) int {
	if n == x.dst {
		state = 0
	}
	return int(state)*len(x.m.host) + int(n)
}

// station returns the station of a node and a state.
func (x *explorer) station(n graphs.NodeID, state int32) int32 {
	at := &x.index[x.slot(n, state)]
	if *at == 0 {
		x.stations = append(x.stations, station{node: n, state: state})
		*at = int32(len(x.stations))
	}
	return *at - 1
}

// walk asks the field at every station, and at every one that it names.
func (x *explorer) walk(fld field) {
	for i := 0; i < len(x.stations); i++ {
		n, state := x.stations[i].node, x.stations[i].state
		x.stations[i].first = int32(len(x.steps))
		if n != x.dst {
			x.next = fld.next(n, state, x.next[:0])
			for _, h := range x.next {
				x.steps = append(x.steps, step{h.arc, x.station(x.m.head[h.arc], h.state), h.share})
			}
			if len(x.next) == 0 {
				x.stations[i].loss = BlackHole
			}
		}
		x.stations[i].last = int32(len(x.steps))
	}
}

// sort puts the stations in order, and reports false if that cannot be, as packets may go in circles.
func (x *explorer) sort() bool {
	x.order = x.order[:0]
	x.waits = append(x.waits[:0], make([]int32, len(x.stations))...)
	for _, t := range x.steps {
		x.waits[t.to]++
	}
	for i, n := range x.waits {
		if n == 0 {
			x.order = append(x.order, int32(i))
		}
	}
	for k := 0; k < len(x.order); k++ {
		s := &x.stations[x.order[k]]
		for _, t := range x.steps[s.first:s.last] {
			if x.waits[t.to]--; x.waits[t.to] == 0 {
				x.order = append(x.order, t.to)
			}
		}
	}
	return len(x.order) == len(x.stations)
}

// settle lets one unit flow from the source.
func (w *Ways) settle() *Ways {
	w.stations[w.order[0]].mass = 1
	for _, i := range w.order {
		s := &w.stations[i]
		for _, t := range w.steps[s.first:s.last] {
			w.stations[t.to].mass += s.mass * t.share
		}
	}
	return w
}
