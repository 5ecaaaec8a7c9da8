package delay_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/delay"
)

// A world is a fabric whose hosts send to each other, with what each part adds to the delay of what crosses it.
type world struct {
	f    *graphs.Fabric
	ecmp *pathfind.ECMP
	rng  *rand.Rand
	slow map[delay.Cause]float64 // mean, drawn for each flow
	// standing draws what is added close to its mean, in place of an exponential.
	standing bool
}

func newWorld(t testing.TB, f *graphs.Fabric, err error, seed uint64) *world {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return &world{f: f, ecmp: pathfind.NewECMP(f), rng: rand.New(rand.NewPCG(seed, 5)), slow: map[delay.Cause]float64{}}
}

// path draws one of the shortest paths, hop by hop.
func (w *world) path(from, to graphs.NodeID) []graphs.ArcID {
	var path []graphs.ArcID
	for from != to {
		next := w.ecmp.NextHops(from, to)
		a := next[w.rng.IntN(len(next))]
		path = append(path, a)
		from = w.f.Head(a)
	}
	return path
}

func (w *world) adds(c delay.Cause) float64 {
	mean := w.slow[c]
	if mean == 0 {
		return 0
	}
	if w.standing {
		return mean * (0.8 + 0.4*w.rng.Float64())
	}
	return mean * w.rng.ExpFloat64()
}

// took is what a packet took on its way: 3 us and a little queue at each arc, and what the slow parts add.
func (w *world) took(path []graphs.ArcID, ends ...graphs.NodeID) float64 {
	sum := 0.0
	for i, a := range path {
		sum += 3 + 5*w.rng.ExpFloat64() + w.adds(delay.Cause{Kind: delay.Arc, ID: int32(a)})
		if i > 0 {
			sum += w.adds(delay.Cause{Kind: delay.Node, ID: int32(w.f.Tail(a))})
		}
	}
	for _, h := range ends {
		sum += 10*w.rng.ExpFloat64() + w.adds(delay.Cause{Kind: delay.Host, ID: int32(h)})
	}
	if w.rng.IntN(300) == 0 {
		sum += 3000 * w.rng.Float64() // somebody's CPU was busy
	}
	return sum
}

// measure lets each host send some flows to random others: round trips, both ways known.
func (w *world) measure(flows int) []delay.Observation {
	var obs []delay.Observation
	hosts := w.f.Hosts()
	for _, src := range hosts {
		for range flows {
			dst := hosts[w.rng.IntN(len(hosts))]
			if dst == src {
				continue
			}
			path := slices.Concat(w.path(src, dst), w.path(dst, src))
			obs = append(obs, delay.Observation{Path: path, Src: src, Dst: dst, Delay: delay.Microseconds(w.took(path, src, dst))})
		}
	}
	return obs
}

func (w *world) fabricArc() graphs.ArcID {
	for {
		if a := graphs.ArcID(w.rng.IntN(w.f.NumArcs())); !w.f.IsHostArc(a) {
			return a
		}
	}
}

func leafSpine(t testing.TB, seed uint64) *world {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 6, Spines: 4, Hosts: 3})
	return newWorld(t, f, err, seed)
}

func random(t testing.TB, seed uint64) *world {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 24, Degree: 4, Hosts: 1, Seed: seed})
	return newWorld(t, f, err, seed)
}

func fatTree(t testing.TB, seed uint64) *world {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	return newWorld(t, f, err, seed)
}

var fabrics = []struct {
	name string
	make func(testing.TB, uint64) *world
}{{"leaf-spine", leafSpine}, {"fat-tree", fatTree}, {"random", random}}

// named are the causes of at least an even probability, first the most probable.
func named(r *delay.Result) []delay.Cause {
	var list []delay.Cause
	for _, s := range r.Suspects {
		if s.Probability >= 0.5 {
			list = append(list, s.Cause)
		}
	}
	return list
}

