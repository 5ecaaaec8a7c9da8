package generate

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"whichlink/graphs"
)

func mustRNG(t testing.TB, c RNGConfig) *Plant {
	t.Helper()
	p, err := RNG(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The paper's size (section 9.1): a mean path of about 1.948, no path longer than 3, and the spectrum of a random regular graph, whose second
// eigenvalue is close to 2*sqrt(d-1), here 15.87.
func TestRNGOfThePaper(t *testing.T) {
	p := mustRNG(t, RNGConfig{Routers: 1000, Degree: 64, Hosts: 1, Seed: 1})
	want := Tally{Lanes: 64000, Links: 32000, Patterns: [3]int{3200, 28800, 0}, Bundles: 1000 + 10*9/2, parts: 1}
	want.Connectors[3], want.Connectors[4] = 3200, 28800
	if d := cmp.Diff(want, p.Tally(), cmp.AllowUnexported(Tally{})); d != "" {
		t.Error(d)
	}
	s := p.Fabric().Shape()
	if s.Degree.Min != 64 || s.Degree.Max != 64 || s.Diameter != 3 || math.Abs(s.MeanPath-1.948) > 0.002 || s.Hosts != 1000 {
		t.Errorf("got %+v", s)
	}
	if l := secondEigenvalue(p.Fabric(), 64); l < 14.5 || l > 16.5 {
		t.Errorf("the second eigenvalue is %.2f", l)
	} else {
		t.Logf("mean path %.4f, second eigenvalue %.2f", s.MeanPath, l)
	}
}

// secondEigenvalue is the largest absolute eigenvalue, after the degree, of the graph that the switches form, by power iteration.
func secondEigenvalue(f *graphs.Fabric, degree int) float64 {
	switches := f.Switches()
	x, y := make([]float64, f.NumNodes()), make([]float64, f.NumNodes())
	for i, n := range switches {
		x[n] = math.Sin(float64(i + 1))
	}
	var norm float64
	for range 300 {
		mean := 0.0
		for _, n := range switches {
			mean += x[n] / float64(len(switches))
		}
		norm = 0
		for _, n := range switches {
			y[n] = -float64(degree) * mean
			for _, a := range f.Out(n) {
				y[n] += x[f.Head(a)]
			}
		}
		for _, n := range switches {
			norm += y[n] * y[n]
		}
		norm = math.Sqrt(norm)
		for _, n := range switches {
			x[n] = y[n] / norm
		}
	}
	return norm
}

func TestRNGSizes(t *testing.T) {
	for _, c := range []struct {
		name     string
		config   RNGConfig
		links    int
		patterns [3]int
		lost     int
		parallel int
	}{
		{"two full boxes", RNGConfig{Routers: 32, Degree: 8}, 128, [3]int{128, 0, 0}, 0, 0},
		{"one room has no trunks", RNGConfig{Routers: 200, Degree: 32, Rooms: 1}, 3200, [3]int{3200, 0, 0}, 0, 0},
		{"a lane too many for whole transceivers", RNGConfig{Routers: 1000, Degree: 65}, 32500, [3]int{3220, 29280, 0}, 0, 0},
		{"an odd number of lanes", RNGConfig{Routers: 41, Degree: 9, Rooms: 3}, 184, [3]int{64, 92, 28}, 1, 1},
		{"panels a third larger than needed", RNGConfig{Routers: 200, Degree: 32, Rooms: 4, Boxes: 17}, 3200, [3]int{501, 1578, 1121}, 0, 10},
		{"eight lanes a transceiver", RNGConfig{Routers: 400, Degree: 32, Breakout: 8}, 6400, [3]int{1527, 4617, 256}, 0, 1},
		{"no breakout", RNGConfig{Routers: 64, Degree: 16, Breakout: 1}, 512, [3]int{512, 0, 0}, 0, 0},
		{"small boxes", RNGConfig{Routers: 16, Degree: 4, RPorts: 16, Seed: 2}, 32, [3]int{32, 0, 0}, 0, 0},
	} {
		p := mustRNG(t, c.config)
		got := p.Tally()
		if got.Links != c.links || got.Patterns != c.patterns || got.Lost() != c.lost || got.Parallel != c.parallel {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestRNGNames(t *testing.T) {
	p := mustRNG(t, RNGConfig{Routers: 200, Degree: 30, Rooms: 10, Hosts: 2, Seed: 3})
	f := p.Fabric()
	var got strings.Builder
	for _, pattern := range []Pattern{InRoom, BetweenRooms, Bounced} {
		for l := range graphs.LinkID(f.NumLinks()) {
			if path, ok := p.Path(l); ok && path.Pattern == pattern {
				var groups []string
				for _, g := range f.Link(l).Groups {
					groups = append(groups, f.Group(g).Name)
				}
				fmt.Fprintf(&got, "%s\n%s\n%s\n", f.LinkName(l), path, strings.Join(groups, " "))
				break
			}
		}
	}
	last := graphs.LinkID(f.NumLinks() - 1)
	fmt.Fprintln(&got, f.LinkName(last))
	const want = `tor-001:e3/3--tor-009:e4/3
tor-001:e3--room01/box2/r32 > room01/box2 > room01/box2/c3--back > room01/box2 > tor-009:e4--room01/box2/r03 (in room, 3 connectors)
tor-001:e3--room01/box2/r32 room01/box2 room01/box2/c3--back tor-009:e4--room01/box2/r03 room01
tor-001:e1/1--tor-196:e2/4
tor-001:e1--room01/box5/r19 > room01/box5 > room01/box5/c1--room10/box2/c4 > room10/box2 > tor-196:e2--room10/box2/r22 (between rooms, 4 connectors)
tor-001:e1--room01/box5/r19 room01/box5 room01/box5/c1--room10/box2/c4 room10/box2 tor-196:e2--room10/box2/r22 room01--room10 room01 room10
tor-001:e1/3--tor-180:e8/2
tor-001:e1--room01/box5/r19 > room01/box5 > room01/box5/c3--room10/box5/c2 > room10/box5 > room10/box5/r18--back > room10/box5 > room09/box6/c2--room10/box5/c1 > room09/box6 > tor-180:e8--room09/box6/r19 (bounced, 7 connectors)
tor-001:e1--room01/box5/r19 room01/box5 room01/box5/c3--room10/box5/c2 room10/box5 room10/box5/r18--back room09/box6/c2--room10/box5/c1 room09/box6 tor-180:e8--room09/box6/r19 room01--room10 room09--room10 room01 room10 room09
h200-2:eth1--tor-200:e10
`
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Error(d)
	}
	if _, ok := p.Path(last); ok {
		t.Error("a host's link has a path through ShuffleBoxes")
	}
}

// Whatever the size: every lane has a link or is counted as lost, nothing is plugged twice, what light passes from one end it passes from the
// other, and groups have no more links than their connectors have room for.
func TestRNGHoldsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := RNGConfig{
			Routers: rapid.IntRange(2, 60).Draw(t, "routers"), Breakout: rapid.IntRange(1, 5).Draw(t, "breakout"),
			RPorts: 2 * rapid.IntRange(3, 16).Draw(t, "half of the r-ports"), Seed: rapid.Uint64().Draw(t, "seed"),
		}
		c.Degree = rapid.IntRange(1, min(c.Routers-1, 12)).Draw(t, "degree")
		c.Rooms = rapid.IntRange(1, min(c.Routers, 5)).Draw(t, "rooms")
		p, err := RNG(c)
		if err != nil {
			if !strings.Contains(err.Error(), "falls apart") {
				t.Fatal(err)
			}
			return
		}
		checkPlant(t, p)
		if d := cmp.Diff(linkNames(p.Fabric()), linkNames(must(RNG(c)).Fabric())); d != "" {
			t.Fatalf("the same seed gives another fabric: %s", d)
		}
	})
}

func must(p *Plant, err error) *Plant {
	if err != nil {
		panic(err)
	}
	return p
}

func linkNames(f *graphs.Fabric) []string {
	var names []string
	for l := range graphs.LinkID(f.NumLinks()) {
		names = append(names, f.LinkName(l))
	}
	return names
}

func checkPlant(t *rapid.T, p *Plant) {
	c, f, got := &p.config, p.Fabric(), p.Tally()
	if got.Lanes != 2*got.Links+got.Lost() || got.Links != f.NumLinks() || got.Lost() < got.Lanes%2 {
		t.Fatalf("%+v for %d links", got, f.NumLinks())
	}
	if n := f.Shape().Parts; n != 1 {
		t.Fatalf("%d parts", n)
	}
	for l := range graphs.LinkID(f.NumLinks()) {
		path, _ := p.Path(l)
		back := p.pathFrom(p.fibre(p.links[l][1]))
		slices.Reverse(back.Segments)
		if d := cmp.Diff(path.Segments, back.Segments); d != "" || path.Connectors < 3 || path.Connectors > maxConnectors {
			t.Fatalf("%s has path %s: %s", f.LinkName(l), path, d)
		}
		for i, lane := range p.links[l] {
			port := f.PortName(f.Link(l).Ends[i])
			transceiver, _, _ := strings.Cut(port, "/")
			if ends := []string{path.Segments[0], path.Segments[len(path.Segments)-1]}; !strings.HasPrefix(ends[i], transceiver+"--room") {
				t.Fatalf("lane %d at %s begins in %s", lane, port, ends[i])
			}
		}
	}
	plugged := map[string]string{} // by connector: the cable or ShuffleBack
	for g := range graphs.GroupID(f.NumGroups()) {
		name, n := f.Group(g).Name, len(f.Group(g).Links)
		for _, end := range strings.Split(name, "--") {
			if was, ok := plugged[end]; ok && strings.Contains(end, "/") {
				t.Fatalf("%s is in both %s and %s", end, was, name)
			}
			plugged[end] = name
		}
		most := c.RPorts * c.Breakout // lanes of a box
		switch _, far, _ := strings.Cut(name, "--"); {
		case strings.Contains(name, ":"):
			most = c.Breakout
		case far == "back":
			most = max(c.RPorts, c.Breakout) / 2
		case strings.Contains(far, "/"):
			most = c.RPorts
		case !strings.Contains(name, "/"):
			continue
		}
		if n > most {
			t.Fatalf("%s has %d links", name, n)
		}
	}
}

func TestRNGImpossible(t *testing.T) {
	for _, c := range []struct {
		config RNGConfig
		want   string
	}{
		{RNGConfig{Routers: 1, Degree: 1}, "at least 2 routers"},
		{RNGConfig{Routers: 10, Degree: 10}, "between 1 and 9"},
		{RNGConfig{Routers: 10}, "between 1 and 9"},
		{RNGConfig{Routers: 10, Degree: 4, Breakout: 17}, "between 1 and 16 lanes"},
		{RNGConfig{Routers: 10, Degree: 4, RPorts: 7}, "must be even"},
		{RNGConfig{Routers: 10, Degree: 4, RPorts: 4}, "more than the 4 c-ports"},
		{RNGConfig{Routers: 10, Degree: 4, RPorts: 1 << 30}, "at most 1024"},
		{RNGConfig{Routers: 10, Degree: 4, Rooms: 11}, "between 1 and 10 rooms"},
		{RNGConfig{Routers: 10, Degree: 4, Hosts: -1}, "negative"},
		{RNGConfig{Routers: 1000, Degree: 64, Boxes: 49}, "50 are needed for the transceivers of 100 routers"},
		{RNGConfig{Routers: 1000, Degree: 64, Boxes: 1 << 30}, "more than"},
		{RNGConfig{Routers: 1 << 30, Degree: 64}, "more than"},
		{RNGConfig{Routers: 64, Degree: 4, Rooms: 1}, "falls apart into 2 parts"},
		{RNGConfig{Routers: 1000, Degree: 1}, "falls apart"},
	} {
		if _, err := RNG(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got error %v, want one that says %q", c.config, err, c.want)
		}
	}
}

func BenchmarkRNG(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		p := mustRNG(b, RNGConfig{Routers: 1000, Degree: 64, Hosts: 1, Seed: 1})
		if p.Tally().Links != 32000 {
			b.Fatal(p.Tally())
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys-m.HeapReleased)/(1<<20), "peak-heap-MiB")
}
