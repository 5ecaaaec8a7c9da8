package plan

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
)

func plan(t *testing.T, f *graphs.Fabric, cfg Config) (*pathfind.ECMP, *Plan) {
	t.Helper()
	e := pathfind.NewECMP(f)
	p, err := Make(e, cfg)
	if err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	return e, p
}

// Whatever the switches hash, nearly every run covers every arc, with few flows.
func TestCoverage(t *testing.T) {
	const seeds = 40
	for _, f := range fabrics(t) {
		e, p := plan(t, f, Config{Seed: 7})
		covered, extra := 0, 0
		for seed := range uint64(seeds) {
			r := play(p, network{e, seed})
			if slices.Min(r.covered) >= p.Crossings() {
				covered++
			}
			extra += r.extra
		}
		if covered < seeds*95/100 {
			t.Errorf("%s: all arcs covered in %d of %d runs", f, covered, seeds)
		}
		if mean := float64(extra) / seeds / float64(len(p.Hosts())); mean > 6 {
			t.Errorf("%s: %.1f flows a host beyond the plan", f, mean)
		}
		to := map[graphs.NodeID]map[graphs.NodeID]bool{}
		for _, h := range p.Hosts() {
			flows := p.Flows(h)
			if len(flows) < 8 || len(flows) > 25 {
				t.Errorf("%s: %s has %d flows", f, f.NodeName(h), len(flows))
			}
			for _, fl := range flows {
				if to[fl.Dst] == nil {
					to[fl.Dst] = map[graphs.NodeID]bool{}
				}
				to[fl.Dst][h] = true
			}
		}
		for _, h := range f.Hosts() {
			if len(to[h]) < min(3, len(f.Hosts())-1) {
				t.Errorf("%s: %s is probed by %d hosts", f, f.NodeName(h), len(to[h]))
			}
		}
	}
}

// missed returns the probability that none of some flows crosses an arc, forward or back, by chance.
func missed(e *pathfind.ECMP, flows []Flow, a graphs.ArcID) float64 {
	chance := 1.0
	ways := newWays(e)
	for _, f := range flows {
		chance *= 1 - float64(shareOf(ways.flow(f.Src, f.Dst), a))/one
	}
	return chance
}

// A link over which nothing goes comes out as such.
func TestDownLinkIsOutOfReach(t *testing.T) {
	for _, f := range fabrics(t) {
		e, p := plan(t, f, Config{Seed: 1})
		for l := range graphs.LinkID(f.NumLinks()) {
			if f.IsHostArc(l.Forward()) || l%7 != 0 {
				continue
			}
			down := func(x graphs.LinkID) bool { return x == l }
			r := play(p, network{pathfind.NewECMPWithout(f, down), 5})
			var flows []Flow
			for _, h := range p.Hosts() {
				flows = append(append(flows, p.Flows(h)...), r.tried[h]...)
			}
			for _, a := range []graphs.ArcID{l.Forward(), l.Backward()} {
				if r.covered[a] != 0 {
					t.Fatalf("%s: %s is down and crossed", f, f.ArcName(a))
				}
				if chance := missed(e, flows, a); chance > 1e-6 {
					t.Errorf("%s: %s is down, but missed by chance with probability %g", f, f.ArcName(a), chance)
				}
			}
		}
	}
}

