package generate_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"whichlink/graphs"
	"whichlink/graphs/formats"
	. "whichlink/graphs/generate"
)

// A kind draws a fabric of one kind: how to make it, and how many links to other switches and to hosts its switches of each role have.
type kind func(t *rapid.T, ipv6 bool) (make func() (*graphs.Fabric, error), links, hosts func(f *graphs.Fabric, n graphs.NodeID) int)

type degrees = func(*graphs.Fabric, graphs.NodeID) int

func always(n int) degrees { return func(*graphs.Fabric, graphs.NodeID) int { return n } }

func byRole(d map[graphs.Role]int) degrees {
	return func(f *graphs.Fabric, n graphs.NodeID) int { return d[f.Node(n).Role] }
}

func number(t *rapid.T, name string, least, most int) int {
	return rapid.IntRange(least, most).Draw(t, name)
}

func primePower(t *rapid.T) int { return rapid.SampledFrom([]int{3, 4, 5, 7, 8, 9}).Draw(t, "q") }

var kinds = map[string]kind{
	"threetier": func(t *rapid.T, ipv6 bool) (func() (*graphs.Fabric, error), degrees, degrees) {
		c := ThreeTierConfig{Zones: number(t, "zones", 1, 4), Racks: number(t, "racks", 1, 40), ClusterSwitches: number(t, "cluster", 1, 12),
			Aggregation: number(t, "aggregation", 1, 9), Hosts: number(t, "hosts", 0, 2), NICs: number(t, "nics", 1, 3), IPv6: ipv6}
		return func() (*graphs.Fabric, error) { return ThreeTier(c) },
			byRole(map[graphs.Role]int{"rack": c.ClusterSwitches, "cluster": c.Racks + c.Aggregation, "agg": c.Zones * c.ClusterSwitches}),
			byRole(map[graphs.Role]int{"rack": c.Hosts * c.NICs})
	},
	"xpander": func(t *rapid.T, ipv6 bool) (func() (*graphs.Fabric, error), degrees, degrees) {
		c := XpanderConfig{Degree: number(t, "degree", 2, 7), Lift: number(t, "lift", 1, 12), Hosts: number(t, "hosts", 0, 2),
			Seed: rapid.Uint64().Draw(t, "seed"), IPv6: ipv6}
		return func() (*graphs.Fabric, error) { return Xpander(c) }, always(c.Degree), always(c.Hosts)
	},
	"dring": func(t *rapid.T, ipv6 bool) (func() (*graphs.Fabric, error), degrees, degrees) {
		c := DRingConfig{Supernodes: number(t, "supernodes", 3, 12), Switches: number(t, "switches", 12, 60), Hosts: number(t, "hosts", 0, 2), IPv6: ipv6}
		return func() (*graphs.Fabric, error) { return DRing(c) }, nearby, always(c.Hosts)
	},
	"slimfly": func(t *rapid.T, ipv6 bool) (func() (*graphs.Fabric, error), degrees, degrees) {
		c := SlimFlyConfig{Q: primePower(t), Hosts: number(t, "hosts", 0, 2), IPv6: ipv6}
		return func() (*graphs.Fabric, error) { return SlimFly(c) }, always((3*c.Q - (c.Q+1)%4 + 1) / 2), always(c.Hosts)
	},
	"polarfly": func(t *rapid.T, ipv6 bool) (func() (*graphs.Fabric, error), degrees, degrees) {
		c := PolarFlyConfig{Q: primePower(t), Hosts: number(t, "hosts", 0, 2), IPv6: ipv6}
		return func() (*graphs.Fabric, error) { return PolarFly(c) }, func(f *graphs.Fabric, n graphs.NodeID) int {
			if strings.HasPrefix(f.NodeName(n), "w-") {
				return c.Q
			}
			return c.Q + 1
		}, always(c.Hosts)
	},
	"dragonfly": func(t *rapid.T, ipv6 bool) (func() (*graphs.Fabric, error), degrees, degrees) {
		c := DragonflyConfig{Switches: number(t, "switches", 1, 6), GlobalLinks: number(t, "global", 1, 3), Hosts: number(t, "hosts", 0, 2), IPv6: ipv6}
		c.Groups = someGroups(t, c.Switches*c.GlobalLinks)
		return func() (*graphs.Fabric, error) { return Dragonfly(c) }, always(c.Switches - 1 + c.GlobalLinks), always(c.Hosts)
	},
	"dragonflyplus": func(t *rapid.T, ipv6 bool) (func() (*graphs.Fabric, error), degrees, degrees) {
		c := DragonflyPlusConfig{Leaves: number(t, "leaves", 1, 4), Spines: number(t, "spines", 1, 4), GlobalLinks: number(t, "global", 1, 3),
			Hosts: number(t, "hosts", 0, 2), IPv6: ipv6}
		c.Groups = someGroups(t, c.Spines*c.GlobalLinks)
		return func() (*graphs.Fabric, error) { return DragonflyPlus(c) },
			byRole(map[graphs.Role]int{"leaf": c.Spines, "spine": c.Leaves + c.GlobalLinks}), byRole(map[graphs.Role]int{"leaf": c.Hosts})
	},
	"torus": func(t *rapid.T, ipv6 bool) (func() (*graphs.Fabric, error), degrees, degrees) {
		c := TorusConfig{Dimensions: rapid.SliceOfN(rapid.IntRange(2, 6), 2, 3).Draw(t, "size"), Hosts: number(t, "hosts", 0, 2), IPv6: ipv6}
		links := 0
		for _, d := range c.Dimensions {
			links += min(2, d-1)
		}
		return func() (*graphs.Fabric, error) { return Torus(c) }, always(links), always(c.Hosts)
	},
	"mesh": func(t *rapid.T, ipv6 bool) (func() (*graphs.Fabric, error), degrees, degrees) {
		c := MeshConfig{Blocks: number(t, "blocks", 2, 9), Hosts: number(t, "hosts", 0, 2), IPv6: ipv6}
		c.Uplinks = (c.Blocks - 1) * number(t, "width", 1, 8)
		factors := c.Uplinks / (1 + c.Blocks%2)
		for c.OCSes = number(t, "ocs", 1, factors); factors%c.OCSes != 0; {
			c.OCSes--
		}
		return func() (*graphs.Fabric, error) { return Mesh(c) }, always(c.Uplinks), always(c.Hosts)
	},
}

