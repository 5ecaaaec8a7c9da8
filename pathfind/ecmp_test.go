package pathfind

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

func must(t testing.TB) func(*graphs.Fabric, error) *graphs.Fabric {
	return func(f *graphs.Fabric, err error) *graphs.Fabric {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
}

// drawFabric makes a small multigraph of switches and hosts, hosts with any number of links, and links that are down.
func drawFabric(t *rapid.T) (*graphs.Fabric, func(graphs.LinkID) bool) {
	var b graphs.Builder
	n := rapid.IntRange(2, 8).Draw(t, "nodes")
	for i := range n {
		role := graphs.Role("tor")
		if rapid.IntRange(0, 3).Draw(t, "host") == 0 {
			role = graphs.RoleHost
		}
		if _, err := b.AddNode(graphs.Node{Name: fmt.Sprint(role, i), Role: role}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range rapid.IntRange(0, 16).Draw(t, "links") {
		u := rapid.IntRange(0, n-1).Draw(t, "u")
		v := (u + rapid.IntRange(1, n-1).Draw(t, "v")) % n
		end := func(n int) graphs.End { return graphs.End{Node: graphs.NodeID(n), Port: fmt.Sprint("p", i)} }
		if _, err := b.AddLink(end(u), end(v), 0); err != nil {
			t.Fatal(err)
		}
	}
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	down := map[graphs.LinkID]bool{}
	if rapid.Bool().Draw(t, "some down") && f.NumLinks() > 0 {
		for range 2 {
			down[graphs.LinkID(rapid.IntRange(0, f.NumLinks()-1).Draw(t, "down"))] = true
		}
	}
	return f, func(l graphs.LinkID) bool { return down[l] }
}

// walks lists all ways of a length from src to dst that transit no host, simple or not.
func walks(f *graphs.Fabric, down func(graphs.LinkID) bool, src, dst graphs.NodeID, length int) [][]graphs.ArcID {
	if length == 0 {
		if src == dst {
			return [][]graphs.ArcID{nil}
		}
		return nil
	}
	var all [][]graphs.ArcID
	for _, a := range f.Out(src) {
		m := f.Head(a)
		if down(a.Link()) || f.Node(m).IsHost() && (m != dst || length > 1) {
			continue
		}
		for _, rest := range walks(f, down, m, dst, length-1) {
			all = append(all, append([]graphs.ArcID{a}, rest...))
		}
	}
	return all
}

// shortest finds all shortest paths by trying every length.
func shortest(f *graphs.Fabric, down func(graphs.LinkID) bool, src, dst graphs.NodeID) [][]graphs.ArcID {
	for length := range f.NumNodes() {
		if w := walks(f, down, src, dst, length); w != nil {
			return w
		}
	}
	return nil
}

func TestAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, down := drawFabric(t)
		e := NewECMPWithout(f, down)
		src := graphs.NodeID(rapid.IntRange(0, f.NumNodes()-1).Draw(t, "src"))
		dst := graphs.NodeID(rapid.IntRange(0, f.NumNodes()-1).Draw(t, "dst"))
		want := shortest(f, down, src, dst)

		distance := -1
		if want != nil {
			distance = len(want[0])
		}
		if got := e.Distance(src, dst); got != distance {
			t.Fatalf("distance %d, want %d", got, distance)
		}
		paths, count := e.Paths(src, dst, 1000)
		if int(count) != len(want) {
			t.Fatalf("%g paths, want %d", count, len(want))
		}
		var got [][]graphs.ArcID
		crossed := map[graphs.ArcID]float64{}
		sum := 0.0
		for _, p := range paths {
			got = append(got, p.Arcs)
			sum += p.Share
			for _, a := range p.Arcs {
				crossed[a] += p.Share
			}
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
		if want != nil && math.Abs(sum-1) > 1e-9 {
			t.Fatalf("the shares of the paths sum to %g", sum)
		}
		if short, n := e.Paths(src, dst, len(want)-1); short != nil || n != count {
			t.Fatalf("%d paths and count %g beyond the limit", len(short), n)
		}
		shares := map[graphs.ArcID]float64{}
		for _, s := range e.Shares(src, dst) {
			if _, twice := shares[s.Arc]; twice {
				t.Fatalf("arc %s is there twice", f.ArcName(s.Arc))
			}
			shares[s.Arc] = s.Share
		}
		if d := cmp.Diff(crossed, shares, cmpopts.EquateApprox(0, 1e-9)); d != "" {
			t.Fatal(d)
		}
		var next []graphs.ArcID
		for _, w := range want {
			if len(w) > 0 && !slices.Contains(next, w[0]) {
				next = append(next, w[0])
			}
		}
		if d := cmp.Diff(next, e.NextHops(src, dst)); d != "" {
			t.Fatal(d)
		}
	})
}

func TestKnownCounts(t *testing.T) {
	f := must(t)(generate.FatTree(generate.FatTreeConfig{K: 4}))
	e := NewECMP(f)
	node := func(name string) graphs.NodeID {
		n, ok := f.NodeByName(name)
		if !ok {
			t.Fatalf("no node %s", name)
		}
		return n
	}
	for _, c := range []struct {
		src, dst string
		distance int
		count    float64
		disjoint int
	}{
		{"h1-1-1", "h1-1-2", 2, 1, 1}, {"h1-1-1", "h1-2-1", 4, 2, 2}, {"h1-1-1", "h4-2-2", 6, 4, 2},
		{"edge1-1", "core4", 2, 1, 1}, {"core1", "core2", 2, 4, 4}, {"core1", "core3", 4, 8, 4}, {"h1-1-1", "h1-1-1", 0, 1, 0},
	} {
		if d := e.Distance(node(c.src), node(c.dst)); d != c.distance {
			t.Errorf("%s to %s: distance %d, want %d", c.src, c.dst, d, c.distance)
		}
		if n := e.Count(node(c.src), node(c.dst)); n != c.count {
			t.Errorf("%s to %s: %g paths, want %g", c.src, c.dst, n, c.count)
		}
		if n := e.Ways(node(c.src), node(c.dst)).Disjoint(); n != c.disjoint {
			t.Errorf("%s to %s: %d disjoint paths, want %d", c.src, c.dst, n, c.disjoint)
		}
	}
}

// Flows keep away from a spine that lost its link to a leaf, in both directions.
func TestLinkTakenAway(t *testing.T) {
	f := must(t)(generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 4, Hosts: 1}))
	lost, _ := f.LinkByName("leaf1:swp2--spine2:swp1")
	e := NewECMPWithout(f, func(l graphs.LinkID) bool { return l == lost })
	src, dst := f.Hosts()[0], f.Hosts()[1]
	for _, s := range append(e.Shares(src, dst), e.Shares(dst, src)...) {
		want := 1.0 / 3
		if f.IsHostArc(s.Arc) {
			want = 1
		}
		if math.Abs(s.Share-want) > 1e-12 {
			t.Errorf("%s has share %g, want %g", f.ArcName(s.Arc), s.Share, want)
		}
	}
}

