package next_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/next"
	"whichlink/pathfind/plan"
)

var (
	table     = flag.Bool("table", false, "simulate large fabrics and print the table of packets as Markdown")
	seeds     = flag.Int("seeds", 20, "how many faults of each kind -table simulates")
	firstSeed = flag.Uint64("first", 1, "the first seed of -table")
	onlyWorld = flag.String("world", "", "only the fabrics of -table of this name")
	onlyLoss  = flag.Float64("loss", 0, "only this loss of -table")
	byChance  = flag.Bool("chance", true, "-table also sends along flows of random hosts, which takes hours")
)

// A world is a fabric with one arc that loses packets. Losses are drawn packet by packet, along paths that chance chooses.
type world struct {
	f     *graphs.Fabric
	hosts []graphs.NodeID
	rng   *rand.Rand
	bad   graphs.ArcID
	loss  float64
	sets  *pathfind.EqualCost

	obs  []localize.Observation
	flow int
	sent int
}

// background is the loss of a good arc.
const background = 1e-5

func newWorld(f *graphs.Fabric, sets *pathfind.EqualCost, loss float64, seed uint64) *world {
	w := &world{f: f, sets: sets, hosts: f.Hosts(), rng: rand.New(rand.NewPCG(seed, 3)), loss: loss}
	for w.bad = graphs.ArcID(w.rng.IntN(f.NumArcs())); f.IsHostArc(w.bad); {
		w.bad = graphs.ArcID(w.rng.IntN(f.NumArcs()))
	}
	return w
}

// path draws the way of a flow, every shortest path being as likely as any other.
func (w *world) path(src, dst graphs.NodeID) []graphs.ArcID {
	up, down := w.f.Out(src)[0], w.f.Out(dst)[0].Reverse()
	p := []graphs.ArcID{up}
	for at, to := w.f.Head(up), w.f.Tail(down); at != to; at = w.f.Head(p[len(p)-1]) {
		x, last := w.rng.Float64(), graphs.ArcID(graphs.None)
		for _, a := range w.f.Out(at) {
			if s := w.sets.Step(a, to); s > 0 {
				last = a
				if x -= s; x <= 0 {
					break
				}
			}
		}
		p = append(p, last)
	}
	return append(p, down)
}

// lost draws how many of n packets are lost on a path.
func (w *world) lost(path []graphs.ArcID, n int) int {
	s := background * float64(len(path))
	if slices.Contains(path, w.bad) {
		s += w.loss
	}
	k := 0
	for at := 0; ; k++ { // by the gaps between losses
		at += 1 + int(min(math.Log(1-w.rng.Float64())/math.Log1p(-s), 1e9))
		if at > n {
			return k
		}
	}
}

// pair draws two hosts behind different switches.
func (w *world) pair() (src, dst graphs.NodeID) {
	for {
		src, dst = w.hosts[w.rng.IntN(len(w.hosts))], w.hosts[w.rng.IntN(len(w.hosts))]
		if w.f.Head(w.f.Out(src)[0]) != w.f.Head(w.f.Out(dst)[0]) {
			return src, dst
		}
	}
}

// passive measures flows one way, of which only the path set is known.
func (w *world) passive(flows, n int) {
	for range flows {
		src, dst := w.pair()
		up, down := w.f.Out(src)[0], w.f.Out(dst)[0].Reverse()
		w.flow++
		w.obs = append(w.obs, localize.Observation{
			Path: []graphs.ArcID{up, down}, From: w.f.Head(up), To: w.f.Tail(down), Src: src, Dst: dst, Responder: graphs.None,
			Sent: n, Lost: w.lost(w.path(src, dst), n), Flow: w.flow,
		})
	}
}

// A traced flow, with the index of its observations.
type traced struct {
	next.Known
	there, home int
}

// traceCost is how many packets a trace of both ways is taken to cost: two answers each, and the echoes that find the lengths.
const traceCost = 6

// trace makes a flow of a pair whose ways are known.
func (w *world) trace(src, dst graphs.NodeID) traced {
	w.flow++
	w.sent += traceCost
	t := traced{Known: next.Known{
		Flow: plan.Flow{Src: src, Dst: dst, SrcPort: uint16(1 + w.flow%65535)}, Path: w.path(src, dst), Back: w.path(dst, src),
	}, there: len(w.obs), home: len(w.obs) + 1}
	w.obs = append(w.obs,
		localize.Observation{Path: t.Path, Src: src, Dst: dst, Responder: graphs.None, Flow: w.flow},
		localize.Observation{Path: t.Back, Src: dst, Dst: src, Responder: graphs.None, Flow: w.flow})
	return t
}

// echo sends n packets along a flow and back.
func (w *world) echo(t *traced, n int, b *belief) {
	w.sent += n
	there, home := &w.obs[t.there], &w.obs[t.home]
	lost := w.lost(t.Path, n)
	lostBack := w.lost(t.Back, n-lost)
	there.Sent += n
	there.Lost += lost
	home.Sent += n - lost
	home.Lost += lostBack
	b.learn(t.Path, n, lost)
	b.learn(t.Back, n-lost, lostBack)
}

