package localize_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// setFabrics are those on which path sets are tested.
func setFabrics(t testing.TB) []*graphs.Fabric {
	t.Helper()
	fat, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	random, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 20, Degree: 4, Hosts: 1, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	return []*graphs.Fabric{fat, random}
}

// setFlow draws the way of a flow between two switches, hop by hop.
func setFlow(f *graphs.Fabric, e *pathfind.EqualCost, rng *rand.Rand, from, to graphs.NodeID) []graphs.ArcID {
	var path []graphs.ArcID
	for at := from; at != to; at = f.Head(path[len(path)-1]) {
		x := rng.Float64()
		var last graphs.ArcID = graphs.None
		for _, a := range f.Out(at) {
			if s := e.Step(a, to); s > 0 {
				last = a
				if x -= s; x <= 0 {
					break
				}
			}
		}
		path = append(path, last)
	}
	return path
}

// setFlows measures flows between random hosts, of which nobody knows the way between their switches.
func setFlows(f *graphs.Fabric, e *pathfind.EqualCost, rng *rand.Rand, flows int, sent func() int, loss map[graphs.ArcID]float64) []localize.Observation {
	var obs []localize.Observation
	hosts := f.Hosts()
	for flow := range flows {
		src, dst := hosts[rng.IntN(len(hosts))], hosts[rng.IntN(len(hosts))]
		up, down := f.Out(src)[0], f.Out(dst)[0].Reverse()
		from, to := f.Head(up), f.Tail(down)
		if from == to {
			continue
		}
		n, lost := sent(), 0
		for _, a := range setFlow(f, e, rng, from, to) {
			for range n {
				if rng.Float64() < loss[a] {
					lost++
				}
			}
		}
		obs = append(obs, localize.Observation{Path: []graphs.ArcID{up, down}, From: from, To: to, Src: src, Dst: dst, Responder: graphs.None,
			Sent: n, Lost: min(lost, n), Flow: flow})
	}
	return obs
}

// listed returns an observation with its path set written out.
func listed(f *graphs.Fabric, e *pathfind.EqualCost, o localize.Observation) localize.Observation {
	var walk func(at graphs.NodeID, way []graphs.ArcID, share float64)
	from, to := o.From, o.To
	walk = func(at graphs.NodeID, way []graphs.ArcID, share float64) {
		if at == to {
			o.Alternatives = append(o.Alternatives, localize.Alternative{Arcs: slices.Clone(way), Share: share})
			return
		}
		for _, a := range f.Out(at) {
			if s := e.Step(a, to); s > 0 {
				walk(f.Head(a), append(way, a), share*s)
			}
		}
	}
	walk(from, nil, 1)
	o.From, o.To = 0, 0
	return o
}

// TestPathSets: path sets by their shares say what the same sets say as lists of paths, with one fault and with several on the same paths.
func TestPathSets(t *testing.T) {
	for i, f := range setFabrics(t) {
		for _, spread := range []pathfind.Spread{pathfind.PerPath, pathfind.PerHop} {
			for faults := range 4 - (1 - i) { // three faults of a fat-tree hide in each other's classes
				t.Run(fmt.Sprint("fabric ", i, ", spread ", spread, ", faults ", faults), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(faults), uint64(i)))
					e := pathfind.NewEqualCost(f, spread)
					loss := map[graphs.ArcID]float64{}
					for len(loss) < faults {
						if a := graphs.ArcID(rng.IntN(f.NumArcs())); !f.IsHostArc(a) && loss[a.Reverse()] == 0 {
							loss[a] = 0.05 * math.Exp2(float64(len(loss))) // alike, they would pass for one fault
						}
					}
					sets := setFlows(f, e, rng, 3000, func() int { return 16 }, loss)
					lists := make([]localize.Observation, len(sets))
					for i := range sets {
						lists[i] = listed(f, e, sets[i])
					}
					a := localize.Solve(f, sets, localize.Config{Paths: e})
					b := localize.Solve(f, lists, localize.Config{})
					compareResults(t, a, b)
					checkNamed(t, a, loss)
				})
			}
		}
	}
}

