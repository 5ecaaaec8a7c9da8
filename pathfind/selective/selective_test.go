package selective_test

import (
	"bytes"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/selective"
)

var worlds = flag.Int("worlds", 120, "random worlds in the calibration test")
var first = flag.Uint64("first", 0, "seed of the first random world")

// A world is flows over a fabric, some of which are strange: by themselves, or since a fault hits a share of those that cross it.
type world struct {
	f       *graphs.Fabric
	obs     []localize.Observation
	strange []int32
	faults  []*fault
	known   bool // which ways flows took
	paths   localize.PathSets
}

type fault struct {
	localize.Cause
	share float64
	hit   int // flows
}

// randomWorld has no fault in one world of three, or some more.
func randomWorld(t *testing.T, seed uint64, more int) *world {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 'S'))
	var f *graphs.Fabric
	var err error
	switch seed % 3 {
	case 0:
		f, err = generate.FatTree(generate.FatTreeConfig{K: 6})
	case 1:
		f, err = generate.LeafSpine(generate.LeafSpineConfig{Leaves: 8, Spines: 4, Hosts: 6})
	default:
		f, err = generate.RandomRegular(generate.RandomRegularConfig{Switches: 32, Degree: 6, Hosts: 2, Seed: seed})
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &world{f: f, paths: pathfind.NewEqualCost(f, pathfind.PerHop)}
	ecmp := pathfind.NewECMP(f)
	own := math.Pow(10, -4+2*rng.Float64())
	if rng.IntN(3) > 0 {
		w.faults = append(w.faults, randomFault(f, rng))
	}
	for range more {
		w.faults = append(w.faults, randomFault(f, rng))
	}
	hosts := f.Hosts()
	w.known = rng.IntN(4) > 0
	for _, src := range hosts {
		for range 20 {
			dst := hosts[rng.IntN(len(hosts))]
			if dst == src {
				continue
			}
			var path []graphs.ArcID
			for at := src; at != dst; at = f.Head(path[len(path)-1]) {
				next := ecmp.NextHops(at, dst)
				path = append(path, next[rng.IntN(len(next))])
			}
			o := localize.Observation{Path: path, Src: src, Dst: dst, Responder: graphs.None, Sent: 20 + rng.IntN(400), Flow: len(w.obs)}
			if !w.known && len(path) > 2 {
				o.From, o.To = f.Head(path[0]), f.Tail(path[len(path)-1])
				o.Path = []graphs.ArcID{path[0], path[len(path)-1]}
			}
			hit := false
			for _, x := range w.faults {
				if slices.ContainsFunc(path, func(a graphs.ArcID) bool { return x.on(f, a) }) && rng.Float64() < x.share {
					hit = true
					x.hit++
				}
			}
			if hit || rng.Float64() < own {
				o.Lost = 1 + rng.IntN(o.Sent)
				w.strange = append(w.strange, int32(len(w.obs)))
			}
			w.obs = append(w.obs, o)
		}
	}
	return w
}

// randomFault is of an arc, a link or a switch alike often.
func randomFault(f *graphs.Fabric, rng *rand.Rand) *fault {
	a := graphs.ArcID(rng.IntN(f.NumArcs()))
	x := &fault{share: math.Pow(2, -6*rng.Float64()), Cause: localize.Cause{Kind: localize.Arc, ID: int32(a)}}
	switch n := f.Tail(a); rng.IntN(3) {
	case 1:
		x.Cause = localize.Cause{Kind: localize.Link, ID: int32(a.Link())}
	case 2:
		if !f.Node(n).IsHost() {
			x.Cause = localize.Cause{Kind: localize.Node, ID: int32(n)}
		}
	}
	return x
}

// on reports whether what crosses an arc crosses the fault.
func (x *fault) on(f *graphs.Fabric, a graphs.ArcID) bool {
	switch x.Kind {
	case localize.Arc:
		return int32(a) == x.ID
	case localize.Link:
		return int32(a.Link()) == x.ID
	}
	return int32(f.Tail(a)) == x.ID || int32(f.Head(a)) == x.ID
}

func (w *world) solve() []selective.Suspect {
	return selective.Solve(w.f, w.obs, w.strange, w.paths)
}

// TestCalibration: what is said is true as often as it is said, what hits five flows or more is found where ways are known, and the share of flows lies in its interval; with one fault
// at most, and with one more, where what is little likely may be true oftener than is said, since two in three worlds and not more are expected to have a fault.
func TestCalibration(t *testing.T) {
	for more := range 2 {
		var said, right [10]float64
		var n, found, clear, inside, told int
		for seed := range uint64(*worlds) {
			w := randomWorld(t, *first+seed, more)
			sure := map[*fault]bool{} // by those that were told, whether likelier than not
			for _, x := range w.solve() {
				i := min(int(10*x.Probability), 9)
				said[i] += x.Probability
				if x.Probability < 0 || x.Probability > 1 || !(x.Low <= x.Share && x.Share <= x.High) {
					t.Fatalf("%+v", x)
				}
				n++
				// What is told again would be another fault.
				k := slices.IndexFunc(w.faults, func(y *fault) bool { _, again := sure[y]; return !again && slices.Contains(x.Class, y.Cause) })
				if k < 0 {
					continue
				}
				y := w.faults[k]
				right[i]++
				if sure[y] = x.Probability > 0.5; sure[y] && x.Cause == y.Cause {
					if told++; x.Low <= y.share && y.share <= x.High {
						inside++
					}
				}
			}
			for _, y := range w.faults {
				if w.known && y.hit >= 5 {
					if clear++; sure[y] {
						found++
					}
				}
			}
		}
		e := 0.0
		for i := range said {
			e += math.Abs(said[i]-right[i]) / float64(max(n, 1))
		}
		t.Logf("%d worlds, %d faults at most, %d suspects, calibration error %.3f (said %.1f, right %.0f); %d of %d clear faults found; %d of %d intervals hold", *worlds, 1+more, n, e, said,
			right, found, clear, inside, told)
		if e > 0.08+0.06*float64(more) || 10*found < 9*clear || 10*inside < 8*told {
			t.Error("not calibrated")
		}
	}
}

