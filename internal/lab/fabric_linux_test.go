package lab

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
)

// checkPaths sends packets between hosts over several flows. Every arc must carry all packets of a flow or none, and those that it
// carries are for IPv4 those that the oracle names. It returns how many arcs between switches were crossed.
func checkPaths(t *testing.T, l *Lab, ipv6 bool, flows int) int {
	t.Helper()
	f := l.Fabric()
	hosts := f.Hosts()
	crossed := map[graphs.ArcID]bool{}
	for i := range flows {
		src, dst := hosts[i%len(hosts)], hosts[(i*7+3)%len(hosts)]
		if src == dst {
			continue
		}
		flow := evidence.Flow{Src: f.Address(src, ipv6), Dst: f.Address(dst, ipv6), Proto: "udp", SrcPort: uint16(50000 + i), DstPort: 4000}
		path, err := l.Path(flow)
		if err != nil && !ipv6 {
			t.Fatal(err)
		}
		before := make([]uint64, f.NumArcs())
		for a := range before {
			before[a] = received(t, l, f.HeadPort(graphs.ArcID(a)))
		}
		if got := send(t, l, flow, 10, 100); got != 10 {
			t.Errorf("flow %v: %d of 10 packets arrived", flow, got)
		}
		var took []graphs.ArcID
		for a := range graphs.ArcID(f.NumArcs()) {
			switch got := received(t, l, f.HeadPort(a)) - before[a]; {
			case got >= 10 && got < 15: // a neighbour may say something of its own over IPv6
				took = append(took, a)
				if !f.IsHostArc(a) {
					crossed[a] = true
				}
			case got >= 5:
				t.Errorf("flow %v: %d of 10 packets on %s", flow, got, f.ArcName(a))
			}
		}
		slices.Sort(path)
		if !ipv6 && !slices.Equal(path, took) {
			t.Errorf("flow %v took the arcs %v, the oracle says %v", flow, took, path)
		}
	}
	return len(crossed)
}

// received reads how many packets came in at a port.
func received(t *testing.T, l *Lab, p graphs.PortID) uint64 {
	t.Helper()
	c, err := l.Counters(p)
	if err != nil {
		t.Fatal(err)
	}
	return c.InPackets
}

func TestOracleIsWhatPacketsDo(t *testing.T) {
	needLab(t)
	random, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 12, Degree: 4, Hosts: 1, Seed: 3, IPv6: true})
	if err != nil {
		t.Fatal(err)
	}
	unnumbered, err := Unnumbered(random)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		fabric *graphs.Fabric
		ipv6   bool
	}{{"random", random, true}, {"unnumbered", unnumbered, true}, {"odd", oddFabric(t), false}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l, err := New(context.Background(), Config{Fabric: c.fabric, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			four := checkPaths(t, l, false, 30)
			if !c.ipv6 {
				return
			}
			if six := checkPaths(t, l, true, 30); six < four/2 {
				t.Errorf("30 flows crossed %d arcs with IPv4 and %d with IPv6", four, six)
			}
		})
	}
}

// oddFabric has what files from elsewhere have: no addresses, parallel links, port names that the kernel does not take, a host with
// two cables.
func oddFabric(t *testing.T) *graphs.Fabric {
	t.Helper()
	b := graphs.Builder{Name: "odd"}
	node := func(name string, role graphs.Role) graphs.NodeID {
		n, err := b.AddNode(graphs.Node{Name: name, Role: role})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	link := func(a graphs.NodeID, ap string, z graphs.NodeID, zp string) {
		if _, err := b.AddLink(graphs.End{Node: a, Port: ap}, graphs.End{Node: z, Port: zp}, 0); err != nil {
			t.Fatal(err)
		}
	}
	x, y, z := node("x", "switch"), node("y/1", "switch"), node("z", "switch")
	h1, h2, h3 := node("h1", graphs.RoleHost), node("h2", graphs.RoleHost), node("h3", graphs.RoleHost)
	link(x, "Ethernet1/1/1", y, "TwentyFiveGigE0/0/0/13")
	link(x, "Ethernet1/1/2", y, "TwentyFiveGigE0/0/0/14")
	link(x, "lo", z, "port1")
	link(z, "all", y, "port 3")
	link(h1, "eth0", x, "a")
	link(y, "b", h2, "eth0")
	link(h3, "eth0", z, "c")
	link(h3, "eth1", y, "c")
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWithAddresses(t *testing.T) {
	f := oddFabric(t)
	g, err := WithAddresses(f)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[netip.Addr]bool{}
	for l := range graphs.LinkID(g.NumLinks()) {
		if g.LinkName(l) != f.LinkName(l) {
			t.Errorf("link %d is %s, was %s", l, g.LinkName(l), f.LinkName(l))
		}
		var masked [2]netip.Prefix
		for i, p := range g.Link(l).Ends {
			x, ok := g.Port(p).Prefix(false)
			if !ok || seen[x.Addr()] {
				t.Fatalf("port %s has the address %v", g.PortName(p), x)
			}
			seen[x.Addr()] = true
			masked[i] = x.Masked()
			if host := strings.HasPrefix(x.String(), "10.32."); host != g.IsHostArc(l.Forward()) {
				t.Errorf("port %s has the address %v", g.PortName(p), x)
			}
		}
		if masked[0] != masked[1] {
			t.Errorf("link %s has the subnets %v", g.LinkName(l), masked)
		}
	}
	if again, err := WithAddresses(g); err != nil || again != g {
		t.Errorf("a fabric that lacks nothing was made anew: %v", err)
	}
}

func TestDevices(t *testing.T) {
	f := oddFabric(t)
	got := map[string]string{}
	for p, name := range devices(f) {
		got[f.PortName(graphs.PortID(p))] = name
	}
	for port, want := range map[string]string{
		"x:Ethernet1/1/1": "Ethernet1-1-1", "x:Ethernet1/1/2": "Ethernet1-1-2", "x:lo": "port3", "x:a": "a",
		"y/1:TwentyFiveGigE0/0/0/13": "port1", "z:port1": "port1", "z:all": "port2", "h1:eth0": "eth0",
	} {
		if got[port] != want {
			t.Errorf("port %s is device %q, want %q", port, got[port], want)
		}
	}
}

func TestAggregate(t *testing.T) {
	prefixes := func(words string) (all []netip.Prefix) {
		for _, w := range strings.Fields(words) {
			all = append(all, netip.MustParsePrefix(w))
		}
		return all
	}
	for in, want := range map[string]string{
		"":                                      "",
		"10.0.0.2/31 10.0.0.0/31":               "10.0.0.0/30",
		"10.0.0.2/31 10.0.0.4/31":               "10.0.0.2/31 10.0.0.4/31",
		"10.0.0.0/31 10.0.0.2/31 10.0.0.4/30":   "10.0.0.0/29",
		"10.0.0.0/31 10.0.0.0/32 10.0.0.1/32":   "10.0.0.0/31",
		"10.0.0.0/31 10.0.0.0/31 10.0.0.2/31":   "10.0.0.0/30",
		"10.0.0.6/31 10.0.0.0/30 10.0.0.8/31":   "10.0.0.0/30 10.0.0.6/31 10.0.0.8/31",
		"fd00::/127 fd00::2/127 fd00::4/127":    "fd00::/126 fd00::4/127",
		"255.255.255.254/31 255.255.255.252/31": "255.255.255.252/30",
	} {
		got := aggregate(prefixes(in))
		var words []string
		for _, x := range got {
			words = append(words, x.String())
		}
		if strings.Join(words, " ") != want {
			t.Errorf("aggregate(%s) = %v, want %s", in, got, want)
		}
	}
}
