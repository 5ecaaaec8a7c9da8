package spelling

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The names of a line are all spellings of one port, and no two lines have one in common.
var ports = []string{
	"Ethernet1/1 Eth1/1 e1-1 ethernet-1/1 eth1_1 ETHERNET1/1 et1/1 ethernet-1/1.0 Eth1/1.100",
	"Ethernet1 eth1 Et1 eth1.100",
	"Ethernet4 eth4", "Ethernet0", "eth0",
	"Ethernet1/7/2 Eth1/7/2 e1-7-2 ethernet-1/7/2",
	"swp1 SWP1 swp1.100",
	"swp1s0", "swp1s1", "swp11",
	"xe-0/0/1 xe-0/0/1.0 XE-0/0/1",
	"et-0/0/1 et-0/0/1.0", "ge-0/0/1", "xe-0/0/1:0 xe-0/0/1:0.0", "xe1",
	"GigabitEthernet0/1 Gi0/1 gi0/1 Gig0/1 GE0/1",
	"TenGigabitEthernet0/1 Te0/1 TenGigE0/1 Ten-GigabitEthernet0/1 10GE0/1 XGE0/1",
	"HundredGigE0/0/0/1 Hu0/0/0/1 100GE0/0/0/1",
	"FourHundredGigE0/0/0/1 FH0/0/0/1",
	"fortyGigE0/0 Fo0/0 40GE0/0",
	"TwentyFiveGigE1/0/1 Twe1/0/1 25GE1/0/1",
	"mgmt0 Management0 ma0",
	"Port-channel10 po10 PortChannel10",
	"1/1/1 1-1-1", "1/1/c1/1 1-1-c1-1", "1.1", "A1", "1", "lo", "enp1s0f0np0", "ens3f1", "",
	"52:54:00:c8:33:98 5254.00c8.3398 52-54-00-C8-33-98 5254-00c8-3398",
	"525400c83398",
}

