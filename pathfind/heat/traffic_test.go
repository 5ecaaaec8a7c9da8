package heat_test

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/heat"
)

const speed = 100e9

// A traffic is flows through a fabric, each of which hashes its own way.
type traffic struct {
	f     *graphs.Fabric
	rng   *rand.Rand
	down  map[graphs.LinkID]bool
	alike bool // all switches have one hash function and one seed
	load  []float64
	flows []heat.Flow
}

func (w *traffic) model(up ...graphs.LinkID) *pathfind.ECMP {
	return pathfind.NewECMPWithout(w.f, func(l graphs.LinkID) bool { return w.down[l] && !slices.Contains(up, l) })
}

// send lets n flows of a pair share a rate. Each switch hashes the flow with a seed of its own, or all with one.
func (w *traffic) send(m *pathfind.ECMP, src, dst graphs.NodeID, rate float64, n int) {
	w.flows = append(w.flows, heat.Flow{Src: src, Dst: dst, Rate: rate})
	for range n {
		flow := w.rng.Uint64()
		for at := src; at != dst; {
			next := m.NextHops(at, dst)
			if next == nil {
				break
			}
			a := next[w.hash(flow, at)%uint64(len(next))]
			w.load[a] += rate / float64(n)
			at = w.f.Head(a)
		}
	}
}

func (w *traffic) hash(flow uint64, at graphs.NodeID) uint64 {
	key := binary.LittleEndian.AppendUint64(nil, flow)
	if !w.alike {
		key = binary.LittleEndian.AppendUint32(key, uint32(at))
	}
	h := fnv.New64a()
	h.Write(key)
	x := h.Sum64() // FNV's low bits are poor; hardware mixes
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// even lets every host send to some others, so that hosts are as full as asked for.
func (w *traffic) even(use float64, flows int) {
	m := w.model()
	hosts := w.f.Hosts()
	const peers = 12
	for i, src := range hosts {
		for k := range peers {
			w.send(m, src, hosts[(i+1+(k*(len(hosts)-1))/peers)%len(hosts)], use*speed/peers, flows)
		}
	}
}

// hottest is the arc between switches that carries most.
func (w *traffic) hottest() graphs.ArcID {
	best := graphs.ArcID(0)
	for a := range graphs.ArcID(w.f.NumArcs()) {
		if !w.f.IsHostArc(a) && (w.f.IsHostArc(best) || w.load[a] > w.load[best]) {
			best = a
		}
	}
	return best
}

// scale makes the fullest arc between switches as full as asked for.
func (w *traffic) scale(use float64) {
	by := use * speed / w.load[w.hottest()]
	for a := range w.load {
		w.load[a] *= by
	}
	for i := range w.flows {
		w.flows[i].Rate *= by
	}
}

func (w *traffic) input(measured bool) heat.Input {
	in := heat.Input{Model: w.model(), Load: w.load}
	if len(w.down) > 0 {
		in.Planned = pathfind.NewECMP(w.f)
		for l := range w.down {
			in.Down = append(in.Down, l)
		}
		slices.Sort(in.Down)
		in.With = func(l graphs.LinkID) pathfind.Model { return w.model(l) }
	}
	if measured { // in any unit
		by := []float64{1, 1. / 8, 2}[w.rng.IntN(3)]
		for _, x := range w.flows {
			in.Matrix = append(in.Matrix, heat.Flow{Src: x.Src, Dst: x.Dst, Rate: by * x.Rate})
		}
	}
	return in
}

// thin takes a quarter of the links above the switches that have no hosts out of the fabric, as if they were never built.
func (w *traffic) thin() {
	var b graphs.Builder
	for n := range graphs.NodeID(w.f.NumNodes()) {
		b.AddNode(*w.f.Node(n))
	}
	for l := range graphs.LinkID(w.f.NumLinks()) {
		ends := w.f.Link(l).Ends
		x, y := w.f.Port(ends[0]), w.f.Port(ends[1])
		if slices.ContainsFunc(slices.Concat(w.f.Out(x.Node), w.f.Out(y.Node)), w.f.IsHostArc) || w.rng.IntN(4) > 0 {
			b.AddLink(graphs.End{Node: x.Node, Port: x.Name}, graphs.End{Node: y.Node, Port: y.Name}, w.f.Link(l).Speed)
		}
	}
	w.f, _ = b.Build()
	w.load = make([]float64, w.f.NumArcs())
}

// racks returns the hosts of two switches, which are neighbours or not.
func (w *traffic) racks(neighbours bool) (a, b []graphs.NodeID) {
	var edge []graphs.NodeID
	behind := map[graphs.NodeID][]graphs.NodeID{}
	for _, h := range w.f.Hosts() {
		v := w.f.Head(w.f.Out(h)[0])
		if behind[v] == nil {
			edge = append(edge, v)
		}
		behind[v] = append(behind[v], h)
	}
	m := w.model()
	for {
		u, v := edge[w.rng.IntN(len(edge))], edge[w.rng.IntN(len(edge))]
		if u != v && (m.Distance(u, v) == 1) == neighbours && (neighbours || m.Count(u, v) > 1) {
			return behind[u], behind[v]
		}
	}
}

// beyond is the hottest arc that carries far more than its flows should bring it; None if that is not much.
func (w *traffic) beyond() graphs.ArcID {
	expected := make([]float64, len(w.load))
	m := w.model()
	for _, x := range w.flows {
		for _, s := range m.Shares(x.Src, x.Dst) {
			expected[s.Arc] += x.Rate * s.Share
		}
	}
	best := graphs.ArcID(graphs.None)
	for a, load := range w.load {
		if arc := graphs.ArcID(a); !w.f.IsHostArc(arc) && load > 1.7*expected[a] && load > 0.75*speed && (best == graphs.None || load > w.load[best]) {
			best = arc
		}
	}
	return best
}
