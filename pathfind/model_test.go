package pathfind

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

func newModel(t interface{ Fatal(...any) }, f *graphs.Fabric, down func(graphs.LinkID) bool, name string) Model {
	spec, err := ParseSpec(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(f, spec, Options{Down: down})
	if err != nil {
		t.Fatal(err)
	}
	if m.String() != spec.String() {
		t.Fatal(m.String(), "was made from", spec.String())
	}
	return m
}

// Every pair of every model on a random fabric: what holds whatever the model.
func TestWaysOfAnyModel(t *testing.T) {
	for _, name := range []string{
		"ecmp", "wcmp", "su:1", "su:2", "su:3", "su:4", "ksp:1", "ksp:5", "vlb", "spraypoint", "spraypoint:p=1,h=1,levels=2,key=7",
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f, down := drawFabric(t)
				m := newModel(t, f, down, name)
				e := NewECMPWithout(f, down)
				src := graphs.NodeID(rapid.IntRange(0, f.NumNodes()-1).Draw(t, "src"))
				dst := graphs.NodeID(rapid.IntRange(0, f.NumNodes()-1).Draw(t, "dst"))
				w := m.Ways(src, dst)
				if (w.Arrived() > 0) != (e.Distance(src, dst) >= 0) {
					t.Fatalf("%g arrive over a distance of %d: %v", w.Arrived(), e.Distance(src, dst), w.Losses())
				}
				checkWays(t, f, down, m, w)
				if e.Distance(src, dst) >= 0 && math.Abs(w.Arrived()-1) > 1e-9 {
					t.Fatalf("%g arrive: %v", w.Arrived(), w.Losses())
				}
				if d := cmp.Diff(w, newModel(t, f, down, name).Ways(src, dst), cmp.AllowUnexported(Ways{}, station{}, step{}),
					cmpopts.IgnoreFields(Ways{}, "f", "place")); d != "" {
					t.Fatal("not the same twice: ", d)
				}
			})
		})
	}
}

func checkWays(t *rapid.T, f *graphs.Fabric, down func(graphs.LinkID) bool, m Model, w *Ways) {
	src, dst := w.Ends()
	paths, count := w.Paths(10000)
	if count > 10000 || w.Arrived() == 0 || src == dst {
		return
	}
	crossed := map[graphs.ArcID]float64{}
	lengths := map[int]float64{}
	sum, mean, third := 0.0, 0.0, 0.0
	inThird := func(l graphs.LinkID) bool { return l%3 == 0 }
	for _, p := range paths {
		checkPath(t, f, down, m, w, p)
		sum += p.Share
		mean += p.Share * float64(len(p.Arcs))
		lengths[len(p.Arcs)] += p.Share
		for _, a := range p.Arcs {
			crossed[a] += p.Share
		}
		if slices.ContainsFunc(p.Arcs, func(a graphs.ArcID) bool { return inThird(a.Link()) }) {
			third += p.Share
		}
	}
	if x := w.Crossing(inThird); math.Abs(x-third) > 1e-9 {
		t.Fatalf("%g of the flows cross a third of the links, by their paths %g", x, third)
	}
	if math.Abs(sum-w.Arrived()) > 1e-9 {
		t.Fatalf("shares of paths sum to %g", sum)
	}
	shares := map[graphs.ArcID]float64{}
	total := 0.0
	excess := make([]float64, f.NumNodes())
	for _, s := range w.Shares() {
		if _, twice := shares[s.Arc]; twice {
			t.Fatalf("%s is there twice", f.ArcName(s.Arc))
		}
		shares[s.Arc] = s.Share
		total += s.Share
		excess[f.Tail(s.Arc)] -= s.Share
		excess[f.Head(s.Arc)] += s.Share
	}
	if d := cmp.Diff(crossed, shares, cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Fatal("paths against shares: ", d)
	}
	if math.Abs(total-mean) > 1e-9 {
		t.Fatalf("arc shares sum to %g, the mean length is %g", total, mean)
	}
	excess[src]++
	excess[dst]--
	for n, x := range excess {
		if math.Abs(x) > 1e-9 {
			t.Fatalf("%s keeps %g of the flows", f.NodeName(graphs.NodeID(n)), x)
		}
	}
	got := map[int]float64{}
	for _, l := range w.Lengths() {
		got[l.Links] = l.Share
	}
	if d := cmp.Diff(lengths, got, cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Fatal("lengths: ", d)
	}
	if d := w.Disjoint(); d < 1 || float64(d) > math.Max(count, 16) {
		t.Fatalf("%d disjoint of %g", d, count)
	}
	layers := w.Layers()
	if first, last := layers[0].Nodes, layers[len(layers)-1].Nodes; !slices.Equal(first, []graphs.NodeID{src}) ||
		!slices.Equal(last, []graphs.NodeID{dst}) {
		t.Fatalf("layers from %v to %v", first, last)
	}
}

