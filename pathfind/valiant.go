package pathfind

import (
	"fmt"
	"slices"

	"whichlink/graphs"
)

// A valiant is Valiant load balancing: every flow goes by ECMP to a switch that is drawn at random, and from there by ECMP to its
// destination. All switches are as likely, but for the ends themselves, the switches that host ends are linked to, and those from where there is no way;
// where none is left, flows go by ECMP alone. In a Clos, every tier serves. On the way to the intermediate switch a packet may
// pass its destination, and after it its source, as it is addressed to the intermediate until it gets there. Hosts carry no transit.
//
// Count counts a path once for every intermediate switch on it.
type valiant struct {
	*ECMP
	switches []graphs.NodeID
	part     []int32 // by node: the part, of those not connected with each other, that a switch is in
	size     []int32 // by part: its switches
}

func newValiant(f *graphs.Fabric, down func(graphs.LinkID) bool) Model {
	v := &valiant{ECMP: NewECMPWithout(f, down), switches: f.Switches(), part: make([]int32, f.NumNodes())}
	v.size = []int32{0} // parts count from 1
	for _, s := range v.switches {
		if v.part[s] > 0 {
			continue
		}
		part := int32(len(v.size))
		v.size = append(v.size, 0)
		v.part[s] = part
		for queue := []graphs.NodeID{s}; len(queue) > 0; queue = queue[1:] {
			v.size[part]++
			for _, a := range v.out(queue[0]) {
				if m := v.head[a]; !v.host[m] && v.part[m] == 0 {
					v.part[m] = part
					queue = append(queue, m)
				}
			}
		}
	}
	return v
}

func (v *valiant) String() string { return "vlb" }

// intermediates returns the switches by which flows of a pair may go.
func (v *valiant) intermediates(src, dst graphs.NodeID) []graphs.NodeID {
	from, to := v.roots(src), v.roots(dst)
	reaches := func(roots []graphs.NodeID, m graphs.NodeID) bool {
		return slices.ContainsFunc(roots, func(r graphs.NodeID) bool { return v.part[r] == v.part[m] })
	}
	var all []graphs.NodeID
	for _, m := range v.switches {
		if reaches(from, m) && reaches(to, m) && !slices.Contains(from, m) && !slices.Contains(to, m) {
			all = append(all, m)
		}
	}
	return all
}

// The states of a packet: on its way to the intermediate switch, and to its destination.
const (
	away = iota
	home
)

func (v *valiant) Ways(src, dst graphs.NodeID) *Ways {
	through := v.intermediates(src, dst)
	if src == dst || len(through) == 0 {
		return v.ECMP.Ways(src, dst)
	}
	d := &detours{v: v, away: make([]int32, len(v.host)), home: make([]int32, len(v.host))}
	d.stations = []station{{node: src}}
	for _, m := range through {
		d.toward(m, 1/float64(len(through)))
	}
	d.homeward(dst)
	d.stations[0].first = int32(len(d.steps))
	d.steps = append(d.steps, d.start...)
	d.stations[0].last = int32(len(d.steps))
	d.sort()
	w := &Ways{f: v.f, src: src, dst: dst, stations: d.stations, steps: d.steps, order: d.order}
	w.place = detourPicture{v, v.bearing(dst)}
	return w.settle()
}

// detours makes the stations of a pair: those on the way to an intermediate switch are its own, those from there on are shared by all.
type detours struct {
	explorer
	v          *valiant
	away, home []int32 // by node: its station, where it is not 0
	start      []step  // of the source, for all intermediates
}

// add returns the station of a node, and makes it if it is not there.
func (d *detours) add(index []int32, n graphs.NodeID, state int32) int32 {
	if index[n] == 0 {
		index[n] = int32(len(d.stations))
		d.stations = append(d.stations, station{node: n, state: state})
	}
	return index[n]
}

// toward adds the ways from the source to an intermediate switch. The state of a station tells how far it is from the source.
func (d *detours) toward(m graphs.NodeID, share float64) {
	fld := downhill{d.v.ECMP, d.v.bearing(m)}
	from := len(d.stations)
	visit := func(n graphs.NodeID, depth int32, share float64, steps []step) []step {
		d.next = fld.next(n, away, d.next[:0])
		for _, h := range d.next {
			head := d.v.head[h.arc]
			to := int32(0)
			if head == m {
				to = d.add(d.home, m, home)
			} else {
				to = d.add(d.away, head, away-depth-1)
			}
			steps = append(steps, step{h.arc, to, share * h.share})
		}
		return steps
	}
	d.start = visit(d.stations[0].node, 0, share, d.start)
	for i := from; i < len(d.stations); i++ {
		if d.stations[i].state == home {
			continue
		}
		d.stations[i].first = int32(len(d.steps))
		d.steps = visit(d.stations[i].node, -d.stations[i].state, 1, d.steps)
		d.stations[i].last = int32(len(d.steps))
	}
	for _, s := range d.stations[from:] {
		d.away[s.node] = 0
	}
}

// homeward adds the ways from all intermediate switches to the destination.
func (d *detours) homeward(dst graphs.NodeID) {
	fld := downhill{d.v.ECMP, d.v.bearing(dst)}
	for i := 1; i < len(d.stations); i++ {
		if d.stations[i].state != home || d.stations[i].node == dst {
			continue
		}
		d.stations[i].first = int32(len(d.steps))
		d.next = fld.next(d.stations[i].node, home, d.next[:0])
		for _, h := range d.next {
			d.steps = append(d.steps, step{h.arc, d.add(d.home, d.v.head[h.arc], home), h.share})
		}
		d.stations[i].last = int32(len(d.steps))
	}
}

// A detourPicture places the ways: by hops from the source, then by hops that are left to the destination.
type detourPicture struct {
	v *valiant
	b bearing
}

func (d detourPicture) place(at graphs.NodeID, state int32) (rank int, name string) {
	const end = maxDistance
	switch {
	case at == d.b.dst && state == home:
		return end, d.v.f.NodeName(at)
	case state == home:
		return end - d.b.dist(at), fmt.Sprintf("to-go-%d", d.b.dist(at))
	case state == 0:
		return -end, d.v.f.NodeName(at)
	}
	return -end - int(state), fmt.Sprintf("hop-%d", -state)
}
