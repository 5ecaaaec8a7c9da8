package cabling

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// A cable is the two ports that it is in, by name.
type cable = [2]string

func cablesOf(f *graphs.Fabric) []cable {
	var all []cable
	for l := range graphs.LinkID(f.NumLinks()) {
		e := f.Link(l).Ends
		all = append(all, cable{f.PortName(e[0]), f.PortName(e[1])})
	}
	return all
}

// compare holds cables between the nodes of a plan against the plan.
func compare(t interface{ Fatal(...any) }, plan *graphs.Fabric, cables []cable) *Comparison {
	var config Config
	for _, c := range cables {
		if node(c[0]) == node(c[1]) {
			config.Loops = append(config.Loops, c)
		}
	}
	return Compare(plan, build(t, plan, cables), config)
}

// build makes a fabric of the nodes of another and of cables, but for those from a node to itself.
func build(t interface{ Fatal(...any) }, like *graphs.Fabric, cables []cable) *graphs.Fabric {
	b := &graphs.Builder{Name: "observed"}
	for n := range graphs.NodeID(like.NumNodes()) {
		if _, err := b.AddNode(*like.Node(n)); err != nil {
			t.Fatal(err)
		}
	}
	return connect(t, b, cables)
}

func connect(t interface{ Fatal(...any) }, b *graphs.Builder, cables []cable) *graphs.Fabric {
	for _, c := range cables {
		if node(c[0]) == node(c[1]) {
			continue
		}
		var ends [2]graphs.End
		for i, e := range c {
			node, port, _ := strings.Cut(e, ":")
			ends[i].Node, _ = b.NodeByName(node)
			ends[i].Port = port
		}
		if _, err := b.AddLink(ends[0], ends[1], 0); err != nil {
			t.Fatal(err)
		}
	}
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// apply does what the mends say, one plug after the other, and fails where a plug is not there or its port is not free.
func apply(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, cables []cable, mends []Mend) []cable {
	at := map[string]int{}
	cables = slices.Clone(cables)
	for i, c := range cables {
		at[c[0]], at[c[1]] = i, i
	}
	find := func(from, stays string) (int, int) {
		i, ok := at[from]
		if !ok {
			t.Fatalf("no plug at %s", from)
		}
		end := slices.Index(cables[i][:], from)
		if cables[i][1-end] != stays {
			t.Fatalf("the cable at %s comes from %s, not %s", from, cables[i][1-end], stays)
		}
		return i, end
	}
	for _, m := range mends {
		if a, b, ok := strings.Cut(m.Unplug, "--"); ok {
			i, _ := find(a, b)
			cables[i] = cable{}
			delete(at, a)
			delete(at, b)
		}
		var pulled []int
		for _, x := range m.Moves {
			i, end := find(x.From, x.Stays)
			pulled = append(pulled, i)
			if !m.Ring {
				delete(at, x.From)
				if _, taken := at[x.To]; taken {
					t.Fatalf("%s is not free", x.To)
				}
				at[x.To] = i
			}
			cables[i][end] = x.To
		}
		for _, i := range pulled {
			at[cables[i][0]], at[cables[i][1]] = i, i
		}
		if a, b, ok := strings.Cut(m.Lay, "--"); ok {
			cables = append(cables, cable{a, b})
		}
	}
	return slices.DeleteFunc(cables, func(c cable) bool { return c == cable{} })
}

// anyFabric draws a random regular fabric, a leaf-spine or a fat-tree.
func anyFabric(t *rapid.T) *graphs.Fabric {
	var f *graphs.Fabric
	var err error
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		f, err = generate.RandomRegular(generate.RandomRegularConfig{Switches: 2 * rapid.IntRange(4, 12).Draw(t, "switches"),
			Degree: rapid.IntRange(3, 6).Draw(t, "degree"), Hosts: rapid.IntRange(0, 2).Draw(t, "hosts"), Seed: rapid.Uint64().Draw(t, "seed")})
	case 1:
		f, err = generate.LeafSpine(generate.LeafSpineConfig{Leaves: rapid.IntRange(3, 8).Draw(t, "leaves"),
			Spines: rapid.IntRange(3, 6).Draw(t, "spines"), Hosts: rapid.IntRange(0, 2).Draw(t, "hosts")})
	default:
		f, err = generate.FatTree(generate.FatTreeConfig{K: 4})
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSelfDiffIsEmpty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFabric(t)
		for _, c := range []Config{{}, {ObservedNumbered: true}} {
			got := Compare(f, f, c)
			got.Rules = nil
			if d := cmp.Diff(&Comparison{Planned: f.NumLinks(), Observed: f.NumLinks(), Right: f.NumLinks()}, got); d != "" {
				t.Fatal(d)
			}
		}
		for _, r := range Compare(f, f, Config{}).Rules {
			if len(r.Observed)+len(r.Plan) > 0 {
				t.Fatalf("%+v", r)
			}
		}
	})
}

