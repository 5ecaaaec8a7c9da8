package selective_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/selective"
)

var worlds = flag.Int("worlds", 120, "random worlds in the calibration test")

// A world is flows over a fabric, some of which are strange: by themselves, or since a fault hits a share of those that cross it.
type world struct {
	f       *graphs.Fabric
	obs     []localize.Observation
	strange []int32
	fault   localize.Cause // of no kind where there is none
	share   float64
	hit     int // flows
	paths   localize.PathSets
}

func randomWorld(t *testing.T, seed uint64) *world {
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
		a := graphs.ArcID(rng.IntN(f.NumArcs()))
		w.share = math.Pow(2, -6*rng.Float64())
		w.fault = localize.Cause{Kind: localize.Arc, ID: int32(a)}
		switch n := f.Tail(a); rng.IntN(3) {
		case 1:
			w.fault = localize.Cause{Kind: localize.Link, ID: int32(a.Link())}
		case 2:
			if !f.Node(n).IsHost() {
				w.fault = localize.Cause{Kind: localize.Node, ID: int32(n)}
			}
		}
	}
	crosses := func(a graphs.ArcID) bool {
		switch w.fault.Kind {
		case localize.Arc:
			return int32(a) == w.fault.ID
		case localize.Link:
			return int32(a.Link()) == w.fault.ID
		case localize.Node:
			return int32(f.Tail(a)) == w.fault.ID || int32(f.Head(a)) == w.fault.ID
		}
		return false
	}
	hosts, known := f.Hosts(), rng.IntN(4) > 0
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
			if !known && len(path) > 2 {
				o.From, o.To = f.Head(path[0]), f.Tail(path[len(path)-1])
				o.Path = []graphs.ArcID{path[0], path[len(path)-1]}
			}
			hit := slices.ContainsFunc(path, crosses) && rng.Float64() < w.share
			if hit || rng.Float64() < own {
				o.Lost = 1 + rng.IntN(o.Sent)
				w.strange = append(w.strange, int32(len(w.obs)))
			}
			if hit {
				w.hit++
			}
			w.obs = append(w.obs, o)
		}
	}
	return w
}

func (w *world) solve() []selective.Suspect {
	return selective.Solve(w.f, w.obs, w.strange, w.paths)
}

// TestCalibration: what is said is true as often as it is said, what hits four flows or more is found where paths are known, and the share of flows lies in its interval.
func TestCalibration(t *testing.T) {
	var said, right [10]float64
	var n, found, clear, inside, told int
	for seed := range uint64(*worlds) {
		w := randomWorld(t, seed)
		held := false
		for _, x := range w.solve() {
			i := min(int(10*x.Probability), 9)
			said[i] += x.Probability
			if x.Probability < 0 || x.Probability > 1 || !(x.Low <= x.Share && x.Share <= x.High) {
				t.Fatalf("%+v", x)
			}
			n++
			if w.fault.Kind == "" || !slices.Contains(x.Class, w.fault) {
				continue
			}
			right[i]++
			if held = held || x.Probability > 0.5; x.Cause == w.fault && x.Probability > 0.5 {
				if told++; x.Low <= w.share && w.share <= x.High {
					inside++
				}
			}
		}
		if w.hit >= 5 && w.obs[0].From == w.obs[0].To {
			if clear++; held {
				found++
			}
		}
	}
	e := 0.0
	for i := range said {
		e += math.Abs(said[i]-right[i]) / float64(max(n, 1))
	}
	t.Logf("%d worlds, %d suspects, calibration error %.3f (said %.1f, right %.0f); %d of %d clear faults found; %d of %d intervals hold", *worlds, n, e, said, right, found, clear, inside, told)
	if e > 0.12 || 10*found < 9*clear || 10*inside < 7*told {
		t.Error("not calibrated")
	}
}

// TestOrder: the same flows in another order give the same answer.
func TestOrder(t *testing.T) {
	for seed := range uint64(6) {
		w := randomWorld(t, seed)
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
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("seed %d: %s", seed, d)
		}
	}
}
