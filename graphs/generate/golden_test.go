package generate

import (
	"math"
	"strings"
	"testing"

	"whichlink/graphs"
)

// made returns what a generator made, or fails the test.
func made(t testing.TB) func(*graphs.Fabric, error) *graphs.Fabric {
	return func(f *graphs.Fabric, err error) *graphs.Fabric {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
}

// Values that the papers state, or that were computed from their constructions by other programs. Links are those between switches; a mean
// path or a number of triangles below zero is not known.
func TestGoldenShapes(t *testing.T) {
	for _, c := range []struct {
		fabric                   *graphs.Fabric
		switches, links          int
		least, most, diameter    int
		meanPath                 float64
		triangles, lowestDegrees int
	}{
		{made(t)(SlimFly(SlimFlyConfig{Q: 5})), 50, 175, 7, 7, 2, 1.85714, 0, 50}, // the Hoffman-Singleton graph
		{made(t)(SlimFly(SlimFlyConfig{Q: 13})), 338, 3211, 19, 19, 2, -1, -1, 338},
		{made(t)(SlimFly(SlimFlyConfig{Q: 17})), 578, 7225, 25, 25, 2, -1, -1, 578},
		{made(t)(PolarFly(PolarFlyConfig{Q: 7})), 57, 224, 7, 8, 2, -1, -1, 8},
		{made(t)(PolarFly(PolarFlyConfig{Q: 11})), 133, 792, 11, 12, 2, -1, -1, 12},
		{made(t)(Dragonfly(DragonflyConfig{Switches: 4, GlobalLinks: 2})), 36, 90, 5, 5, 3, 2.34286, -1, 36},
		{made(t)(Dragonfly(DragonflyConfig{Switches: 8, GlobalLinks: 4})), 264, 1452, 11, 11, 3, -1, -1, 264},
		{made(t)(FatTree(FatTreeConfig{K: 4})), 20, 32, 2, 4, 4, 2.58947, 0, 8},
		{made(t)(FatTree(FatTreeConfig{K: 8})), 80, 256, 4, 8, 4, 2.88101, 0, 32},
		{made(t)(FatTree(FatTreeConfig{K: 16})), 320, 2048, 8, 16, 4, 3.03574, 0, 128},
		{made(t)(DRing(DRingConfig{Supernodes: 12, Switches: 80})), 80, 1064, 26, 28, 3, 1.91646, 3528, -1},
		{made(t)(DRing(DRingConfig{Supernodes: 16, Switches: 160})), 160, 3200, 40, 40, 4, -1, -1, 160},
	} {
		s := c.fabric.Shape()
		links := 0
		for l := range graphs.LinkID(c.fabric.NumLinks()) {
			if !c.fabric.IsHostArc(l.Forward()) {
				links++
			}
		}
		if s.Switches != c.switches || links != c.links || s.Degree.Min != c.least || s.Degree.Max != c.most || s.Diameter != c.diameter {
			t.Errorf("%s: %d switches, %d links, degree %d to %d, diameter %d, want %d, %d, %d to %d, %d", c.fabric.Name(),
				s.Switches, links, s.Degree.Min, s.Degree.Max, s.Diameter, c.switches, c.links, c.least, c.most, c.diameter)
		}
		if c.meanPath > 0 && math.Abs(s.MeanPath-c.meanPath) > 5e-6 {
			t.Errorf("%s: mean path %.5f, want %.5f", c.fabric.Name(), s.MeanPath, c.meanPath)
		}
		n, lowest := triangles(c.fabric)
		if c.triangles >= 0 && n != c.triangles {
			t.Errorf("%s: %d triangles, want %d", c.fabric.Name(), n, c.triangles)
		}
		if c.lowestDegrees >= 0 && lowest != c.lowestDegrees {
			t.Errorf("%s: %d switches have the least degree, want %d", c.fabric.Name(), lowest, c.lowestDegrees)
		}
	}
}

// triangles counts the triangles of switches, and the switches of the least degree.
func triangles(f *graphs.Fabric) (triangles, lowest int) {
	near := make([]map[graphs.NodeID]bool, f.NumNodes())
	least := math.MaxInt
	for _, n := range f.Switches() {
		near[n] = map[graphs.NodeID]bool{}
		for _, a := range f.Out(n) {
			if !f.IsHostArc(a) {
				near[n][f.Head(a)] = true
			}
		}
		if len(near[n]) < least {
			least, lowest = len(near[n]), 0
		}
		if len(near[n]) == least {
			lowest++
		}
	}
	for x := range near {
		for y := range near[x] {
			for z := range near[x] {
				if graphs.NodeID(x) < y && y < z && near[y][z] {
					triangles++
				}
			}
		}
	}
	return triangles, lowest
}

// Slim Fly and PolarFly of every field that is at hand: two links reach everywhere, whatever the power of the prime.
func TestFields(t *testing.T) {
	for _, q := range []int{2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 25, 27} {
		pf := made(t)(PolarFly(PolarFlyConfig{Q: q})).Shape()
		if pf.Switches != q*q+q+1 || pf.Diameter != 2 || pf.Degree.Min != q || pf.Degree.Max != q+1 || pf.Parts != 1 {
			t.Errorf("polarfly with q=%d: %+v", q, pf)
		}
		if q == 2 {
			continue
		}
		delta := (q+1)%4 - 1
		sf := made(t)(SlimFly(SlimFlyConfig{Q: q})).Shape()
		if d := (3*q - delta) / 2; sf.Switches != 2*q*q || sf.Diameter != 2 || sf.Degree.Min != d || sf.Degree.Max != d || sf.Parts != 1 {
			t.Errorf("slim fly with q=%d: %+v", q, sf)
		}
	}
}

// groupSizes counts the links of each shared-risk group whose name begins so.
func groupSizes(f *graphs.Fabric, prefix string) map[int]int {
	sizes := map[int]int{}
	for g := range graphs.GroupID(f.NumGroups()) {
		if strings.HasPrefix(f.Group(g).Name, prefix) {
			sizes[len(f.Group(g).Links)]++
		}
	}
	return sizes
}
