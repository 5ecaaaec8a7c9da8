package formats

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"whichlink/graphs"
)

// linksOf lists the links of a fabric.
func linksOf(f *graphs.Fabric) []string {
	var links []string
	for l := range graphs.LinkID(f.NumLinks()) {
		links = append(links, f.LinkName(l))
	}
	return links
}

// told makes a neighbour of a line such as "leaf1 swp1 hears name=spine1 chassis=52:54:00:00:00:01 id=swp3".
func told(t *testing.T, line string) neighbour {
	t.Helper()
	words := strings.Fields(line)
	if len(words) < 3 || words[2] != "hears" {
		t.Fatalf("%q", line)
	}
	n := neighbour{host: words[0], port: words[1], file: "x", line: 1}
	for _, w := range words[3:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "name":
			n.name = value
		case "chassis":
			n.chassis = value
		case "id":
			n.id = value
		case "alias":
			n.id, n.alias = value, true
		case "descr":
			n.descr = value
		case "local":
			n.portID = value
		case "address":
			n.manage(value)
		default:
			t.Fatalf("%q", w)
		}
	}
	return n
}

func TestLLDPJoin(t *testing.T) {
	for _, c := range []struct {
		what, told string
		links      []string
		notes      []string // a part of each that matters
	}{
		{"both ends, in different spelling", `
			leaf1 Eth1/1 hears name=spine1.dc.net id=Ethernet1/7
			SPINE1 e1-7 hears name=leaf1.dc.net id=Ethernet1/1`,
			[]string{"leaf1:Eth1/1--SPINE1:e1-7"}, nil},
		{"one end, whose neighbour reports other things", `
			leaf1 swp1 hears name=spine1 id=swp1
			leaf2 swp1 hears name=spine1 id=swp2
			spine1 swp1 hears name=leaf1 id=swp1`,
			[]string{"leaf1:swp1--spine1:swp1", "leaf2:swp1--spine1:swp2"}, []string{"1 links are told of by one end only, though the other reports too: at leaf2:swp1"}},
		{"a server that reports nothing", `leaf1 swp1 hears name=srv1 chassis=0c:42:a1:00:00:01 id=0c:42:a1:00:00:02 descr=enp1s0f0`,
			[]string{"leaf1:swp1--srv1:enp1s0f0"}, []string{"known by their neighbours only, having reported nothing: srv1"}},
		{"a description that names a node is none of a port", `
			leaf1 swp1 hears name=sw2 id=0c:42:a1:00:00:02 descr=leaf1`,
			[]string{"leaf1:swp1--sw2:0c:42:a1:00:00:02"}, nil},
		{"a port known by its address, found by what the other end says", `
			srv1 eth1 hears name=leaf1 id=swp5
			srv1 eth2 hears name=leaf1 id=swp6
			leaf1 swp6 hears name=srv1 id=0c:42:a1:00:00:02
			leaf1 swp5 hears name=srv1 id=0c:42:a1:00:00:01`,
			[]string{"srv1:eth1--leaf1:swp5", "srv1:eth2--leaf1:swp6"}, nil},
		{"what somebody wrote about a port is not believed over its name", `
			a swp1 hears name=b id=swp7 descr=swp2
			b swp2 hears name=c id=swp1`,
			[]string{"a:swp1--b:swp7", "b:swp2--c:swp1"}, nil},
		{"both ports known by alias only, and no other between the two", `
			a swp1 hears name=b alias=to_a
			b swp9 hears name=a id=0c:42:a1:00:00:01`,
			[]string{"a:swp1--b:swp9"}, nil},
		{"two such cables", `
			a swp1 hears name=b id=0c:42:a1:00:00:01
			a swp2 hears name=b id=0c:42:a1:00:00:02
			b swp8 hears name=a id=0c:42:a1:00:00:03
			b swp9 hears name=a id=0c:42:a1:00:00:04`,
			[]string{"a:swp1--b:0c:42:a1:00:00:01", "a:swp2--b:0c:42:a1:00:00:02"}, []string{"which of 2 ports of a is joined to which of 2 of b cannot be told"}},
		{"Junos tells the number of its port", `
			a Ethernet4 hears name=qfx id=517 descr=uplink
			qfx xe-0/0/1 hears name=a id=Ethernet4 local=517`,
			[]string{"a:Ethernet4--qfx:xe-0/0/1"}, nil},
		{"no name: known by chassis, by address, by neither", `
			a swp1 hears name=b chassis=5254.0000.0001 id=swp1 address=10.0.0.2
			a swp2 hears chassis=52:54:00:00:00:01 id=swp2
			a swp3 hears chassis=52:54:00:00:00:77 id=swp3 address=10.0.0.2
			a swp4 hears chassis=52:54:00:00:00:99 id=swp1
			a swp5 hears chassis=nexus id=Ethernet1/1
			a swp6 hears id=swp1`,
			[]string{"a:swp1--b:swp1", "a:swp2--b:swp2", "a:swp3--b:swp3", "a:swp4--52-54-00-00-00-99:swp1", "a:swp5--nexus:Ethernet1/1"},
			[]string{"1 neighbours tell neither name nor chassis"}},
		{"two boxes of one name, one of which reports", `
			leaf1 swp1 hears name=sonic chassis=52:54:00:00:00:0a id=Ethernet0
			leaf2 swp1 hears name=sonic chassis=52:54:00:00:00:0b id=Ethernet0
			sonic Ethernet0 hears name=leaf2 id=swp1`,
			[]string{"leaf1:swp1--sonic@52-54-00-00-00-0a:Ethernet0", "leaf2:swp1--sonic:Ethernet0"},
			[]string{"the system name sonic is that of 2 boxes (chassis 52:54:00:00:00:0a, 52:54:00:00:00:0b): each is a node of its own"}},
		{"one box whose chassis differs by port is no two", `
			leaf1 swp1 hears name=nx chassis=44:01:03:01:01:01 id=Ethernet1/1
			leaf1 swp2 hears name=nx chassis=44:01:03:01:01:02 id=Ethernet1/2`,
			[]string{"leaf1:swp1--nx:Ethernet1/1", "leaf1:swp2--nx:Ethernet1/2"}, nil},
		{"a name that two domains have", `
			a swp1 hears name=sw1.a.net id=swp1
			a swp2 hears name=sw1.b.net id=swp2
			a swp3 hears name=sw1 id=swp3`,
			[]string{"a:swp1--sw1.a.net:swp1", "a:swp2--sw1.b.net:swp2", "a:swp3--sw1:swp3"}, []string{"sw1 may be any of sw1.a.net, sw1.b.net"}},
		{"a shared segment is no link", `
			a mgmt0 hears name=b id=mgmt0
			a mgmt0 hears name=c id=mgmt0
			b mgmt0 hears name=a id=mgmt0
			b mgmt0 hears name=c id=mgmt0
			a swp1 hears name=b id=swp1`,
			[]string{"a:swp1--b:swp1"}, []string{"several neighbours at one port, which is no link then: a:mgmt0, b:mgmt0"}},
		{"the card of a server speaks beside its system", `
			a swp1 hears chassis=0c:42:a1:00:00:01 id=0c:42:a1:00:00:01
			a swp1 hears name=srv1 chassis=0c:42:a1:00:00:01 id=eth2
			a swp2 hears chassis=0c:42:a1:00:00:09 id=0c:42:a1:00:00:09
			a swp2 hears name=srv2 id=eth2`,
			[]string{"a:swp1--srv1:eth2", "a:swp2--srv2:eth2"}, nil},
		{"what was true before a cable was moved", `
			a swp1 hears name=b id=swp1
			b swp1 hears name=c id=swp1
			c swp1 hears name=b id=swp1`,
			[]string{"b:swp1--c:swp1"}, []string{"1 neighbours passed over, since a port of the two has another link: a:swp1 and b:swp1"}},
		{"its own device, and names that nodes cannot have", `
			a swp1 hears name=a id=swp2
			a swp3 hears name=x:y>z id=p>q`,
			[]string{"a:swp3--x-y-z:p-q"}, []string{"1 cables lead from a device to itself"}},
	} {
		f := &File{}
		l := &lldp{file: f, known: map[string]bool{}, ports: map[string][]string{}}
		for line := range strings.Lines(strings.TrimSpace(c.told)) {
			n := told(t, line)
			l.host(n.host, false)
			l.add(n)
		}
		if err := l.build("x"); err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if d := cmp.Diff(c.links, linksOf(f.Fabric)); d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
		for _, n := range c.notes {
			if !slices.ContainsFunc(f.Notes, func(s string) bool { return strings.Contains(s, n) }) {
				t.Errorf("%s: no note says %q:\n%s", c.what, n, strings.Join(f.Notes, "\n"))
			}
		}
	}
}

