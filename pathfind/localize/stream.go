package localize

import (
	"cmp"
	"slices"

	"whichlink/graphs"
)

// A stream is flows whose ends are as far from hosts, and from each other.
type stream struct {
	streamKey
	pairs        []ends          // by where they end, then by where they begin
	share        []float64       // by component: how often a flow crosses it in the mean, if traffic is even
	began, ended []float64       // by switch: the share of flows that come from it or its hosts, and that go there
	lossy        map[int]float64 // by its packets, how many flows lost some on their way
	lost, every  float64         // how many these are, and how many flows there are at all
	innocent     float64         // how many lost some by no fault
}

// A streamKey tells how far the ends of a path are from the next host, how many arcs it has, and whether hosts are told to have had a part.
type streamKey struct {
	from, to, arcs int
	src, dst       bool
}

// up and down report whether flows begin, and end, at hosts.
func (k streamKey) up() bool   { return k.from == 0 }
func (k streamKey) down() bool { return k.to == 0 }

// Ends are two switches between which flows go, or at which the hosts are that they go between.
type ends struct {
	from, to graphs.NodeID
	flows    float64
}

// newStream finds what a stream crosses.
func newStream(ix *index, ps PathSets, key streamKey, far []int) stream {
	t := stream{streamKey: key, lossy: map[int]float64{}}
	hops := key.arcs
	number := func(level int) []float64 {
		number := make([]float64, len(ix.host))
		for n := range number {
			if level > 0 && far[n] == level {
				number[n] = 1
			}
			if level > 0 || !ix.host[n] {
				continue
			}
			out := ix.f.Out(graphs.NodeID(n))
			for _, a := range out {
				number[ix.head[a]] += 1 / float64(len(out))
			}
		}
		if level == 0 {
			hops--
		}
		return number
	}
	sources, targets := number(key.from), number(key.to)
	var from []graphs.NodeID
	for n, x := range sources {
		if x > 0 && !ix.host[n] {
			from = append(from, graphs.NodeID(n))
		}
	}
	for to, some := range targets {
		if some == 0 || ix.host[to] {
			continue
		}
		for _, n := range from {
			h, x := ps.Hops(n, graphs.NodeID(to)), sources[n]
			if h != hops || h == 0 && n != graphs.NodeID(to) {
				continue
			}
			if h == 0 && key.up() == key.down() {
				x-- // none goes to itself
			}
			if x > 0 {
				t.pairs = append(t.pairs, ends{n, graphs.NodeID(to), x * some})
			}
		}
	}
	t.spread(ix, ps, sources, targets)
	return t
}

// forget forgets what was counted.
func (t *stream) forget() {
	clear(t.lossy)
	t.lost, t.innocent = 0, 0
}

// ends returns the switches at the ends of a path from one arc to another, but for arcs of hosts.
func (t *stream) ends(ix *index, first, last graphs.ArcID) (from, to graphs.NodeID) {
	from, to = ix.tail[first], ix.head[last]
	if t.up() {
		from = ix.head[first]
	}
	if t.down() {
		to = ix.tail[last]
	}
	return from, to
}

// has reports whether flows go between two switches.
func (t *stream) has(from, to graphs.NodeID) bool {
	_, ok := slices.BinarySearchFunc(t.pairs, ends{from: from, to: to}, func(a, b ends) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from))
	})
	return ok
}

// spread works out how often flows cross each component, given how many hosts or switches they begin and end at, by switch.
func (t *stream) spread(ix *index, ps PathSets, sources, targets []float64) {
	t.share, t.began, t.ended = make([]float64, ix.n), make([]float64, len(ix.host)), make([]float64, len(ix.host))
	all := 0.0
	w := wave{ix: ix, ps: ps, share: t.share, flow: make([]float64, len(ix.host))}
	for i := 0; i < len(t.pairs); {
		to := t.pairs[i].to
		w.begin(t.arcs)
		for ; i < len(t.pairs) && t.pairs[i].to == to; i++ {
			p := &t.pairs[i]
			w.add(p.from, ps.Hops(p.from, to), p.flows)
			t.began[p.from], t.ended[to], all = t.began[p.from]+p.flows, t.ended[to]+p.flows, all+p.flows
		}
		w.flood(to)
	}
	for n := range ix.host {
		if !t.up() {
			t.share[ix.nodes+int32(n)] -= t.began[n] // an end is not passed
		}
		if !t.down() {
			t.share[ix.nodes+int32(n)] -= t.ended[n]
		}
		if !ix.host[n] {
			continue
		}
		out := ix.f.Out(graphs.NodeID(n))
		for _, a := range out {
			at, part := ix.head[a], 1/float64(len(out))
			if t.up() && sources[at] > 0 && !ix.host[at] {
				t.share[a] = t.began[at] * part / sources[at]
			}
			if t.down() && targets[at] > 0 && !ix.host[at] {
				t.share[a.Reverse()] = t.ended[at] * part / targets[at]
			}
		}
	}
	for a := range ix.links {
		l := graphs.ArcID(a).Link()
		t.share[ix.link(l)] += t.share[a]
		for _, g := range ix.f.Link(l).Groups {
			t.share[ix.inGroup(g)] += t.share[a]
		}
		if n := ix.tail[a]; t.src && ix.host[n] {
			t.share[ix.node(n)] += t.share[a]
		}
		if n := ix.head[a]; t.dst && ix.host[n] {
			t.share[ix.node(n)] += t.share[a]
		}
	}
	for _, of := range [...][]float64{t.share, t.began, t.ended} {
		for i := range of {
			of[i] = max(of[i]/max(all, 1), 0)
		}
	}
}

// A wave is flows on their way to one switch.
type wave struct {
	ix     *index
	ps     PathSets
	share  []float64         // what passes each component is added to
	flow   []float64         // by node, what comes there
	layers [][]graphs.NodeID // nodes that flows come to, by how far they still have to go
}

func (w *wave) begin(hops int) {
	clear(w.flow)
	for len(w.layers) <= hops {
		w.layers = append(w.layers, nil)
	}
	for i := range w.layers {
		w.layers[i] = w.layers[i][:0]
	}
}

// add lets flows come to a node.
func (w *wave) add(n graphs.NodeID, left int, flows float64) {
	if flows == 0 {
		return
	}
	if w.flow[n] == 0 {
		w.layers[left] = append(w.layers[left], n)
	}
	w.flow[n] += flows
}

// flood lets all go to where they go.
func (w *wave) flood(to graphs.NodeID) {
	for left := len(w.layers) - 1; left >= 0; left-- {
		for _, n := range w.layers[left] {
			w.share[w.ix.node(n)] += w.flow[n]
			if left == 0 {
				continue
			}
			for _, a := range w.ix.f.Out(n) {
				if next := w.ix.head[a]; !w.ix.host[next] {
					flows := w.ps.Step(a, to) * w.flow[n]
					w.share[a] += flows
					w.add(next, left-1, flows)
				}
			}
		}
	}
}
