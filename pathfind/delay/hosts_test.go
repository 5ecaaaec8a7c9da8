package delay_test

import (
	"math"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind/delay"
)

// TestManySlowHosts: where three of eight hosts are slow, so that two flows of three are late, these are named and no other.
func TestManySlowHosts(t *testing.T) {
	for seed := range uint64(8) {
		f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})
		w := newWorld(t, f, err, seed)
		w.standing = true
		for _, i := range w.rng.Perm(8)[:3] {
			w.slow[delay.Cause{Kind: delay.Host, ID: int32(f.Hosts()[i])}] = 250
		}
		got := named(delay.Solve(f, w.measure(40), delay.Config{Least: 50, LeastSpreads: 3}))
		if len(got) != len(w.slow) || slices.ContainsFunc(got, func(c delay.Cause) bool { return w.slow[c] == 0 }) {
			t.Errorf("seed %d: %v, want %v", seed, got, w.slow)
		}
	}
}

// TestHostsOfOneSwitch: where all hosts of a switch are slow, these are named and not what they share, be they slow alike or not: flows between them are later than what a slow switch explains. The switch is,
// where it is slow.
func TestHostsOfOneSwitch(t *testing.T) {
	for seed := range uint64(6) {
		f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 6, Spines: 4, Hosts: 2})
		a, b := f.Hosts()[0], f.Hosts()[1]
		leaf := f.Head(f.Out(a)[0])
		for _, slow := range []map[delay.Cause]float64{
			{{Kind: delay.Host, ID: int32(a)}: 250, {Kind: delay.Host, ID: int32(b)}: 250},
			{{Kind: delay.Host, ID: int32(a)}: 150, {Kind: delay.Host, ID: int32(b)}: 400},
			{{Kind: delay.Node, ID: int32(leaf)}: 125},
		} {
			w := newWorld(t, f, err, seed)
			w.standing, w.slow = true, slow
			got := named(delay.Solve(f, w.measure(40), delay.Config{Least: 50, LeastSpreads: 3}))
			if len(got) != len(slow) || slices.ContainsFunc(got, func(c delay.Cause) bool { return slow[c] == 0 }) {
				t.Errorf("seed %d: %v, want %v", seed, got, slow)
			}
		}
	}
}

// TestHostsOfOneSwitchAmongOthers: where hosts elsewhere are slow, too, both hosts of a switch are named by the few flows between them.
func TestHostsOfOneSwitchAmongOthers(t *testing.T) {
	for seed := range uint64(8) {
		f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
		w := newWorld(t, f, err, seed)
		w.standing = true
		for _, i := range append(w.rng.Perm(14)[:4], 14, 15) {
			w.slow[delay.Cause{Kind: delay.Host, ID: int32(f.Hosts()[i])}] = 250
		}
		obs := w.measure(20)
		a, b := f.Hosts()[14], f.Hosts()[15]
		between := 0
		for _, o := range obs {
			if o.Src == a && o.Dst == b || o.Src == b && o.Dst == a {
				between++
			}
		}
		if between < 2 {
			continue
		}
		got := named(delay.Solve(f, obs, delay.Config{Least: 50, LeastSpreads: 3}))
		if slices.ContainsFunc(got, func(c delay.Cause) bool { return w.slow[c] == 0 }) {
			t.Errorf("seed %d: %v, want %v", seed, got, w.slow)
		}
	}
}