// someGroups draws a number of groups among which so many global links of each can be shared out.
func someGroups(t *rapid.T, global int) int {
	others := number(t, "others", 1, global)
	for global%others != 0 {
		others--
	}
	return others + 1
}

// nearby counts the switches of the supernodes one and two steps from a switch's own.
func nearby(f *graphs.Fabric, n graphs.NodeID) int {
	supernode := func(n graphs.NodeID) string { name, _, _ := strings.Cut(f.NodeName(n), "-"); return name }
	var ring []string
	size := map[string]int{}
	for _, m := range f.Switches() {
		if size[supernode(m)]++; size[supernode(m)] == 1 {
			ring = append(ring, supernode(m))
		}
	}
	near := map[string]bool{}
	for i, s := range ring {
		if s == supernode(n) {
			for _, step := range []int{1, 2, len(ring) - 1, len(ring) - 2} {
				near[ring[(i+step)%len(ring)]] = true
			}
		}
	}
	sum := 0
	for s := range near {
		if s != supernode(n) {
			sum += size[s]
		}
	}
	return sum
}

// Whatever parameters are taken, the fabric hangs together, its switches have the links that they should, no address is given twice, and
// making it anew gives the same file.
func TestKinds(t *testing.T) {
	for name, draw := range kinds {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				ipv6 := rapid.Bool().Draw(t, "ipv6")
				make, links, hosts := draw(t, ipv6)
				f := checked(t, make, ipv6)
				for _, n := range f.Switches() {
					toSwitches, toHosts := 0, 0
					for _, a := range f.Out(n) {
						if f.IsHostArc(a) {
							toHosts++
						} else {
							toSwitches++
						}
					}
					if toSwitches != links(f, n) || toHosts != hosts(f, n) {
						t.Errorf("%s has %d links to switches and %d to hosts, want %d and %d", f.NodeName(n), toSwitches, toHosts, links(f, n), hosts(f, n))
					}
				}
			})
		})
	}
}

