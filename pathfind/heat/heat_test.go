package heat_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/heat"
)

var fabrics = []struct {
	name string
	make func(t testing.TB, seed uint64) *graphs.Fabric
}{
	{"leaf-spine", func(t testing.TB, _ uint64) *graphs.Fabric {
		f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 8, Spines: 4, Hosts: 4})
		return must(t, f, err)
	}},
	{"fat-tree", func(t testing.TB, _ uint64) *graphs.Fabric {
		f, err := generate.FatTree(generate.FatTreeConfig{K: 6})
		return must(t, f, err)
	}},
	{"random", func(t testing.TB, seed uint64) *graphs.Fabric {
		f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 24, Degree: 6, Hosts: 4, Seed: seed})
		return must(t, f, err)
	}},
}

func must(t testing.TB, f *graphs.Fabric, err error) *graphs.Fabric {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A story is traffic with one true reason why an arc is hot.
type story struct {
	name    string
	want    heat.Verdict // empty: nothing is hot
	fabrics string       // those in which it can happen; empty for all
	// tell sends the traffic and returns the arc that is hot, None where the story did not come about with this seed.
	tell func(w *traffic) graphs.ArcID
	// blind are fabrics in which loads alone cannot tell: on a random graph nearly every arc is the only way of some pair, whose demand would explain
	// as much as flows that collide. That is said.
	blind string
}

var stories = []story{
	{name: "T12 even", tell: func(w *traffic) graphs.ArcID {
		for _, src := range w.f.Hosts() {
			for _, dst := range w.f.Hosts() {
				if src != dst {
					w.send(w.model(), src, dst, speed, 25)
				}
			}
		}
		w.scale(0.8)
		return w.hottest()
	}, fabrics: "random"},
	{name: "calm", tell: func(w *traffic) graphs.ArcID {
		w.even(0.5, 100)
		w.scale(0.45)
		return w.hottest()
	}},
	{name: "all is full", want: heat.EverythingHigh, fabrics: "leaf-spine fat-tree", tell: func(w *traffic) graphs.ArcID {
		w.even(0.5, 400)
		w.scale(0.95)
		return w.hottest()
	}},
	{name: "two racks talk", want: heat.Demand, tell: func(w *traffic) graphs.ArcID {
		w.even(0.2, 60)
		a, b := w.racks(false)
		for _, src := range a {
			for _, dst := range b {
				w.send(w.model(), src, dst, 0.9*speed, 400)
			}
		}
		w.scale(0.95)
		return w.hottest()
	}},
	{name: "neighbours with one path", want: heat.SinglePath, fabrics: "random", tell: func(w *traffic) graphs.ArcID {
		w.even(0.2, 60)
		a, b := w.racks(true)
		for _, src := range a {
			for _, dst := range b {
				w.send(w.model(), src, dst, 0.3*speed, 100)
			}
		}
		w.scale(0.95)
		return w.hottest()
	}},
	{name: "elephants collide", want: heat.Collision, tell: func(w *traffic) graphs.ArcID {
		w.even(0.2, 60)
		hosts := w.f.Hosts()
		for range len(hosts) / 4 {
			src, dst := hosts[w.rng.IntN(len(hosts))], hosts[w.rng.IntN(len(hosts))]
			if w.f.Head(w.f.Out(src)[0]) != w.f.Head(w.f.Out(dst)[0]) {
				w.send(w.model(), src, dst, 0.4*speed, 1)
			}
		}
		w.scale(0.95)
		return w.beyond()
	}, blind: "random"},
	{name: "all hash alike", want: heat.Polarisation, fabrics: "fat-tree", tell: func(w *traffic) graphs.ArcID {
		w.alike = true
		w.even(0.5, 100)
		w.scale(0.95)
		return w.hottest()
	}},
	// Those that have another number of next hops than the switch before them divide evenly. Ports of hosts are not counted.
	{name: "most hash alike", want: heat.Polarisation, fabrics: "fat-tree", tell: func(w *traffic) graphs.ArcID {
		w.alike = true
		w.thin()
		w.even(0.5, 100)
		w.scale(0.95)
		for a := range w.load {
			if w.f.IsHostArc(graphs.ArcID(a)) {
				w.load[a] = math.NaN()
			}
		}
		return w.beyond()
	}},
	{name: "links are down", want: heat.LostCapacity, tell: func(w *traffic) graphs.ArcID {
		v := w.f.Switches()[0]
		n := 0
		for _, a := range w.f.Out(v) {
			if !w.f.IsHostArc(a) && n < 2 && w.f.Degree(w.f.Head(a)) > 2 {
				w.down[a.Link()] = true
				n++
			}
		}
		w.even(0.5, 400)
		w.scale(0.95)
		return w.hottest()
	}, fabrics: "leaf-spine fat-tree"},
	{name: "from outside", want: heat.Demand, fabrics: "leaf-spine fat-tree", tell: func(w *traffic) graphs.ArcID {
		w.even(0.2, 60)
		// What comes in at the first rack's switch by a port that the fabric does not have.
		v := w.f.Head(w.f.Out(w.f.Hosts()[0])[0])
		for _, dst := range w.f.Hosts() {
			if w.f.Head(w.f.Out(dst)[0]) != v {
				w.send(w.model(), v, dst, 0.15*speed, 40)
			}
		}
		w.scale(0.95)
		return w.hottest()
	}},
	{name: "to outside", want: heat.SinglePath, fabrics: "leaf-spine fat-tree", tell: func(w *traffic) graphs.ArcID {
		w.even(0.2, 60)
		// What leaves at a spine or a core by a port that the fabric does not have.
		top := w.f.Switches()[slices.IndexFunc(w.f.Switches(), func(n graphs.NodeID) bool {
			return !slices.ContainsFunc(w.f.Out(n), func(a graphs.ArcID) bool { return w.f.IsHostArc(a) || w.f.Degree(w.f.Head(a)) > w.f.Degree(n) })
		})]
		for _, src := range w.f.Hosts() {
			w.send(w.model(), src, top, 0.1*speed, 40)
		}
		w.scale(0.95)
		return w.hottest()
	}},
	{name: "incast", want: heat.Demand, tell: func(w *traffic) graphs.ArcID {
		w.even(0.2, 60)
		hosts := w.f.Hosts()
		for i := range 8 {
			w.send(w.model(), hosts[len(hosts)-1-5*i%len(hosts)], hosts[0], 0.027*speed, 4)
		}
		return w.f.Out(hosts[0])[0].Reverse()
	}},
}

// TestVerdicts: the verdict is the true one, with a measured matrix and with one that is estimated from the loads, but where loads cannot tell.
func TestVerdicts(t *testing.T) {
	const seeds = 3
	for _, fab := range fabrics {
		for _, st := range stories {
			if st.fabrics != "" && !strings.Contains(st.fabrics, fab.name) {
				continue
			}
			for _, measured := range []bool{true, false} {
				right, told := 0, 0
				var wrong []string
				for seed := uint64(2); seed < 2+seeds; seed++ {
					w := &traffic{f: fab.make(t, seed), rng: rand.New(rand.NewPCG(seed, 1)), down: map[graphs.LinkID]bool{}}
					w.load = make([]float64, w.f.NumArcs())
					a := st.tell(w)
					if a == graphs.None {
						continue
					}
					told++
					r := heat.Solve(w.input(measured))
					if what := judgeHeat(w, st, r, a, !measured && strings.Contains(st.blind, fab.name)); what != "" {
						wrong = append(wrong, fmt.Sprintf("seed %d: %s", seed, what))
					} else {
						right++
					}
				}
				t.Logf("%-10s %-25s measured %-5v right in %d of %d", fab.name, st.name, measured, right, told)
				if told == 0 || right < told {
					t.Errorf("%s, %s, measured %v: right in %d of %d\n%s", fab.name, st.name, measured, right, told, strings.Join(wrong, "\n"))
				}
			}
		}
	}
}

// judgeHeat says what is wrong with the verdict on an arc; nothing if it is right, or is said to be a guess where loads are blind.
func judgeHeat(w *traffic, st story, r *heat.Result, a graphs.ArcID, blind bool) string {
	i := slices.IndexFunc(r.Hot, func(h heat.Hot) bool { return h.Arc == a })
	if st.want == "" {
		for _, h := range r.Hot {
			if !w.f.IsHostArc(h.Arc) {
				return fmt.Sprintf("%s is said to be hot: %.2f full, expected %.2f, even %.2f: %s", w.f.ArcName(h.Arc), h.Use(), h.Expected/h.Speed, h.Even/h.Speed, h.Verdict)
			}
		}
		return ""
	}
	if i < 0 {
		return fmt.Sprintf("%s, %.2f full, is not hot", w.f.ArcName(a), w.load[a]/speed)
	}
	h := &r.Hot[i]
	what := fmt.Sprintf("%s: %s, %.2f full, expected %.2f, even %.2f, planned %.2f, median %.2f", w.f.ArcName(a), h.Verdict, h.Use(), h.Expected/h.Speed, h.Even/h.Speed, h.Planned/h.Speed, r.Median)
	switch {
	case blind && h.Verdict == heat.SinglePath && h.Raised:
		return ""
	case h.Verdict != st.want:
		return what
	case !(h.Probability >= 0.5 && h.Probability <= 1):
		return what + fmt.Sprintf(", with a probability of %g", h.Probability)
	case !r.Estimated && st.want != heat.Collision && st.want != heat.Polarisation && h.Unexplained > 0.5:
		return what + fmt.Sprintf(", unexplained with a probability of %g", h.Unexplained)
	case st.name == "incast" && !r.Estimated && (!h.Incast || len(h.Pairs) < 8):
		return what + fmt.Sprintf(", incast %v from %d", h.Incast, len(h.Pairs))
	case st.want == heat.LostCapacity && len(h.Causes) == 0:
		return what + ", without a cause"
	case st.want == heat.Polarisation && len(h.Alike) < 2:
		return what + ", by none"
	}
	return ""
}

// TestEvenIsNoIncast: all that is sent to the hosts of a switch comes down to it, from many; that is incast only where it is more than even demand brings.
func TestEvenIsNoIncast(t *testing.T) {
	f := fabrics[0].make(t, 0)
	for _, c := range []struct {
		to     float64 // what the first switch's hosts get, over what others do
		incast bool
	}{{1.5, false}, {4, true}} {
		w := &traffic{f: f, rng: rand.New(rand.NewPCG(1, 1)), load: make([]float64, f.NumArcs())}
		rack := f.Head(f.Out(f.Hosts()[0])[0])
		for _, src := range f.Hosts() {
			for _, dst := range f.Hosts() {
				rate := speed
				if f.Head(f.Out(dst)[0]) == rack {
					rate *= c.to
				}
				if src != dst {
					w.send(w.model(), src, dst, rate, 200)
				}
			}
		}
		w.scale(0.95)
		for _, measured := range []bool{true, false} {
			told := 0
			for _, h := range heat.Solve(w.input(measured)).Hot {
				if f.Head(h.Arc) != rack || f.IsHostArc(h.Arc) {
					continue
				}
				told++
				if h.Verdict != heat.Demand || h.Incast != c.incast {
					t.Errorf("%.1f times what others get, measured %v: %s, %s, incast %v: %.2f full, even %.2f",
						c.to, measured, f.ArcName(h.Arc), h.Verdict, h.Incast, h.Use(), h.Even/h.Speed)
				}
			}
			if told == 0 {
				t.Errorf("%.1f times what others get, measured %v: nothing is hot", c.to, measured)
			}
		}
	}
}

// TestIncastAnywhere: a host that many send to is told as such however few hosts are behind its switch, and however many send however little; a pair of racks that has most
// of an arc is none, of however many hosts.
func TestIncastAnywhere(t *testing.T) {
	for _, size := range []struct{ switches, hosts int }{{16, 1}, {24, 2}, {60, 3}, {80, 1}} {
		f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: size.switches, Degree: 4, Hosts: size.hosts, Seed: 5})
		must(t, f, err)
		for _, racks := range []bool{false, true} {
			w := &traffic{f: f, rng: rand.New(rand.NewPCG(3, 3)), load: make([]float64, f.NumArcs())}
			hosts := f.Hosts()
			behind := func(h graphs.NodeID) graphs.NodeID { return f.Head(f.Out(h)[0]) }
			hot := f.Out(hosts[0])[0].Reverse()
			if w.even(0.1, 60); racks {
				var far graphs.NodeID // whose way to the first host's switch is over one other, by which all of it comes
				for _, h := range hosts {
					if ways := w.model().Count(behind(h), behind(hosts[0])); ways == 1 && w.model().Distance(behind(h), behind(hosts[0])) == 2 {
						far = behind(h)
					}
				}
				for _, src := range hosts {
					for _, dst := range hosts {
						if behind(src) == far && behind(dst) == behind(hosts[0]) {
							w.send(w.model(), src, dst, 0.8*speed/float64(size.hosts*size.hosts), 60)
						}
					}
				}
				for _, a := range f.Out(f.Tail(hot)) {
					if !f.IsHostArc(a) && w.load[a.Reverse()] > 0.5*speed {
						hot = a.Reverse()
					}
				}
				if hot == f.Out(hosts[0])[0].Reverse() {
					t.Fatalf("%v: no arc between switches is hot", size)
				}
			} else {
				for _, src := range hosts[1:] {
					w.send(w.model(), src, hosts[0], 0.75*speed/float64(len(hosts)-1), 4)
				}
			}
			for _, measured := range []bool{true, false} {
				r := heat.Solve(w.input(measured))
				i := slices.IndexFunc(r.Hot, func(h heat.Hot) bool { return h.Arc == hot })
				if i < 0 {
					t.Errorf("%v, racks %v, measured %v: %s is not hot", size, racks, measured, f.ArcName(hot))
					continue
				}
				if h := &r.Hot[i]; h.Incast == racks {
					t.Errorf("%v, racks %v, measured %v: %s, %s, incast %v: %.2f full, even %.2f", size, racks, measured, f.ArcName(hot), h.Verdict, h.Incast, h.Use(), h.Even/h.Speed)
				}
			}
		}
	}
}

