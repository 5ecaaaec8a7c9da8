package localize

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
)

// scenarios are the cases and traps that the inference must get right, each on several fabrics or seeds. Play sets faults and
// measures; every fault must be named with more than half the probability, and nothing else.
var scenarios = []struct {
	name string
	play func(w *world)
	// fabrics are those on which it is played; nil means leaf-spine, fat-tree and random.
	fabrics []func(testing.TB) *graphs.Fabric
	alone   bool // the fault must be told from everything else, but for its like
}{
	{name: "healthy", play: func(w *world) { w.meshEvenly(400) }},
	{name: "healthy, background 1e-4", play: func(w *world) { w.background = 1e-4; w.meshEvenly(400) }},
	{name: "healthy, background 1e-3", play: func(w *world) { w.background = 1e-3; w.meshEvenly(400) }},
	{name: "arc 0.5%", play: arcAt(0.005, 800), alone: true},
	{name: "arc 1%", play: arcAt(0.01, 400), alone: true},
	{name: "arc 5%", play: arcAt(0.05, 100), alone: true},
	{name: "arc dead", play: arcAt(1, 50), alone: true},
	{name: "arc 0.5% in background 1e-3", play: func(w *world) { w.background = 1e-3; arcAt(0.005, 4000)(w) }},
	{name: "link", play: func(w *world) {
		w.fault(Link, int32(w.fabricArc().Link()), 0.02)
		w.meshEvenly(300)
	}, alone: true},
	{name: "link dead", play: func(w *world) {
		w.fault(Link, int32(w.fabricArc().Link()), 1)
		w.meshEvenly(50)
	}, alone: true},
	{name: "node", play: func(w *world) {
		w.fault(Node, int32(w.Tail(w.fabricArc())), 0.01)
		w.meshEvenly(300)
	}, alone: true},
	{name: "host", play: func(w *world) {
		w.fault(Host, int32(w.Hosts()[w.rng.IntN(len(w.Hosts()))]), 0.02)
		w.meshEvenly(300)
	}},
	{name: "group", play: func(w *world) {
		w.fault(Group, int32(w.rng.IntN(w.NumGroups())), 0.02)
		w.meshEvenly(300)
	}, fabrics: []func(testing.TB) *graphs.Fabric{laned}},
	{name: "two arcs of one switch", play: func(w *world) {
		out := w.Out(w.Switches()[w.rng.IntN(len(w.Switches()))])
		out = slices.DeleteFunc(slices.Clone(out), w.IsHostArc)
		w.fault(Arc, int32(out[0]), 0.02)
		w.fault(Arc, int32(out[1].Reverse()), 0.02)
		w.meshEvenly(400)
	}},
	{name: "three arcs", play: arcs(3), alone: true},
	{name: "eight arcs", play: arcs(8), fabrics: []func(testing.TB) *graphs.Fabric{big}},
	{name: "policed responder and a fault elsewhere", play: func(w *world) {
		w.shy[w.Switches()[0]] = 0.6
		arcAt(0.02, 200)(w)
		w.hopsOnAll(30)
	}},
	{name: "silent responder", play: func(w *world) {
		w.shy[w.Switches()[1]] = 1
		w.meshEvenly(100)
		w.hopsOnAll(30)
	}},
	{name: "all policed and a fault", play: func(w *world) {
		for _, n := range w.Switches() {
			w.shy[n] = 0.6
		}
		arcAt(0.05, 200)(w)
		w.hopsOnAll(30)
	}},
	{name: "all policed", play: func(w *world) {
		for _, n := range w.Switches() {
			w.shy[n] = 0.3 + 0.4*w.rng.Float64()
		}
		w.meshEvenly(200)
		w.hopsOnAll(30)
	}},
	{name: "not split by direction", play: func(w *world) {
		w.unsplit = true
		w.fault(Arc, int32(w.fabricArc()), 0.02)
		w.meshEvenly(300)
	}},
	{name: "two leaves, seen from end to end", play: arcAt(0.05, 200), fabrics: []func(testing.TB) *graphs.Fabric{tiny}},
	{name: "two leaves, switches asked", play: func(w *world) {
		arcAt(0.05, 200)(w)
		w.hopsOnAll(100)
	}, fabrics: []func(testing.TB) *graphs.Fabric{tiny}, alone: true},
	{name: "paths unknown", play: func(w *world) {
		arcAt(0.05, 400)(w)
		for i := range w.obs {
			w.hide(&w.obs[i])
		}
	}},
	{name: "link that flaps, flows moved away", play: func(w *world) {
		// While the link is down, what crosses it is lost in a run; then flows move to other paths, and back.
		l := w.fabricArc().Link()
		w.fault(Link, int32(l), 1e-9)
		w.meshEvenly(150)
		var moved []Observation
		for i := range w.obs {
			o := &w.obs[i]
			if slices.ContainsFunc(o.Path, func(a graphs.ArcID) bool { return a.Link() == l }) {
				o.Lost, o.Bursts = 4+w.rng.IntN(12), 1+w.rng.IntN(2)
				moved = append(moved, *o)
			}
		}
		for _, o := range moved {
			o.Sent, o.Lost, o.Bursts = 100, 0, 0
			for slices.ContainsFunc(o.Path, func(a graphs.ArcID) bool { return a.Link() == l }) {
				if o.Path = w.path(o.Src, o.Dst); w.rng.IntN(20) == 0 {
					break // there may be no other
				}
			}
			w.obs = append(w.obs, o)
		}
	}},
	{name: "bursts on the hosts' side", play: func(w *world) {
		// Here and there a flow loses a run of packets, for nothing that the fabric did.
		w.meshEvenly(400)
		for range 3 {
			o := &w.obs[w.rng.IntN(len(w.obs))]
			o.Lost, o.Bursts = o.Sent/10, 1
		}
	}},
}

