package cabling

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// wire makes a fabric of links as they are printed, "a:p--b:q". A word without a port is a node alone; one with a colon at its end a host.
func wire(t testing.TB, words ...string) *graphs.Fabric {
	t.Helper()
	b := &graphs.Builder{Name: "wired"}
	add := func(name string) {
		if _, ok := b.NodeByName(name); ok {
			return
		}
		role := graphs.Role("tor")
		if strings.HasPrefix(name, "h") {
			role = graphs.RoleHost
		}
		if _, err := b.AddNode(graphs.Node{Name: name, Role: role}); err != nil {
			t.Fatal(err)
		}
	}
	var cables []cable
	for _, w := range words {
		from, to, isLink := strings.Cut(w, "--")
		if !isLink {
			add(from)
			continue
		}
		add(node(from))
		add(node(to))
		cables = append(cables, cable{from, to})
	}
	return connect(t, b, cables)
}

func TestCompare(t *testing.T) {
	// Parallel links between a and b and between c and d, and single ones.
	plan := []string{"a:1--b:1", "a:2--b:2", "c:1--d:1", "c:2--d:2", "e:1--f:1", "e:2--g:2"}
	for _, tc := range []struct {
		name           string
		plan, observed []string
		config         Config
		want           *Comparison
	}{
		{"two-way swap", plan, []string{"a:1--d:1", "c:1--b:1", "a:2--b:2", "c:2--d:2", "e:1--f:1", "g:2--e:2"}, Config{}, &Comparison{
			Planned: 6, Observed: 6, Right: 4, WrongLinks: 2,
			Wrong: []Misplaced{{"a:1", "b:1", "d:1"}, {"b:1", "a:1", "c:1"}, {"c:1", "d:1", "b:1"}, {"d:1", "c:1", "a:1"}},
			Mends: []Mend{{Ring: true, Moves: []Move{
				{"d:1", "b:1", "a:1", "a:1--d:1", "a:1--b:1"}, {"b:1", "d:1", "c:1", "c:1--b:1", "c:1--d:1"}}}},
		}},
		{"plugs exchanged at one node are exchanged there", []string{"a:1--b:1", "a:2--c:1"}, []string{"c:1--a:1", "b:1--a:2"}, Config{}, &Comparison{
			Planned: 2, Observed: 2, WrongLinks: 2,
			Wrong: []Misplaced{{"a:1", "b:1", "c:1"}, {"b:1", "a:1", "a:2"}, {"a:2", "c:1", "b:1"}, {"c:1", "a:2", "a:1"}},
			Mends: []Mend{{Ring: true, SameNodes: true, Moves: []Move{
				{"a:2", "a:1", "b:1", "b:1--a:2", "a:1--b:1"}, {"a:1", "a:2", "c:1", "c:1--a:1", "a:2--c:1"}}}},
		}},
		{"parallel links exchanged", plan[:2], []string{"a:1--b:2", "a:2--b:1"}, Config{}, &Comparison{
			Planned: 2, Observed: 2, WrongLinks: 2,
			Wrong: []Misplaced{{"a:1", "b:1", "b:2"}, {"b:1", "a:1", "a:2"}, {"a:2", "b:2", "b:1"}, {"b:2", "a:2", "a:1"}},
			Mends: []Mend{{Ring: true, SameNodes: true, Moves: []Move{
				{"b:2", "b:1", "a:1", "a:1--b:2", "a:1--b:1"}, {"b:1", "b:2", "a:2", "a:2--b:1", "a:2--b:2"}}}},
		}},
		{"moved to a free port", plan[:2], []string{"a:1--b:1", "a:2--b:9"}, Config{}, &Comparison{
			Planned: 2, Observed: 2, Right: 1, WrongLinks: 1, Wrong: []Misplaced{{"a:2", "b:2", "b:9"}},
			Mends: []Mend{{Moves: []Move{{"b:9", "b:2", "a:2", "a:2--b:9", "a:2--b:2"}}}},
		}},
		{"two cables for one link", plan[:2], []string{"a:1--b:1", "a:2--x:1", "b:2--x:2"}, Config{}, &Comparison{
			Planned: 2, Observed: 3, Right: 1, WrongLinks: 1, Wrong: []Misplaced{{"a:2", "b:2", "x:1"}, {"b:2", "a:2", "x:2"}},
			Mends: []Mend{{Unplug: "a:2--x:1", Moves: []Move{{"x:2", "a:2", "b:2", "b:2--x:2", "a:2--b:2"}}}},
		}},
		{"one cable for two links", plan[:4], []string{"a:1--d:1", "a:2--b:2", "c:2--d:2"}, Config{}, &Comparison{
			Planned: 4, Observed: 3, Right: 2, WrongLinks: 2, Wrong: []Misplaced{{"a:1", "b:1", "d:1"}, {"d:1", "c:1", "a:1"}},
			Mends: []Mend{{Lay: "c:1--d:1", Moves: []Move{{"d:1", "b:1", "a:1", "a:1--d:1", "a:1--b:1"}}}},
		}},
		{"the link that is to be dark stays without", plan[:4], []string{"a:1--d:1", "a:2--b:2", "c:2--d:2"}, Config{Dark: []string{"B:1"}}, &Comparison{
			Planned: 4, Observed: 3, Right: 2, WrongLinks: 2, Wrong: []Misplaced{{"a:1", "b:1", "d:1"}, {"d:1", "c:1", "a:1"}},
			Dark:  []string{"b:1"},
			Mends: []Mend{{Moves: []Move{{"a:1", "c:1", "d:1", "a:1--d:1", "c:1--d:1"}}}},
		}},
		{"missing and unexpected", plan[:2], []string{"a:1--b:1", "a:7--x:1"}, Config{}, &Comparison{
			Planned: 2, Observed: 2, Right: 1, Missing: []string{"a:2--b:2"}, Unexpected: []string{"a:7--x:1"},
		}},
		{"dark as expected, and not", plan, []string{"a:1--b:1", "e:1--f:1", "e:2--g:2", "c", "d"},
			Config{Dark: []string{"a:2", "d", "e:1--f:1", "e:9", "nobody"}}, &Comparison{
				Planned: 6, Observed: 3, Right: 3, DarkLinks: 3,
				Dark: []string{"a:2", "d:1", "d:2", "e:9"}, Lit: []string{"e:1", "f:1"}, Unknown: []string{"nobody"},
			}},
		{"a silent node is told once", plan, []string{"a:1--b:1", "a:2--b:2", "e:1--f:1", "e:2--g:2", "d"}, Config{}, &Comparison{
			Planned: 6, Observed: 4, Right: 4, Unseen: []Unseen{{"c", 2}}, UnseenLinks: 2,
		}},
		{"a node that says it has no links is not silent", plan[:4], []string{"a:1--b:1", "a:2--b:2", "c", "d"}, Config{}, &Comparison{
			Planned: 4, Observed: 2, Right: 2, Missing: []string{"c:1--d:1", "c:2--d:2"},
		}},
		{"no host runs LLDP", []string{"h1:eth1--a:3", "h2:eth1--b:3", "a:1--b:1"}, []string{"a:1--b:1"}, Config{}, &Comparison{
			Planned: 3, Observed: 1, Right: 1, HostLinks: 2,
		}},
		{"one host of two is missing", []string{"h1:eth1--a:3", "h2:eth1--b:3", "a:1--b:1"}, []string{"a:1--b:1", "b:3--h2:eth1"}, Config{}, &Comparison{
			Planned: 3, Observed: 2, Right: 2, Missing: []string{"h1:eth1--a:3"},
		}},
		{"spelling", []string{"leaf1:Ethernet1/1--spine1:swp1"}, []string{"SPINE1.dc.example.net:SWP1--leaf1:Eth1/1"}, Config{}, &Comparison{
			Planned: 1, Observed: 1, Right: 1,
		}},
		{"a node that may be two", []string{"s.x:1--b:1", "s.y:1--b:2", "b:3--c:3"}, []string{"s:1--b:1", "b:3--c:3"}, Config{}, &Comparison{
			Planned: 3, Observed: 2, Right: 1, Unclear: []string{"s:1--b:1"}, UnclearLinks: 2,
			Ambiguous: []string{"node s may be s.x or s.y of the plan"},
		}},
		{"ends that give a MAC address for their port", plan[:4],
			[]string{"a:1--b:52-54-00-00-00-01", "b:2--a:52-54-00-00-00-02", "a:2--b:52-54-00-00-00-03", "c:1--d:52-54-00-00-00-04", "c:2--d:52-54-00-00-00-05"},
			Config{}, &Comparison{Planned: 4, Observed: 5, Right: 4, HalfNamed: 3}},
		{"halves of one cable", []string{"a:1--b:1", "c:1--d:1"},
			[]string{"a:1--d:52-54-00-00-00-01", "d:1--a:52-54-00-00-00-02", "c:1--b:52-54-00-00-00-03"}, Config{}, &Comparison{
				Planned: 2, Observed: 3, WrongLinks: 2, Unmended: 1,
				Wrong: []Misplaced{{"a:1", "b:1", "d:1"}, {"c:1", "d:1", "b:52-54-00-00-00-03"}, {"d:1", "c:1", "a:1"}},
			}},
		{"nodes alone", plan, []string{"b:1--a:1", "b:2--a:2", "d:1--c:1", "e:1--d:2", "g:1--e:2", "f:1--c:2"},
			Config{ObservedNumbered: true}, &Comparison{
				Planned: 6, Observed: 6, Right: 4, WrongLinks: 2,
				Wrong: []Misplaced{{"c:2", "d:2", "f:1"}, {"d:2", "c:2", "e:1"}, {"e:1", "f:1", "d:2"}, {"f:1", "e:1", "c:2"}},
				Mends: []Mend{{Ring: true, Moves: []Move{
					{"f:1", "d:2", "c:2", "f:1--c:2", "c:2--d:2"}, {"d:2", "f:1", "e:1", "e:1--d:2", "e:1--f:1"}}}},
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Compare(wire(t, tc.plan...), wire(t, tc.observed...), tc.config)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestMendText(t *testing.T) {
	ring := Mend{Ring: true, Moves: []Move{{From: "a:1", To: "b:1", Stays: "x:1"}, {From: "b:1", To: "a:1", Stays: "y:1"}}}
	long := Mend{Ring: true, Moves: []Move{{From: "a:1", To: "b:1"}, {From: "b:1", To: "c:1"}, {From: "c:1", To: "a:1"}}}
	path := Mend{Moves: []Move{{From: "a:9", To: "a:1", Stays: "x:1"}}, Lay: "c:1--d:1"}
	for _, tc := range []struct {
		m    Mend
		want string
	}{
		{ring, "exchange the plugs at a:1 and b:1 (the cables from x:1 and y:1)"},
		{long, "move 3 plugs round, each from its port to the next one's: a:1 to b:1, b:1 to c:1, c:1 to a:1"},
		{path, "move the plug at a:9 to a:1 (the cable from x:1); then lay a cable c:1--d:1"},
	} {
		if got := tc.m.Text(); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

func TestRules(t *testing.T) {
	fatTree, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	const (
		tiers  = "links join agg and core (16), agg and edge (16), and no others"
		planes = "between agg and core the plan has 2 parts, which no link joins"
		pods   = "between agg and edge the plan has 4 parts, which no link joins"
	)
	xpander := wire(t, "m01-sw01:1--m02-sw01:1", "m01-sw02:1--m02-sw02:1", "m01-sw01:2--m03-sw01:1", "m01-sw02:2--m03-sw02:1",
		"m02-sw01:2--m03-sw01:2", "m02-sw02:2--m03-sw02:2")
	for _, tc := range []struct {
		name string
		plan *graphs.Fabric
		swap []string // links of which the second ends are exchanged
		want []Rule
	}{
		{"fat-tree, tiers skipped", fatTree, []string{"edge1-1:swp1--agg1-1:swp1", "agg2-1:swp3--core1:swp2"}, []Rule{
			{Name: "tiers", Says: tiers, Observed: []string{"edge1-1:swp1--core1:swp2 joins core and edge", "agg2-1:swp3--agg1-1:swp1 joins agg and agg"}},
			{Name: "parts", Says: planes},
			{Name: "parts", Says: pods},
		}},
		{"fat-tree, pods mixed", fatTree, []string{"edge1-1:swp1--agg1-1:swp1", "edge2-1:swp1--agg2-1:swp1"}, []Rule{
			{Name: "tiers", Says: tiers},
			{Name: "parts", Says: planes},
			{Name: "parts", Says: pods, Observed: []string{
				"edge1-1:swp1--agg2-1:swp1 joins the parts of edge1-1 and agg2-1", "edge2-1:swp1--agg1-1:swp1 joins the parts of edge2-1 and agg1-1"}},
		}},
		{"xpander", xpander, []string{"m01-sw01:1--m02-sw01:1", "m02-sw02:2--m03-sw02:2"}, []Rule{
			{Name: "meta-nodes", Says: "no link within any of 3 meta-nodes, 2 between any two", Observed: []string{
				"m02-sw02:2--m02-sw01:1 is within meta-node m02", "meta-nodes m01 and m02 are joined 1 times, not 2",
				"meta-nodes m01 and m03 are joined 3 times, not 2", "meta-nodes m02 and m03 are joined 1 times, not 2"}},
		}},
		{"no structure", wire(t, "a:1--b:1", "b:2--c:1"), nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cables := cablesOf(tc.plan)
			if len(tc.swap) == 2 {
				var at []int
				for _, name := range tc.swap {
					l, ok := tc.plan.LinkByName(name)
					if !ok {
						t.Fatalf("no link %s", name)
					}
					at = append(at, int(l))
				}
				cables[at[0]][1], cables[at[1]][1] = cables[at[1]][1], cables[at[0]][1]
			}
			got := Compare(tc.plan, build(t, tc.plan, cables), Config{}).Rules
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