// TestOrder: the same flows in another order give the same answer.
func TestOrder(t *testing.T) {
	for seed := range uint64(6) {
		w := randomWorld(t, seed, 0)
		want := w.solve()
		order := rand.New(rand.NewPCG(seed, 1)).Perm(len(w.obs))
		obs, at := make([]localize.Observation, len(w.obs)), make([]int32, len(w.obs))
		for to, from := range order {
			obs[to], at[from] = w.obs[from], int32(to)
		}
		var strange []int32
		for _, i := range w.strange {
			strange = append(strange, at[i])
		}
		slices.Sort(strange)
		w.obs, w.strange = obs, strange
		got := w.solve()
		for i := range got {
			for j := range got[i].Hit {
				got[i].Hit[j] = int32(order[got[i].Hit[j]])
			}
			slices.Sort(got[i].Hit)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); d != "" {
			t.Errorf("seed %d: %s", seed, d)
		}
	}
}

// FuzzSolve gives it whatever can be written: nothing panics, and no number is none.
func FuzzSolve(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
	f.Add(bytes.Repeat([]byte{7, 8, 1, 2, 3, 4, 0, 50, 0, 25, 0, 1, 9, 10, 1, 2, 3, 5, 0, 50, 0, 0, 0, 0}, 4))
	fabric, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		f.Fatal(err)
	}
	paths := pathfind.NewEqualCost(fabric, pathfind.PerHop)
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() (b int) {
			if len(data) > 0 {
				b, data = int(data[0]), data[1:]
			}
			return b
		}
		node := func() graphs.NodeID { return graphs.NodeID(next()%(fabric.NumNodes()+3) - 2) }
		arcs := func() (list []graphs.ArcID) {
			for range next() % 4 {
				list = append(list, graphs.ArcID(next()%(fabric.NumArcs()+2)-1))
			}
			return list
		}
		var obs []localize.Observation
		var strange []int32
		for len(data) > 0 && len(obs) < 40 {
			o := localize.Observation{Src: node(), Dst: node(), Path: arcs(), Responder: graphs.None, Flow: len(obs)}
			switch next() % 4 {
			case 0:
				o.From, o.To = node(), node()
			case 1:
				o.Alternatives = []localize.Alternative{{Arcs: arcs(), Share: float64(next()) - 9}, {Arcs: arcs(), Share: float64(next())}}
			}
			o.Sent = next() << (next() % 64)
			o.Lost = min(next()<<(next()%64), o.Sent+1)
			if next()%2 > 0 {
				strange = append(strange, int32(len(obs)+next()%2))
			}
			obs = append(obs, o)
		}
		for _, x := range selective.Solve(fabric, obs, strange, paths) {
			if !(x.Probability >= 0 && x.Probability <= 1 && x.Low <= x.High && x.Loss >= 0 && x.Loss <= 1) || math.IsNaN(x.Share+x.Low+x.High) {
				t.Errorf("%+v", x)
			}
		}
		if selective.Solve(nil, obs, strange, paths) != nil {
			t.Error("something is told without a fabric")
		}
	})
}

// TestCarried: that flows of the fabric's own traffic are strange by themselves, and some of them meet, makes nothing of what they cross, however few of those that were sent to measure are strange.
func TestCarried(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 8, Spines: 4, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	ecmp, hosts := pathfind.NewECMP(f), f.Hosts()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 'C'))
		var obs []localize.Observation
		var strange []int32
		for i := range 600 {
			src, dst := hosts[rng.IntN(len(hosts))], hosts[rng.IntN(len(hosts))]
			if i >= 540 { // as a capture at one host has them
				src = hosts[3]
			}
			if src == dst {
				continue
			}
			ways, _ := ecmp.Paths(src, dst, 10)
			o := localize.Observation{Path: ways[rng.IntN(len(ways))].Arcs, Src: src, Dst: dst, Responder: graphs.None, Flow: i, Sent: 1000, Carried: i >= 540}
			if o.Carried && rng.IntN(4) == 0 {
				o.Lost = 20
				strange = append(strange, int32(len(obs)))
			}
			obs = append(obs, o)
		}
		for _, x := range selective.Solve(f, obs, strange, nil) {
			if x.Probability > 0.5 {
				t.Errorf("seed %d: %s %d is told with %.2f", seed, x.Kind, x.ID, x.Probability)
			}
		}
	}
}
