package pathfind

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// trace is what a perfect trace sees of a path.
func trace(f *graphs.Fabric, path []graphs.ArcID) []Hop {
	hops := make([]Hop, len(path))
	for i, a := range path {
		hops[i] = Hop{Answered: true, Node: f.Head(a), Port: f.HeadPort(a)}
	}
	return hops
}

// A trace in which hops are silent, or known but for the port, is resolved to those paths that agree with it, and no others.
func TestResolveAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, down := drawFabric(t)
		e := NewECMPWithout(f, down)
		src := graphs.NodeID(rapid.IntRange(0, f.NumNodes()-1).Draw(t, "src"))
		dst := graphs.NodeID(rapid.IntRange(0, f.NumNodes()-1).Draw(t, "dst"))
		all, _ := e.Paths(src, dst, 1000)
		if len(all) == 0 || src == dst {
			return
		}
		truth := all[rapid.IntRange(0, len(all)-1).Draw(t, "path")]
		hops := trace(f, truth.Arcs)
		for i := range hops {
			switch rapid.IntRange(0, 2).Draw(t, "hop") {
			case 1:
				hops[i] = Silent
			case 2:
				hops[i].Port = graphs.None
			}
		}
		var want []Path
		sum := 0.0
		for _, p := range all {
			agrees := true
			for i, a := range p.Arcs {
				agrees = agrees && (hops[i].Node == graphs.None || hops[i].Node == f.Head(a)) &&
					(hops[i].Port == graphs.None || hops[i].Port == f.HeadPort(a))
			}
			if agrees {
				want = append(want, p)
				sum += p.Share
			}
		}
		got := Resolve(e, src, dst, hops, 1000)
		if len(got) != len(want) {
			t.Fatalf("%d paths, want %d", len(got), len(want))
		}
		for i := range want {
			if !slices.Equal(got[i].Arcs, want[i].Arcs) || math.Abs(got[i].Share-want[i].Share/sum) > 1e-9 {
				t.Fatalf("got %v, want %v of %g", got[i], want[i], sum)
			}
		}
		if len(want) > 1 {
			cut := Resolve(e, src, dst, hops, len(want)-1)
			rest := 0.0
			for _, p := range cut {
				rest += p.Share
			}
			if len(cut) != len(want)-1 || rest >= 1-1e-9 {
				t.Fatalf("%d paths with shares that sum to %g beyond the limit", len(cut), rest)
			}
		}
	})
}

// resolveNames resolves a trace that is written with names: "node", "node:port", or "" for a silent hop. It returns the paths by the names of
// the ports at which they arrive.
func resolveNames(t *testing.T, e *ECMP, src, dst string, hops ...string) []string {
	t.Helper()
	f := e.Fabric()
	node := func(name string) graphs.NodeID {
		n, ok := f.NodeByName(name)
		if !ok {
			t.Fatalf("no node %s", name)
		}
		return n
	}
	var hs []Hop
	for _, name := range hops {
		h := Silent
		if p, ok := f.PortByName(name); ok {
			h = Hop{true, f.Port(p).Node, p}
		} else if name != "" {
			h = Hop{true, node(name), graphs.None}
		}
		hs = append(hs, h)
	}
	var got []string
	for _, p := range Resolve(e, node(src), node(dst), hs, 16) {
		s := ""
		for _, a := range p.Arcs {
			s += " " + f.PortName(f.HeadPort(a))
		}
		got = append(got, s[1:])
	}
	return got
}