// TestMatrixLacks: what the matrix does not contain is no collision where flows have no choice, and is unexplained however little is expected.
func TestMatrixLacks(t *testing.T) {
	f := fabrics[0].make(t, 0)
	hosts := f.Hosts()
	behind := func(h graphs.NodeID) graphs.NodeID { return f.Head(f.Out(h)[0]) }
	toHost, up := f.Out(hosts[0])[0].Reverse(), f.Out(behind(hosts[0]))[0]
	if f.IsHostArc(up) {
		t.Fatal("a leaf's first arc leads to a host")
	}
	for _, c := range []struct {
		arc     graphs.ArcID
		use     float64
		without bool // the matrix has nothing of the first leaf
		want    heat.Verdict
		lacks   bool
	}{
		{arc: toHost, use: 0.8, want: heat.Demand, lacks: true},
		{arc: toHost, use: 0.8, without: true, want: heat.Demand, lacks: true},
		{arc: up, use: 0.5, want: heat.Collision},
		{arc: up, use: 0.5, without: true, want: heat.Demand, lacks: true},
	} {
		w := &traffic{f: f, rng: rand.New(rand.NewPCG(1, 1)), load: make([]float64, f.NumArcs())}
		for _, src := range hosts {
			for _, dst := range hosts {
				if src != dst && (!c.without || behind(src) != behind(hosts[0]) && behind(dst) != behind(hosts[0])) {
					w.send(w.model(), src, dst, speed/300, 100)
				}
			}
		}
		w.load[c.arc] = c.use * pathfind.Speeds(f)[c.arc.Link()]
		r := heat.Solve(w.input(true))
		if len(r.Hot) != 1 || r.Hot[0].Arc != c.arc || r.Hot[0].Verdict != c.want || r.Hot[0].Lacks != c.lacks || !(r.Hot[0].Unexplained > 0.9) {
			t.Errorf("%+v: %+v", c, r.Hot)
		}
	}
}