// Every way in which software prints its neighbours, each of the same two.
func TestLLDPShapes(t *testing.T) {
	want := []string{"leaf1:Eth1/1--spine1:Ethernet1/1", "leaf1:Eth1/2--srv1:eth1"}
	for name, text := range map[string]string{
		"json": `{"lldp": {"interface": [
			{"Eth1/1": {"chassis": {"spine1": {"id": {"type": "mac", "value": "52:54:00:00:00:01"}}}, "port": {"id": {"type": "ifname", "value": "Ethernet1/1"}}}},
			{"Eth1/2": {"chassis": {"srv1": {"id": {"type": "local", "value": "srv1"}}}, "port": {"id": {"type": "mac", "value": "52:54:00:00:00:02"}, "descr": "eth1"}}}]}}`,
		"json without list, name or type": `{"lldp": {"interface": {
			"Eth1/1": {"chassis": {"id": {"type": "local", "value": "spine1"}}, "port": {"id": {"value": "Ethernet1/1"}}},
			"Eth1/2": {"chassis": {"id": {"type": "local", "value": "srv1"}}, "port": {"id": {"value": "eth1"}}}}}}`,
		"json0": `{"lldp": [{"interface": [
			{"name": "Eth1/1", "chassis": [{"name": [{"value": "spine1"}]}], "port": [{"id": [{"type": "ifname", "value": "Ethernet1/1"}]}]},
			{"name": "Eth1/2", "chassis": [{"name": [{"value": "srv1"}]}], "port": [{"id": [{"type": "ifname", "value": "eth1"}], "descr": [{"value": "x"}]}]}]}]}`,
		"EOS in detail": `{"lldpNeighbors": {"Management1": {"lldpNeighborInfo": []},
			"Eth1/1": {"lldpNeighborInfo": [{"systemName": "spine1", "neighborInterfaceInfo": {"interfaceIdType": "interfaceName", "interfaceId": "\"Ethernet1/1\""}}]},
			"Eth1/2": {"lldpNeighborInfo": [{"systemName": "srv1", "neighborInterfaceInfo": {"interfaceId": "eth1"}}]}}}`,
		"EOS": `{"tablesLastChangeTime": 1.5, "lldpNeighbors": [{"port": "Eth1/1", "neighborDevice": "spine1", "neighborPort": "Ethernet1/1", "ttl": 120},
			{"port": "Eth1/2", "neighborDevice": "srv1", "neighborPort": "eth1"}]}`,
		"NX-OS": `{"neigh_hdr": "neigh_hdr", "TABLE_nbor": {"ROW_nbor": [
			{"chassis_type": "Locally Assigned", "chassis_id": "spine1", "l_port_id": "Eth1/1", "port_id": "Ethernet1/1", "system_capability": "B", "system_capability": "R"},
			{"chassis_id": "srv1", "l_port_id": "Eth1/2", "port_id": "eth1"}]}, "neigh_count": 2}`,
		"NX-OS in detail": `{"TABLE_nbor_detail": {"ROW_nbor_detail": [
			{"chassis_id": "5254.0000.0001", "l_port_id": "Eth1/1", "port_id": "Ethernet1/1", "sys_name": "spine1"},
			{"chassis_id": "srv1", "l_port_id": "Eth1/2", "port_id": "5254.0000.0002", "port_desc": "eth1", "sys_name": "not advertised"}]}}`,
		"Junos": `{"lldp-neighbors-information": [{"lldp-neighbor-information": [
			{"lldp-local-interface": [{"data": "Eth1/1"}], "lldp-remote-system-name": [{"data": "spine1"}], "lldp-remote-port-id": [{"data": "Ethernet1/1"}]},
			{"lldp-local-interface": [{"data": "Eth1/2"}], "lldp-remote-system-name": [{"data": "srv1"}], "lldp-remote-port-id": [{"data": "eth1"}]}]}]}`,
		"SuzieQ": `[{"cmd": "show lldp neighbors detail", "hostname": "leaf1", "data":
			"{\"lldpNeighbors\": [{\"port\": \"Eth1/1\", \"neighborDevice\": \"spine1\", \"neighborPort\": \"Ethernet1/1\"}]}"}]
			[{"cmd": "show cdp neighbors", "hostname": "leaf1", "data": {"TABLE_cdp_neighbor_brief_info": {}}},
			{"cmd": "lldpctl", "hostname": "srv1", "data": "----\nLLDP neighbors:\n----\nInterface:    eth1, via: LLDP, RID: 1\n  Chassis:\n    ChassisID:    mac 52:54:00:00:00:09\n    SysName:      leaf1\n  Port:\n    PortID:       ifname Eth1/2\n"},
			{"cmd": "lldpctl", "hostname": "srv2", "data": ""}]`,
		"text": "-----\nLLDP neighbors:\n-----\nInterface:    Eth1/1, via: LLDP, RID: 2, Time: 0 day, 00:03:36\n  Chassis:\n    ChassisID:    mac 52:54:00:00:00:01\n" +
			"    SysName:      spine1\n  Port:\n    PortID:       ifname Ethernet1/1\n----\nInterface:    Eth1/2, via: LLDP\n    SysName:      srv1\n    PortID:       mac 52:54:00:00:00:02\n    PortDescr:    eth1\n----\n",
		"keyvalue": "lldp.Eth1/1.via=LLDP\nlldp.Eth1/1.chassis.mac=52:54:00:00:00:01\nlldp.Eth1/1.chassis.name=spine1\nlldp.Eth1/1.port.ifname=Ethernet1/1\n" +
			"lldp.Eth1/2.via=LLDP\nlldp.Eth1/2.chassis.name=srv1\nlldp.Eth1/2.port.local=eth1\n",
		"xml": `<?xml version="1.0"?><lldp><interface name="Eth1/1"><chassis><name>spine1</name></chassis><port><id type="ifname">Ethernet1/1</id></port></interface>
			<interface name="Eth1/2"><chassis><id type="local">srv1</id></chassis><port><id type="mac">52:54:00:00:00:02</id><descr>eth1</descr></port></interface></lldp>`,
	} {
		f, err := Read(strings.NewReader(text), "dir/leaf1.out")
		if err != nil || f.Format != "lldp" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := linksOf(f.Fabric)
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], "srv1:eth1--leaf1:Eth1/2", "leaf1:Eth1/2--srv1:eth1")
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestLLDPFiles(t *testing.T) {
	f, err := Import("lldp", "testdata/lldpctl/s1.json", "testdata/lldpctl/l1.json", "testdata/lldpctl/s2.json0")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/lldpctl/lldp.golden", describe(f.Fabric)+"notes\n"+strings.Join(f.Notes, "\n")+"\n")
}