// counted returns a flow with its packets so far.
func (w *world) counted(t *traced) next.Known {
	there, home := &w.obs[t.there], &w.obs[t.home]
	k := t.Known
	k.There, k.Home = next.Count{Sent: there.Sent, Lost: there.Lost}, next.Count{Sent: home.Sent, Lost: home.Lost}
	return k
}

// copy returns a world in the same state, so that two searches begin alike.
func (w *world) copy() *world {
	c := *w
	c.obs = slices.Clone(w.obs)
	c.rng = rand.New(rand.NewPCG(w.rng.Uint64(), 4))
	return &c
}

func (w *world) solve() *localize.Result {
	return localize.Solve(w.f, slices.DeleteFunc(slices.Clone(w.obs), func(o localize.Observation) bool { return o.Sent == 0 }), localize.Config{Paths: w.sets})
}

// decided reports whether one cause stands alone and as good as certain, and whether it is the right one.
func (w *world) decided(r *localize.Result) (done, right bool) {
	if len(r.Suspects) == 0 || r.Suspects[0].Probability <= 0.99 || len(r.Suspects[0].Class) != 1 {
		return false, false
	}
	return true, r.Suspects[0].Cause == localize.Cause{Kind: localize.Arc, ID: int32(w.bad)}
}

// A belief follows the questions of a result between two solutions, which take long on large fabrics, by Bayes' rule.
type belief struct {
	w         *world
	questions []next.Question
}

// learn weighs the causes by packets along a path.
func (b *belief) learn(path []graphs.ArcID, n, lost int) {
	if n == 0 {
		return
	}
	good := background * float64(len(path))
	likely := func(loss float64) float64 {
		return float64(lost)*math.Log(loss) + float64(n-lost)*math.Log1p(-loss)
	}
	for _, q := range b.questions {
		none, sum := 1.0, 0.0
		for i := range q {
			none -= q[i].Weight
		}
		none = max(none, 1e-3)
		for i := range q {
			c := &q[i]
			if crosses(b.w.f, path, c.Cause) {
				ratio := 0.0
				for _, r := range []float64{math.Sqrt(c.Low * c.Loss), c.Loss, math.Sqrt(c.Loss * c.High)} {
					ratio += math.Exp(likely(r+good)-likely(good)) / 3
				}
				c.Weight *= ratio
			}
			sum += c.Weight
		}
		for i := range q {
			q[i].Weight /= sum + none
		}
	}
}

func crosses(f *graphs.Fabric, path []graphs.ArcID, c localize.Cause) bool {
	return slices.ContainsFunc(path, func(a graphs.ArcID) bool {
		switch c.Kind {
		case localize.Arc:
			return int32(a) == c.ID
		case localize.Link:
			return int32(a.Link()) == c.ID
		case localize.Node, localize.Host:
			return int32(f.Tail(a)) == c.ID || int32(f.Head(a)) == c.ID
		}
		return slices.Contains(f.Link(a.Link()).Groups, graphs.GroupID(c.ID))
	})
}

// ripe reports whether a solution may well name one cause.
func (b *belief) ripe() bool {
	return slices.ContainsFunc(b.questions, func(q next.Question) bool {
		return slices.ContainsFunc(q, func(c next.Cause) bool { return c.Weight > 0.97 })
	})
}

// An outcome is how one search ended.
type outcome struct {
	packets int
	right   bool
}

// adaptive sends what the planner chooses until the solver names one cause.
func (w *world) adaptive(t testing.TB, planner *next.Planner, r *localize.Result, most int) outcome {
	if done, right := w.decided(r); done {
		return outcome{w.sent, right}
	}
	b := &belief{w, next.Ask(r)}
	var flows []traced
	at := map[plan.Flow]int{}
	for rounds := 0; w.sent < most; {
		cfg := next.Config{Background: background}
		for i := range flows {
			cfg.Known = append(cfg.Known, w.counted(&flows[i]))
		}
		chosen := planner.Choose(b.questions, cfg)
		if len(chosen) == 0 && rounds == 0 {
			t.Logf("nothing to choose after %d packets: %+v", w.sent, r.Suspects)
			break
		}
		for _, c := range chosen {
			if c.Packets == 0 {
				x := w.trace(c.Src, c.Dst)
				at[x.Flow] = len(flows)
				flows = append(flows, x)
				continue
			}
			w.echo(&flows[at[c.Flow]], c.Packets, b)
			rounds++
		}
		if b.ripe() || len(chosen) == 0 || rounds > 200 {
			r, rounds = w.solve(), 0
			if done, right := w.decided(r); done {
				return outcome{w.sent, right}
			}
			b.questions = next.Ask(r)
		}
	}
	return outcome{packets: most}
}