// TestHalfAreLate: where half of all flows are late, as in a small fabric of which one leaf is slow, that is named, and nothing else is. The usual flow is late then, and nothing was.
func TestHalfAreLate(t *testing.T) {
	for seed := range uint64(8) {
		f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})
		w := newWorld(t, f, err, seed)
		w.standing = true
		want := delay.Cause{Kind: delay.Node, ID: int32(f.Head(f.Out(f.Hosts()[0])[0]))}
		w.slow[want] = 600
		if got := named(delay.Solve(f, w.measure(40), delay.Config{Least: 50, LeastSpreads: 3})); !slices.Equal(got, []delay.Cause{want}) {
			t.Errorf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

// TestSlowParts: a slow arc, host or switch, and several slow arcs, are named in round trips, in their direction, on fabrics whose paths are and are not of
// one length; what they add lies in the interval.
func TestSlowParts(t *testing.T) {
	for _, fab := range fabrics {
		inside, all := 0, 0
		for seed := range uint64(3) {
			for _, kind := range []string{"arc", "standing", "host", "switch", "three arcs"} {
				w := fab.make(t, seed)
				w.standing = kind == "standing" || kind == "switch"
				switch kind {
				case "arc", "standing":
					w.slow[delay.Cause{Kind: delay.Arc, ID: int32(w.fabricArc())}] = 60 + 400*w.rng.Float64()
				case "host":
					w.slow[delay.Cause{Kind: delay.Host, ID: int32(w.f.Hosts()[w.rng.IntN(len(w.f.Hosts()))])}] = 200
				case "switch":
					// One whose every arc would have to be named in its place.
					s := w.f.Switches()
					w.slow[delay.Cause{Kind: delay.Node, ID: int32(s[len(s)-1-w.rng.IntN(4)])}] = 150
				default:
					for len(w.slow) < 3 {
						w.slow[delay.Cause{Kind: delay.Arc, ID: int32(w.fabricArc())}] = 100 + 300*w.rng.Float64()
					}
				}
				r := delay.Solve(w.f, w.measure(60), delay.Config{})
				got, want := named(r), []delay.Cause{}
				for c := range w.slow {
					want = append(want, c)
				}
				order := func(a, b delay.Cause) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) }
				slices.SortFunc(want, order)
				slices.SortFunc(got, order)
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %s, seed %d: (-want +got)\n%s\n%+v", fab.name, kind, seed, diff, r.Suspects)
				}
				for _, s := range r.Suspects {
					if mean := w.slow[s.Cause]; mean > 0 {
						all++
						if float64(s.Low) <= mean && mean <= float64(s.High) {
							inside++
						}
					}
				}
			}
		}
		if inside*10 < all*8 {
			t.Errorf("%s: what is added lies in %d of %d intervals of 95 %%", fab.name, inside, all)
		}
	}
}

// TestManyLate: a slow switch of a small fabric, which a third of all round trips and more cross, is named.
func TestManyLate(t *testing.T) {
	for seed := range uint64(5) {
		w := leafSpine(t, 200+seed)
		s := w.f.Switches()
		slow := delay.Cause{Kind: delay.Node, ID: int32(s[w.rng.IntN(len(s))])}
		w.slow[slow] = 150
		if got := named(delay.Solve(w.f, w.measure(8), delay.Config{Least: 50, LeastSpreads: 3})); !slices.Equal(got, []delay.Cause{slow}) {
			t.Errorf("seed %d: %v is slow, named are %v", seed, slow, got)
		}
	}
}

