package pathfind

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]string{
		"ecmp": "ecmp", "wcmp": "wcmp", "vlb": "vlb", "su:2": "su:2", "ksp:8": "ksp:8", "fib:a:b.json": "fib:a:b.json",
		"spraypoint": "spraypoint:p=4,h=2", "spraypoint:h=3": "spraypoint:p=4,h=3",
		"spraypoint:key=0x10,levels=2,p=2,h=1": "spraypoint:p=2,h=1,levels=2,key=16",
		"":                                     "!no forwarding model", "ECMP": "!no forwarding model",
		"ecmp:2": "!has no parameters", "su": "!between 1 and 6",
		"su:0": "!between 1 and 6", "su:2x": "!between", "ksp:-1": "!between 1 and 1024", "fib:": "!expected fib:FILE",
		"spraypoint:q=1": "!no parameter \"q\"", "spraypoint:p": "!p must be between", "spraypoint:p=1,p=2": "!twice",
		"spraypoint:key=-1": "!not a number", "spraypoint:p=4,": "!no parameter",
	} {
		s, err := ParseSpec(text)
		if refused, ok := strings.CutPrefix(want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("%q: got %v, want an error that says %q", text, err, refused)
			}
		} else if err != nil || s.String() != want {
			t.Errorf("%q: got %q and %v, want %q", text, s, err, want)
		}
	}
}

func TestSpecOf(t *testing.T) {
	fabric := func(models ...string) *graphs.Fabric {
		var b graphs.Builder
		for i, m := range models {
			role := graphs.Role("tor")
			if i == 0 {
				role = graphs.RoleHost
			}
			if _, err := b.AddNode(graphs.Node{Name: fmt.Sprint("n", i), Role: role, Model: m}); err != nil {
				t.Fatal(err)
			}
		}
		return must(t)(b.Build())
	}
	for _, c := range []struct {
		f    *graphs.Fabric
		want string
	}{
		{fabric("vlb", "", ""), "ecmp"}, {fabric("", "", "su:2", "su:2"), "su:2"},
		{fabric("", "su:2", "ecmp"), "!n1 has \"su:2\", n2 has \"ecmp\""}, {fabric("", "magic"), "!node n1: no forwarding model"},
	} {
		s, err := SpecOf(c.f)
		if refused, ok := strings.CutPrefix(c.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("got %v, want an error that says %q", err, refused)
			}
		} else if err != nil || s.String() != c.want {
			t.Errorf("got %q and %v, want %q", s, err, c.want)
		}
	}
}

// A leaf has three spines: one with two links to the other leaf, one behind a fast link, and one whose links are of unlike speed.
func TestWeightsFollowCapacity(t *testing.T) {
	var b graphs.Builder
	node := func(name string, role graphs.Role) graphs.NodeID {
		n, err := b.AddNode(graphs.Node{Name: name, Role: role})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	h1, h2 := node("h1", graphs.RoleHost), node("h2", graphs.RoleHost)
	l1, l2, s1, s2, s3 := node("l1", "leaf"), node("l2", "leaf"), node("s1", "spine"), node("s2", "spine"), node("s3", "spine")
	port := 0
	link := func(u, v graphs.NodeID, speed graphs.BitsPerSecond) {
		port += 2
		if _, err := b.AddLink(graphs.End{Node: u, Port: fmt.Sprint(port)}, graphs.End{Node: v, Port: fmt.Sprint(port + 1)}, speed); err != nil {
			t.Fatal(err)
		}
	}
	const g = 1e9
	link(h1, l1, 25*g) // slow, and yet no reason to share evenly
	link(h2, l2, 25*g)
	link(l1, s1, 400*g)
	link(l1, s2, 400*g)
	link(l1, s3, 100*g)
	link(s1, l2, 100*g)
	link(s1, l2, 100*g)
	link(s2, l2, 100*g)
	link(s3, l2, 0) // unknown, so 100G as most
	f := must(t)(b.Build())
	got := map[string]float64{}
	for _, s := range newModel(t, f, nil, "wcmp").Ways(h1, h2).Shares() {
		got[f.NodeName(f.Tail(s.Arc))+">"+f.NodeName(f.Head(s.Arc))] += s.Share
	}
	want := map[string]float64{
		"h1>l1": 1, "l1>s1": 0.5, "l1>s2": 0.25, "l1>s3": 0.25, "s1>l2": 0.5, "s2>l2": 0.25, "s3>l2": 0.25, "l2>h2": 1,
	}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); d != "" {
		t.Error(d)
	}
}

const leafSpineFIB = `{
 "leaf1": {"0.0.0.0/0": ["swp1", {"via": "spine2", "weight": 3}], "h2-2": ["swp1"], "10.32.0.0/16": []},
 "leaf2": {"10.32.0.0/15": ["h2-1"], "h2-2": ["spine1"]},
 "spine1": {"0.0.0.0/0": ["leaf2"], "h2-2": ["leaf1", "leaf2"]},
 "spine2": {}
}`