// random sends along flows of random pairs until the solver names one cause.
func (w *world) random(r *localize.Result, quantum, most int) outcome {
	b := &belief{w, next.Ask(r)}
	for look := 0; w.sent < most; {
		src, dst := w.pair()
		x := w.trace(src, dst)
		w.echo(&x, quantum, b)
		if !b.ripe() || w.sent < look {
			continue
		}
		r := w.solve()
		look = w.sent + w.sent/20
		if done, right := w.decided(r); done {
			return outcome{w.sent, right}
		}
		b.questions = next.Ask(r)
	}
	return outcome{packets: most}
}

// suspect measures flows of unknown path until the solver suspects a class that holds the fault, and returns what it says.
func (w *world) suspect(flows, packets int) *localize.Result {
	for {
		w.passive(flows, packets)
		if r := w.solve(); w.class(r) > 0 && r.Suspects[0].Probability > 0.5 || w.flow > 20*flows {
			return r
		}
	}
}

// class returns the size of the class that holds the fault, 0 if it is not suspected.
func (w *world) class(r *localize.Result) int {
	for _, s := range r.Suspects {
		if slices.Contains(s.Class, localize.Cause{Kind: localize.Arc, ID: int32(w.bad)}) {
			return len(s.Class)
		}
	}
	return 0
}

func median(x []int) int {
	slices.Sort(x)
	return x[len(x)/2]
}

type search struct {
	name           string
	f              *graphs.Fabric
	flows, packets int // passive
}

func searches(t testing.TB, large bool) []search {
	must := func(f *graphs.Fabric, err error) *graphs.Fabric {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if !large {
		return []search{{"fat-tree k=8", must(generate.FatTree(generate.FatTreeConfig{K: 8})), 4000, 150}}
	}
	plant, err := generate.RNG(generate.RNGConfig{Routers: 1000, Degree: 64, Hosts: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return []search{
		{"fat-tree k=16", must(generate.FatTree(generate.FatTreeConfig{K: 16})), 3000, 300},
		{"random 320x16", must(generate.RandomRegular(generate.RandomRegularConfig{Switches: 320, Degree: 16, Hosts: 1, Seed: 1})), 2000, 100},
		{"RNG 1000x64", plant.Fabric(), 50000, 150},
	}
}

// TestFewerPackets: what the planner chooses finds a gray arc with a fraction of the packets that chance needs.
func TestFewerPackets(t *testing.T) {
	if *table {
		printTable(t)
		return
	}
	for _, s := range searches(t, false) {
		e, sets := pathfind.NewECMP(s.f), pathfind.NewEqualCost(s.f, pathfind.PerPath)
		var adaptive, random []int
		for seed := range uint64(7) {
			w := newWorld(s.f, sets, 0.01, seed)
			first := w.suspect(s.flows, s.packets)
			r := w.copy().random(first, 100, 1e6)
			a := w.adaptive(t, next.NewPlanner(e), first, 1e6)
			t.Logf("%s, seed %d: a class of %d, %+v, by chance %+v", s.name, seed, w.class(first), a, r)
			if !a.right {
				t.Errorf("%s, seed %d: not found", s.name, seed)
			}
			adaptive, random = append(adaptive, a.packets), append(random, r.packets)
		}
		if a, r := median(adaptive), median(random); 3*a > r {
			t.Errorf("%s: %d packets, and %d by chance", s.name, a, r)
		}
	}
}

// printTable prints the table of docs/casebook.md. It judges nothing.
func printTable(t *testing.T) {
	fmt.Println("| fabric | loss | class at first, mean (max) | packets chosen, median (max) | right | packets by chance, median (max) | right |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	const most = 20_000_000
	for _, s := range searches(t, true) {
		if *onlyWorld != "" && *onlyWorld != s.name {
			continue
		}
		e, sets := pathfind.NewECMP(s.f), pathfind.NewEqualCost(s.f, pathfind.PerPath)
		planner := next.NewPlanner(e)
		for _, loss := range []float64{0.01, 0.003} {
			if *onlyLoss != 0 && *onlyLoss != loss {
				continue
			}
			packets := int(float64(s.packets) * 0.01 / loss)
			var classes, chosen, chance []int
			var right, luck, sum int
			for seed := range uint64(*seeds) {
				w := newWorld(s.f, sets, loss, *firstSeed+seed)
				first := w.suspect(s.flows, packets)
				class := w.class(first)
				var r outcome
				if twin := w.copy(); *byChance {
					r = twin.random(first, 100, most)
				}
				a := w.adaptive(t, planner, first, most)
				fmt.Fprintf(os.Stderr, "%s, %g, seed %d: a class of %d, %+v, by chance %+v\n", s.name, loss, *firstSeed+seed, class, a, r)
				classes, chosen, chance = append(classes, class), append(chosen, a.packets), append(chance, r.packets)
				sum += class
				if a.right {
					right++
				}
				if r.right {
					luck++
				}
			}
			fmt.Printf("| %s | %g %% | %.1f (%d) | %d (%d) | %d of %d | %d (%d) | %d of %d |\n", s.name, 100*loss, float64(sum)/float64(*seeds), slices.Max(classes),
				median(chosen), slices.Max(chosen), right, *seeds, median(chance), slices.Max(chance), luck, *seeds)
		}
	}
}