// TestFindsWhatWasDone breaks links in known ways, no two of them the same link, and wants exactly these found and mended.
func TestFindsWhatWasDone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := anyFabric(t)
		cables := cablesOf(plan)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "chance"), 1))
		order := rng.Perm(len(cables))
		want := map[string]int{}
		wrong := map[string]bool{}
		var gone []int
		free := 0
		freePort := func() string {
			free++
			return fmt.Sprintf("%s:free%d", plan.NodeName(graphs.NodeID(rng.IntN(plan.NumNodes()))), free)
		}
		for range rapid.IntRange(0, 5).Draw(t, "faults") {
			k := rapid.IntRange(2, 4).Draw(t, "links")
			if k > len(order) {
				break
			}
			switch rapid.SampledFrom([]string{"ring", "move", "remove", "add"}).Draw(t, "fault") {
			case "ring":
				ring := order[:k]
				order = order[k:]
				ends := make([]int, k)
				for i, l := range ring {
					ends[i] = rng.IntN(2)
					wrong[cables[l][0]], wrong[cables[l][1]] = true, true
				}
				first := cables[ring[0]][ends[0]]
				for i := range k - 1 {
					cables[ring[i]][ends[i]] = cables[ring[i+1]][ends[i+1]]
				}
				cables[ring[k-1]][ends[k-1]] = first
				want["moves"] += k
				want["wrong"] += k
			case "move":
				c := &cables[order[0]]
				order = order[1:]
				end := rng.IntN(2)
				wrong[c[1-end]] = true
				c[end] = freePort()
				want["moves"]++
				want["wrong"]++
			case "remove":
				gone = append(gone, order[0])
				order = order[1:]
				want["missing"]++
			case "add":
				cables = append(cables, cable{freePort(), freePort()})
				want["unexpected"]++
			}
		}
		for _, i := range gone {
			cables[i] = cable{}
		}
		cables = slices.DeleteFunc(cables, func(c cable) bool { return c == cable{} })
		c := compare(t, plan, cables)
		got := map[string]bool{}
		for _, w := range c.Wrong {
			got[w.Port] = true
		}
		if d := cmp.Diff(wrong, got); d != "" {
			t.Fatal(d)
		}
		for what, n := range map[string]int{
			"wrong": c.WrongLinks, "moves": c.Moves(), "missing": len(c.Missing), "unexpected": len(c.Unexpected),
		} {
			if n != want[what] {
				t.Fatalf("%s: %d, want %d", what, n, want[what])
			}
		}
		if c.Right != c.Planned-c.WrongLinks-len(c.Missing) {
			t.Fatalf("%d of %d right", c.Right, c.Planned)
		}
		after := compare(t, plan, apply(t, cables, c.Mends))
		if after.Right != after.Planned-len(c.Missing) || len(after.Wrong)+len(after.Mends) > 0 || len(after.Unexpected) != len(c.Unexpected) {
			t.Fatalf("not mended: %+v", after)
		}
	})
}

func node(port string) string { n, _, _ := strings.Cut(port, ":"); return n }

// TestMendsAnything cables a fabric at random over its own ports and some more. Whatever comes of it, each wrong cable is touched once, which
// is the least there can be, and then all is right but what has no cable.
func TestMendsAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := anyFabric(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "chance"), 2))
		kept := rapid.IntRange(0, 100).Draw(t, "kept")
		var cables []cable
		var plugs []string
		for _, c := range cablesOf(plan) {
			if rng.IntN(100) < kept {
				cables = append(cables, c)
			} else if rng.IntN(8) > 0 {
				plugs = append(plugs, c[rng.IntN(2)], fmt.Sprintf("%s:free%d", node(c[0]), len(plugs)))
				if rng.IntN(4) > 0 {
					plugs = append(plugs[:len(plugs)-2], c[0], c[1])
				}
			}
		}
		rng.Shuffle(len(plugs), func(i, j int) { plugs[i], plugs[j] = plugs[j], plugs[i] })
		for i := 0; i+1 < len(plugs); i += 2 {
			cables = append(cables, cable{plugs[i], plugs[i+1]})
		}
		c := compare(t, plan, cables)
		least := c.Observed - c.Right - len(c.Unexpected)
		touched := c.Moves()
		laid := 0
		for _, m := range c.Mends {
			if m.Unplug != "" {
				touched++
			}
			if m.Lay != "" {
				laid++
			}
		}
		if touched != least {
			t.Fatalf("%d cables touched, %d are wrong", touched, least)
		}
		after := compare(t, plan, apply(t, cables, c.Mends))
		if len(after.Wrong)+len(after.Mends) > 0 || after.Right != after.Planned-len(c.Missing) {
			t.Fatalf("not mended, %d laid: %+v", laid, after)
		}
	})
}

// BenchmarkCompare finds 240 two-way swaps in the fabric of 1,000 switches of degree 64.
func BenchmarkCompare(b *testing.B) {
	plan, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 1000, Degree: 64, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	cables := cablesOf(plan)
	order := rand.New(rand.NewPCG(1, 2)).Perm(len(cables))
	swaps := 0
	for ; swaps < 240; order = order[2:] {
		x, y := &cables[order[0]], &cables[order[1]]
		if node(x[0]) != node(y[1]) && node(y[0]) != node(x[1]) {
			x[1], y[1] = y[1], x[1]
			swaps++
		}
	}
	observed := build(b, plan, cables)
	for b.Loop() {
		c := Compare(plan, observed, Config{})
		if c.WrongLinks != 480 || c.Right != 32000-480 || len(c.Mends) != 240 || c.Moves() != 480 || len(c.Missing)+len(c.Unexpected) != 0 {
			b.Fatalf("%d wrong, %d right, %d groups, %d moves", c.WrongLinks, c.Right, len(c.Mends), c.Moves())
		}
	}
}