func tiny(t testing.TB) *graphs.Fabric { return leafSpine(t, 2, 4, 1) }
func big(t testing.TB) *graphs.Fabric  { return fatTree(t, 8) }
func laned(t testing.TB) *graphs.Fabric {
	return withLanes(t, randomRegular(t, 16, 4, 1), newWorld(tiny(t), 5).rng)
}

var usual = []func(testing.TB) *graphs.Fabric{
	func(t testing.TB) *graphs.Fabric { return leafSpine(t, 4, 4, 2) },
	func(t testing.TB) *graphs.Fabric { return fatTree(t, 4) },
	func(t testing.TB) *graphs.Fabric { return randomRegular(t, 16, 4, 1) },
}

func (w *world) fault(k Kind, id int32, loss float64) { w.faults[Cause{k, id}] = loss }

func arcAt(loss float64, n int) func(*world) {
	return func(w *world) {
		w.fault(Arc, int32(w.fabricArc()), loss)
		w.meshEvenly(n)
	}
}

func arcs(count int) func(*world) {
	return func(w *world) {
		for len(w.faults) < count {
			if a := w.fabricArc(); w.faults[Cause{Arc, int32(a.Reverse())}] == 0 { // both would be a link
				w.fault(Arc, int32(a), 0.01+0.04*w.rng.Float64())
			}
		}
		w.meshEvenly(300)
	}
}

// meshEvenly measures flows until every arc was crossed by six or nothing is gained, n packets each.
func (w *world) meshEvenly(n int) {
	hosts := w.Hosts()
	crossed := make([]int, w.NumArcs())
	for range 60 * len(hosts) {
		src, dst := hosts[w.rng.IntN(len(hosts))], hosts[w.rng.IntN(len(hosts))]
		if src == dst {
			continue
		}
		before := len(w.obs)
		forward, back := w.echo(src, dst, n)
		needed := false
		for _, a := range slices.Concat(forward, back) {
			needed = needed || crossed[a] < 6
		}
		if !needed {
			w.obs = w.obs[:before]
			continue
		}
		for _, a := range slices.Concat(forward, back) {
			crossed[a]++
		}
	}
}