// The links of whole laboratories are those that SuzieQ's own tests expect.
func TestSuzieQ(t *testing.T) {
	for _, c := range []struct{ output, expected, command, namespace string }{
		{"eos.lldp.output", "expected-eos-lldp.yml", "lldp show --format=json --namespace=eos", "eos"},
		{"cumulus-dual-evpn.lldp.output", "expected-cumulus-lldp.yml", "lldp show --format=json --namespace='ospf-single dual-evpn ospf-ibgp'", "dual-evpn"},
	} {
		dir := filepath.Join(realFiles, "suzieq-lldp")
		text, err := os.ReadFile(filepath.Join(dir, c.expected))
		if err != nil {
			t.Skipf("the files of SuzieQ's tests are not part of this repository: %v", err)
		}
		var expected struct {
			Tests []struct{ Command, Output string }
		}
		if err := yaml.Unmarshal(text, &expected); err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{}
		for _, x := range expected.Tests {
			if x.Command != c.command {
				continue
			}
			var rows []map[string]any
			if err := yaml.Unmarshal([]byte(x.Output), &rows); err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if r["namespace"] == c.namespace {
					want[pairName(r["hostname"].(string)+":"+r["ifname"].(string), r["peerHostname"].(string)+":"+r["peerIfname"].(string))] = true
				}
			}
		}
		f, err := ReadFile(filepath.Join(dir, c.output))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for l := range graphs.LinkID(f.Fabric.NumLinks()) {
			e := f.Fabric.Link(l).Ends
			got[pairName(f.Fabric.PortName(e[0]), f.Fabric.PortName(e[1]))] = true
		}
		if d := cmp.Diff(want, got); d != "" || len(got) == 0 {
			t.Errorf("%s: %s", c.output, d)
		}
	}
}