// TestArcsOfOneSwitch: where a link is slow both ways that half of the flows over a switch cross, it is named as a whole, and not the switch with a part of it.
func TestArcsOfOneSwitch(t *testing.T) {
	leaves, errLeaves := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 2, Hosts: 2})
	tree, errTree := generate.FatTree(generate.FatTreeConfig{K: 4})
	for seed := range uint64(24) {
		f, err := leaves, errLeaves
		if seed%2 == 1 {
			f, err = tree, errTree
		}
		w := newWorld(t, f, err, seed/2)
		w.standing = true
		a := w.fabricArc()
		w.slow = map[delay.Cause]float64{{Kind: delay.Arc, ID: int32(a)}: 150, {Kind: delay.Arc, ID: int32(a.Reverse())}: 150}
		got := named(delay.Solve(f, w.measure(20), delay.Config{Least: 50, LeastSpreads: 3}))
		if want := []delay.Cause{{Kind: delay.Link, ID: int32(a.Link())}}; !slices.Equal(got, want) {
			t.Errorf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

// TestTrunk: where all links of a group are slow, it is named, and neither they nor the switches that send nearly all over them.
func TestTrunk(t *testing.T) {
	for seed := range uint64(6) {
		f, err := generate.DragonflyPlus(generate.DragonflyPlusConfig{Groups: 5, Leaves: 4, Spines: 4, GlobalLinks: 4, Hosts: 2})
		w := newWorld(t, f, err, seed)
		w.standing = true
		g := graphs.GroupID(w.rng.IntN(f.NumGroups()))
		for _, l := range f.Group(g).Links {
			for a := graphs.ArcID(2 * l); a <= graphs.ArcID(2*l+1); a++ {
				w.slow[delay.Cause{Kind: delay.Arc, ID: int32(a)}] = 400
			}
		}
		got := named(delay.Solve(f, w.measure(20), delay.Config{Least: 50, LeastSpreads: 3}))
		if want := []delay.Cause{{Kind: delay.Group, ID: int32(g)}}; !slices.Equal(got, want) {
			t.Errorf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

// TestFullQueues: where all arcs by which a switch sends to others are late, in different ways, these are named and neither it nor its hosts, if they are known to drop packets; what the hosts send to each other is in
// time. That they drop packets makes none late.
func TestFullQueues(t *testing.T) {
	for _, seed := range []uint64{0, 1, 4, 6} {
		for _, flows := range []int{8, 20} {
			f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 3, Hosts: 2})
			w := newWorld(t, f, err, seed)
			w.standing = seed%2 == 0
			var full []graphs.ArcID
			for i, a := range f.Out(f.Head(f.Out(f.Hosts()[0])[0])) {
				if !f.IsHostArc(a) {
					w.slow[delay.Cause{Kind: delay.Arc, ID: int32(a)}] = 200 + 300*float64(i)*w.rng.Float64()
					full = append(full, a)
				}
			}
			got := named(delay.Solve(f, w.measure(flows), delay.Config{Least: 50, LeastSpreads: 3, Full: full}))
			if len(got) != len(w.slow) || slices.ContainsFunc(got, func(c delay.Cause) bool { return w.slow[c] == 0 }) {
				t.Errorf("seed %d, %d flows: %v, want %v", seed, flows, got, w.slow)
			}
			clear(w.slow)
			if got := named(delay.Solve(f, w.measure(flows), delay.Config{Least: 50, LeastSpreads: 3, Full: full})); len(got) > 0 {
				t.Errorf("seed %d, %d flows, none late: %v", seed, flows, got)
			}
		}
	}
}

// TestHostsDiffer: where each host has a delay of its own, which is more than what a slow arc adds, no host is told for it, and a slow arc is, and a host that is slower
// than all others.
func TestHostsDiffer(t *testing.T) {
	for _, fab := range fabrics {
		for seed := range uint64(3) {
			for _, kind := range []string{"nothing", "arc", "host"} {
				w := fab.make(t, seed)
				hosts := w.f.Hosts()
				own := map[graphs.NodeID]float64{}
				for _, h := range hosts {
					own[h] = 300 * w.rng.Float64()
				}
				var want []delay.Cause
				switch kind {
				case "arc":
					want = []delay.Cause{{Kind: delay.Arc, ID: int32(w.fabricArc())}}
					w.slow[want[0]] = 200
				case "host":
					want = []delay.Cause{{Kind: delay.Host, ID: int32(hosts[4])}}
					own[hosts[4]] = 1500
				}
				obs := w.measure(40)
				for i := range obs {
					obs[i].Delay += delay.Microseconds(own[obs[i].Src] + own[obs[i].Dst])
				}
				if got := named(delay.Solve(w.f, obs, delay.Config{})); !slices.Equal(got, want) {
					t.Errorf("%s, %s, seed %d: %v, want %v", fab.name, kind, seed, got, want)
				}
			}
		}
	}
}

// TestOrdinaryHosts: no host is named for being one of the slower of hosts that differ, be its flows many or few; one that is far above all others is.
func TestOrdinaryHosts(t *testing.T) {
	for seed := range uint64(8) {
		for _, slow := range []bool{false, true} {
			w := fatTree(t, seed)
			w.standing = true
			hosts := w.f.Hosts()
			own := map[graphs.NodeID]float64{}
			for _, h := range hosts {
				own[h] = math.Abs(40 * w.rng.NormFloat64())
			}
			var want []delay.Cause
			if slow {
				want = []delay.Cause{{Kind: delay.Host, ID: int32(hosts[3])}}
				w.slow[want[0]] = 500
			}
			rare := hosts[5]
			var obs []delay.Observation
			for i, o := range w.measure(20) {
				if i%8 == 0 || o.Src != rare && o.Dst != rare {
					o.Delay += delay.Microseconds(own[o.Src] + own[o.Dst])
					obs = append(obs, o)
				}
			}
			if got := named(delay.Solve(w.f, obs, delay.Config{Least: 50, LeastSpreads: 3})); !slices.Equal(got, want) {
				t.Errorf("seed %d: %v, want %v", seed, got, want)
			}
		}
	}
}
