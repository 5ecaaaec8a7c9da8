package pathfind

import "whichlink/graphs"

// unrollSteps bounds the work of a walk with memory.
const unrollSteps = 1 << 18

// An unroller walks with memory: it makes one station for every way to a node. Packets that come back to where they were either loop, as
// they will leave as they did before (the fields that are hashed have not changed), or are of no use, where ways are to be simple. What
// it does not follow to the end is lost.
type unroller struct {
	m      *mesh
	fld    field
	w      *Ways
	simple bool
	on     map[graphs.NodeID]int // nodes on the way so far, how often
	end    int32                 // the station of the destination, or -1
	work   int
}

func (t *table) unroll(src, dst graphs.NodeID, simple bool) *Ways {
	fld := t.toward(dst)
	w := &Ways{f: t.f, src: src, dst: dst}
	u := &unroller{m: t.mesh, fld: fld, w: w, simple: simple, on: map[graphs.NodeID]int{}, end: -1}
	if u.visit(src, 0) < 0 { // no simple way
		w.stations = append(w.stations, station{node: src, loss: BlackHole})
	}
	// A station stands before those to which it forwards, but for the destination, which comes last.
	for i := range w.stations {
		if int32(i) != u.end {
			w.order = append(w.order, int32(i))
		}
	}
	if u.end >= 0 {
		w.order = append(w.order, u.end)
	}
	w.place, _ = fld.(placer)
	return w.settle()
}

// visit adds the station of a node, and all to which it leads; it returns -1 if no way to the end is to be had from there.
func (u *unroller) visit(n graphs.NodeID, state int32) int32 {
	if n == u.w.dst && u.end >= 0 {
		return u.end
	}
	if u.simple && u.on[n] > 0 {
		return -1
	}
	u.work++
	id := int32(len(u.w.stations))
	u.w.stations = append(u.w.stations, station{node: n, state: state})
	s := &u.w.stations[id]
	switch {
	case n == u.w.dst:
		u.end = id
		return id
	case u.on[n] > 0:
		s.loss = Loop
		return id
	case u.work > unrollSteps:
		s.loss = NotFollowed
		return id
	}
	var steps []step
	u.on[n]++
	for _, h := range u.fld.next(n, state, nil) {
		if to := u.visit(u.m.head[h.arc], h.state); to >= 0 {
			steps = append(steps, step{h.arc, to, h.share})
		}
	}
	u.on[n]--
	if len(steps) == 0 && u.simple {
		u.w.stations = u.w.stations[:id]
		return -1
	}
	if len(steps) == 0 {
		u.w.stations[id].loss = BlackHole
		return id
	}
	sum := 0.0
	for _, t := range steps {
		sum += t.share
	}
	u.w.stations[id].first = int32(len(u.w.steps))
	for _, t := range steps {
		t.share /= sum // of the next hops that are left
		u.w.steps = append(u.w.steps, t)
	}
	u.w.stations[id].last = int32(len(u.w.steps))
	return id
}
