package localize_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// inRole returns the nodes of a role.
func inRole(f *graphs.Fabric, role graphs.Role) (nodes []graphs.NodeID) {
	for n := range graphs.NodeID(f.NumNodes()) {
		if f.Node(n).Role == role {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// TestChoices: where ways are not known, arcs from one pod to the core look alike. That several of many faults, all over the fabric, may lie at one core switch does not
// convict it; and of one whose arcs are bad it is said that it may be any of those that look alike.
func TestChoices(t *testing.T) {
	t.Parallel()
	f, err := generate.FatTree(generate.FatTreeConfig{K: 8})
	if err != nil {
		t.Fatal(err)
	}
	e := pathfind.NewEqualCost(f, pathfind.PerPath)
	cores := inRole(f, "core")
	rng := rand.New(rand.NewPCG(0, 'c'))
	solve := func(loss map[graphs.ArcID]float64) *localize.Result {
		return localize.Solve(f, setFlows(f, e, rng, 20000, func() int { return 32 }, loss), localize.Config{Paths: e})
	}
	lossy := func() float64 { return 0.005 * math.Pow(8, rng.Float64()) }
	apart := map[graphs.ArcID]float64{}
	for len(apart) < 16 {
		if a := graphs.ArcID(rng.IntN(f.NumArcs())); !f.IsHostArc(a) && apart[a.Reverse()] == 0 {
			apart[a] = lossy()
		}
	}
	for _, s := range solve(apart).Suspects {
		if s.Kind == localize.Node && s.Probability > 0.5 {
			t.Errorf("faults all over the fabric are told as %v, with %.3f", s.Class, s.Probability)
		}
	}
	sick, together := cores[rng.IntN(len(cores))], map[graphs.ArcID]float64{}
	for _, a := range f.Out(sick) {
		together[a], together[a.Reverse()] = lossy(), lossy()
	}
	found := false
	for _, s := range solve(together).Suspects {
		if s.Kind == localize.Node && s.Probability > 0.5 {
			found = true
			if len(s.Class) < len(cores) || !slices.Contains(s.Class, localize.Cause{Kind: localize.Node, ID: int32(sick)}) || s.Alone > 0.2 {
				t.Errorf("switch %d is bad, and may be any of %d; told are %v, the first of them with %.3f", sick, len(cores), s.Class, s.Alone)
			}
		}
	}
	if !found {
		t.Errorf("a switch all of whose arcs are bad is not told")
	}
}

// TestManyLost: four arcs of a switch lose a fifth of what crosses them each, on ways that are not known: that some flows lose much and others nothing comes of their ways, not of
// losses in runs, and no switch beside it is told.
func TestManyLost(t *testing.T) {
	t.Parallel()
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	e := pathfind.NewEqualCost(f, pathfind.PerHop)
	aggs := inRole(f, "agg")
	for _, seed := range []uint64{6, 7, 19} {
		rng := rand.New(rand.NewPCG(seed, 't'))
		loss := map[graphs.ArcID]float64{}
		for i, j := range rng.Perm(8)[:4] {
			a := f.Out(aggs[int(seed)%len(aggs)])[j/2]
			if j%2 == 0 {
				a = a.Reverse()
			}
			loss[a] = 0.15 + 0.05*float64(i)
		}
		for _, x := range localize.Solve(f, setFlows(f, e, rng, 3000, func() int { return 10 }, loss), localize.Config{Paths: e, OneWay: true}).Suspects {
			if x.Kind == localize.Node && x.Probability >= 0.5 && f.Node(graphs.NodeID(x.ID)).Role != "agg" {
				t.Errorf("seed %d: %v is told with %.2f", seed, x.Cause, x.Probability)
			}
		}
	}
}

// TestJointClasses: of faults that may each be any of those alike, but not all of them anywhere together, each class has all in whose place it may be if the others
// are elsewhere, too: an arc of a pod to the core and one of the core to another pod, two that meet at a core switch beside two of a third pod, arcs of two racks of a pod among faults all over the fabric, and two switches that
// do not lie in the same plane.
func TestJointClasses(t *testing.T) {
	t.Parallel()
	f, err := generate.FatTree(generate.FatTreeConfig{K: 8})
	if err != nil {
		t.Fatal(err)
	}
	e := pathfind.NewEqualCost(f, pathfind.PerPath)
	aggs := inRole(f, "agg")
	to := func(n graphs.NodeID, role graphs.Role) (arcs []graphs.ArcID) {
		for _, a := range f.Out(n) {
			if f.Node(f.Head(a)).Role == role {
				arcs = append(arcs, a)
			}
		}
		return arcs
	}
	arc := func(a graphs.ArcID) localize.Cause { return localize.Cause{Kind: localize.Arc, ID: int32(a)} }
	for _, c := range []struct {
		name   string
		seeds  []uint64
		own    int
		faults func(rng *rand.Rand, a, b graphs.NodeID) (map[graphs.ArcID]float64, []localize.Cause)
	}{
		{"two pods", []uint64{16}, 1e9, func(rng *rand.Rand, a, b graphs.NodeID) (map[graphs.ArcID]float64, []localize.Cause) {
			x, y := to(a, "core")[rng.IntN(4)], to(b, "core")[rng.IntN(4)].Reverse()
			return map[graphs.ArcID]float64{x: 0.016, y: 0.012}, []localize.Cause{arc(x), arc(y)}
		}},
		{"one pod, six more", []uint64{2}, 1e9, func(rng *rand.Rand, a, _ graphs.NodeID) (map[graphs.ArcID]float64, []localize.Cause) {
			racks := to(a, "edge")
			x, y := to(f.Head(racks[0]), "agg")[rng.IntN(4)], to(f.Head(racks[1]), "agg")[rng.IntN(4)].Reverse()
			loss := map[graphs.ArcID]float64{x: 0.4, y: 0.15}
			for len(loss) < 8 {
				if x := graphs.ArcID(rng.IntN(f.NumArcs())); loss[x] == 0 && loss[x.Reverse()] == 0 {
					loss[x] = 0.005 + 0.02*rng.Float64()
				}
			}
			return loss, []localize.Cause{arc(x), arc(y)}
		}},
		{"one core switch, two more", []uint64{4}, 500, func(rng *rand.Rand, a, b graphs.NodeID) (map[graphs.ArcID]float64, []localize.Cause) {
			x := to(a, "core")[rng.IntN(4)]
			core := f.Head(x)
			var faults []graphs.ArcID
			for _, y := range f.Out(core) { // each to another pod
				if n := f.Head(y); n != a && n != b {
					faults = append(faults, y)
				}
			}
			third := to(f.Head(faults[1]), "core") // to other core switches of the plane
			at := slices.IndexFunc(third, func(y graphs.ArcID) bool { return f.Head(y) == core })
			loss := map[graphs.ArcID]float64{x: 0.14, faults[0]: 0.1, third[(at+1)%4]: 0.35, third[(at+2)%4]: 0.06}
			return loss, []localize.Cause{arc(x), arc(faults[0])}
		}},
		{"two switches", []uint64{3}, 1e9, func(rng *rand.Rand, a, b graphs.NodeID) (map[graphs.ArcID]float64, []localize.Cause) {
			loss := map[graphs.ArcID]float64{}
			for _, n := range []graphs.NodeID{a, b} {
				for _, x := range f.Out(n) {
					loss[x], loss[x.Reverse()] = 0.002*math.Pow(10, rng.Float64()), 0.002*math.Pow(10, rng.Float64())
				}
			}
			return loss, []localize.Cause{{Kind: localize.Node, ID: int32(a)}, {Kind: localize.Node, ID: int32(b)}}
		}},
	} {
		for _, seed := range c.seeds {
			rng := rand.New(rand.NewPCG(seed, 's'))
			a, b := aggs[4*rng.IntN(4)+rng.IntN(2)], aggs[16+4*rng.IntN(4)+2+rng.IntN(2)] // neither pod nor plane is the same
			loss, causes := c.faults(rng, a, b)
			obs := setFlows(f, e, rand.New(rand.NewPCG(seed, 'j')), 20000, func() int { return 32 }, loss)
			for i := c.own; i < len(obs); i += c.own { // and some lose packets by themselves
				obs[i].Lost = min(obs[i].Lost+4, obs[i].Sent)
			}
			r := localize.Solve(f, obs, localize.Config{Paths: e})
			for _, fault := range causes {
				if !slices.ContainsFunc(r.Suspects, func(s localize.Suspect) bool { return s.Probability > 0.95 && slices.Contains(s.Class, fault) }) {
					t.Errorf("%s, seed %d: %v is faulty, and in no class", c.name, seed, fault)
				}
			}
		}
	}
}

// roundTrips returns flows between hosts of a leaf-spine there and back, of which nobody knows over which spines, nor which way they lost packets: all, where they meet
// what is dead.
func roundTrips(f *graphs.Fabric, rng *rand.Rand, flows int, dead ...graphs.ArcID) []localize.Observation {
	leaf := func(host graphs.NodeID) graphs.NodeID { return f.Head(f.Out(host)[0]) }
	trip := func(src, dst graphs.NodeID) (ways [][]graphs.ArcID) {
		for _, up := range f.Out(leaf(src)) {
			for _, down := range f.Out(f.Head(up)) {
				if !f.IsHostArc(up) && f.Head(down) == leaf(dst) {
					ways = append(ways, []graphs.ArcID{f.Out(src)[0], up, down, f.Out(dst)[0].Reverse()})
				}
			}
		}
		return ways
	}
	var obs []localize.Observation
	hosts := f.Hosts()
	for flow := range flows {
		src, dst := hosts[rng.IntN(len(hosts))], hosts[rng.IntN(len(hosts))]
		if leaf(src) == leaf(dst) {
			continue
		}
		o := localize.Observation{Src: src, Dst: dst, Responder: graphs.None, Sent: 20, Flow: flow}
		for _, there := range trip(src, dst) {
			for _, back := range trip(dst, src) {
				o.Alternatives = append(o.Alternatives, localize.Alternative{Arcs: slices.Concat(there, back)})
			}
		}
		for i := range o.Alternatives {
			o.Alternatives[i].Share = 1 / float64(len(o.Alternatives))
		}
		if slices.ContainsFunc(o.Alternatives[rng.IntN(len(o.Alternatives))].Arcs, func(a graphs.ArcID) bool { return slices.Contains(dead, a) }) {
			o.Lost = o.Sent
		}
		obs = append(obs, o)
	}
	return obs
}

// TestRoundTripClasses: where nobody knows the ways of round trips, of two links to one spine that are dead it is told that they may be those to any other, since neither alone could be; and
// of two arcs over one spine, that both may be the other way, too.
func TestRoundTripClasses(t *testing.T) {
	t.Parallel()
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 6, Spines: 4, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	spine := inRole(f, "spine")[3]
	x, y := f.Out(spine)[3], f.Out(spine)[4]
	for _, c := range []struct {
		dead   []graphs.ArcID
		causes []localize.Cause
		class  int
	}{
		{[]graphs.ArcID{x, x.Reverse(), y, y.Reverse()}, []localize.Cause{{Kind: localize.Link, ID: int32(x.Link())}, {Kind: localize.Link, ID: int32(y.Link())}}, 4},
		{[]graphs.ArcID{x.Reverse(), y}, []localize.Cause{{Kind: localize.Arc, ID: int32(x.Reverse())}, {Kind: localize.Arc, ID: int32(y)}}, 8},
	} {
		obs := roundTrips(f, rand.New(rand.NewPCG(1, 'r')), 700, c.dead...)
		suspects := localize.Solve(f, obs, localize.Config{}).Suspects
		for _, cause := range c.causes {
			if !slices.ContainsFunc(suspects, func(s localize.Suspect) bool {
				return s.Probability > 0.95 && len(s.Class) == c.class && slices.Contains(s.Class, cause)
			}) {
				t.Errorf("%v is dead; told are %+v", cause, suspects)
			}
		}
	}
}

// TestTwoDeadAmongMany: where two links to one spine are dead a third of all round trips is lost. That these flows die by themselves is no story if none does between the other leaves.
func TestTwoDeadAmongMany(t *testing.T) {
	t.Parallel()
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	x, y := f.Out(inRole(f, "spine")[3])[0], f.Out(inRole(f, "spine")[3])[2]
	for _, seed := range []uint64{2, 3} {
		obs := roundTrips(f, rand.New(rand.NewPCG(seed, 'm')), 400, x, x.Reverse(), y, y.Reverse())
		suspects := localize.Solve(f, obs, localize.Config{}).Suspects
		for _, l := range []graphs.LinkID{x.Link(), y.Link()} {
			if !slices.ContainsFunc(suspects, func(s localize.Suspect) bool {
				return s.Probability > 0.5 && slices.Contains(s.Class, localize.Cause{Kind: localize.Link, ID: int32(l)})
			}) {
				t.Errorf("seed %d: %s is dead; told are %+v", seed, f.LinkName(l), suspects)
			}
		}
	}
}