// hopsOnAll asks the switches on the way there of every flow, n times each.
func (w *world) hopsOnAll(n int) {
	for _, o := range slices.Clone(w.obs) {
		if o.Responder == graphs.None && w.Tail(o.Path[0]) == o.Src {
			w.flow = o.Flow
			w.hops(o.Path, n)
		}
	}
}

// hide replaces what is between the access links of an observation's path by all shortest ways.
func (w *world) hide(o *Observation) {
	first, last := o.Path[0], o.Path[len(o.Path)-1]
	var walk func(at graphs.NodeID, way []graphs.ArcID, share float64)
	walk = func(at graphs.NodeID, way []graphs.ArcID, share float64) {
		if at == w.Tail(last) {
			o.Alternatives = append(o.Alternatives, Alternative{slices.Clone(way), share})
			return
		}
		next := w.next(at, w.Tail(last))
		for _, a := range next {
			walk(w.Head(a), append(way, a), share/float64(len(next)))
		}
	}
	o.Path = []graphs.ArcID{first, last}
	if w.Head(first) != w.Tail(last) {
		walk(w.Head(first), nil, 1)
	}
}

func TestScenarios(t *testing.T) {
	for _, x := range scenarios {
		fabrics := x.fabrics
		if fabrics == nil {
			fabrics = usual
		}
		t.Run(x.name, func(t *testing.T) {
			runs := 0
			var wrong []string
			for i, fabric := range fabrics {
				f := fabric(t)
				for seed := range uint64(*seeds) {
					w := newWorld(f, 100*seed+7)
					x.play(w)
					r := w.solve()
					runs++
					if problem := judge(w, r, x.alone); problem != "" {
						wrong = append(wrong, fmt.Sprintf("fabric %d, seed %d: %s\ntruth %v\nsaid %s", i, seed, problem, w.faults, describe(r)))
					}
				}
			}
			// A probability above a half is sometimes that of an innocent; in few runs it must not be.
			if 10*len(wrong) > runs {
				t.Errorf("%d of %d wrong:\n%s", len(wrong), runs, strings.Join(wrong, "\n"))
			}
		})
	}
}

// judge compares a result with the truth of its world.
func judge(w *world, r *Result, alone bool) string {
	found := map[Cause]bool{}
	for _, s := range r.Suspects {
		if s.Probability <= 0.5 {
			continue
		}
		ok := false
		for _, c := range s.Class {
			if w.faults[c] > 0 {
				ok, found[c] = true, true
			}
		}
		if !ok {
			return fmt.Sprintf("%v is innocent", s.Class)
		}
		if alone && (w.faults[s.Cause] == 0 || s.Alone < 0.5) {
			return fmt.Sprintf("%v is not told from its class", s.Class)
		}
	}
	for c := range w.faults {
		if !found[c] {
			return fmt.Sprintf("%v was not named", c)
		}
	}
	for _, n := range r.Shy {
		if w.shy[n.Node] == 0 {
			return fmt.Sprintf("%s answers all it should", w.NodeName(n.Node))
		}
		if (n.Answered == 0) != (w.shy[n.Node] == 1) {
			return fmt.Sprintf("%s silent: %v", w.NodeName(n.Node), n.Answered == 0)
		}
	}
	return ""
}

func describe(r *Result) string {
	text := fmt.Sprintf("background %.2g, healthy %.2f, shy %v", r.Background, r.Healthy, r.Shy)
	for _, s := range r.Suspects {
		text += fmt.Sprintf("\n  %.3f (%.3f) %v loss %.4f..%.4f, flows %d lossy %d clean, against %+v", s.Probability, s.Alone, s.Class, s.Low, s.High, s.LossyFlows, s.CleanFlows, s.Against)
	}
	return text
}

