package plan

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
)

// A thrifty plan covers what it says, as chance has it, and what it was asked for; and with what hosts ask for besides when they have traced
// its flows, nearly all.
func TestThriftyCoversWhatItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := generate.RandomRegular(generate.RandomRegularConfig{
			Switches: 2 * rapid.IntRange(3, 20).Draw(t, "half the switches"), Degree: rapid.IntRange(2, 5).Draw(t, "degree"),
			Hosts: rapid.IntRange(1, 3).Draw(t, "hosts"), Seed: rapid.Uint64().Draw(t, "seed"),
		})
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{
			Crossings: rapid.IntRange(1, 3).Draw(t, "crossings"), Coverage: rapid.Float64Range(0.5, 1).Draw(t, "coverage"), MaxFlows: 500,
		}
		e := pathfind.NewECMP(f)
		p, err := Make(e, cfg)
		if err != nil {
			t.Fatal(err)
		}
		reachable := f.NumArcs() - len(p.Unreachable())
		if least := cfg.Coverage*float64(reachable) - Risk*float64(reachable); p.Covered() < least {
			t.Errorf("%.2f of %d arcs covered, want %.2f", p.Covered(), reachable, least)
		}
		const seeds = 30
		first, then := 0, 0
		for seed := range uint64(seeds) {
			r := play(p, network{e, seed})
			for a := range r.first {
				first += min(r.first[a]/cfg.Crossings, 1)
				then += min(r.covered[a]/cfg.Crossings, 1)
			}
		}
		arcs := float64(f.NumArcs())
		if got, want := float64(first)/seeds/arcs, p.Covered()/arcs; math.Abs(got-want) > 0.04 {
			t.Errorf("%.3f of the arcs covered, where the plan says %.3f", got, want)
		}
		if got := float64(then) / seeds / arcs; got < cfg.Coverage*float64(reachable)/arcs-0.01 {
			t.Errorf("%.3f of the arcs covered after tracing, %.3f asked for", got, cfg.Coverage)
		}
	})
}

// What hosts may be asked for at most is spent well: by default, every arc of a dense random graph is crossed three times.
func TestThriftyWhereFlowsAreScarce(t *testing.T) {
	f := must(t)(generate.RandomRegular(generate.RandomRegularConfig{Switches: 200, Degree: 28, Hosts: 1, Seed: 2}))
	_, p := plan(t, f, Config{MaxFlows: 40})
	if missing := float64(f.NumArcs()) - p.Covered(); missing > 0.01*float64(f.NumArcs()) {
		t.Errorf("%.0f of %d arcs are crossed too seldom by %d flows", missing, f.NumArcs(), p.NumFlows())
	}
}

// BenchmarkCoverage plans for 99 % of the arcs of large fabrics, and says how many flows that takes: planned; of chance, for
// comparison; and how many would still be kept once all planned ones are traced.
func BenchmarkCoverage(b *testing.B) {
	const share = 0.99
	m := must(b)
	for _, f := range []*graphs.Fabric{
		m(generate.RandomRegular(generate.RandomRegularConfig{Switches: 1000, Degree: 64, Hosts: 1, Seed: 1})),
		m(generate.FatTree(generate.FatTreeConfig{K: 24})),
	} {
		b.Run(f.Name(), func(b *testing.B) {
			var p *Plan
			var e *pathfind.ECMP
			b.ReportAllocs()
			for b.Loop() {
				e = pathfind.NewECMP(f)
				var err error
				if p, err = Make(e, Config{Crossings: 1, Coverage: share}); err != nil {
					b.Fatal(err)
				}
			}
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			b.ReportMetric(float64(memory.Sys)/(1<<20), "MiB")
			b.ReportMetric(float64(p.NumFlows()), "flows")
			b.ReportMetric(100*p.Covered()/float64(f.NumArcs()), "%expected")
			var flows []Flow
			for _, h := range p.Hosts() {
				flows = append(flows, p.Flows(h)...)
			}
			n := network{e, 5}
			crossed := n.trace(flows)
			b.ReportMetric(100*float64(count(f, crossed))/float64(f.NumArcs()), "%traced")
			b.ReportMetric(float64(kept(f, crossed)), "kept")
			b.ReportMetric(float64(byChance(n, share)), "chance")
		})
	}
}

// trace returns the arcs that flows cross, there and back.
func (n network) trace(flows []Flow) [][]graphs.ArcID {
	crossed := make([][]graphs.ArcID, len(flows))
	for i, fl := range flows {
		crossed[i] = slices.Concat(n.path(fl, false), n.path(fl, true))
	}
	return crossed
}

func count(f *graphs.Fabric, crossed [][]graphs.ArcID) int {
	n := 0
	for _, times := range Covered(f, crossed) {
		n += min(times, 1)
	}
	return n
}

// byChance returns how many flows between hosts that chance picks cross a share of the arcs.
func byChance(n network, share float64) int {
	f := n.e.Fabric()
	hosts := f.Hosts()
	rng := rand.New(rand.NewPCG(1, 2))
	seen := make([]bool, f.NumArcs())
	left := int((1 - share) * float64(len(seen)))
	for i, missing := 0, len(seen); ; i++ {
		if missing <= left {
			return i
		}
		fl := Flow{hosts[rng.IntN(len(hosts))], hosts[rng.IntN(len(hosts))], uint16(i)}
		for _, a := range n.trace([]Flow{fl})[0] {
			if !seen[a] {
				seen[a] = true
				missing--
			}
		}
	}
}

// A want is a flow, and how many arcs it would cross first when it was looked at last.
type want struct {
	flow  int
	fresh uint32
	order uint64
}

// A wanted is a heap of flows, with the one that helps most on top.
type wanted []want

func (w wanted) Len() int { return len(w) }
func (w wanted) Less(i, j int) bool {
	return w[i].fresh > w[j].fresh || w[i].fresh == w[j].fresh && w[i].order < w[j].order
}
func (w wanted) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w *wanted) Push(x any)   { *w = append(*w, x.(want)) }
func (w *wanted) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}

// kept returns how many of some traced flows suffice to cross every arc that all of them cross: the greedy cover.
func kept(f *graphs.Fabric, crossed [][]graphs.ArcID) int {
	covered := make([]bool, f.NumArcs())
	fresh := func(i int) uint32 {
		n := uint32(0)
		for _, a := range crossed[i] {
			if !covered[a] {
				n++
			}
		}
		return n
	}
	var w wanted
	for i := range crossed {
		w = append(w, want{i, fresh(i), uint64(i)})
	}
	heap.Init(&w)
	n := 0
	for w[0].fresh > 0 {
		if now := fresh(w[0].flow); now < w[0].fresh {
			w[0].fresh = now
		} else {
			n++
			for _, a := range crossed[w[0].flow] {
				covered[a] = true
			}
		}
		heap.Fix(&w, 0)
	}
	return n
}
