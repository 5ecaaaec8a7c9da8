package generate

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
)

func TestLeafSpine(t *testing.T) {
	f, err := LeafSpine(LeafSpineConfig{Leaves: 4, Spines: 2, Hosts: 2, IPv6: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.String(), "ls4x2 (14 nodes, 16 links)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for name, want := range map[string]string{
		"leaf1:swp1": "10.64.0.0/31 fd77:6c69:6e6b:64::/127", "spine1:swp1": "10.64.0.1/31 fd77:6c69:6e6b:64::1/127",
		"h1-1:eth1": "10.32.0.1/31 fd77:6c69:6e6b:32::1/127", "leaf1:swp3": "10.32.0.0/31 fd77:6c69:6e6b:32::/127",
		"h4-2:eth1": "10.32.0.15/31 fd77:6c69:6e6b:32::f/127",
	} {
		p, ok := f.PortByName(name)
		if !ok {
			t.Errorf("no port %s", name)
			continue
		}
		var got []string
		for _, x := range f.Port(p).Prefixes {
			got = append(got, x.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %v, want %s", name, got, want)
		}
	}
	for _, name := range []string{"leaf1:swp1--spine1:swp1", "leaf4:swp2--spine2:swp4", "h4-2:eth1--leaf4:swp4"} {
		if _, ok := f.LinkByName(name); !ok {
			t.Errorf("no link %s", name)
		}
	}
	spine, _ := f.NodeByName("spine2")
	if got := f.Node(spine).Loopback[0].String(); got != "10.255.0.6" {
		t.Errorf("spine2's loopback is %s", got)
	}
}

func TestFatTree(t *testing.T) {
	f, err := FatTree(FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	got := map[graphs.Role]int{}
	for n := range graphs.NodeID(f.NumNodes()) {
		got[f.Node(n).Role]++
		want := 4
		if f.Node(n).IsHost() {
			want = 1
		}
		if f.Degree(n) != want {
			t.Errorf("%s has degree %d, want %d", f.NodeName(n), f.Degree(n), want)
		}
	}
	if d := cmp.Diff(map[graphs.Role]int{"core": 4, "agg": 8, "edge": 8, "host": 16}, got); d != "" {
		t.Error(d)
	}
	// The first aggregation switch of each pod serves the first half of the cores.
	for _, name := range []string{"agg1-1:swp3--core1:swp1", "agg4-2:swp4--core4:swp4", "h4-2-2:eth1--edge4-2:swp4"} {
		if _, ok := f.LinkByName(name); !ok {
			t.Errorf("no link %s", name)
		}
	}
}

func TestRandomRegular(t *testing.T) {
	for _, c := range []RandomRegularConfig{
		{Switches: 16, Degree: 4, Hosts: 1, Seed: 3},
		{Switches: 40, Degree: 6, Hosts: 2, Seed: 1},
		{Switches: 9, Degree: 2, Seed: 7},
		{Switches: 8, Degree: 7, Seed: 1},
		{Switches: 8, Degree: 6, Seed: 1},
		{Switches: 11, Degree: 8, Seed: 5},
		{Switches: 2, Degree: 1, Seed: 5},
		{Switches: 1000, Degree: 16, Hosts: 1, Seed: 9},
	} {
		f, err := RandomRegular(c)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		seen := map[[2]graphs.NodeID]bool{}
		for l := range graphs.LinkID(f.NumLinks()) {
			ends := [2]graphs.NodeID{f.Tail(l.Forward()), f.Head(l.Forward())}
			if seen[ends] {
				t.Errorf("%+v: two links between %s and %s", c, f.NodeName(ends[0]), f.NodeName(ends[1]))
			}
			seen[ends] = true
		}
		for _, n := range f.Switches() {
			if f.Degree(n) != c.Degree+c.Hosts {
				t.Errorf("%+v: %s has %d links", c, f.NodeName(n), f.Degree(n))
			}
		}
	}
}

// The graph of a seed must never change: people quote seeds to each other.
func TestRandomRegularIsFixed(t *testing.T) {
	links := func(seed uint64) string {
		f, err := RandomRegular(RandomRegularConfig{Switches: 6, Degree: 3, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for l := range graphs.LinkID(f.NumLinks()) {
			names = append(names, f.LinkName(l))
		}
		return strings.Join(names, "\n")
	}
	const want = `sw1:swp1--sw2:swp1
sw1:swp2--sw4:swp1
sw1:swp3--sw5:swp1
sw2:swp2--sw3:swp1
sw2:swp3--sw6:swp1
sw3:swp2--sw4:swp2
sw3:swp3--sw5:swp2
sw4:swp3--sw6:swp2
sw5:swp3--sw6:swp3`
	if d := cmp.Diff(want, links(3)); d != "" {
		t.Error(d)
	}
	if links(1) == links(2) && links(2) == links(3) {
		t.Error("seeds make no difference")
	}
}

func TestImpossible(t *testing.T) {
	rr := func(n, d, h int) error {
		_, err := RandomRegular(RandomRegularConfig{Switches: n, Degree: d, Hosts: h})
		return err
	}
	ls := func(l, s, h int) error {
		_, err := LeafSpine(LeafSpineConfig{Leaves: l, Spines: s, Hosts: h})
		return err
	}
	ft := func(k int) error { _, err := FatTree(FatTreeConfig{K: k}); return err }
	for _, c := range []struct {
		err  error
		want string
	}{
		{rr(5, 3, 1), "switches times degree is odd"},
		{rr(4, 4, 1), "between 1 and 3"},
		{rr(4, 1, 1), "falls apart"},
		{rr(1, 1, 1), "at least 2 switches"},
		{rr(60000, 4, 1), "more than 16384"},
		{rr(4, 2, -1), "negative"},
		{ls(0, 4, 1), "at least one of each"},
		{ls(4, 4, -2), "negative"},
		{ls(1<<30, 1<<30, 1), "more than"},
		{ls(1, 70000, 1), "no loopback"},
		{ft(5), "must be even"},
		{ft(1 << 30), "more than"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got error %v, want one that says %q", c.err, c.want)
		}
	}
}

func TestImpossibleShapes(t *testing.T) {
	const huge = math.MaxInt
	for _, c := range []struct {
		config any
		want   string
	}{
		{ThreeTierConfig{Zones: 1, Racks: 1, ClusterSwitches: 1}, "at least one of each"},
		{ThreeTierConfig{Zones: 1, Racks: 1, ClusterSwitches: 1, Aggregation: 1, Hosts: 1}, "a host has at least one link"},
		{ThreeTierConfig{Zones: huge, Racks: 1, ClusterSwitches: 1, Aggregation: 1}, "more than 262144 links"},
		{ThreeTierConfig{Zones: 1, Racks: 1, ClusterSwitches: 1, Aggregation: 1, Hosts: huge, NICs: huge}, "more than 262144 links"},
		{RailConfig{GPUs: 510, Rails: 8, Ports: 64}, "multiple of the rails"},
		{RailConfig{GPUs: 4096, Rails: 8, Ports: 64}, "needs a third tier"},
		{RailConfig{GPUs: 8, Rails: 8, Ports: 1}, "a port down and one up"},
		{RailConfig{GPUs: huge - 7, Rails: 8, Ports: huge}, "more than"},
		{XpanderConfig{Degree: 1, Lift: 4}, "falls apart"},
		{XpanderConfig{Degree: 3, Lift: 0}, "at least one switch"},
		{XpanderConfig{Degree: huge, Lift: huge}, "more than 16384 switches"},
		{XpanderConfig{Degree: 3, Lift: 3, Hosts: huge}, "more than 262144 links"},
		{DRingConfig{Supernodes: 2, Switches: 8}, "at least 3 supernodes"},
		{DRingConfig{Supernodes: 8, Switches: 7}, "at least one switch"},
		{DRingConfig{Supernodes: 8, Switches: huge}, "more than"},
		{DRingConfig{Supernodes: 8, Switches: 60000}, "more than 262144 links"},
		{SlimFlyConfig{Q: 2}, "4w-1, 4w or 4w+1"},
		{SlimFlyConfig{Q: 6}, "power of a prime"},
		{SlimFlyConfig{Q: 12}, "power of a prime"},
		{SlimFlyConfig{Q: huge}, "between 2 and 512"},
		{SlimFlyConfig{Q: 128}, "more than 262144 links"},
		{PolarFlyConfig{Q: 1}, "between 2 and 512"},
		{PolarFlyConfig{Q: 10}, "power of a prime"},
		{PolarFlyConfig{Q: 512}, "more than 262144 links"},
		{DragonflyConfig{Switches: 4, GlobalLinks: 0}, "at least one of each"},
		{DragonflyConfig{Switches: 4, GlobalLinks: 2, Groups: 1}, "at least 2 groups"},
		{DragonflyConfig{Switches: 4, GlobalLinks: 2, Groups: 10}, "reach only 8 others"},
		{DragonflyConfig{Switches: 4, GlobalLinks: 2, Groups: 4}, "cannot be shared equally"},
		{DragonflyConfig{Switches: huge, GlobalLinks: huge}, "more than"},
		{DragonflyPlusConfig{Spines: 2, GlobalLinks: 2}, "at least one of each"},
		{DragonflyPlusConfig{Leaves: huge, Spines: 2, GlobalLinks: 2}, "more than 262144 links"},
		{DragonflyPlusConfig{Leaves: 2, Spines: 2, GlobalLinks: 2, Hosts: -1}, "negative"},
		{TorusConfig{Dimensions: []int{4}}, "two or three dimensions"},
		{TorusConfig{Dimensions: []int{4, 4, 4, 4}}, "two or three dimensions"},
		{TorusConfig{Dimensions: []int{4, 1}}, "at least 2 switches"},
		{TorusConfig{Dimensions: []int{huge, huge}}, "more than 262144 links"},
		{TorusConfig{Dimensions: []int{4, 4}, Hosts: huge}, "more than 262144 links"},
		{MeshConfig{Blocks: 1, Uplinks: 4, OCSes: 4}, "at least 2 blocks"},
		{MeshConfig{Blocks: 4, Uplinks: 4, OCSes: 4}, "shared equally among 3"},
		{MeshConfig{Blocks: 5, Uplinks: 8, OCSes: 3}, "spread equally"},
		{MeshConfig{Blocks: 5, Uplinks: 8, OCSes: 8}, "their product is odd"},
		{MeshConfig{Blocks: 2, Uplinks: huge, OCSes: 1}, "more than 262144 links"},
	} {
		if err := refused(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got error %v, want one that says %q", c.config, err, c.want)
		}
	}
}

func refused(config any) (err error) {
	switch c := config.(type) {
	case ThreeTierConfig:
		_, err = ThreeTier(c)
	case RailConfig:
		_, err = Rail(c)
	case XpanderConfig:
		_, err = Xpander(c)
	case DRingConfig:
		_, err = DRing(c)
	case SlimFlyConfig:
		_, err = SlimFly(c)
	case PolarFlyConfig:
		_, err = PolarFly(c)
	case DragonflyConfig:
		_, err = Dragonfly(c)
	case DragonflyPlusConfig:
		_, err = DragonflyPlus(c)
	case TorusConfig:
		_, err = Torus(c)
	case MeshConfig:
		_, err = Mesh(c)
	}
	return err
}
