package localize

import (
	"math"
	"math/rand/v2"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// A world is a fabric with faults, in which flows are measured. Losses are drawn packet by packet, along paths that switches
// choose hop by hop.
type world struct {
	*graphs.Fabric
	rng        *rand.Rand
	faults     map[Cause]float64 // loss per crossing
	background float64           // loss per arc
	shy        map[graphs.NodeID]float64
	unsplit    bool    // no reflector counts: one observation there and back
	run        float64 // packets lost in a row in the mean, if more than 1
	flow       int
	far        map[graphs.NodeID][]int
	obs        []Observation
}

func newWorld(f *graphs.Fabric, seed uint64) *world {
	return &world{Fabric: f, rng: rand.New(rand.NewPCG(seed, 1)), faults: map[Cause]float64{},
		shy: map[graphs.NodeID]float64{}, far: map[graphs.NodeID][]int{}}
}

// search returns a search for what explains the observations, not begun yet.
func (w *world) search(cfg Config) *search {
	cfg = cfg.withDefaults()
	ix := newIndex(w.Fabric, cfg)
	return newSearch(newModel(ix, compile(ix, w.obs, cfg), cfg))
}

func leafSpine(t testing.TB, leaves, spines, hosts int) *graphs.Fabric {
	return must(t)(generate.LeafSpine(generate.LeafSpineConfig{Leaves: leaves, Spines: spines, Hosts: hosts}))
}

func fatTree(t testing.TB, k int) *graphs.Fabric {
	return must(t)(generate.FatTree(generate.FatTreeConfig{K: k}))
}

func randomRegular(t testing.TB, switches, degree, hosts int) *graphs.Fabric {
	return must(t)(generate.RandomRegular(generate.RandomRegularConfig{Switches: switches, Degree: degree, Hosts: hosts, Seed: 7}))
}

func must(t testing.TB) func(*graphs.Fabric, error) *graphs.Fabric {
	return func(f *graphs.Fabric, err error) *graphs.Fabric {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
}

// distance returns the hops from every node to dst.
func (w *world) distance(dst graphs.NodeID) []int {
	if d := w.far[dst]; d != nil {
		return d
	}
	d := make([]int, w.NumNodes())
	for i := range d {
		d[i] = math.MaxInt
	}
	d[dst] = 0
	for queue := []graphs.NodeID{dst}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		if n != dst && w.Node(n).IsHost() {
			continue
		}
		for _, a := range w.Out(n) {
			if m := w.Head(a); d[m] == math.MaxInt {
				d[m] = d[n] + 1
				queue = append(queue, m)
			}
		}
	}
	w.far[dst] = d
	return d
}

func (w *world) next(at, dst graphs.NodeID) []graphs.ArcID {
	d := w.distance(dst)
	var next []graphs.ArcID
	for _, a := range w.Out(at) {
		if d[w.Head(a)] < d[at] {
			next = append(next, a)
		}
	}
	return next
}

func (w *world) path(src, dst graphs.NodeID) []graphs.ArcID {
	var p []graphs.ArcID
	for at := src; at != dst; at = w.Head(p[len(p)-1]) {
		next := w.next(at, dst)
		p = append(p, next[w.rng.IntN(len(next))])
	}
	return p
}

// hazard sums up what a packet meets on a path, the hosts at its ends included.
func (w *world) hazard(path []graphs.ArcID, ends ...graphs.NodeID) float64 {
	s := 0.0
	fault := func(k Kind, id int32) { s -= math.Log1p(-min(w.faults[Cause{k, id}], 1-1e-12)) }
	for i, a := range path {
		s -= math.Log1p(-w.background)
		fault(Arc, int32(a))
		fault(Link, int32(a.Link()))
		for _, g := range w.Link(a.Link()).Groups {
			fault(Group, int32(g))
		}
		if i > 0 && !w.Node(w.Tail(a)).IsHost() {
			fault(Node, int32(w.Tail(a)))
		}
	}
	for _, n := range ends {
		if n != graphs.None {
			if w.Node(n).IsHost() {
				fault(Host, int32(n))
			} else {
				fault(Node, int32(n))
			}
		}
	}
	return s
}

// draw counts how many of n packets are lost under hazard s.
func (w *world) draw(n int, s float64) int {
	p, k := -math.Expm1(-s), 0
	if p*float64(n) < 1e-9 {
		return 0
	}
	if w.run > 1 && p < 0.5 {
		k, _ := runs(w.rng, n, p, w.run)
		return k
	}
	// By the gaps between losses, which is fast where they are few.
	for at := 0; ; {
		if p < 1 {
			at += int(min(math.Log(1-w.rng.Float64())/math.Log1p(-p), 1e9))
		}
		if at >= n {
			return k
		}
		at++
		k++
	}
}

// echo measures a new flow from src to dst and back with n packets.
func (w *world) echo(src, dst graphs.NodeID, n int) (forward, back []graphs.ArcID) {
	w.flow++
	forward, back = w.path(src, dst), w.path(dst, src)
	lost := w.draw(n, w.hazard(forward, src, dst))
	lostBack := w.draw(n-lost, w.hazard(back, dst, src))
	if w.unsplit {
		both := append(append([]graphs.ArcID{}, forward...), back...)
		w.obs = append(w.obs, Observation{Path: both, Src: src, Dst: dst, Responder: graphs.None, Sent: n, Lost: lost + lostBack, Flow: w.flow})
		return forward, back
	}
	w.obs = append(w.obs,
		Observation{Path: forward, Src: src, Dst: dst, Responder: graphs.None, Sent: n, Lost: lost, Flow: w.flow},
		Observation{Path: back, Src: dst, Dst: src, Responder: graphs.None, Sent: n - lost, Lost: lostBack, Flow: w.flow})
	return forward, back
}

// hops asks every switch on the path of the last flow for answers, n each; the answers come back by ways of their own.
func (w *world) hops(path []graphs.ArcID, n int) {
	src := w.Tail(path[0])
	for i := range len(path) - 1 {
		r := w.Head(path[i])
		p := path[:i+1]
		lost := w.draw(n, w.hazard(p, src, r))
		lost += w.draw(n-lost, -math.Log1p(-min(w.shy[r], 1-1e-12)))
		lost += w.draw(n-lost, w.hazard(w.path(r, src), src))
		w.obs = append(w.obs, Observation{Path: p, Src: src, Dst: graphs.None, Responder: r, Sent: n, Lost: lost, Flow: w.flow})
	}
}

// mesh measures flows between random pairs of hosts, n packets each.
func (w *world) mesh(flows, n int) {
	hosts := w.Hosts()
	for range flows {
		src := hosts[w.rng.IntN(len(hosts))]
		dst := src
		for dst == src {
			dst = hosts[w.rng.IntN(len(hosts))]
		}
		w.echo(src, dst, n)
	}
}

func (w *world) solve() *Result { return Solve(w.Fabric, w.obs, Config{}) }

// fabricArc returns a random arc between switches.
func (w *world) fabricArc() graphs.ArcID {
	for {
		if a := graphs.ArcID(w.rng.IntN(w.NumArcs())); !w.IsHostArc(a) {
			return a
		}
	}
}
