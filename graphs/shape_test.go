package graphs_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	"whichlink/graphs/generate"
)

func made(t testing.TB, f *graphs.Fabric, err error) *graphs.Fabric {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// published reads a fabric that somebody else published.
func published(t testing.TB, name string) *graphs.Fabric {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "data", "fabrics", "paths", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the published fabrics are not here: %v", err)
	}
	file, err := formats.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file.Fabric
}

// Values of published fabrics as networkx gives them.
func TestShapeOfPublishedFabrics(t *testing.T) {
	for _, c := range []struct {
		name                        string
		switches, links, diameter   int
		mean, single                float64
		triangles, min, max, parted int
	}{
		{"rrg_40_32.edgelist", 40, 256, 2, 1.67179, 0.342, 300, 12, 13, 1},
		{"xpander_n216_d11.topology", 216, 1188, 4, 2.48747, 0.397, 208, 11, 11, 1},
		{"fat_tree_k16.topology", 320, 2048, 4, 3.03574, -1, 0, 8, 16, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := published(t, c.name).Shape()
			got := fmt.Sprint(s.Switches, s.Links, s.Diameter, s.Triangles, s.Degree.Min, s.Degree.Max, s.Parts)
			if want := fmt.Sprint(c.switches, c.links, c.diameter, c.triangles, c.min, c.max, c.parted); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if math.Abs(s.MeanPath-c.mean) > 5e-6 {
				t.Errorf("mean path length %.6f, want %.5f", s.MeanPath, c.mean)
			}
			if c.single >= 0 && math.Abs(s.Diversity.Single-c.single) > 5e-4 {
				t.Errorf("share of pairs with a single shortest path %.4f, want %.3f", s.Diversity.Single, c.single)
			}
		})
	}
}

func lines(t testing.TB, text string) *graphs.Fabric {
	t.Helper()
	file, err := formats.Read(strings.NewReader(text), "test")
	if err != nil {
		t.Fatal(err)
	}
	return file.Fabric
}

// Graphs whose spectrum and bisection are known.
func TestSpectrumAndBisection(t *testing.T) {
	ring, complete, torus := "", "", ""
	for i := range 12 {
		ring += fmt.Sprintf("a%d a%d\n", i, (i+1)%12)
		for j := range i {
			complete += fmt.Sprintf("a%d a%d\n", i, j)
		}
	}
	for i := range 8 {
		for j := range 8 {
			torus += fmt.Sprintf("a%d-%d a%d-%d\na%d-%d a%d-%d\n", i, j, (i+1)%8, j, i, j, i, (j+1)%8)
		}
	}
	leafspine, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 8, Spines: 4, Hosts: 3})
	leafspine = made(t, leafspine, err)
	fattree, err := generate.FatTree(generate.FatTreeConfig{K: 8})
	fattree = made(t, fattree, err)
	cos := func(n float64) float64 { return math.Cos(2 * math.Pi / n) }
	for _, c := range []struct {
		name     string
		f        *graphs.Fabric
		spectrum graphs.Spectrum
		cut      int
		bound    float64
		sides    [2]int
		disjoint int
	}{
		// A ring of even length is bipartite: -2 is an eigenvalue, too.
		{"ring", lines(t, ring), graphs.Spectrum{Lambda1: 2, Lambda2: 2, Gap: 0, Laplacian: 1 - cos(12)}, 2, 12 * (2 - 2*cos(12)) / 4, [2]int{6, 6}, 2},
		{"complete", lines(t, complete), graphs.Spectrum{Lambda1: 11, Lambda2: 1, Gap: 10, Laplacian: 12.0 / 11}, 36, 36, [2]int{6, 6}, 11},
		{"torus", lines(t, torus), graphs.Spectrum{Lambda1: 4, Lambda2: 4, Gap: 0, Laplacian: (1 - cos(8)) / 2}, 16, 64 * (2 - 2*cos(8)) / 4, [2]int{32, 32}, 4},
		// Each spine reaches half of the leaves' hosts over half of its links.
		{"leaf-spine", leafspine, graphs.Spectrum{Lambda1: math.Sqrt(32), Lambda2: math.Sqrt(32), Gap: 0, Laplacian: 1}, 16, 8, [2]int{12, 12}, 4},
		// Half of the core's k³/4 links: to half of the pods.
		{"fat-tree", fattree, graphs.Spectrum{Lambda1: 8, Lambda2: 8, Gap: 0, Laplacian: -1}, 64, -1, [2]int{64, 64}, 4},
	} {
		s, ok := c.f.Spectrum()
		if c.spectrum.Laplacian < 0 {
			c.spectrum.Laplacian, c.spectrum.Lambda1, c.spectrum.Lambda2 = s.Laplacian, s.Lambda1, s.Lambda2
		}
		for i, got := range []float64{s.Lambda1, s.Lambda2, s.Gap, s.Laplacian} {
			if want := []float64{c.spectrum.Lambda1, c.spectrum.Lambda2, c.spectrum.Gap, c.spectrum.Laplacian}[i]; !ok || math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: spectrum %+v, want %+v", c.name, s, c.spectrum)
				break
			}
		}
		b, ok := c.f.Bisection()
		if !ok || b.Cut != c.cut || c.bound >= 0 && math.Abs(b.Bound-c.bound) > 1e-6 || b.Sides != c.sides {
			t.Errorf("%s: bisection %+v, want %d links, bound %f, sides %v", c.name, b, c.cut, c.bound, c.sides)
		}
		if d := c.f.Disjoint(); d.Paths.Min != c.disjoint || d.Paths.Max != c.disjoint {
			t.Errorf("%s: disjoint paths %+v, want %d", c.name, d, c.disjoint)
		}
	}
}