// TestLittleKnown: loads that are not known or cannot be are no zeros, and nothing is said of nothing; traffic that cannot be is none.
func TestLittleKnown(t *testing.T) {
	f := fabrics[0].make(t, 0)
	load := slices.Repeat([]float64{math.NaN()}, f.NumArcs())
	in := heat.Input{Model: pathfind.NewECMP(f), Load: load}
	if r := heat.Solve(in); r.Known != 0 || len(r.Hot) > 0 {
		t.Errorf("%+v", r)
	}
	a := f.Out(f.Hosts()[0])[0].Reverse()
	load[a] = 0.99 * pathfind.Speeds(f)[a.Link()]
	r := heat.Solve(in)
	if r.Known != 1 || len(r.Hot) != 1 || r.Hot[0].Arc != a {
		t.Errorf("%+v", r)
	}
	for _, h := range r.Hot {
		for _, x := range []float64{h.Load, h.Expected, h.Even, h.Use(), h.Probability, h.Unexplained} {
			if math.IsNaN(x) {
				t.Errorf("%+v", h)
			}
		}
	}
	if r := heat.Solve(heat.Input{}); r.Known != 0 {
		t.Errorf("without a model: %+v", r)
	}
	much := slices.Repeat([]float64{speed}, f.NumArcs())
	for _, in := range []heat.Input{
		{Load: []float64{5}},
		{Load: append(slices.Repeat([]float64{-speed}, f.NumArcs()), speed, speed)},
		{Load: slices.Repeat([]float64{math.Inf(1)}, f.NumArcs())},
		{Load: much, Speed: []float64{}},
		{Load: much, Speed: slices.Repeat([]float64{0}, f.NumLinks())},
		{Load: much, Speed: slices.Repeat([]float64{math.NaN()}, f.NumLinks())},
	} {
		in.Model = pathfind.NewECMP(f)
		if r := heat.Solve(in); len(r.Hot) > 0 {
			t.Errorf("%+v: %+v", in, r)
		}
	}
	host := f.Hosts()[0]
	for _, flow := range []heat.Flow{{graphs.None, host, 1}, {host, 9999, 1}, {host, host, 1}, {f.Hosts()[9], host, -1}, {f.Hosts()[9], host, math.NaN()}} {
		r := heat.Solve(heat.Input{Model: pathfind.NewECMP(f), Load: much, Matrix: []heat.Flow{flow}, Down: []graphs.LinkID{9999}})
		if !r.Estimated || len(r.Hot) == 0 || r.Hot[0].Verdict == heat.Collision {
			t.Errorf("%+v: %+v", flow, r)
		}
	}
}

// TestHigh: where each link is as full in one direction no link is the culprit; where half of the links are full they are.
func TestHigh(t *testing.T) {
	f := fabrics[0].make(t, 0)
	leaves := f.Switches()[:4] // of eight
	for _, high := range []bool{true, false} {
		load := make([]float64, f.NumArcs())
		for a := range load {
			arc := graphs.ArcID(a)
			up := f.Head(arc) > f.Tail(arc)
			ofHalf := slices.Contains(leaves, f.Head(arc)) || slices.Contains(leaves, f.Tail(arc))
			if !f.IsHostArc(arc) && (high && up || !high && ofHalf) {
				load[a] = 0.75 * speed
			}
		}
		if r := heat.Solve(heat.Input{Model: pathfind.NewECMP(f), Load: load}); r.High != high {
			t.Errorf("high is %v, median %g", r.High, r.Median)
		}
	}
}
