package probes

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/plan"
)

// TestExpiryBudget lets several hosts ask for as much as they may, all from the same moment on: no switch may be asked for more
// than its limit in any second, and what is allowed must be had.
func TestExpiryBudget(t *testing.T) {
	const limit = 50.0
	start := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	planned, detour := graphs.NodeID(1), graphs.NodeID(2)
	for _, hosts := range []int{16, 1000} {
		var budgets []*expiryBudget
		for h := range hosts {
			shares := map[graphs.NodeID]float64{planned: 1.0 / float64(hosts)}
			budgets = append(budgets, newExpiryBudget(limit, shares, hosts, start, rand.New(rand.NewPCG(uint64(h), 2))))
		}
		asked := map[graphs.NodeID][]time.Time{}
		for now := start; now.Sub(start) < 10*time.Second; now = now.Add(5 * time.Millisecond) {
			for _, b := range budgets {
				for _, n := range []graphs.NodeID{planned, detour} {
					if b.take(map[graphs.NodeID]float64{n: 1}, 0, now) {
						asked[n] = append(asked[n], now)
					}
				}
			}
		}
		for n, times := range asked {
			most := limit
			if n == planned && hosts > limit {
				most *= 1.5 // what each asks once in many seconds scatters
			}
			for i, at := range times {
				j := i
				for j < len(times) && times[j].Sub(at) < time.Second {
					j++
				}
				if float64(j-i) > most {
					t.Fatalf("%d hosts: switch %d was asked %d times in the second from %s", hosts, n, j-i, at.Sub(start))
				}
			}
		}
		if n := len(asked[planned]); float64(n) < 10*limit*(1-detourShare)*0.7 {
			t.Errorf("%d hosts: a planned switch was asked only %d times in 10 s", hosts, n)
		}
		if len(asked[detour]) == 0 {
			t.Errorf("%d hosts: a switch that the plan did not expect was never asked", hosts)
		}
	}
}

// TestQuestion plays traces over all paths of a pair: each must be told by few questions, and with a silent switch or one that
// answers from its loopback as far as can be.
func TestQuestion(t *testing.T) {
	leafSpine, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 1})
	if err != nil {
		t.Fatal(err)
	}
	fatTree, err := generate.FatTree(generate.FatTreeConfig{K: 8})
	if err != nil {
		t.Fatal(err)
	}
	random, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 40, Degree: 6, Hosts: 1, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		f    *graphs.Fabric
		most int
	}{{"leaf-spine", leafSpine, 1}, {"fat-tree", fatTree, 2}, {"random", random, 3}} {
		e := pathfind.NewECMP(c.f)
		hosts := c.f.Hosts()
		src, dst := hosts[0], hosts[len(hosts)-1]
		all, _ := e.Paths(src, dst, maxPaths)
		for turn, truth := range all {
			paths := all
			asked := map[int]bool{}
			for len(paths) > 1 {
				ttl := question(c.f, paths, func(t int) bool { return asked[t] }, func(graphs.NodeID) float64 { return 1 }, turn)
				if ttl == 0 {
					t.Fatalf("%s: %d paths left and nothing to ask", c.name, len(paths))
				}
				asked[ttl] = true
				var left []pathfind.Path
				for _, p := range paths {
					if p.Arcs[ttl-1] == truth.Arcs[ttl-1] {
						left = append(left, p)
					}
				}
				paths = left
			}
			if len(asked) > c.most {
				t.Errorf("%s: %d questions for one of %d paths, want at most %d", c.name, len(asked), len(all), c.most)
			}
		}
	}
}

// TestPortsFrom: two runs that pass over other numbers of ports give their new flows others, none of them twice.
func TestPortsFrom(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Make(pathfind.NewECMP(f), plan.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint16]int{}
	for _, from := range []int{0, 0, 8, 500} {
		s, err := NewSession(SessionConfig{ECMP: pathfind.NewECMP(f), Plan: p, Host: f.Hosts()[0], PortsFrom: from})
		if err != nil {
			t.Fatal(err)
		}
		defer s.engine.Close()
		for range 8 {
			seen[s.freePort()]++
		}
	}
	for port, n := range seen {
		if n > 2 { // the first two runs pass over as many
			t.Errorf("port %d is given to %d flows", port, n)
		}
	}
	if len(seen) != 24 {
		t.Errorf("%d ports, want 24", len(seen))
	}
}

// TestThen tells what is known of a way after it was traced again: less is no news, more is no other way.
func TestThen(t *testing.T) {
	way := func(paths ...graphs.ArcID) (r route) {
		for _, p := range paths {
			r.alternatives = append(r.alternatives, []graphs.ArcID{p})
		}
		return r
	}
	for _, c := range []struct {
		old, now, is route
		news, moved  bool
	}{
		{way(), way(), way(), false, false},
		{way(), way(1), way(1), true, false},
		{way(), way(1, 2), way(1, 2), true, false},
		{way(1), way(), way(1), false, false},
		{way(1), way(1), way(1), false, false},
		{way(1), way(1, 2, 3), way(1), false, false},
		{way(1), way(2), way(2), true, true},
		{way(1), way(2, 3), way(2, 3), true, true},
		{way(1, 2, 3), way(1, 2, 3, 4), way(1, 2, 3), false, false},
		{way(1, 2, 3), way(3), way(3), true, false},
		{way(1, 2), way(3), way(3), true, true},
	} {
		if is, news, moved := c.old.then(c.now); !reflect.DeepEqual(is, c.is) || news != c.news || moved != c.moved {
			t.Errorf("%v, then %v: is %v, news %v, moved %v", c.old.alternatives, c.now.alternatives, is.alternatives, news, moved)
		}
	}
}