func TestRoutes(t *testing.T) {
	f := must(t)(generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 2}))
	node := func(name string) graphs.NodeID {
		n, ok := f.NodeByName(name)
		if !ok {
			t.Fatalf("no node %s", name)
		}
		return n
	}
	ways := func(fib, src, dst string, down func(graphs.LinkID) bool) *Ways {
		routes, err := ReadFIB(strings.NewReader(fib), "routes.json", f)
		if err != nil {
			t.Fatal(err)
		}
		m, err := New(f, Spec{Kind: "fib", File: "x"}, Options{FIB: routes, Down: down})
		if err != nil {
			t.Fatal(err)
		}
		all := Demand{Ends: []graphs.NodeID{node(src), node(dst)}, Volume: func(s, _ graphs.NodeID) float64 {
			if s == node(src) {
				return 2
			}
			return 0
		}}
		w := m.Ways(node(src), node(dst))
		if l := m.Loads(all); l.Offered != 2 || l.Lost < 2*(1-w.Arrived())-1e-9 || l.Lost > 2*(1-w.Arrived())+1e-9 {
			t.Errorf("%s to %s: %+v with %v", src, dst, l, w.Losses())
		}
		return w
	}
	addr := func(host string) string { return f.Address(node(host), false).String() }
	open := strings.Replace(leafSpineFIB, `, "10.32.0.0/16": []`, "", 1)
	for _, c := range []struct {
		what, fib, src, dst string
		want                []Loss
	}{
		{"half of it goes where there is no route", open, "h1-1", "h2-1", []Loss{{node("spine2"), BlackHole, 0.75}}},
		{"the longest prefix drops", leafSpineFIB, "h1-1", "h2-1", []Loss{{node("leaf1"), BlackHole, 1}}},
		{"circles; spine1 sends half of it back", open, "h1-1", "h2-2", []Loss{{node("leaf1"), Loop, 0.5}, {node("spine1"), Loop, 0.5}}},
		{"an address goes before a prefix",
			strings.Replace(leafSpineFIB, `"h2-2": ["swp1"]`, `"`+addr("h2-1")+`": ["spine1"]`, 1), "h1-1", "h2-1", nil},
		{"hosts carry no transit", open, "spine1", "h1-1", []Loss{{node("h2-1"), BlackHole, 1}}},
	} {
		if d := cmp.Diff(c.want, ways(c.fib, c.src, c.dst, nil).Losses(), cmpopts.EquateApprox(0, 1e-12)); d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
	}
	lost, _ := f.LinkByName("leaf1:swp2--spine2:swp1")
	w := ways(open, "h1-1", "h2-1", func(l graphs.LinkID) bool { return l == lost })
	if paths, _ := w.Paths(9); w.Losses() != nil || len(paths) != 1 || paths[0].Share != 1 {
		t.Errorf("a next hop whose link is down is still used: %v, %v", paths, w.Losses())
	}
}

func TestReadFIBErrors(t *testing.T) {
	f := must(t)(generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 1}))
	for text, want := range map[string]string{
		"":                               "routes.json:1: the text ends too early",
		"[]":                             "routes.json:1: expected an object",
		"{\n\"leaf9\": {}}":              `routes.json:2: no node is called "leaf9"`,
		"{\"leaf1\": {},\n\"leaf1\"":     `routes.json:2: node "leaf1" is there twice`,
		`{"leaf1": {"10.0.0.0/33": []}}`: `"10.0.0.0/33" is neither a prefix`,
		`{"leaf1": {"10.0.0.1/8": [], "10.0.0.2/8": []}}`:     `route to 10.0.0.0/8 is there twice`,
		"{\"leaf1\": {\"::/0\": \n[\"swp99\"]}}":              `routes.json:2: route to ::/0: next hop "swp99" is neither a port of leaf1`,
		`{"leaf1": {"::/0": "swp1"}}`:                         "expected a list of next hops",
		`{"leaf1": {"::/0": [{"via": "swp1", "weight": 0}]}}`: "weight 0 is not between",
		`{"leaf1": {"::/0": [{"via": "swp1", "cost": 1}]}}`:   "a next hop is a word, or",
		`{"leaf1": {}} {}`:                                    "more text after the end",
		"{\"leaf1\": {\"\x1b[31m\": []}}":                     "invalid character",
		`{"leaf1": {"::/0": [` + strings.Repeat("[", 100000):  "",
		`{"leaf1": {"\u001b[31m": []}}`:                       "\ufffd[31m",
		`{"leaf1": {"::ffff:10.0.0.0/104": []}}`:              "is neither a prefix",
	} {
		_, err := ReadFIB(strings.NewReader(text), "routes.json", f)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%.60q: got %v, want an error that says %q", text, err, want)
		}
	}
}

func FuzzReadFIB(fuzz *testing.F) {
	f := must(fuzz)(generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 2}))
	fuzz.Add(leafSpineFIB)
	fuzz.Add(`{"leaf1": {"10.0.0.0/8": ["10.64.0.1"], "::1": [{"via": "swp1", "weight": 1e3}]}}`)
	fuzz.Fuzz(func(t *testing.T, text string) {
		fib, err := ReadFIB(strings.NewReader(text), "routes.json", f)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q", err)
			}
			return
		}
		m, err := New(f, Spec{Kind: "fib", File: "x"}, Options{FIB: fib})
		if err != nil {
			t.Fatal(err)
		}
		for _, src := range f.Hosts() {
			for _, dst := range f.Hosts() {
				w := m.Ways(src, dst)
				sum := 0.0
				for _, l := range w.Lengths() {
					sum += l.Share
				}
				if sum-w.Arrived() > 1e-6 || w.Arrived()-sum > 1e-6 {
					t.Fatalf("%g have a length and %g arrive", sum, w.Arrived())
				}
			}
		}
	})
}