// TestNoRunsOfMuchLoss: where a third of the packets or more is lost on ways that nobody knows, those of flows that other ways spare are no runs that ended.
func TestNoRunsOfMuchLoss(t *testing.T) {
	f := setFabrics(t)[0]
	e := pathfind.NewEqualCost(f, pathfind.PerPath)
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 4))
		loss := map[graphs.ArcID]float64{}
		for _, share := range []float64{0.35, 0.55} {
			a := graphs.ArcID(rng.IntN(f.NumArcs()))
			for f.IsHostArc(a) || loss[a] > 0 {
				a = graphs.ArcID(rng.IntN(f.NumArcs()))
			}
			loss[a] = share
		}
		r := localize.Solve(f, setFlows(f, e, rng, 1500, func() int { return 8 + rng.IntN(30) }, loss), localize.Config{Paths: e, OneWay: true})
		checkNamed(t, r, loss)
		if r.Run > 0 {
			t.Errorf("seed %d: runs of %.1f", seed, r.Run)
		}
	}
}

// BenchmarkPathSets: two faults, and flows of which only the path set is known, between all hosts of a random graph.
func BenchmarkPathSets(b *testing.B) {
	f := setFabrics(b)[1]
	e := pathfind.NewEqualCost(f, pathfind.PerPath)
	rng := rand.New(rand.NewPCG(1, 2))
	loss := map[graphs.ArcID]float64{}
	for len(loss) < 2 {
		if a := graphs.ArcID(rng.IntN(f.NumArcs())); !f.IsHostArc(a) {
			loss[a] = 0.02
		}
	}
	obs := setFlows(f, e, rng, 20000, func() int { return 8 + rng.IntN(200) }, loss)
	b.ReportAllocs()
	for b.Loop() {
		localize.Solve(f, obs, localize.Config{Paths: e})
	}
}

// checkNamed fails if a class without fault is named, or a fault is in no suspect's class.
func checkNamed(t *testing.T, r *localize.Result, loss map[graphs.ArcID]float64) {
	t.Helper()
	found := map[graphs.ArcID]bool{}
	for _, s := range r.Suspects {
		ok := false
		for _, c := range s.Class {
			if a := graphs.ArcID(c.ID); c.Kind == localize.Arc && loss[a] > 0 {
				ok, found[a] = true, true
			}
		}
		if !ok && s.Probability > 0.7 { // two pairs may explain the same
			t.Errorf("%v is innocent, and named with %.3f", s.Class, s.Probability)
		}
	}
	for a := range loss {
		if !found[a] {
			t.Errorf("arc %d is in no class", a)
		}
	}
}

// compareResults fails where one result names what the other does not, or with another loss. Of two pairs that explain the same each is as likely as not,
// and on which side of a half it comes to lie is a matter of rounding.
func compareResults(t *testing.T, a, b *localize.Result) {
	t.Helper()
	named := func(r *localize.Result) map[localize.Cause]localize.Suspect {
		m := map[localize.Cause]localize.Suspect{}
		for _, s := range r.Suspects {
			if s.Probability > 0.4 {
				m[slices.MinFunc(s.Class, func(a, b localize.Cause) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })] = s
			}
		}
		return m
	}
	x, y := named(a), named(b)
	if len(x) != len(y) {
		t.Errorf("by shares %d are named, by lists %d: %v, %v", len(x), len(y), x, y)
	}
	for c, s := range x {
		other, ok := y[c]
		if !ok {
			t.Errorf("%v is named by shares only", c)
			continue
		}
		if math.Abs(s.Loss-other.Loss) > 0.1*other.Loss || math.Abs(s.Probability-other.Probability) > 0.05 {
			t.Errorf("%v: by shares loss %.4f with %.3f, by lists %.4f with %.3f", c, s.Loss, s.Probability, other.Loss, other.Probability)
		}
	}
}