// checked makes a fabric twice and checks what holds for all.
func checked(t *rapid.T, make func() (*graphs.Fabric, error), ipv6 bool) *graphs.Fabric {
	f, err := make()
	if err != nil {
		t.Fatal(err)
	}
	if p := f.Shape().Parts; p != 1 {
		t.Errorf("%d parts", p)
	}
	checkAddresses(t, f, ipv6)
	again, err := make()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text(t, f), text(t, again)) {
		t.Error("made twice, it differs")
	}
	return f
}

// A rail-optimised fabric of any size does not block, asks no switch for more ports than it has, and puts each card on its own rail.
func TestRail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := RailConfig{Rails: number(t, "rails", 1, 8), Ports: number(t, "ports", 2, 20), IPv6: rapid.Bool().Draw(t, "ipv6")}
		c.GPUs = c.Rails * number(t, "hosts", 1, max(1, c.Ports/2*(c.Ports/c.Rails)))
		if c.Rails > c.Ports {
			c.Ports = c.Rails
		}
		f := checked(t, func() (*graphs.Fabric, error) { return Rail(c) }, c.IPv6)
		for _, n := range f.Switches() {
			up, down := map[graphs.NodeID]int{}, 0
			for _, a := range f.Out(n) {
				if f.IsHostArc(a) {
					down++
				} else {
					up[f.Head(a)]++
				}
			}
			widths := map[int]bool{}
			for _, w := range up {
				widths[w] = true
			}
			if f.Degree(n) > c.Ports || len(widths) != 1 || f.Degree(n) < 2*down {
				t.Errorf("%s has %d links, %d of them down, to others %v", f.NodeName(n), f.Degree(n), down, up)
			}
		}
		for _, h := range f.Hosts() {
			if len(f.Out(h)) != c.Rails {
				t.Errorf("%s has %d links", f.NodeName(h), len(f.Out(h)))
			}
			for r, a := range f.Out(h) {
				port, leaf := f.Port(f.TailPort(a)).Name, f.NodeName(f.Head(a))
				if port != fmt.Sprint("eth", r+1) || !strings.HasPrefix(leaf, fmt.Sprintf("leaf%d-", r+1)) {
					t.Errorf("%s of %s goes to %s", port, f.NodeName(h), leaf)
				}
			}
		}
	})
}

func checkAddresses(t *rapid.T, f *graphs.Fabric, ipv6 bool) {
	families := 1
	if ipv6 {
		families = 2
	}
	seen := map[netip.Addr]bool{}
	take := func(a netip.Addr) {
		if seen[a] {
			t.Errorf("%s is given twice", a)
		}
		seen[a] = true
	}
	for _, n := range f.Switches() {
		for _, a := range f.Node(n).Loopback {
			take(a)
		}
	}
	for p := range graphs.PortID(f.NumPorts()) {
		prefixes := f.Port(p).Prefixes
		if len(prefixes) != families {
			t.Errorf("%s has addresses %v", f.PortName(p), prefixes)
		}
		for _, x := range prefixes {
			take(x.Addr())
		}
	}
	for l := range graphs.LinkID(f.NumLinks()) {
		a, b := f.Port(f.Link(l).Ends[0]).Prefixes, f.Port(f.Link(l).Ends[1]).Prefixes
		for i := range a {
			if a[i].Masked() != b[i].Masked() {
				t.Errorf("%s has %v and %v at its ends", f.LinkName(l), a[i], b[i])
			}
		}
	}
}

func text(t interface{ Fatal(...any) }, f *graphs.Fabric) []byte {
	var b bytes.Buffer
	if err := formats.WriteFabric(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The cluster of 32,256 GPUs, made and written. The peak is of the heap, by and large: what it was ever given.
func BenchmarkThreeTier32k(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		f, err := ThreeTier(ThreeTierConfig{Zones: 8, Racks: 252, ClusterSwitches: 18, Aggregation: 36, Hosts: 2, NICs: 8})
		if err != nil {
			b.Fatal(err)
		}
		text(b, f)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapInuse)/(1<<20), "MiB-in-use")
	b.ReportMetric(float64(m.HeapSys)/(1<<20), "MiB-peak")
}