// TestInputs: whatever comes in, the answer is one, and does not depend on the order of the observations.
func TestInputs(t *testing.T) {
	f := tiny(t)
	up, down := f.Out(f.Hosts()[0])[0], f.Out(f.Hosts()[1])[0].Reverse()
	path := []graphs.ArcID{up, f.Out(f.Head(up))[0], down}
	end := func(sent, lost int) Observation {
		return Observation{Path: path, Src: f.Hosts()[0], Dst: f.Hosts()[1], Responder: graphs.None, Sent: sent, Lost: lost, Flow: 1}
	}
	for name, obs := range map[string][]Observation{
		"none":          nil,
		"zero value":    {{}},
		"nothing sent":  {end(0, 0), end(-5, 3)},
		"more lost":     {end(5, 50), end(10, -3)},
		"all lost":      {end(1000, 1000)},
		"huge":          {end(math.MaxInt, math.MaxInt/2), end(math.MaxInt, 0), end(math.MaxInt, math.MaxInt)},
		"contradiction": {end(1000, 0), {Path: path[:1], Src: -1, Dst: -1, Responder: -1, Sent: 1000, Lost: 1000, Flow: 2}},
		"unknown arcs":  {{Path: []graphs.ArcID{-1, 9999}, Sent: 10, Lost: 1}},
		"unknown nodes": {{Path: path, Src: -7, Dst: 9999, Responder: 4444, Sent: 10, Lost: 1}},
		"odd shares": {{Path: path[:1], Src: -1, Dst: -1, Responder: -1, Sent: 10, Lost: 1, Alternatives: []Alternative{
			{path[1:2], math.NaN()}, {path[2:], -1}, {nil, math.Inf(1)}}}},
	} {
		t.Run(name, func(t *testing.T) { check(t, f, obs, Config{}) })
	}
	if r := Solve(f, []Observation{end(0, 0), end(-5, 3), end(5, 50), end(10, -3), end(10, 0)}, Config{}); r.Ignored != 4 {
		t.Errorf("%d observations ignored, of which 4 cannot be", r.Ignored)
	}
	check(t, f, []Observation{end(100, 7)}, Config{Faults: math.NaN(), NormalLoss: -1, Outlier: 7, Cap: math.Inf(1), MaxFaults: -1})
	check(t, nil, []Observation{end(100, 7)}, Config{})
}

// check fails if a result is not one that may be: probabilities, losses and counts in their ranges, no cause twice.
func check(t *testing.T, f *graphs.Fabric, obs []Observation, cfg Config) {
	t.Helper()
	r := Solve(f, obs, cfg)
	probability := func(what string, p float64) {
		t.Helper()
		if !(p >= 0 && p <= 1) {
			t.Errorf("%s is %v", what, p)
		}
	}
	probability("healthy", r.Healthy)
	probability("background", r.Background)
	seen := map[Cause]bool{}
	for i, s := range r.Suspects {
		probability("probability", s.Probability)
		probability("alone", s.Alone)
		probability("loss", s.Loss)
		if !(s.Low >= 0 && s.Low <= s.Loss && s.Loss <= s.High && s.High <= 1) {
			t.Errorf("interval %v..%v of %v", s.Low, s.High, s.Loss)
		}
		if math.IsNaN(s.Against.Nats) || math.IsNaN(s.Against.Expected) || s.Lost > s.Sent || s.Sent < 0 {
			t.Errorf("suspect %+v", s)
		}
		if i > 0 && s.Probability > r.Suspects[i-1].Probability || s.Class[0] != s.Cause {
			t.Errorf("suspect %d out of order: %+v", i, s)
		}
		for _, c := range s.Class {
			if seen[c] {
				t.Errorf("%v is there twice", c)
			}
			seen[c] = true
		}
	}
	turned := slices.Clone(obs)
	slices.Reverse(turned)
	if a, b := fmt.Sprintf("%+v", *r), fmt.Sprintf("%+v", *Solve(f, turned, cfg)); a != b {
		t.Errorf("the order of observations matters:\n%s\n%s", a, b)
	}
}

