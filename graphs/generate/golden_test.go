package generate

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// groupSizes counts the shared-risk groups whose name begins so, by the number of their links.
func groupSizes(f *graphs.Fabric, prefix string) map[int]int {
	sizes := map[int]int{}
	for g := range graphs.GroupID(f.NumGroups()) {
		if strings.HasPrefix(f.Group(g).Name, prefix) {
			sizes[len(f.Group(g).Links)]++
		}
	}
	return sizes
}

// Groups and names carry what a design promises of its cables.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		fabric *graphs.Fabric
		prefix string
		want   map[int]int
	}{
		{made(t)(Xpander(XpanderConfig{Degree: 11, Lift: 18, Seed: 4})), "bundle-m", map[int]int{18: 66}},
		{made(t)(DRing(DRingConfig{Supernodes: 12, Switches: 80})), "bundle-s", map[int]int{42: 16, 49: 8}},
		{made(t)(SlimFly(SlimFlyConfig{Q: 7})), "bundle-a", map[int]int{7: 49}},
		{made(t)(PolarFly(PolarFlyConfig{Q: 7})), "bundle-c", map[int]int{5: 21}},
		{made(t)(PolarFly(PolarFlyConfig{Q: 7})), "bundle-w", map[int]int{8: 7}},
		{made(t)(Dragonfly(DragonflyConfig{Switches: 4, GlobalLinks: 2, Hosts: 1})), "trunk-", map[int]int{8: 9}},
		{made(t)(DragonflyPlus(DragonflyPlusConfig{Groups: 5, Leaves: 3, Spines: 4, GlobalLinks: 2})), "trunk-", map[int]int{8: 5}},
		{made(t)(Torus(TorusConfig{Dimensions: []int{4, 3, 2}})), "bundle-x", map[int]int{6: 4}},
		{made(t)(Mesh(MeshConfig{Blocks: 8, Uplinks: 28, OCSes: 14})), "ocs", map[int]int{8: 14}},
		{made(t)(Mesh(MeshConfig{Blocks: 9, Uplinks: 32, OCSes: 4})), "ocs", map[int]int{36: 4}},
		{made(t)(Rail(RailConfig{GPUs: 512, Rails: 8, Ports: 64})), "trunk-leaf", map[int]int{4: 128}},
	} {
		if d := cmp.Diff(c.want, groupSizes(c.fabric, c.prefix)); d != "" {
			t.Errorf("%s: groups %s:\n%s", c.fabric.Name(), c.prefix, d)
		}
	}
	xp := made(t)(Xpander(XpanderConfig{Degree: 11, Lift: 18, Seed: 4}))
	for l := range graphs.LinkID(xp.NumLinks()) {
		from, _, _ := strings.Cut(xp.NodeName(xp.Tail(l.Forward())), "-")
		to, _, _ := strings.Cut(xp.NodeName(xp.Head(l.Forward())), "-")
		if from == to {
			t.Errorf("%s lies within a meta-node", xp.LinkName(l))
		}
	}
}

// Every block has as many links through each optical circuit switch, and a trunk takes different ones.
func TestMeshIsSpread(t *testing.T) {
	f := made(t)(Mesh(MeshConfig{Blocks: 9, Uplinks: 32, OCSes: 16}))
	through, trunk := map[[2]int]int{}, map[[3]int]int{}
	for l := range graphs.LinkID(f.NumLinks()) {
		a, b, ocs := int(f.Tail(l.Forward())), int(f.Head(l.Forward())), int(f.Link(l).Groups[0])
		through[[2]int{a, ocs}]++
		through[[2]int{b, ocs}]++
		if trunk[[3]int{a, b, ocs}]++; trunk[[3]int{a, b, ocs}] > 1 {
			t.Errorf("two links of a trunk go through %s", f.Group(graphs.GroupID(ocs)).Name)
		}
	}
	for at, n := range through {
		if n != 2 {
			t.Errorf("%s has %d links through %s, want 2", f.NodeName(graphs.NodeID(at[0])), n, f.Group(graphs.GroupID(at[1])).Name)
		}
	}
}

// The cluster of 32,256 GPUs: 252 links down to 36 up at a cluster switch, a line card for the latter.
func TestThreeTier32k(t *testing.T) {
	f := made(t)(ThreeTier(ThreeTierConfig{Zones: 8, Racks: 252, ClusterSwitches: 18, Aggregation: 36, Hosts: 2, NICs: 8}))
	roles := map[graphs.Role]int{}
	for n := range graphs.NodeID(f.NumNodes()) {
		roles[f.Node(n).Role]++
	}
	if d := cmp.Diff(map[graphs.Role]int{"rack": 2016, "cluster": 144, "agg": 36, "host": 4032}, roles); d != "" {
		t.Error(d)
	}
	ctsw, _ := f.NodeByName("ctsw3-07")
	heads := map[graphs.Role]int{}
	for _, a := range f.Out(ctsw) {
		heads[f.Node(f.Head(a)).Role]++
	}
	if heads["rack"] != 7*heads["agg"] {
		t.Errorf("a cluster switch has links %v, want 7 to 1", heads)
	}
	if d := cmp.Diff(map[int]int{36: 8}, groupSizes(f, "card-ctsw3-07-")); d != "" {
		t.Error(d)
	}
	l, ok := f.LinkByName("ctsw3-07:swp253--atsw01:swp43")
	if !ok || f.Link(l).Speed != GPUSpeed || f.Group(f.Link(l).Groups[0]).Name != "card-ctsw3-07-8" || f.Group(f.Link(l).Groups[1]).Name != "card-atsw01-2" {
		t.Error("the first uplink of ctsw3-07 is not the 43rd link of atsw01, on the 8th card to the 2nd")
	}
}
