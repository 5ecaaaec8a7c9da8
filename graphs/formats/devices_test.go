package formats

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
)

// Two switches, one of them with a slower port; a server that says that it is a host; a box that did not answer; an address that two claim; a cable from
// a switch to itself; a name that would clear the screen.
func TestJoin(t *testing.T) {
	const giga = 1_000_000_000
	at := func(a string) netip.Addr { return netip.MustParseAddr(a) }
	port := func(name string, speed graphs.BitsPerSecond, prefixes ...string) DevicePort {
		p := DevicePort{Name: name, Speed: speed}
		for _, x := range prefixes {
			p.Prefixes = append(p.Prefixes, netip.MustParsePrefix(x))
		}
		return p
	}
	f, err := Join("found", []Device{
		{
			Name: "s1", From: "10.0.0.1", Role: "switch", Management: at("10.0.0.1"), Loopback: []netip.Addr{at("10.255.0.1"), at("10.255.0.9")},
			Ports: []DevicePort{port("swp1", 100*giga, "10.64.0.0/31"), port("swp2", 100*giga, "10.64.9.9/31"), port("swp3", 0), port("swp4", 0), port("swp5", 0)},
			Neighbours: []Neighbour{
				{Port: "swp1", Name: "l1", PortID: "swp9"}, {Port: "swp2", Name: "h1", Chassis: "02:00:00:00:00:01", PortID: "eth0", Host: true},
				{Port: "swp3", Name: "dead\x1b[2J", PortID: "1/1", Management: at("10.0.0.7")}, {Port: "swp4", Name: "s1", PortID: "swp5"},
				{Name: "s2", PortID: "swp1"},
			},
		},
		{
			Name: "l1", From: "10.0.0.2", Management: at("10.0.0.2"), Loopback: []netip.Addr{at("10.255.0.9")},
			Ports:      []DevicePort{port("swp9", 40*giga, "10.64.0.1/31", "10.64.9.9/31")},
			Neighbours: []Neighbour{{Port: "swp9", Name: "s1", PortID: "swp1"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteFabric(&out, f.Fabric); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(`name: found
topology:
  nodes:
    s1: {mgmt-ipv4: 10.0.0.1, labels: {whichlink.role: switch, whichlink.loopback: 10.255.0.1}}
    l1: {mgmt-ipv4: 10.0.0.2}
    h1: {labels: {whichlink.role: host}}
    'dead�[2J': {mgmt-ipv4: 10.0.0.7}
  links:
    - endpoints: ["s1:swp1", "l1:swp9"]
      vars: {ipv4: ["10.64.0.0/31", "10.64.0.1/31"], speed: 40G}
    - endpoints: ["s1:swp2", "h1:eth0"]
      vars: {speed: 100G}
    - endpoints: ["s1:swp3", "dead�[2J:1/1"]
`, out.String()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][2]string{{"s1:swp4", "s1:swp5"}}, f.Loops); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{
		"several devices have the address 10.255.0.9, 10.64.9.9: left out", "known by their neighbours only, having reported nothing: h1, dead�[2J",
		"no role given, taken for switches: l1, dead�[2J",
	}, f.Notes); d != "" {
		t.Error(d)
	}
	if again, err := Read(&out, "found"); err != nil || again.Fabric.NumLinks() != 3 {
		t.Errorf("what was written is not read: %v", err)
	}
}