func FuzzSolve(f *testing.F) {
	f.Add([]byte{3, 0, 1, 2, 50, 3, 0xff, 2, 4, 5, 90, 0, 7})
	f.Add([]byte("012001000A00210"))
	fabrics := []*graphs.Fabric{tiny(f), laned(f)}
	f.Fuzz(func(t *testing.T, data []byte) {
		at := 0
		next := func() int {
			if at >= len(data) {
				return 0
			}
			at++
			return int(data[at-1])
		}
		fabric := fabrics[next()%2]
		ids := func(n int) (arcs []graphs.ArcID) {
			for range n {
				arcs = append(arcs, graphs.ArcID(next()%(fabric.NumArcs()+1)))
			}
			return arcs
		}
		node := func() graphs.NodeID { return graphs.NodeID(next()%(fabric.NumNodes()+2) - 1) }
		var obs []Observation
		for at < len(data) && len(obs) < 60 {
			o := Observation{Path: ids(next() % 6), Src: node(), Dst: node(), Responder: node(), Flow: next() % 8, Bursts: next() % 4}
			o.Sent = next() << (next() % 64)
			o.Lost = next() << (next() % 64)
			for range next() % 4 {
				o.Alternatives = append(o.Alternatives, Alternative{ids(next() % 4), float64(next()) / 16})
			}
			obs = append(obs, o)
		}
		check(t, fabric, obs, Config{})
	})
}

// TestGoodSwitch: a switch is not bad as long as each of its arcs loses no more than is normal, of which what crosses it meets two; one that loses five times
// as much is.
func TestGoodSwitch(t *testing.T) {
	const worlds = 20
	for _, c := range []struct {
		loss        float64
		least, most int // worlds in which it is named
	}{{2 * NormalLoss, 0, 1}, {10 * NormalLoss, worlds - 1, worlds}} {
		named := 0
		for seed := range uint64(worlds) {
			w := newWorld(fatTree(t, 6), seed)
			w.background = NormalLoss / 4
			at := int32(w.Switches()[w.rng.IntN(len(w.Switches()))])
			w.fault(Node, at, c.loss)
			w.mesh(1500, 300)
			if slices.ContainsFunc(w.solve().Suspects, func(x Suspect) bool { return x.Cause == Cause{Node, at} && x.Probability > 0.5 }) {
				named++
			}
		}
		if named < c.least || named > c.most {
			t.Errorf("a switch that loses %v is named in %d of %d worlds, not %d to %d", c.loss, named, worlds, c.least, c.most)
		}
	}
}

// TestWeakSwitch: a switch that loses little more than a good one may is told as it is, and not as what it is linked to, each of which loses as much then.
func TestWeakSwitch(t *testing.T) {
	for seed := range uint64(10) {
		w := newWorld(leafSpine(t, 8, 4, 2), seed)
		hosts := w.Hosts()
		leaf := Cause{Node, int32(w.Head(w.Out(hosts[0])[0]))}
		w.fault(leaf.Kind, leaf.ID, 4*NormalLoss)
		for i := range 128 {
			if dst := hosts[w.rng.IntN(len(hosts))]; dst != hosts[i%len(hosts)] {
				w.echo(hosts[i%len(hosts)], dst, 20000)
			}
		}
		w.echo(hosts[0], hosts[1], 20000)
		for _, x := range w.solve().Suspects {
			if x.Probability >= 0.5 && x.Cause != leaf || x.Probability < 0.5 && x.Cause == leaf {
				t.Errorf("seed %d: %v has %.2f", seed, x.Cause, x.Probability)
			}
		}
	}
}
