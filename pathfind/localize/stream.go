package localize

import (
	"cmp"
	"slices"

	"whichlink/graphs"
)

// A stream is flows whose ends are as far from hosts, and from each other.
type stream struct {
	streamKey
	pairs    []ends          // by where they end, then by where they begin
	even     spread          // if traffic is even
	spread                   // as it is taken to be
	lossy    map[int]float64 // by its packets, how many flows lost some on their way
	lost     float64         // how many these are
	innocent float64         // how many lost some by no fault
	logs     float64         // the sum, over these, of the logs of how many flows of their size there are
}

// A spread is how flows are spread over a fabric.
type spread struct {
	share        []float64 // by component: how often a flow crosses it in the mean
	between      []float64 // by pair of ends: the share of flows
	began, ended []float64 // by switch: the share of flows that come from it or its hosts, and that go there
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
func newStream(ix *index, ps PathSets, key streamKey, far []int, hosts *access) stream {
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
	t.even = t.under(ix, ps, hosts, nil)
	t.spread = t.even
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

// under works out how flows are spread if traffic is as some demand tells, nil if it is even.
func (t *stream) under(ix *index, ps PathSets, hosts *access, d *demands) spread {
	x := spread{make([]float64, ix.n), make([]float64, len(t.pairs)), make([]float64, len(ix.host)), make([]float64, len(ix.host))}
	all := 0.0
	w := wave{ix: ix, ps: ps, share: x.share, flow: make([]float64, len(ix.host))}
	for i := 0; i < len(t.pairs); {
		to := t.pairs[i].to
		w.begin(t.arcs)
		for ; i < len(t.pairs) && t.pairs[i].to == to; i++ {
			p := &t.pairs[i]
			flows := p.flows * d.between(p.from, to)
			w.add(p.from, ps.Hops(p.from, to), flows)
			x.between[i] = flows
			x.began[p.from], x.ended[to], all = x.began[p.from]+flows, x.ended[to]+flows, all+flows
		}
		w.flood(to)
	}
	for n := range ix.host {
		if !t.up() {
			x.share[ix.nodes+int32(n)] -= x.began[n] // an end is not passed
		}
		if !t.down() {
			x.share[ix.nodes+int32(n)] -= x.ended[n]
		}
	}
	t.atHosts(hosts, d, &x)
	for a := range ix.links {
		l := graphs.ArcID(a).Link()
		x.share[ix.link(l)] += x.share[a]
		for _, g := range ix.f.Link(l).Groups {
			x.share[ix.inGroup(g)] += x.share[a]
		}
		if n := ix.tail[a]; t.src && ix.host[n] {
			x.share[ix.node(n)] += x.share[a]
		}
		if n := ix.head[a]; t.dst && ix.host[n] {
			x.share[ix.node(n)] += x.share[a]
		}
	}
	for _, of := range [...][]float64{x.share, x.between, x.began, x.ended} {
		for i := range of {
			of[i] = max(of[i]/max(all, 1e-300), 0)
		}
	}
	return x
}

// atHosts shares out what begins and ends at the hosts of a switch over their arcs.
func (t *stream) atHosts(hosts *access, d *demands, x *spread) {
	up, down := make([]float64, len(x.began)), make([]float64, len(x.ended)) // by switch, over all that is there
	for i, at := range hosts.at {
		up[at] += hosts.part[i] * d.sends(i)
		down[at] += hosts.part[i] * d.gets(i)
	}
	for i, at := range hosts.at {
		a := hosts.arcs[i]
		if t.up() && up[at] > 0 {
			x.share[a] = x.began[at] * hosts.part[i] * d.sends(i) / up[at]
		}
		if t.down() && down[at] > 0 {
			x.share[a.Reverse()] = x.ended[at] * hosts.part[i] * d.gets(i) / down[at]
		}
	}
}

// Access is the arcs by which hosts reach switches.
type access struct {
	arcs  []graphs.ArcID
	at    []graphs.NodeID // the switch of each
	part  []float64       // what of the host's traffic each carries
	place []int32         // by arc and by its reverse, which of these it is, or -1
}

func newAccess(ix *index) access {
	x := access{place: make([]int32, ix.links)}
	for a := range x.place {
		x.place[a] = -1
	}
	for n, host := range ix.host {
		if !host {
			continue
		}
		out := ix.f.Out(graphs.NodeID(n))
		for _, a := range out {
			if to := ix.head[a]; !ix.host[to] {
				x.place[a], x.place[a.Reverse()] = int32(len(x.arcs)), int32(len(x.arcs))
				x.arcs, x.at, x.part = append(x.arcs, a), append(x.at, to), append(x.part, 1/float64(len(out)))
			}
		}
	}
	return x
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