// TestEverySecond: an arc that delays every second flow is named, though most flows cross it, since all come from one host: those that it lets pass on time speak against a queue that
// all meet, but not so against one for every second. No arc behind it is named in its place.
func TestEverySecond(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 6})
	for seed := range uint64(6) {
		w := newWorld(t, f, err, seed)
		hosts := f.Hosts()
		bad := w.path(hosts[0], hosts[len(hosts)-1])[1]
		var obs []delay.Observation
		for range 700 {
			dst := hosts[1+w.rng.IntN(len(hosts)-1)]
			path := slices.Concat(w.path(hosts[0], dst), w.path(dst, hosts[0]))
			o := delay.Observation{Path: path, Src: hosts[0], Dst: dst, Delay: delay.Microseconds(40 + 2*w.rng.NormFloat64())}
			if slices.Contains(path, bad) && w.rng.IntN(2) == 0 {
				o.Delay += delay.Microseconds(4000 * w.rng.ExpFloat64())
			}
			obs = append(obs, o)
		}
		want := []delay.Cause{{Kind: delay.Arc, ID: int32(bad)}}
		if got := named(delay.Solve(f, obs, delay.Config{Least: 50, LeastSpreads: 3})); !slices.Equal(got, want) {
			t.Errorf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

// TestHealthy: without a slow part nothing is named, though flows are late now and then, paths differ in length, and cables do.
func TestHealthy(t *testing.T) {
	for _, fab := range fabrics {
		for seed := range uint64(12) {
			w := fab.make(t, 100+seed)
			w.standing = true
			for a := range graphs.ArcID(w.f.NumArcs()) {
				w.slow[delay.Cause{Kind: delay.Arc, ID: int32(a)}] = 2 * w.rng.Float64()
			}
			for _, flows := range []int{3, 30} {
				if r := delay.Solve(w.f, w.measure(flows), delay.Config{}); len(named(r)) > 0 {
					t.Errorf("%s, seed %d: %+v", fab.name, seed, r.Suspects)
				}
			}
		}
	}
}

// TestOwnBaseline: a flow that is compared with its own past shows what was added since, though links were never alike.
func TestOwnBaseline(t *testing.T) {
	for seed := range uint64(6) {
		w := random(t, seed)
		w.standing = true
		for a := range graphs.ArcID(w.f.NumArcs()) {
			w.slow[delay.Cause{Kind: delay.Arc, ID: int32(a)}] = 300 * w.rng.Float64() // cables of many kilometres
		}
		obs := w.measure(40)
		bad := delay.Cause{Kind: delay.Arc, ID: int32(w.fabricArc())}
		w.slow[bad] += 150
		for i := range obs {
			o := &obs[i]
			o.Own = o.Delay
			o.Delay = delay.Microseconds(w.took(o.Path, o.Src, o.Dst))
		}
		if got := named(delay.Solve(w.f, obs, delay.Config{})); !slices.Equal(got, []delay.Cause{bad}) {
			t.Errorf("seed %d: %v, expected %v", seed, got, bad)
		}
	}
}

// TestPathSets: equal-cost sets between switches, one way or there and back, and the same as lists, of ways there and ways back or of pairs of them, say the same, and the fault is in the class that they leave.
func TestPathSets(t *testing.T) {
	for seed := range uint64(4) {
		w := random(t, seed)
		bad := delay.Cause{Kind: delay.Arc, ID: int32(w.fabricArc())}
		other := delay.Cause{Kind: delay.Arc, ID: int32(w.fabricArc())}
		w.slow[bad], w.slow[other] = 300, 500
		var bySet, byList, byPair []delay.Observation
		for range 1500 {
			hosts := w.f.Hosts()
			src, dst := hosts[w.rng.IntN(len(hosts))], hosts[w.rng.IntN(len(hosts))]
			if src == dst {
				continue
			}
			path := w.path(src, dst)
			o := delay.Observation{Path: []graphs.ArcID{path[0], path[len(path)-1]}, Src: src, Dst: dst}
			o.There = delay.Ways{From: w.f.Head(path[0]), To: w.f.Tail(path[len(path)-1])}
			listed := o
			listed.There = w.listed(o.There)
			paired := listed
			if seed%2 == 1 {
				path = append(path, w.path(dst, src)...)
				o.Path = append(o.Path, o.Path[1].Reverse(), o.Path[0].Reverse())
				o.Back = delay.Ways{From: o.There.To, To: o.There.From}
				listed.Path, listed.Back = o.Path, w.listed(o.Back)
				paired = o
				paired.There, paired.Back = pairs(listed.There, listed.Back), delay.Ways{}
			}
			o.Delay = delay.Microseconds(w.took(path, src, dst))
			listed.Delay, paired.Delay = o.Delay, o.Delay
			bySet, byList, byPair = append(bySet, o), append(byList, listed), append(byPair, paired)
		}
		near := gocmp.Options{cmpopts.EquateApprox(1e-6, 1e-6), gocmp.Transformer("us", func(x delay.Microseconds) float64 { return float64(x) })}
		sets := delay.Solve(w.f, bySet, delay.Config{Paths: pathfind.NewEqualCost(w.f, pathfind.PerHop)})
		for _, c := range []delay.Cause{bad, other} {
			if !slices.ContainsFunc(sets.Suspects, func(s delay.Suspect) bool { return s.Probability > 0.5 && slices.Contains(s.Class, c) }) {
				t.Errorf("seed %d: %v is in no class of %+v", seed, c, sets.Suspects)
			}
		}
		for how, obs := range map[string][]delay.Observation{"lists": byList, "pairs": byPair} {
			got := delay.Solve(w.f, obs, delay.Config{})
			if diff := gocmp.Diff(sets.Suspects, got.Suspects, near); diff != "" {
				t.Errorf("seed %d: sets and %s differ: %s", seed, how, diff)
			}
		}
	}
}

// listed lists the equal-cost paths between two switches.
func (w *world) listed(of delay.Ways) (list delay.Ways) {
	paths, _ := w.ecmp.Paths(of.From, of.To, 1000)
	for _, p := range paths {
		list.Alternatives = append(list.Alternatives, delay.Alternative{Arcs: p.Arcs, Share: p.Share})
	}
	return list
}

// pairs lists all pairs of ways there and back; those of one switch are none.
func pairs(there, back delay.Ways) (list delay.Ways) {
	for _, x := range there.Alternatives {
		for _, y := range back.Alternatives {
			list.Alternatives = append(list.Alternatives, delay.Alternative{Arcs: slices.Concat(x.Arcs, y.Arcs), Share: x.Share * y.Share})
		}
	}
	return list
}

// TestOneWay: of two slow arcs that follow each other on one of several equal ways neither is known where ways are not, though each, once chosen, says where the other is.
func TestOneWay(t *testing.T) {
	for seed := range uint64(2) {
		w := fatTree(t, seed)
		hosts := w.f.Hosts()
		way := w.path(hosts[0], hosts[len(hosts)-1])
		up, down := way[2], way[3] // to the core and back
		w.slow[delay.Cause{Kind: delay.Arc, ID: int32(up)}], w.slow[delay.Cause{Kind: delay.Arc, ID: int32(down)}] = 400, 300
		var obs []delay.Observation
		for range 6000 {
			src, dst := hosts[w.rng.IntN(len(hosts))], hosts[w.rng.IntN(len(hosts))]
			if src == dst {
				continue
			}
			path := w.path(src, dst)
			last := len(path) - 1
			obs = append(obs, delay.Observation{Path: []graphs.ArcID{path[0], path[last]}, There: delay.Ways{From: w.f.Head(path[0]), To: w.f.Tail(path[last])}, Src: src, Dst: dst,
				Delay: delay.Microseconds(w.took(path, src, dst))})
		}
		r := delay.Solve(w.f, obs, delay.Config{Paths: pathfind.NewEqualCost(w.f, pathfind.PerPath)})
		for _, a := range []graphs.ArcID{up, down} {
			held := slices.ContainsFunc(r.Suspects, func(s delay.Suspect) bool {
				return s.Probability > 0.5 && slices.Contains(s.Class, delay.Cause{Kind: delay.Arc, ID: int32(a)}) && len(s.Class) > 1
			})
			if !held {
				t.Errorf("seed %d: %s is in no class of %+v", seed, w.f.ArcName(a), r.Suspects)
			}
		}
	}
}

// TestManyLateByThemselves: where one flow in thirty is late for reasons of its own, a few of those whose ways are known meet on some arc by chance. No arc is named for that, however many more may
// have crossed it.
func TestManyLateByThemselves(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 8})
	for seed := range uint64(3) {
		w := newWorld(t, f, err, seed)
		var obs []delay.Observation
		add := func(src, dst graphs.NodeID, known bool) {
			path := w.path(src, dst)
			o := delay.Observation{Path: path, Src: graphs.None, Dst: graphs.None, Delay: delay.Microseconds(w.took(path))}
			if w.rng.IntN(30) == 0 {
				o.Delay += delay.Microseconds(1000 * w.rng.ExpFloat64())
			}
			if last := len(path) - 1; !known && last > 1 {
				o.Path, o.There = []graphs.ArcID{path[0], path[last]}, delay.Ways{From: f.Head(path[0]), To: f.Tail(path[last])}
			}
			obs = append(obs, o)
		}
		hosts := f.Hosts()
		for _, h := range hosts {
			for _, n := range f.Switches() {
				if f.Node(n).Role == "core" {
					add(h, n, true)
					add(n, h, true)
				}
			}
			for range 60 {
				if to := hosts[w.rng.IntN(len(hosts))]; to != h {
					add(h, to, false)
				}
			}
		}
		if told := named(delay.Solve(f, obs, delay.Config{Paths: pathfind.NewEqualCost(f, pathfind.PerPath)})); len(told) > 0 {
			t.Errorf("seed %d: named are %v", seed, told)
		}
	}
}