// sane fails if a result is not one that may be, or changes with the order of the observations.
func sane(t *testing.T, f *graphs.Fabric, obs []localize.Observation, cfg localize.Config) {
	t.Helper()
	r := localize.Solve(f, obs, cfg)
	for _, s := range r.Suspects {
		for _, p := range []float64{s.Probability, s.Alone, s.Loss, s.Low, s.High} {
			if !(p >= 0 && p <= 1) {
				t.Errorf("suspect %+v", s)
			}
		}
		if !(s.Low <= s.Loss && s.Loss <= s.High) || math.IsNaN(s.Against.Nats) || math.IsNaN(s.Against.Expected) {
			t.Errorf("suspect %+v", s)
		}
	}
	if !(r.Healthy >= 0 && r.Healthy <= 1 && r.Background >= 0 && r.Background <= 1) {
		t.Errorf("healthy %v, background %v", r.Healthy, r.Background)
	}
	turned := slices.Clone(obs)
	slices.Reverse(turned)
	if a, b := fmt.Sprintf("%+v", *r), fmt.Sprintf("%+v", *localize.Solve(f, turned, cfg)); a != b {
		t.Errorf("the order of observations matters:\n%s\n%s", a, b)
	}
}

func FuzzPathSets(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 9, 1, 4, 1, 30, 5, 60, 7, 0, 8, 8, 8, 200, 3})
	f.Add([]byte{3, 5, 9, 0, 17, 1, 2, 1, 255, 5, 6, 0, 0, 250, 1, 77, 13, 4, 9, 9, 9, 40, 6})
	fabrics := setFabrics(f)
	var sets [4]*pathfind.EqualCost
	for i := range sets {
		sets[i] = pathfind.NewEqualCost(fabrics[i%2], pathfind.Spread(i/2))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		at := 0
		next := func() int {
			if at >= len(data) {
				return 0
			}
			at++
			return int(data[at-1])
		}
		which := next() % 4
		fabric := fabrics[which%2]
		node := func() graphs.NodeID { return graphs.NodeID(next()%(fabric.NumNodes()+2) - 1) }
		var obs []localize.Observation
		for at < len(data) && len(obs) < 80 {
			o := localize.Observation{From: node(), To: node(), Src: node(), Dst: node(), Responder: graphs.None, Flow: next() % 16, Bursts: next() % 4}
			if next()%8 == 0 {
				o.Responder = node()
			}
			for range next() % 4 {
				o.Path = append(o.Path, graphs.ArcID(next()%fabric.NumArcs()))
			}
			o.Sent = next() << (next() % 64)
			o.Lost = next() % 8 << (next() % 8)
			obs = append(obs, o)
		}
		sane(t, fabric, obs, localize.Config{Paths: sets[which]})
		sane(t, fabric, obs, localize.Config{}) // without path sets
	})
}

// TestTooManyPaths: of a pair with so many paths that they are not listed, flows without loss are no evidence either. They would acquit what
// those that lost packets cannot accuse.
func TestTooManyPaths(t *testing.T) {
	f, err := generate.ThreeTier(generate.ThreeTierConfig{Zones: 2, Racks: 2, ClusterSwitches: 8, Aggregation: 17, Hosts: 1, NICs: 1})
	if err != nil {
		t.Fatal(err)
	}
	e := pathfind.NewEqualCost(f, pathfind.PerHop)
	hosts := f.Hosts()
	var obs []localize.Observation
	for i, pair := range [][2]graphs.NodeID{{hosts[0], hosts[1]}, {hosts[0], hosts[2]}} {
		up, down := f.Out(pair[0])[0], f.Out(pair[1])[0].Reverse()
		for lost := range 2 {
			obs = append(obs, localize.Observation{Path: []graphs.ArcID{up, down}, From: f.Head(up), To: f.Tail(down), Src: pair[0], Dst: pair[1],
				Responder: graphs.None, Sent: 100, Lost: lost, Flow: 2*i + lost})
		}
	}
	if n := e.Paths(obs[2].From, obs[2].To); n != 8*17*8 {
		t.Errorf("%g paths between zones", n)
	}
	if r := localize.Solve(f, obs, localize.Config{Paths: e}); r.Ignored != 2 {
		t.Errorf("%d observations ignored, of 2 between zones and 2 within one", r.Ignored)
	}
}