func TestPort(t *testing.T) {
	line := map[string]string{}
	for _, names := range ports {
		form := Port(strings.Split(names, " ")[0])
		if was, ok := line[form]; ok {
			t.Errorf("%q and %q are both %q", names, was, form)
		}
		line[form] = names
		for _, name := range strings.Fields(names) {
			if got := Port(name); got != form {
				t.Errorf("%s: got %q, want %q", name, got, form)
			}
		}
	}
	for name, want := range map[string]string{"xe-0/0/1.0": "xe-0/0/1", "Eth 1/1": "ethernet1/1", " Gi0/1 ": "gigabitethernet0/1"} {
		if got := Port(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestIsManagement(t *testing.T) {
	for port, want := range map[string]bool{
		"mgmt0": true, "Management1": true, "Management1/1": true, "ma1": true, "eth0": true, "fxp0": true, "em1": true, "vme": true, "MgmtEth0/RP0/CPU0/0": true,
		"ManagementEthernet 0/0": true, "MEth0/0/0": true, "mgmt": true, "re0:mgmt-0": true,
		"Ethernet0": false, "eth1": false, "Eth1/1": false, "swp1": false, "et-0/0/1": false, "mgmt-uplink-swp1": false, "member1": false, "": false, "e0": false,
	} {
		if IsManagement(port) != want {
			t.Errorf("%s: %v", port, !want)
		}
	}
}

func TestNode(t *testing.T) {
	for name, want := range map[string]string{
		"leaf1": "leaf1", "LEAF1.dc.example.net": "leaf1", "leaf1.": "leaf1", " Leaf1 ": "leaf1", ".hidden": ".hidden", "": "",
		"10.0.0.1": "10.0.0.1", "FD00::1": "fd00::1", "::ffff:10.0.0.1": "10.0.0.1",
		"5254.00C8.3398": "52:54:00:c8:33:98", "52-54-00-c8-33-98": "52:54:00:c8:33:98",
		"52:54-00:c8:33:98": "52:54-00:c8:33:98", "5254:00c8:3398": "5254:00c8:3398", "52.54.00.c8.33.98": "52",
	} {
		if got := Node(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// Case never tells two ports apart, and a node's canonical form is its own canonical form, whatever the name.
func TestCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		port := rapid.StringMatching(`[A-Za-z-]{0,10}[ _-]?[0-9]{0,2}([/:.s_-][0-9]{1,2}){0,3}`).Draw(t, "port")
		if lower, upper := Port(strings.ToLower(port)), Port(strings.ToUpper(port)); lower != upper {
			t.Fatalf("%q and %q", lower, upper)
		}
		name := rapid.String().Draw(t, "name")
		Port(name)
		if n := Node(name); Node(n) != n {
			t.Fatalf("node %q: %q, and again %q", name, n, Node(n))
		}
	})
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		first, second string
		want          Matching
	}{
		{"a b", "b a", Matching{Pairs: map[string]string{"a": "a", "b": "b"}}},
		{"sw1.dc.net sw2 sw3", "SW2.dc.net SW1 sw4", Matching{
			Pairs: map[string]string{"sw1.dc.net": "SW1", "sw2": "SW2.dc.net"}, First: []string{"sw3"}, Second: []string{"sw4"},
		}},
		{"sw1", "sw1.a.net sw1.b.net", Matching{Ambiguous: []Ambiguity{{First: []string{"sw1"}, Second: []string{"sw1.a.net", "sw1.b.net"}}}}},
		{"sw1.a.net sw1.b.net", "SW1.A.NET SW1.B.NET", Matching{Pairs: map[string]string{"sw1.a.net": "SW1.A.NET", "sw1.b.net": "SW1.B.NET"}}},
		// That sw1.a.net is found elsewhere does not make sw1 the other.
		{"sw1.a.net sw1.b.net", "sw1.a.net sw1", Matching{
			Pairs:     map[string]string{"sw1.a.net": "sw1.a.net"},
			Ambiguous: []Ambiguity{{First: []string{"sw1.b.net"}, Second: []string{"sw1"}, Rivals: []string{"sw1.a.net"}}},
		}},
		{"sw1 sw1.oob", "sw1", Matching{Pairs: map[string]string{"sw1": "sw1"}, First: []string{"sw1.oob"}}},
		{"a a", "A", Matching{Pairs: map[string]string{"a": "A"}}},
	} {
		got := MatchNodes(strings.Fields(c.first), strings.Fields(c.second))
		if c.want.Pairs == nil {
			c.want.Pairs = map[string]string{}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s with %s:\n%s", c.first, c.second, d)
		}
	}
	got := MatchPorts([]string{"Ethernet1/1", "Ethernet1/2", "xe-0/0/1"}, []string{"Eth1/2", "e1-1", "xe-0/0/1.0", "xe-0/0/1.100"})
	want := Matching{
		Pairs:     map[string]string{"Ethernet1/1": "e1-1", "Ethernet1/2": "Eth1/2"},
		Ambiguous: []Ambiguity{{First: []string{"xe-0/0/1"}, Second: []string{"xe-0/0/1.0", "xe-0/0/1.100"}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestSameNodes(t *testing.T) {
	first, ambiguous := SameNodes([]string{"leaf1", "LEAF1.dc.net", "Spine1.dc.net", "spine1", "SPINE1", "sw1.a.net", "sw1", "SW1.b.net", "sw2.a.net", "sw2.b.net", "sw1"})
	want := map[string]string{
		"leaf1": "leaf1", "LEAF1.dc.net": "leaf1", "Spine1.dc.net": "Spine1.dc.net", "spine1": "Spine1.dc.net", "SPINE1": "Spine1.dc.net",
		"sw1.a.net": "sw1.a.net", "sw1": "sw1", "SW1.b.net": "SW1.b.net", "sw2.a.net": "sw2.a.net", "sw2.b.net": "sw2.b.net",
	}
	if d := cmp.Diff(want, first); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]string{{"sw1", "sw1.a.net", "SW1.b.net"}}, ambiguous); d != "" {
		t.Error(d)
	}
}