func pairName(a, b string) string { return min(a, b) + "--" + max(a, b) }

func TestLLDPErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{\"lldp\": {\n\"interface\": [\n}": `x.json:3: not JSON: invalid character '}'`,
		"{\"lldp\": {\"interface\":\n":      "x.json:2: not JSON: the text ends in the middle of a value",
		"{\"lldp\": {}}\n\n{\"a\": 1}":      "x.json:3: no neighbours here: expected lldp, lldpNeighbors",
		"[{\"cmd\": \"show lldp\",\n\"hostname\": \"a\", \"data\": \"{\\\"x\\\": }\"}]": "x.json:2: output of a: not JSON: invalid character '}'",
		"lldp.swp1.via=LLDP\nhello\n":                            `x.json:2: "hello", expected a line such as lldp.swp1.chassis.name=l1`,
		"<lldp>\n<interface name=\"a\">\n</lldp>":                "x.json:3: not XML: ",
		strings.Repeat("[", 200) + "\"lldp\"":                    "x.json: JSON without keys",
		"{\"lldp\":" + strings.Repeat("[", 200) + "\n":           "x.json:1: nested more than 100 levels deep",
		"{\"lldp\": {\"interface\": {\"a\": 3}}, \"\\ud800\":7}": "", // no neighbour, and no reason to complain
	} {
		_, err := Read(strings.NewReader(text), "x.json")
		if want == "" && err == nil {
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) || want == "" {
			t.Errorf("%q: got %v, want %s", text[:min(len(text), 60)], err, want)
		}
	}
}