// Two arcs are crossed by different pairs wherever some pair of hosts crosses one and not the other.
func TestPairsTellArcsApart(t *testing.T) {
	for _, f := range fabrics(t) {
		e, p := plan(t, f, Config{Seed: 1})
		w := newWays(e)
		hosts := f.Hosts()
		planned, possible := make([][]uint64, f.NumArcs()), make([][]uint64, f.NumArcs())
		mark := func(sets [][]uint64, a, b graphs.NodeID) {
			key := uint64(min(a, b))<<32 | uint64(max(a, b))
			for _, x := range w.between(a, b).append(nil) {
				sets[x.arc] = append(sets[x.arc], key)
			}
		}
		for i, a := range hosts {
			for _, b := range hosts[:i] {
				mark(possible, a, b)
			}
			for _, fl := range p.Flows(a) {
				mark(planned, fl.Src, fl.Dst)
			}
		}
		for a := range planned {
			slices.Sort(planned[a])
			planned[a] = slices.Compact(planned[a])
		}
		for a := range planned {
			for b := range planned[:a] {
				if slices.Equal(planned[a], planned[b]) && !slices.Equal(possible[a], possible[b]) {
					t.Errorf("%s: the plan does not tell %s from %s", f, f.ArcName(graphs.ArcID(a)), f.ArcName(graphs.ArcID(b)))
				}
			}
		}
	}
}

func TestSameOnEveryHost(t *testing.T) {
	for _, f := range fabrics(t) {
		_, a := plan(t, f, Config{Seed: 3})
		_, b := plan(t, f, Config{Seed: 3})
		_, other := plan(t, f, Config{Seed: 4})
		if d := cmp.Diff(a.flows, b.flows); d != "" {
			t.Errorf("%s: two plans of one seed differ:\n%s", f, d)
		}
		if d := cmp.Diff(a.quota, b.quota); d != "" {
			t.Errorf("%s: two quotas of one seed differ:\n%s", f, d)
		}
		if d := cmp.Diff(a.total, b.total); d != "" {
			t.Errorf("%s: two budgets of one seed differ:\n%s", f, d)
		}
		if cmp.Equal(a.flows, other.flows) {
			t.Errorf("%s: the seed makes no difference", f)
		}
	}
}

func TestShares(t *testing.T) {
	for _, f := range fabrics(t) {
		_, p := plan(t, f, Config{Seed: 1})
		expiry := map[graphs.NodeID]float64{}
		quota := make([]int, f.NumArcs())
		for _, h := range p.Hosts() {
			for n, s := range p.ExpiryShare(h) {
				if f.Node(n).IsHost() || s <= 0 {
					t.Errorf("%s: %s has share %g of %s", f, f.NodeName(h), s, f.NodeName(n))
				}
				expiry[n] += s
			}
			for a, n := range p.Quota(h) {
				quota[a] += n
			}
		}
		for _, n := range f.Switches() {
			if math.Abs(expiry[n]-1) > 1e-9 {
				t.Errorf("%s: the shares of %s sum to %g", f, f.NodeName(n), expiry[n])
			}
		}
		for a, n := range quota {
			if n > p.Crossings() || n < p.Crossings() && p.Lacking(graphs.ArcID(a)) > Risk {
				t.Errorf("%s: the quotas of %s sum to %d", f, f.ArcName(graphs.ArcID(a)), n)
			}
		}
	}
}

func TestPorts(t *testing.T) {
	f := fabrics(t)[2]
	_, p := plan(t, f, Config{})
	for _, h := range p.Hosts() {
		seen := map[uint16]bool{}
		flows := slices.Clone(p.Flows(h))
		var lacking []graphs.ArcID
		for a := range p.Quota(h) {
			lacking = append(lacking, a)
		}
		slices.Sort(lacking)
		for tried := 0; tried < 64; {
			more := p.More(h, lacking, tried)
			if len(more) == 0 {
				t.Fatalf("no more flows from %s after %d", f.NodeName(h), tried)
			}
			flows = append(flows, more...)
			tried += len(more)
		}
		for _, fl := range flows {
			if fl.SrcPort < FirstPort || seen[fl.SrcPort] || fl.Src != h || fl.Dst == h {
				t.Errorf("flow %v of %s", fl, f.NodeName(h))
			}
			seen[fl.SrcPort] = true
		}
	}
	if more := p.More(p.Hosts()[0], nil, 0); more != nil {
		t.Errorf("nothing lacks, but more flows are %v", more)
	}
}

