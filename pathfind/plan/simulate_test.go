package plan

import (
	"math/rand/v2"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
)

// A network hashes every flow at every node at random, but always the same.
type network struct {
	e    *pathfind.ECMP
	seed uint64
}

// path returns the arcs that a flow crosses there, or its answers on the way back.
func (n network) path(fl Flow, back bool) []graphs.ArcID {
	at, to := fl.Src, fl.Dst
	if back {
		at, to = to, at
	}
	var arcs []graphs.ArcID
	for at != to {
		next := n.e.NextHops(at, to)
		if len(next) == 0 {
			return nil
		}
		rng := rand.New(rand.NewPCG(n.seed<<32|uint64(at), uint64(fl.Src)<<40|uint64(fl.Dst)<<20|uint64(fl.SrcPort)))
		if back {
			rng.Uint64()
		}
		a := next[rng.IntN(len(next))]
		arcs = append(arcs, a)
		at = n.e.Fabric().Head(a)
	}
	return arcs
}

// A run is what hosts do with a plan: trace their flows, and ask for more while their quota is not reached.
type run struct {
	first   []int // crossings by the planned flows
	covered []int // in the end
	extra   int
	tried   map[graphs.NodeID][]Flow // more flows, by host
}

const mostExtra = 64

func play(p *Plan, n network) run {
	f := n.e.Fabric()
	r := run{covered: make([]int, f.NumArcs()), tried: map[graphs.NodeID][]Flow{}}
	own := map[graphs.NodeID][]int{}
	cross := func(h graphs.NodeID, fl Flow) {
		for _, a := range slices.Concat(n.path(fl, false), n.path(fl, true)) {
			r.covered[a]++
			own[h][a]++
		}
	}
	for _, h := range p.Hosts() {
		own[h] = make([]int, f.NumArcs())
		for _, fl := range p.Flows(h) {
			cross(h, fl)
		}
	}
	r.first = slices.Clone(r.covered)
	for _, h := range p.Hosts() {
		for len(r.tried[h]) < mostExtra {
			var lacking []graphs.ArcID
			for a, q := range p.Quota(h) {
				if own[h][a] < q {
					lacking = append(lacking, a)
				}
			}
			slices.Sort(lacking)
			if len(lacking) == 0 {
				break
			}
			more := p.More(h, lacking, len(r.tried[h]))
			for _, fl := range more {
				cross(h, fl)
			}
			r.tried[h] = append(r.tried[h], more...)
			if len(more) == 0 {
				break
			}
		}
		r.extra += len(r.tried[h])
	}
	return r
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

func fabrics(t testing.TB) []*graphs.Fabric {
	m := must(t)
	return []*graphs.Fabric{
		m(generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 4, Hosts: 1})),
		m(generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 1})),
		m(generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})),
		m(generate.FatTree(generate.FatTreeConfig{K: 4})),
		m(generate.FatTree(generate.FatTreeConfig{K: 8})),
		m(generate.RandomRegular(generate.RandomRegularConfig{Switches: 16, Degree: 4, Hosts: 1, Seed: 3})),
		m(generate.RandomRegular(generate.RandomRegularConfig{Switches: 40, Degree: 6, Hosts: 1, Seed: 1})),
		m(generate.RandomRegular(generate.RandomRegularConfig{Switches: 40, Degree: 6, Hosts: 2, Seed: 1})),
		m(generate.RandomRegular(generate.RandomRegularConfig{Switches: 100, Degree: 8, Hosts: 1, Seed: 1})),
	}
}

func BenchmarkMake(b *testing.B) {
	m := must(b)
	for _, f := range []*graphs.Fabric{
		m(generate.FatTree(generate.FatTreeConfig{K: 8})),
		m(generate.FatTree(generate.FatTreeConfig{K: 16})),
		m(generate.RandomRegular(generate.RandomRegularConfig{Switches: 1000, Degree: 16, Hosts: 1, Seed: 1})),
		m(generate.RandomRegular(generate.RandomRegularConfig{Switches: 1000, Degree: 64, Hosts: 1, Seed: 1})),
		// The cluster of 32,256 GPUs of Gangidi et al. (SIGCOMM 2024).
		m(generate.ThreeTier(generate.ThreeTierConfig{Zones: 8, Racks: 252, ClusterSwitches: 18, Aggregation: 36, Hosts: 2, NICs: 8})),
	} {
		b.Run(f.Name(), func(b *testing.B) {
			for b.Loop() {
				p, err := Make(pathfind.NewECMP(f), Config{})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(p.NumFlows())/float64(len(p.Hosts())), "flows/host")
			}
		})
	}
}