func BenchmarkPair(b *testing.B) {
	m := must(b)
	for _, f := range []*graphs.Fabric{
		m(generate.FatTree(generate.FatTreeConfig{K: 16})),
		m(generate.RandomRegular(generate.RandomRegularConfig{Switches: 1000, Degree: 32, Hosts: 1, Seed: 1})),
	} {
		hosts := f.Hosts()
		src, dst := hosts[0], hosts[len(hosts)-1]
		b.Run(f.Name()+"/tree", func(b *testing.B) {
			for b.Loop() {
				NewECMP(f).Distance(src, dst)
			}
		})
		e := NewECMP(f)
		b.Run(f.Name()+"/shares", func(b *testing.B) {
			for b.Loop() {
				e.Shares(src, dst)
			}
		})
		b.Run(f.Name()+"/paths", func(b *testing.B) {
			for b.Loop() {
				e.Paths(src, dst, 1000)
			}
		})
		paths, _ := e.Paths(src, dst, 1000)
		hops := trace(f, paths[len(paths)-1].Arcs)
		b.Run(f.Name()+"/resolve", func(b *testing.B) {
			for b.Loop() {
				Resolve(e, src, dst, hops, 16)
			}
		})
		silent := slices.Clone(hops)
		silent[1], silent[2] = Silent, Silent
		b.Run(f.Name()+"/resolve-silent", func(b *testing.B) {
			for b.Loop() {
				Resolve(e, src, dst, silent, 1000)
			}
		})
	}
}