// A fabric that is written and read again has the same shape.
func TestShapeOfRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := generate.RandomRegular(generate.RandomRegularConfig{
			Switches: 2 * rapid.IntRange(3, 20).Draw(t, "half the switches"), Degree: rapid.IntRange(2, 5).Draw(t, "degree"),
			Hosts: rapid.IntRange(0, 3).Draw(t, "hosts"), Seed: rapid.Uint64().Draw(t, "seed"),
		})
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := formats.WriteFabric(&text, f); err != nil {
			t.Fatal(err)
		}
		file, err := formats.Read(&text, "test")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(f.Shape(), file.Fabric.Shape()); d != "" {
			t.Error(d)
		}
		was, _ := f.Spectrum()
		is, _ := file.Fabric.Spectrum()
		if d := cmp.Diff(was, is, cmpopts.EquateApprox(0, 1e-6)); d != "" {
			t.Error(d)
		}
		b, ok := f.Bisection()
		if !ok || float64(b.Cut) < b.Bound-1e-6 {
			t.Errorf("a cut of %d links where there is none below %f", b.Cut, b.Bound)
		}
		if s := f.Shape(); was.Lambda1 < float64(s.Degree.Max)-1e-6 || was.Lambda1 > float64(s.Degree.Max)+1e-6 {
			t.Errorf("the largest eigenvalue of a regular graph of degree %d is %f", s.Degree.Max, was.Lambda1)
		}
	})
}

// BenchmarkShape measures all that fabric show does.
func BenchmarkShape(b *testing.B) {
	random, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 1000, Degree: 64, Hosts: 1, Seed: 1})
	random = made(b, random, err)
	// As many switches, links and hosts as a cluster of 32,000 GPUs in 8 x 252 racks.
	cluster, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2016, Spines: 18, Hosts: 8})
	cluster = made(b, cluster, err)
	for _, f := range []*graphs.Fabric{random, cluster} {
		b.Run(f.Name(), func(b *testing.B) {
			for b.Loop() {
				shape := f.Shape()
				s, _ := f.Spectrum()
				cut, _ := f.Bisection()
				d := f.Disjoint()
				b.ReportMetric(shape.MeanPath, "mean-path")
				b.ReportMetric(s.Lambda2, "lambda2")
				b.ReportMetric(float64(cut.Cut), "cut")
				b.ReportMetric(cut.Bound, "bound")
				b.ReportMetric(d.Paths.Mean, "disjoint")
			}
		})
	}
}