// checkPath holds a path to what its model allows: links that are up, no host but at the ends, and no node twice, save for Valiant's, and
// for one return to the switch that sprayed.
func checkPath(t *rapid.T, f *graphs.Fabric, down func(graphs.LinkID) bool, m Model, w *Ways, p Path) {
	src, dst := w.Ends()
	visits := map[graphs.NodeID]int{}
	at := src
	sprayer := src
	for i, a := range p.Arcs {
		if f.Tail(a) != at || down(a.Link()) {
			t.Fatalf("arc %s of a path does not leave %s", f.ArcName(a), f.NodeName(at))
		}
		if f.Node(at).IsHost() && i > 0 {
			t.Fatalf("%s carries transit", f.NodeName(at))
		}
		visits[at]++
		if i == 1 && f.Node(src).IsHost() {
			sprayer = at
		}
		at = f.Head(a)
	}
	if at != dst || visits[dst] > 0 && m.String() != "vlb" {
		t.Fatalf("a path ends at %s", f.NodeName(at))
	}
	for n, k := range visits {
		if k > 1 && m.String() != "vlb" && (k > 2 || n != sprayer || !strings.HasPrefix(m.String(), "spraypoint")) {
			t.Fatalf("%s is %d times on a path of %s", f.NodeName(n), k, m)
		}
	}
}

// The loads of a demand are those of its pairs.
func TestLoads(t *testing.T) {
	for _, name := range []string{"ecmp", "wcmp", "su:2", "su:3", "ksp:3", "vlb", "spraypoint:p=2,h=2"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f, down := drawFabric(t)
				m := newModel(t, f, down, name)
				d := Demand{Volume: func(src, dst graphs.NodeID) float64 { return float64((src*7 + dst*3) % 5) }}
				for n := range graphs.NodeID(f.NumNodes()) {
					d.Ends = append(d.Ends, n)
				}
				want := &Loads{Arcs: make([]float64, f.NumArcs())}
				for _, src := range d.Ends {
					for _, dst := range d.Ends {
						if v := d.volume(src, dst); v > 0 {
							w := m.Ways(src, dst)
							want.Offered += v
							want.Lost += v * (1 - w.Arrived())
							for _, s := range w.Shares() {
								want.Arcs[s.Arc] += v * s.Share
							}
						}
					}
				}
				if diff := cmp.Diff(want, m.Loads(d), cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
					t.Fatal(diff)
				}
			})
		})
	}
}

// Shortest-Union(K) is what its name says, and ksp the first of all simple paths.
func TestPathSetsAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, down := drawFabric(t)
		src := graphs.NodeID(rapid.IntRange(0, f.NumNodes()-1).Draw(t, "src"))
		dst := graphs.NodeID(rapid.IntRange(0, f.NumNodes()-1).Draw(t, "dst"))
		if src == dst {
			return
		}
		e := NewECMPWithout(f, down)
		var simple [][]graphs.ArcID
		for length := 1; length <= 5; length++ {
			for _, p := range walks(f, down, src, dst, length) {
				if isSimple(f, p) {
					simple = append(simple, p)
				}
			}
		}
		paths, _ := newModel(t, f, down, "ksp:4").Ways(src, dst).Paths(4)
		var got [][]graphs.ArcID
		for _, p := range paths {
			got = append(got, p.Arcs)
		}
		if n := min(4, len(simple)); n == 4 || len(got) < 4 && len(got) > 0 && len(got[len(got)-1]) <= 5 {
			if d := cmp.Diff(simple[:n], got, cmpopts.EquateEmpty()); d != "" {
				t.Fatal("ksp: ", d)
			}
		}
		if f.Node(src).IsHost() || f.Node(dst).IsHost() {
			return
		}
		for k := 1; k <= 4; k++ {
			want := map[string]bool{}
			for _, p := range simple {
				if len(p) <= k || len(p) == e.Distance(src, dst) {
					want[fmt.Sprint(p)] = true
				}
			}
			got := map[string]bool{}
			paths, _ := newModel(t, f, down, fmt.Sprintf("su:%d", k)).Ways(src, dst).Paths(1e6)
			for _, p := range paths {
				if len(p.Arcs) <= 5 {
					got[fmt.Sprint(p.Arcs)] = true
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("su:%d: %s", k, d)
			}
		}
	})
}

func isSimple(f *graphs.Fabric, p []graphs.ArcID) bool {
	seen := map[graphs.NodeID]bool{f.Tail(p[0]): true}
	for _, a := range p {
		if seen[f.Head(a)] {
			return false
		}
		seen[f.Head(a)] = true
	}
	return true
}

const published = "../../shared/data/fabrics/paths"