// TestAllUneven: where each host has a delay of its own, and nothing of them is known, what is told is told once.
func TestAllUneven(t *testing.T) {
	for seed := range uint64(3) {
		f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 12, Spines: 4, Hosts: 4})
		w := newWorld(t, f, err, seed)
		w.standing = true
		for _, h := range w.f.Hosts() {
			a := w.f.Out(h)[0]
			mean := 300 * w.rng.Float64()
			w.slow[delay.Cause{Kind: delay.Arc, ID: int32(a)}], w.slow[delay.Cause{Kind: delay.Arc, ID: int32(a.Reverse())}] = mean, mean
		}
		var obs []delay.Observation
		for hosts := w.f.Hosts(); len(obs) < 4000; {
			src, dst := hosts[w.rng.IntN(len(hosts))], hosts[w.rng.IntN(len(hosts))]
			if src == dst {
				continue
			}
			path := w.path(src, dst)
			obs = append(obs, delay.Observation{Path: path, Src: graphs.None, Dst: graphs.None, Delay: delay.Microseconds(w.took(path))})
		}
		told := named(delay.Solve(w.f, obs, delay.Config{}))
		for i, c := range told {
			if slices.Contains(told[:i], c) {
				t.Errorf("seed %d: %v is told twice: %v", seed, c, told)
			}
		}
		if len(told) < 10 {
			t.Errorf("seed %d: told are %v", seed, told)
		}
	}
}