func TestResolve(t *testing.T) {
	leafSpine := NewECMP(must(t)(generate.LeafSpine(generate.LeafSpineConfig{Leaves: 3, Spines: 2, Hosts: 1})))
	parallel := NewECMP(twoLinks(t))
	for _, c := range []struct {
		name     string
		e        *ECMP
		src, dst string
		hops     []string
		want     []string
	}{
		{"all known", leafSpine, "h1-1", "h2-1", []string{"leaf1:swp3", "spine2:swp1", "leaf2:swp2", "h2-1:eth1"},
			[]string{"leaf1:swp3 spine2:swp1 leaf2:swp2 h2-1:eth1"}},
		{"silent spine", leafSpine, "h1-1", "h2-1", []string{"leaf1", "", "leaf2", "h2-1"},
			[]string{"leaf1:swp3 spine1:swp1 leaf2:swp1 h2-1:eth1", "leaf1:swp3 spine2:swp1 leaf2:swp2 h2-1:eth1"}},
		{"silent spine, but the next port tells", leafSpine, "h1-1", "h2-1", []string{"leaf1", "", "leaf2:swp2", "h2-1"},
			[]string{"leaf1:swp3 spine2:swp1 leaf2:swp2 h2-1:eth1"}},
		{"the spine answers from another port", leafSpine, "h1-1", "h2-1", []string{"leaf1", "spine2:swp3", "leaf2", "h2-1"},
			[]string{"leaf1:swp3 spine2:swp1 leaf2:swp2 h2-1:eth1"}},
		{"nothing but the destination", leafSpine, "h1-1", "h2-1", []string{"", "", "", "h2-1"},
			[]string{"leaf1:swp3 spine1:swp1 leaf2:swp1 h2-1:eth1", "leaf1:swp3 spine2:swp1 leaf2:swp2 h2-1:eth1"}},
		{"the destination is silent too", leafSpine, "h1-1", "h1-1", nil, nil},
		{"another way than the shortest", leafSpine, "h1-1", "h2-1", []string{"leaf1", "spine1", "leaf3", "spine2", "leaf2", "h2-1"},
			[]string{"leaf1:swp3 spine1:swp1 leaf3:swp1 spine2:swp3 leaf2:swp2 h2-1:eth1"}},
		{"a longer way with a silent hop visits no node twice", leafSpine, "h1-1", "h2-1", []string{"leaf1", "spine1", "", "spine2", "leaf2", "h2-1"},
			[]string{"leaf1:swp3 spine1:swp1 leaf3:swp1 spine2:swp3 leaf2:swp2 h2-1:eth1"}},
		{"a loop that answers show", leafSpine, "h1-1", "h2-1", []string{"leaf1", "spine1", "leaf1", "spine2", "leaf2", "h2-1"},
			[]string{"leaf1:swp3 spine1:swp1 leaf1:swp1 spine2:swp1 leaf2:swp2 h2-1:eth1"}},
		{"nodes that have no link between them", leafSpine, "h1-1", "h2-1", []string{"leaf1", "leaf2", "spine1", "h2-1"}, nil},
		{"too short", leafSpine, "h1-1", "h2-1", []string{"leaf1", "leaf2", "h2-1"}, nil},
		{"another destination", leafSpine, "h1-1", "h2-1", []string{"leaf1", "spine1", "leaf2", "h3-1"}, nil},
		{"a host in transit", leafSpine, "h1-1", "h2-1", []string{"leaf1", "h1-1", "leaf1", "h2-1"}, nil},
		{"parallel links, both open", parallel, "a", "b", []string{"x", "y", "b"}, []string{"x:h y:1 b:h", "x:h y:2 b:h"}},
		{"parallel links, the port tells", parallel, "a", "b", []string{"x", "y:2", "b"}, []string{"x:h y:2 b:h"}},
		{"parallel links, the port lies", parallel, "a", "b", []string{"x", "y:h", "b"}, []string{"x:h y:1 b:h", "x:h y:2 b:h"}},
	} {
		if got := resolveNames(t, c.e, c.src, c.dst, c.hops...); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Where a cable is down that the model does not know of, flows go the other way round, and hops off the shortest path may be silent.
func TestResolveLongWay(t *testing.T) {
	f := must(t)(generate.RandomRegular(generate.RandomRegularConfig{Switches: 5, Degree: 2, Hosts: 1, Seed: 1}))
	e := NewECMP(f)
	src := f.Hosts()[0]
	for _, dst := range f.Hosts() {
		if e.Distance(src, dst) != 3 {
			continue
		}
		// Five switches in a ring: neighbours are one link apart, and four the other way.
		got := Resolve(e, src, dst, slices.Repeat([]Hop{Silent}, 6), 16)
		if len(got) != 1 || len(got[0].Arcs) != 6 || got[0].Share != 1 {
			t.Errorf("got %v", got)
		}
	}
}

func twoLinks(t *testing.T) *graphs.Fabric {
	var b graphs.Builder
	for _, n := range []graphs.Node{{Name: "a", Role: graphs.RoleHost}, {Name: "b", Role: graphs.RoleHost}, {Name: "x", Role: "tor"}, {Name: "y", Role: "tor"}} {
		if _, err := b.AddNode(n); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range [][2]graphs.End{
		{{Node: 0, Port: "h"}, {Node: 2, Port: "h"}}, {{Node: 2, Port: "1"}, {Node: 3, Port: "1"}},
		{{Node: 2, Port: "2"}, {Node: 3, Port: "2"}}, {{Node: 1, Port: "h"}, {Node: 3, Port: "h"}},
	} {
		if _, err := b.AddLink(l[0], l[1], 0); err != nil {
			t.Fatal(err)
		}
	}
	return must(t)(b.Build())
}

// A trace without a single answer over a long way on a large fabric must end, and soon.
func TestResolveIsBounded(t *testing.T) {
	f := must(t)(generate.RandomRegular(generate.RandomRegularConfig{Switches: 64, Degree: 16, Hosts: 1, Seed: 1}))
	e := NewECMP(f)
	hosts := f.Hosts()
	hops := make([]Hop, 30)
	for i := range hops {
		hops[i] = Silent
	}
	paths := Resolve(e, hosts[0], hosts[1], hops, 16)
	if len(paths) > 16 {
		t.Errorf("%d paths", len(paths))
	}
}