// edgeList builds a fabric of switches from lines u->v.
func edgeList(t *testing.T, name string) *graphs.Fabric {
	text, err := os.ReadFile(filepath.Join(published, name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the published files are not there: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := graphs.Builder{Name: name}
	ports := map[graphs.NodeID]int{}
	end := func(name string) graphs.End {
		n, ok := b.NodeByName(name)
		if !ok {
			if n, err = b.AddNode(graphs.Node{Name: name, Role: "switch"}); err != nil {
				t.Fatal(err)
			}
		}
		ports[n]++
		return graphs.End{Node: n, Port: strconv.Itoa(ports[n])}
	}
	for line := range strings.Lines(string(text)) {
		u, v, ok := strings.Cut(strings.TrimSpace(line), "->")
		if !ok {
			t.Fatalf("%s: %q", name, line)
		}
		if _, err := b.AddLink(end(u), end(v), 0); err != nil {
			t.Fatal(err)
		}
	}
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// publishedPaths reads the paths of every pair: a line "s d count", then a line "u->v v->w" a path.
func publishedPaths(t *testing.T, name string) map[[2]string][]string {
	file, err := os.Open(filepath.Join(published, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	sets := map[[2]string][]string{}
	lines := bufio.NewScanner(text)
	var pair [2]string
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 3 && !strings.Contains(words[0], "->") {
			pair = [2]string{words[0], words[1]}
		} else if len(words) > 0 {
			sets[pair] = append(sets[pair], strings.Join(words, " "))
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return sets
}

// The path sets of the Starfish artifact (github.com/AnnZhouCcc/Starfish), pair by pair.
func TestPublishedPathSets(t *testing.T) {
	// The paths of the leaf-spine number the 32 leaves first, its edge list the 8 spines.
	leavesFirst := func(n int) int { return (n + 8) % 40 }
	for _, c := range []struct {
		edges, paths, model string
		pairs, all          int
		number              func(int) int
	}{
		{"rrg_40_32.edgelist", "rrg_40_32.su2.np.gz", "su:2", 1560, 6560, nil},
		{"dring_40_32.edgelist", "dring_40_32.su2.np.gz", "su:2", 1560, 18600, nil},
		{"ls_40_32.edgelist", "ls_40_32.ecmp.np.gz", "ecmp", 992, 992 * 8, leavesFirst},
	} {
		f := edgeList(t, c.edges)
		m := newModel(t, f, nil, c.model)
		sets := publishedPaths(t, c.paths)
		all := 0
		node := func(name string) graphs.NodeID {
			if c.number != nil {
				n, _ := strconv.Atoi(name)
				name = strconv.Itoa(c.number(n))
			}
			n, ok := f.NodeByName(name)
			if !ok {
				t.Fatalf("%s: no node %s", c.paths, name)
			}
			return n
		}
		for pair, want := range sets {
			all += len(want)
			var lines []string
			for _, line := range want {
				var hops []string
				for hop := range strings.FieldsSeq(line) {
					u, v, _ := strings.Cut(hop, "->")
					hops = append(hops, f.NodeName(node(u))+"->"+f.NodeName(node(v)))
				}
				lines = append(lines, strings.Join(hops, " "))
			}
			var got []string
			paths, _ := m.Ways(node(pair[0]), node(pair[1])).Paths(1e6)
			for _, p := range paths {
				var hops []string
				for _, a := range p.Arcs {
					hops = append(hops, f.NodeName(f.Tail(a))+"->"+f.NodeName(f.Head(a)))
				}
				got = append(got, strings.Join(hops, " "))
			}
			slices.Sort(lines)
			slices.Sort(got)
			if d := cmp.Diff(lines, got); d != "" {
				t.Fatalf("%s: %v: %s", c.paths, pair, d)
			}
		}
		if len(sets) != c.pairs || all != c.all {
			t.Errorf("%s: %d pairs with %d paths, want %d with %d", c.paths, len(sets), all, c.pairs, c.all)
		}
	}
}

func mustRandom(t testing.TB, switches, degree int) *graphs.Fabric {
	return must(t)(generate.RandomRegular(generate.RandomRegularConfig{Switches: switches, Degree: degree, Seed: 1}))
}

// TestDraw: flows take the paths of a pair in proportion to their shares.
func TestDraw(t *testing.T) {
	f := must(t)(generate.FatTree(generate.FatTreeConfig{K: 4}))
	hosts := f.Hosts()
	a, b := hosts[0], hosts[len(hosts)-1]
	rng := rand.New(rand.NewPCG(1, 1))
	for _, m := range []Model{NewECMP(f), NewSpraypoint(f, nil, SpraypointConfig{})} {
		w := m.Ways(a, b)
		paths, _ := w.Paths(1000)
		const draws = 20000
		drawn := map[string]int{}
		for range draws {
			arcs, among := w.Draw(rng.Float64)
			if len(among) != len(arcs) {
				t.Fatalf("%d arcs, %d choices", len(arcs), len(among))
			}
			drawn[fmt.Sprint(arcs)]++
		}
		for _, p := range paths {
			expected := p.Share * draws
			if n := float64(drawn[fmt.Sprint(p.Arcs)]); math.Abs(n-expected) > 5*math.Sqrt(expected)+1 {
				t.Errorf("%s: %v was drawn %g times, expected %.0f", m, p.Arcs, n, expected)
			}
			delete(drawn, fmt.Sprint(p.Arcs))
		}
		if len(drawn) > 0 || len(paths) < 3 {
			t.Errorf("%s: %d paths; drawn besides: %v", m, len(paths), drawn)
		}
	}
}