// TestOrder: the order of the observations does not matter, to the last bit.
func TestOrder(t *testing.T) {
	w := random(t, 3)
	w.slow[delay.Cause{Kind: delay.Arc, ID: int32(w.fabricArc())}] = 50
	obs := w.measure(20)
	want := delay.Solve(w.f, obs, delay.Config{})
	w.rng.Shuffle(len(obs), func(i, j int) { obs[i], obs[j] = obs[j], obs[i] })
	if diff := gocmp.Diff(want, delay.Solve(w.f, obs, delay.Config{})); diff != "" {
		t.Error(diff)
	}
}

// TestUnusable: what cannot be is ignored and counted, and nothing is said of little.
func TestUnusable(t *testing.T) {
	w := leafSpine(t, 1)
	good := w.measure(1)[0]
	bad := []delay.Observation{{}, good, good, good, good, good, good, good}
	bad[1].Delay = delay.Microseconds(math.NaN())
	bad[2].Delay = -1
	bad[6].Delay = 1e300
	bad[3].Path = []graphs.ArcID{1 << 20}
	bad[4].Own = delay.Microseconds(math.Inf(1))
	bad[5].There.To = 1 // without path sets
	bad[7].There.Alternatives = []delay.Alternative{{Arcs: good.Path, Share: 1e308}, {Arcs: good.Path[:1], Share: 1}}
	r := delay.Solve(w.f, append(bad, good), delay.Config{})
	if r.Ignored != len(bad) || len(r.Suspects) > 0 {
		t.Errorf("ignored %d, suspects %v", r.Ignored, r.Suspects)
	}
	if r := delay.Solve(nil, bad, delay.Config{}); r.Ignored != len(bad) {
		t.Errorf("without a fabric %d of %d are ignored", r.Ignored, len(bad))
	}
	same := slices.Repeat([]delay.Observation{good}, 100) // no spread at all
	for _, s := range delay.Solve(w.f, same, delay.Config{}).Suspects {
		t.Errorf("%+v", s)
	}
}

// TestCalibration: of the suspects of which one cannot be sure, about as many are true as is said.
func TestCalibration(t *testing.T) {
	said, right := 0.0, 0
	n := 0
	for seed := range uint64(120) {
		w := random(t, 1000+seed)
		if seed%3 == 0 { // as often as is taken for granted
			w.slow[delay.Cause{Kind: delay.Arc, ID: int32(w.fabricArc())}] = 15 + 60*w.rng.Float64()
		}
		r := delay.Solve(w.f, w.measure(3+w.rng.IntN(6)), delay.Config{})
		for _, s := range r.Suspects {
			if s.Probability < 0.05 || s.Probability > 0.98 {
				continue
			}
			n++
			said += s.Probability
			if slices.ContainsFunc(s.Class, func(c delay.Cause) bool { return w.slow[c] > 0 }) {
				right++
			}
		}
	}
	t.Logf("%d doubtful suspects, %.1f of them should be true, %d are", n, said, right)
	if sd := math.Sqrt(float64(n)) / 2; math.Abs(said-float64(right)) > 3*sd {
		t.Errorf("%d doubtful suspects: %.1f of them should be true, %d are", n, said, right)
	}
}
