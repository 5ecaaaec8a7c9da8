package graphs_test

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// small has parallel links, a node whose name holds the marks of a link's name, a loopback and a shared-risk group.
func small(t testing.TB) *graphs.Fabric {
	t.Helper()
	var b graphs.Builder
	b.Name = "small"
	nodes := []graphs.Node{
		{Name: "sw--1", Loopback: []netip.Addr{netip.MustParseAddr("10.255.0.1")}}, {Name: "sw2"}, {Name: "h1", Role: graphs.RoleHost},
	}
	for _, n := range nodes {
		if _, err := b.AddNode(n); err != nil {
			t.Fatal(err)
		}
	}
	end := func(n graphs.NodeID, port, prefix string) graphs.End {
		e := graphs.End{Node: n, Port: port}
		if prefix != "" {
			e.Prefixes = []netip.Prefix{netip.MustParsePrefix(prefix)}
		}
		return e
	}
	for _, l := range []struct {
		a, b   graphs.End
		groups []string
	}{
		{end(0, "p1", "10.64.0.0/31"), end(1, "p1", "10.64.0.1/31"), []string{"cable-7", "cable-7", "box-3"}},
		{end(1, "p2", "fe80::1/64"), end(0, "Eth1/2:1", "fe80::1/64"), []string{"cable-7"}},
		{end(2, "eth1", "10.32.0.1/31"), end(0, "p3", "10.32.0.0/31"), nil},
	} {
		if _, err := b.AddLink(l.a, l.b, 100e9, l.groups...); err != nil {
			t.Fatal(err)
		}
	}
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNames(t *testing.T) {
	f := small(t)
	for name, want := range map[string]graphs.ArcID{
		"sw--1:p1>sw2:p1": 0, "sw2:p1>sw--1:p1": 1, "sw--1:Eth1/2:1>sw2:p2": 3, "h1:eth1>sw--1:p3": 4,
	} {
		a, ok := f.ArcByName(name)
		if !ok || a != want || f.ArcName(a) != name {
			t.Errorf("%s: got %d, %t, want %d", name, a, ok, want)
		}
	}
	for name, want := range map[string]graphs.LinkID{
		"sw--1:p1--sw2:p1": 0, "sw2:p1--sw--1:p1": 0, "sw2:p2--sw--1:Eth1/2:1": 1, "sw--1:p3--h1:eth1": 2,
	} {
		if l, ok := f.LinkByName(name); !ok || l != want {
			t.Errorf("%s: got %d, %t, want %d", name, l, ok, want)
		}
	}
	for _, name := range []string{"", "sw2:p1", "sw2:p1>", "sw--1:p1>sw2:p2", "sw--1:p1>h1:eth1", "x:p1>sw2:p1", "sw--1:p1--sw2:p2", "--"} {
		if _, ok := f.ArcByName(name); ok {
			t.Errorf("%q is an arc", name)
		}
		if _, ok := f.LinkByName(name); ok {
			t.Errorf("%q is a link", name)
		}
	}
}

func TestOwner(t *testing.T) {
	f := small(t)
	p1, _ := f.PortByName("sw--1:p1")
	for address, want := range map[string]graphs.Owner{
		"10.64.0.0": {Node: 0, Port: p1}, "::ffff:10.64.0.0": {Node: 0, Port: p1}, "10.255.0.1": {Node: 0, Port: graphs.None},
	} {
		if o, ok := f.Owner(netip.MustParseAddr(address)); !ok || o != want {
			t.Errorf("%s: got %v, %t, want %v", address, o, ok, want)
		}
	}
	for _, address := range []string{"fe80::1", "10.64.0.7"} {
		if o, ok := f.Owner(netip.MustParseAddr(address)); ok {
			t.Errorf("%s belongs to %v", address, o)
		}
	}
	if a := f.Address(2, false); a.String() != "10.32.0.1" {
		t.Errorf("h1 is reached at %s", a)
	}
	if a := f.Address(0, true); a.IsValid() {
		t.Errorf("sw--1 has no IPv6 address but %s", a)
	}
}

func TestGroups(t *testing.T) {
	f := small(t)
	got := map[string][]graphs.LinkID{}
	for g := range graphs.GroupID(f.NumGroups()) {
		got[f.Group(g).Name] = f.Group(g).Links
	}
	if d := cmp.Diff(map[string][]graphs.LinkID{"cable-7": {0, 1}, "box-3": {0}}, got); d != "" {
		t.Error(d)
	}
}

func TestRolesAreGuessed(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes []graphs.Node // all linked to the first
		want  string
	}{
		{"one link makes a host", []graphs.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}}, "switch? host? host?"},
		{"unless hosts are stated", []graphs.Node{{Name: "a"}, {Name: "b"}, {Name: "c", Role: "host"}}, "switch? switch? host"},
		{"names tell", []graphs.Node{{Name: "DC1-Spine-1"}, {Name: "dc1-leaf-1"}, {Name: "dc1-srv-1"}}, "spine? leaf? host?"},
		{"superspine is no spine", []graphs.Node{{Name: "superspine1"}, {Name: "spine1", Role: "core"}}, "superspine? core"},
	} {
		var b graphs.Builder
		for i, n := range c.nodes {
			if _, err := b.AddNode(n); err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				port := fmt.Sprint("p", i)
				if _, err := b.AddLink(graphs.End{Node: 0, Port: port}, graphs.End{Node: graphs.NodeID(i), Port: port}, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		f, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range c.nodes {
			n := f.Node(graphs.NodeID(i))
			role := string(n.Role)
			if n.RoleGuessed {
				role += "?"
			}
			got = append(got, role)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: got %s, want %s", c.name, s, c.want)
		}
	}
}

func TestBuilderRefuses(t *testing.T) {
	var b graphs.Builder
	if _, err := b.Build(); err == nil {
		t.Error("an empty fabric is built")
	}
	loop := netip.MustParseAddr("10.255.0.1")
	if _, err := b.AddNode(graphs.Node{Name: "a", Loopback: []netip.Addr{loop}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.AddNode(graphs.Node{Name: "b"}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []graphs.Node{
		{Name: ""}, {Name: "a"}, {Name: "a:b"}, {Name: "a>b"}, {Name: "\x1b[31m"}, {Name: "\xff"}, {Name: "x\u202ey"}, {Name: strings.Repeat("x", 256)},
		{Name: "c", Loopback: []netip.Addr{loop}},
	} {
		if _, err := b.AddNode(n); err == nil || strings.ContainsAny(err.Error(), "\x1b\u202e") {
			t.Errorf("node %q: error %v", n.Name, err)
		}
	}
	if _, err := b.AddLink(graphs.End{Node: 0, Port: "p"}, graphs.End{Node: 1, Port: "p"}, 0); err != nil {
		t.Fatal(err)
	}
	for _, e := range [][2]graphs.End{
		{{Node: 0, Port: "p"}, {Node: 1, Port: "q"}}, {{Node: 0, Port: "q"}, {Node: 0, Port: "r"}}, {{Node: 0, Port: ""}, {Node: 1, Port: "r"}},
		{{Node: 0, Port: "s>"}, {Node: 1, Port: "s"}}, {{Node: 0, Port: "t"}, {Node: 7, Port: "t"}},
		{{Node: 0, Port: "u"}, {Node: 1, Port: "u", Prefixes: []netip.Prefix{netip.PrefixFrom(loop, 32)}}},
	} {
		if _, err := b.AddLink(e[0], e[1], 0); err == nil {
			t.Errorf("link %v is added", e)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"leaf1": "leaf1", "é": "é", "a\x1b[2Jb": "a\ufffd[2Jb", "a\nb": "a\ufffdb", "\xffx": "\ufffdx", "x\u202ey": "x\ufffdy", "zero\u200bwidth": "zero\ufffdwidth",
		strings.Repeat("x", 300): strings.Repeat("x", 252) + "...",
	} {
		if got := graphs.Clean(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestCleanIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := graphs.Clean(string(rapid.SliceOf(rapid.Byte()).Draw(t, "s")))
		if graphs.Clean(s) != s {
			t.Errorf("%q is cleaned once more", s)
		}
	})
}

// Every arc stands at its tail, and at its head is its reverse.
func TestAdjacency(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 6})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for n := range graphs.NodeID(f.NumNodes()) {
		for i, a := range f.Out(n) {
			seen++
			if f.Tail(a) != n || f.Head(a.Reverse()) != n || f.Tail(a.Reverse()) != f.Head(a) || f.ArcFrom(f.TailPort(a)) != a || f.ArcInto(f.HeadPort(a)) != a {
				t.Fatalf("arc %s of %s", f.ArcName(a), f.NodeName(n))
			}
			if f.Ports(n)[i] != f.TailPort(a) {
				t.Errorf("%s: arcs and ports are in different orders", f.NodeName(n))
			}
		}
	}
	if seen != f.NumArcs() {
		t.Errorf("%d arcs, want %d", seen, f.NumArcs())
	}
}

// Mean path lengths of fat-trees as networkx gives them, of the whole graph of switches.
func TestShape(t *testing.T) {
	for _, c := range []struct {
		k, switches, links, min, max int
		mean                         float64
	}{{4, 20, 32, 2, 4, 2.58947}, {8, 80, 256, 4, 8, 2.88101}} {
		f, err := generate.FatTree(generate.FatTreeConfig{K: c.k})
		if err != nil {
			t.Fatal(err)
		}
		s := f.Shape()
		if s.Switches != c.switches || s.Links-s.Hosts != c.links || s.Degree.Min != c.min || s.Degree.Max != c.max || s.Diameter != 4 || s.Parts != 1 {
			t.Errorf("k=%d: %+v", c.k, s)
		}
		if math.Abs(s.MeanPath-c.mean) > 1e-5 {
			t.Errorf("k=%d: mean path length %f, want %f", c.k, s.MeanPath, c.mean)
		}
	}
	if s := small(t).Shape(); s.Degree.Mean != 2 || s.Diameter != 1 || s.Roles["host"] != 1 || s.Arcs != 6 {
		t.Errorf("small: %+v", s)
	}
}

func TestGraph(t *testing.T) {
	g, err := small(t).Graph()
	if err != nil {
		t.Fatal(err)
	}
	e, err := g.Edge("sw2", "sw--1")
	if err != nil {
		t.Fatal(err)
	}
	if e.Properties.Weight != 2 || e.Properties.Attributes["label"] != "p1--p1 and 1 more" {
		t.Errorf("parallel links: weight %d, label %q", e.Properties.Weight, e.Properties.Attributes["label"])
	}
}