// One host that runs probes covers what it can reach: its flows go to all others.
func TestSomeHostsProbe(t *testing.T) {
	f := must(t)(generate.FatTree(generate.FatTreeConfig{K: 4}))
	hosts := f.Hosts()
	_, p := plan(t, f, Config{Hosts: []graphs.NodeID{hosts[5], hosts[0], hosts[5]}})
	if d := cmp.Diff([]graphs.NodeID{hosts[0], hosts[5]}, p.Hosts()); d != "" {
		t.Error(d)
	}
	for _, h := range hosts {
		if n := len(p.Flows(h)); (n > 0) != (h == hosts[0] || h == hosts[5]) {
			t.Errorf("%s has %d flows", f.NodeName(h), n)
		}
	}
	for a := range graphs.ArcID(f.NumArcs()) {
		if p.Expected(a) == 0 {
			t.Errorf("%s is never crossed", f.ArcName(a))
		}
	}
}

// The link between the spines carries nothing between hosts: it is no error, and nobody answers for it.
func TestUnreachableArc(t *testing.T) {
	var b graphs.Builder
	node := func(name string, role graphs.Role) graphs.NodeID {
		n, err := b.AddNode(graphs.Node{Name: name, Role: role})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	link := func(u, v graphs.NodeID, port string) {
		if _, err := b.AddLink(graphs.End{Node: u, Port: port}, graphs.End{Node: v, Port: port}, 0); err != nil {
			t.Fatal(err)
		}
	}
	l1, l2, s1, s2 := node("l1", "leaf"), node("l2", "leaf"), node("s1", "spine"), node("s2", "spine")
	h1, h2, h3 := node("h1", "host"), node("h2", "host"), node("h3", "host")
	link(l1, s1, "a")
	link(l1, s2, "b")
	link(l2, s1, "c")
	link(l2, s2, "d")
	link(s1, s2, "e")
	link(h1, l1, "f")
	link(h2, l2, "g")
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	_, p := plan(t, f, Config{})
	for a := range graphs.ArcID(f.NumArcs()) {
		if want := a.Link() != 4; (p.Expected(a) > 0) != want {
			t.Errorf("%s is expected to be crossed %g times", f.ArcName(a), p.Expected(a))
		}
	}
	for _, cfg := range []Config{{}, {Coverage: 0.5}} {
		_, p := plan(t, f, cfg)
		if d := cmp.Diff([]graphs.ArcID{8, 9}, p.Unreachable()); d != "" {
			t.Errorf("%+v: %s", cfg, d)
		}
	}
	if len(p.Flows(h3)) != 0 || slices.ContainsFunc(p.Flows(h1), func(x Flow) bool { return x.Dst == h3 }) {
		t.Error("a host without a link takes part")
	}
	if p.Quota(h1)[graphs.LinkID(4).Forward()] != 0 {
		t.Error("somebody answers for an arc that nobody can cross")
	}
}

func TestMakeErrors(t *testing.T) {
	f := fabrics(t)[0]
	e := pathfind.NewECMP(f)
	for _, cfg := range []Config{{Crossings: -1}, {Crossings: 1000}, {MaxFlows: -1}, {MaxFlows: 1 << 20}, {Coverage: -0.1}, {Coverage: 1.1}, {Coverage: math.NaN()}, {Hosts: []graphs.NodeID{0}}, {Hosts: []graphs.NodeID{999}}} {
		if _, err := Make(e, cfg); err == nil {
			t.Errorf("%+v: no error", cfg)
		}
	}
	lonely := must(t)(generate.LeafSpine(generate.LeafSpineConfig{Leaves: 1, Spines: 1, Hosts: 1}))
	for _, x := range []*pathfind.ECMP{pathfind.NewECMP(lonely), pathfind.NewECMPWithout(f, func(graphs.LinkID) bool { return true })} {
		if _, err := Make(x, Config{}); !errors.Is(err, ErrHosts) {
			t.Errorf("got error %v, want %v", err, ErrHosts)
		}
	}
}
