package whatif

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
)

func must(t testing.TB) func(*graphs.Fabric, error) *graphs.Fabric {
	return func(f *graphs.Fabric, err error) *graphs.Fabric {
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
}

// question asks about a fabric under a model that is given by its name.
func question(t interface{ Fatal(...any) }, f *graphs.Fabric, model string) Config {
	spec, err := pathfind.ParseSpec(model)
	if err != nil {
		t.Fatal(err)
	}
	return Config{Fabric: f, Matrix: Uniform(f), Model: func(down func(graphs.LinkID) bool) (pathfind.Model, error) {
		return pathfind.New(f, spec, pathfind.Options{Down: down})
	}}
}

func find(t interface{ Fatal(...any) }, f *graphs.Fabric, names ...string) []Thing {
	var things []Thing
	for _, name := range names {
		x, err := Find(f, name)
		if err != nil {
			t.Fatal(err)
		}
		things = append(things, x)
	}
	return things
}

func ask(t interface{ Fatal(...any) }, c Config) *Answer {
	a, err := Ask(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// told writes what an answer says of switches, hosts and pairs, a line each, in units of 100 Gbit/s.
func told(f *graphs.Fabric, a *Answer) []string {
	const unit = 100e9
	var lines []string
	for _, s := range a.Switches {
		lines = append(lines, fmt.Sprintf("%s %d/%d links %g/%g neighbours -%d/%d hosts %d-%d rail %d disjoint %d", f.NodeName(s.Node),
			s.LinksLeft, s.Links, s.CapacityLeft/unit, s.Capacity/unit, len(s.Lost), s.Neighbours, len(s.Hosts), s.HostsLost, s.Rail, s.LeastDisjoint))
	}
	for _, h := range a.Hosts {
		lines = append(lines, fmt.Sprintf("%s %d/%d cut off %t", f.NodeName(h.Node), h.Left, h.Links, h.CutOff))
	}
	for _, p := range a.Pairs.Hurt {
		lines = append(lines, fmt.Sprintf("%s>%s usable %.4g/%.4g disjoint %d/%d flow %g/%g at first %.4g", f.NodeName(p.Src), f.NodeName(p.Dst),
			p.UsableLeft/unit, p.Usable/unit, p.DisjointLeft, p.Disjoint, p.CapacityLeft/unit, p.Capacity/unit, p.BlackHoled))
	}
	return lines
}

// All by hand.
func TestAsk(t *testing.T) {
	leafSpine := must(t)(generate.LeafSpine(generate.LeafSpineConfig{Leaves: 3, Spines: 4, Hosts: 2}))
	fatTree := must(t)(generate.FatTree(generate.FatTreeConfig{K: 4}))
	// Two units of four hosts, two rails; a leaf has two links to each of two spines.
	rail := must(t)(generate.Rail(generate.RailConfig{GPUs: 16, Rails: 2, Ports: 8}))
	for _, c := range []struct {
		name        string
		f           *graphs.Fabric
		fail, drain []string
		want        []string // the first lines; pairs in the order of their names
		hurt, cut   int
		gone        int // pairs
		max         [2]float64
	}{
		{
			name: "one link of a leaf-spine fails", f: leafSpine, fail: []string{"leaf1:swp1--spine1:swp1"},
			want: []string{
				"spine1 2/3 links 2/3 neighbours -1/3 hosts 0-0 rail 0 disjoint -1",
				"leaf1 3/4 links 3/4 neighbours -1/4 hosts 2-0 rail 0 disjoint 3",
				"leaf1>leaf2 usable 3/4 disjoint 3/4 flow 3/4 at first 0.25",
				"leaf1>leaf3 usable 3/4 disjoint 3/4 flow 3/4 at first 0.25",
				"leaf2>leaf1 usable 3/4 disjoint 3/4 flow 3/4 at first 0.25",
				"leaf3>leaf1 usable 3/4 disjoint 3/4 flow 3/4 at first 0.25",
			},
			hurt: 4,
			// A leaf sends what its two hosts do, 50 Gbit/s, over four links, and then three.
			max: [2]float64{0.5 / 4, 0.5 / 3},
		},
		{
			name: "draining loses no flow", f: leafSpine, drain: []string{"spine1", "spine2"}, fail: []string{"leaf1--spine3"},
			want: []string{
				"leaf1 1/4 links 1/4 neighbours -3/4 hosts 2-0 rail 0 disjoint 1",
				"leaf2 2/4 links 2/4 neighbours -2/4 hosts 2-0 rail 0 disjoint 1",
				"leaf3 2/4 links 2/4 neighbours -2/4 hosts 2-0 rail 0 disjoint 1",
				"spine3 2/3 links 2/3 neighbours -1/3 hosts 0-0 rail 0 disjoint -1",
				"leaf1>leaf2 usable 1/4 disjoint 1/4 flow 1/4 at first 0.5",
				"leaf1>leaf3 usable 1/4 disjoint 1/4 flow 1/4 at first 0.5",
				"leaf2>leaf1 usable 1/4 disjoint 1/4 flow 1/4 at first 0.5",
				"leaf3>leaf1 usable 1/4 disjoint 1/4 flow 1/4 at first 0.5",
				"leaf2>leaf3 usable 2/4 disjoint 2/4 flow 2/4 at first 0",
			},
			hurt: 6, max: [2]float64{0.5 / 4, 0.5},
		},
		{
			name: "a leaf is cut off", f: leafSpine, fail: []string{"leaf1--spine1", "leaf1--spine2", "leaf1--spine3", "leaf1--spine4"},
			want: []string{
				"leaf1 0/4 links 0/4 neighbours -4/4 hosts 2-0 rail 0 disjoint 0",
				"spine1 2/3 links 2/3 neighbours -1/3 hosts 0-0 rail 0 disjoint -1",
				"spine2 2/3 links 2/3 neighbours -1/3 hosts 0-0 rail 0 disjoint -1",
				"spine3 2/3 links 2/3 neighbours -1/3 hosts 0-0 rail 0 disjoint -1",
				"spine4 2/3 links 2/3 neighbours -1/3 hosts 0-0 rail 0 disjoint -1",
				"h1-1 1/1 cut off true", "h1-2 1/1 cut off true",
				"leaf1>leaf2 usable 0/4 disjoint 0/4 flow 0/4 at first 1",
			},
			hurt: 4, cut: 4, max: [2]float64{0.5 / 4, 0.25 / 4},
		},
		{
			// The pair has no flow over what fails but a quarter, and in the end the links of its edges bound it as before.
			name: "a core of a fat-tree fails", f: fatTree, fail: []string{"core1"},
			want: []string{
				"agg1-1 3/4 links 3/4 neighbours -1/4 hosts 0-0 rail 0 disjoint -1",
				"agg2-1 3/4 links 3/4 neighbours -1/4 hosts 0-0 rail 0 disjoint -1",
				"agg3-1 3/4 links 3/4 neighbours -1/4 hosts 0-0 rail 0 disjoint -1",
				"agg4-1 3/4 links 3/4 neighbours -1/4 hosts 0-0 rail 0 disjoint -1",
				"edge1-1>edge2-1 usable 2/2 disjoint 2/2 flow 2/2 at first 0.25",
			},
			// Of 56 pairs, 8 are within a pod. An edge sends 50 Gbit/s, 6/7 of it to other pods: a link of an edge carries 1/4, one
			// from an aggregation switch to a core 2 * 0.5 * 6/7 / 4, and then all that its pod sends by the other core.
			hurt: 48, max: [2]float64{0.25, 3. / 7},
		},
		{
			// Of two links from spine1 one is left, and still the spine gets half of the flows.
			name: "case 28", f: rail, fail: []string{"leaf1-1:swp1--spine1:swp1"},
			want: []string{
				"leaf1-1 3/4 links 12/16 neighbours -0/2 hosts 4-0 rail 1 disjoint 3",
				"spine1 7/8 links 28/32 neighbours -0/4 hosts 0-0 rail 0 disjoint -1",
				"leaf1-2>leaf1-1 usable 8/16 disjoint 3/4 flow 12/16 at first 0.25",
				"leaf2-1>leaf1-1 usable 8/16 disjoint 3/4 flow 12/16 at first 0.25",
				"leaf2-2>leaf1-1 usable 8/16 disjoint 3/4 flow 12/16 at first 0.25",
				"leaf1-1>leaf1-2 usable 12/16 disjoint 3/4 flow 12/16 at first 0.25",
			},
			hurt: 6, max: [2]float64{1, 2},
		},
		{
			name: "a rail's leaf is gone", f: rail, fail: []string{"leaf1-1"},
			want: []string{
				"spine1 6/8 links 24/32 neighbours -1/4 hosts 0-0 rail 0 disjoint -1",
				"spine2 6/8 links 24/32 neighbours -1/4 hosts 0-0 rail 0 disjoint -1",
				"h1-1 1/2 cut off false", "h1-2 1/2 cut off false", "h1-3 1/2 cut off false", "h1-4 1/2 cut off false",
			},
			gone: 6, max: [2]float64{1, 2. / 3},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := question(t, c.f, "ecmp")
			q.Fail, q.Drain = find(t, c.f, c.fail...), find(t, c.f, c.drain...)
			a := ask(t, q)
			lines := told(c.f, a)
			if d := cmp.Diff(c.want, lines[:min(len(lines), len(c.want))]); d != "" {
				t.Error(d)
			}
			if p := a.Pairs; len(p.Hurt) != c.hurt || p.CutOff != c.cut || p.Gone != c.gone || p.Looked != p.All {
				t.Errorf("%d hurt, %d cut off, %d gone, %d of %d looked at", len(p.Hurt), p.CutOff, p.Gone, p.Looked, p.All)
			}
			if d := cmp.Diff(c.max, [2]float64{a.Load.Before.Max, a.Load.After.Max}, cmpopts.EquateApprox(1e-9, 0)); d != "" {
				t.Error("load: ", d)
			}
		})
	}
}

func TestRule(t *testing.T) {
	f := must(t)(generate.LeafSpine(generate.LeafSpineConfig{Leaves: 3, Spines: 4, Hosts: 1}))
	for _, c := range []struct {
		limit  string
		drain  string
		broken string
		worst  string
	}{
		{"1", "spine1", "", "leaf1"},
		{"1", "spine1 leaf2--spine2", "leaf2", "leaf2"},
		{"1", "spine1 spine2 leaf3--spine4", "leaf3 leaf1 leaf2", "leaf3"},
		{"2", "spine1 spine2 leaf3--spine4", "leaf3", "leaf3"},
		{"50%", "spine1 spine2", "", "leaf1"},
		{"49.9%", "spine1 spine2", "leaf1 leaf2 leaf3", "leaf1"},
		{"1", "h1-1", "", ""},
	} {
		q := question(t, f, "ecmp")
		limit, err := ParseLimit(c.limit)
		if err != nil || limit.String() != c.limit {
			t.Fatal(limit, err)
		}
		q.Neighbours, q.Drain = limit, find(t, f, strings.Fields(c.drain)...)
		a := ask(t, q)
		var broken []string
		for _, i := range a.Rule.Broken {
			broken = append(broken, f.NodeName(a.Switches[i].Node))
		}
		worst := ""
		if i := a.Rule.Worst; i >= 0 {
			worst = f.NodeName(a.Switches[i].Node)
		}
		if strings.Join(broken, " ") != c.broken || worst != c.worst {
			t.Errorf("%s drained at %s: broken %v, worst %s", c.drain, c.limit, broken, worst)
		}
	}
	for _, bad := range []string{"", "0", "-1", "x", "0%", "101%", "%", "NaN%", "1.5"} {
		if l, err := ParseLimit(bad); err == nil {
			t.Errorf("%q is %v", bad, l)
		}
	}
}

func TestFind(t *testing.T) {
	var b graphs.Builder
	add := func(name string) graphs.NodeID {
		n, err := b.AddNode(graphs.Node{Name: name, Role: "tor"})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	x, y, z := add("x"), add("y"), add("z--w")
	for i, l := range []struct {
		from, to graphs.NodeID
		groups   []string
	}{{x, y, []string{"x", "box 1"}}, {x, y, []string{"x"}}, {y, z, []string{"y:2--z--w:2"}}} {
		port := fmt.Sprint(i)
		if _, err := b.AddLink(graphs.End{Node: l.from, Port: port}, graphs.End{Node: l.to, Port: port}, 0, l.groups...); err != nil {
			t.Fatal(err)
		}
	}
	f := must(t)(b.Build())
	for name, want := range map[string]string{
		"y":               "node y [0 1 2]",
		"node=x":          "node x [0 1]",
		"group=x":         "group x [0 1]",
		"box 1":           "group box 1 [0]",
		"y:0--x:0":        "link x:0--y:0 [0]",
		"link=x:1--y:1":   "link x:1--y:1 [1]",
		"y--z--w":         "link y:2--z--w:2 [2]",
		"link=z--w--y":    "link y:2--z--w:2 [2]",
		"x":               `"x" is ambiguous: say node=x or group=x`,
		"y:2--z--w:2":     `"y:2--z--w:2" is ambiguous: say link=y:2--z--w:2 or group=y:2--z--w:2`,
		"x--y":            `"x--y" is ambiguous: there are 2 links, from x:0--y:0 to x:1--y:1`,
		"x--z--w":         `no node, link or shared-risk group of fabric  is called "x--z--w"`,
		"group=y\x1b[31m": "no node, link or shared-risk group of fabric  is called \"group=y\uFFFD[31m\"",
	} {
		got, err := Find(f, name)
		text := fmt.Sprint(got.Kind, " ", got.Name, " ", got.links)
		if err != nil {
			text = err.Error()
		}
		if text != want {
			t.Errorf("%s is %s, want %s", name, text, want)
		}
	}
}

// Of too many pairs some are looked at, the same for the same seed, those that are cut off among them, and the means are near the truth.
func TestSample(t *testing.T) {
	f := must(t)(generate.RandomRegular(generate.RandomRegularConfig{Switches: 60, Degree: 6, Hosts: 1, Seed: 5}))
	q := question(t, f, "ecmp")
	q.Fail = find(t, f, "sw01", f.LinkName(f.Out(2)[0].Link()))
	for _, a := range f.Out(9) {
		if !f.IsHostArc(a) {
			q.Fail = append(q.Fail, linkThing(f, a.Link()))
		}
	}
	q.Pairs = 1 << 20
	all := ask(t, q)
	q.Pairs, q.Seed = 600, 3
	some := ask(t, q)
	if some.Pairs.Looked != 600 || all.Pairs.Looked != all.Pairs.All || some.Pairs.All != all.Pairs.All {
		t.Fatalf("%d of %d looked at", some.Pairs.Looked, some.Pairs.All)
	}
	if all.Pairs.CutOff != 2*58 || some.Pairs.CutOff != 2*58 || !some.Pairs.Hurt[2*58-1].CutOff() || some.Pairs.Hurt[2*58].CutOff() {
		t.Errorf("%d are cut off, of the sample %d", all.Pairs.CutOff, some.Pairs.CutOff)
	}
	if x, y := all.Pairs.UsableLost, some.Pairs.UsableLost; math.Abs(x-y) > 0.03 {
		t.Errorf("means of %g and %g", x, y)
	}
	if d := cmp.Diff(some, ask(t, q), cmp.AllowUnexported(Limit{})); d != "" {
		t.Error("not the same twice: ", d)
	}
}

// One trunk of 32 links fails in a fabric of 32,000.
func BenchmarkAsk(b *testing.B) {
	f := must(b)(generate.RandomRegular(generate.RandomRegularConfig{Switches: 1000, Degree: 64, Hosts: 1, Seed: 1}))
	trunk := Thing{Kind: KindGroup, Name: "trunk", node: graphs.None}
	for i := range graphs.LinkID(32) {
		trunk.links = append(trunk.links, i*997)
	}
	for _, model := range []string{"ecmp", "su:2", "spraypoint"} {
		b.Run(model, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				q := question(b, f, model)
				q.Fail = []Thing{trunk}
				ask(b, q)
			}
		})
	}
}
