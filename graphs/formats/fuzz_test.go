package formats

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzNetboxCSV(f *testing.F) {
	fuzzFormat(f, "netbox", "netbox/nrx-colo-nb_06_cables.csv",
		netboxHead+"a,dcim.interface,1,p,dcim.frontport,1\np,dcim.rearport,1,b,dcim.interface,1\n", "name,role,device_type,primary_ip4\na,leaf,x,10.0.0.1/24\n")
}

func FuzzNetboxJSON(f *testing.F) {
	fuzzFormat(f, "netbox", "", `{"data": {"device_list": [{"name": "a", "role": {"slug": "leaf"}, "primary_ip4": {"address": "10.0.0.1/32"}}],
"cable_list": [{"id": 1, "a_terminations": [{"__typename": "InterfaceType", "name": "1", "device": {"name": "a"}, "type": "400gbase-x"}],
"b_terminations": [{"__typename": "FrontPortType", "name": "1", "device": {"name": "p"}, "rear_port": {"name": "r"}, "rear_port_position": 2}, {"name": "2", "device": {"name": "b"}}]}]}}`)
}

func FuzzIbnetdiscover(f *testing.F) {
	fuzzFormat(f, "ibnetdiscover", "ibnetdiscover/ibsim-8leaf-4spine-96node.ibnetdiscover",
		"Switch\t36 \"S-1\"\t\t# \"sw\" base port 0 lid 0\n[1]\t\"H-2\"[1](3) \t\t# \"n\" lid 0 4xEDR\nCa\t1 \"H-2\"\t\t# \"n\"\n[1](3) \t\"S-1\"[1]\t\t# lid 0 lmc 0 \"sw\" lid 0 4xEDR\n")
}

func FuzzIbnetdiscoverPorts(f *testing.F) {
	fuzzFormat(f, "ibnetdiscover", "ibnetdiscover/ibsim-8leaf-4spine-96node.ports",
		"CA     5  1 0x01 4x EDR - SW     2  4 0x03 ( 'a' - 'tor' )\nSW     2  8 0x03 4x ???                 'tor'\n")
}

func FuzzSlurmConf(f *testing.F) {
	fuzzFormat(f, "slurm", "", "SwitchName=a Switches=b[1-2],c LinkSpeed=1\nSwitchName=b1 \\\nNodes=n[01-04,7]x[1-2]\n", "SwitchName=SwitchName=")
}

func FuzzSlurmYAML(f *testing.F) {
	fuzzFormat(f, "slurm", "", "- topology: t\n  cluster_default: true\n  tree:\n    switches:\n    - {switch: a, children: 'b[1-2]'}\n    - {switch: b1, nodes: n1}\n- topology: u\n  block: {}\n")
}

func FuzzSonicCSV(f *testing.F) {
	fuzzFormat(f, "sonic", "sonic-mgmt/sonic_snappi-sonic_links.csv",
		"StartDevice,StartPort,EndDevice,EndPort,BandWidth\na,1,b,1,100000\n", "Hostname,ManagementIp,HwSku,Type\na,10.0.0.1/24,x,Server\n")
}

func FuzzMinigraph(f *testing.F) {
	fuzzFormat(f, "sonic", "sonic-mgmt/minigraph-SONIC01DPU.xml",
		"<DeviceMiniGraph><DeviceLinkBase><ElementType>DeviceInterfaceLink</ElementType><StartDevice>a</StartDevice><StartPort>1</StartPort><EndDevice>b</EndDevice></DeviceLinkBase><Device type='Server'><Hostname>b</Hostname></Device></DeviceMiniGraph>")
}

func FuzzGraphML(f *testing.F) {
	fuzzFormat(f, "graphml", "graphml/Geant2012.graphml",
		"<graphml><key id='s' attr.name='speed'/><graph edgedefault='directed'><node id='a'><data key='label'>A</data></node><node id='b'/><edge source='a' target='b' sourceport='1'><data key='s'>10G</data></edge></graph></graphml>")
}

func FuzzRFC8345(f *testing.F) {
	fuzzFormat(f, "rfc8345", "", `{"ietf-network:networks": {"network": [{"network-id": "x", "node": [{"node-id": "a"}, {"node-id": "b", "supporting-node": []}],
"ietf-network-topology:link": [{"source": {"source-node": "a", "source-tp": "1"}, "destination": {"dest-node": "b"}}]}]}}`)
}

func FuzzNetJSON(f *testing.F) {
	fuzzFormat(f, "netjson", "", `{"type": "NetworkGraph", "label": "x", "nodes": [{"id": "1", "label": "a"}, {"id": "2"}], "links": [{"source": "1", "target": "2", "cost": 1}]}`)
}

func FuzzCableList(f *testing.F) {
	fuzzFormat(f, "csv", "", "a_node,a_port,a_role,a_addresses,b_node,b_port,speed,groups\na,1,host,10.0.0.0/31;fd00::/64,'=b,2,100G,x;y\\;z\n")
}

func FuzzLLDP(f *testing.F) {
	fuzzFormat(f, "lldp", "lldpctl/s2.json0", `{"lldp": {"interface": {"swp1": {"chassis": {"b": {"id": {"type": "mac", "value": "52:54:00:00:00:01"}}}, "port": {"id": {"type": "mac", "value": "x"}, "descr": "e1"}}}}}`,
		`{"lldpNeighbors": {"Ethernet1": {"lldpNeighborInfo": [{"systemName": "b", "chassisId": "5254.0000.0001", "neighborInterfaceInfo": {"interfaceId": "\"e1\""}}]}}}`,
		`{"TABLE_nbor": {"ROW_nbor": {"chassis_id": "b", "l_port_id": "Eth1/1", "port_id": "5254.0000.0002"}}}`,
		`{"lldp-neighbors-information": [{"lldp-neighbor-information": [{"lldp-local-interface": [{"data": "xe-0/0/0"}], "lldp-remote-system-name": [{"data": "b"}]}]}]}`,
		`[{"hostname": "a", "cmd": "lldpctl", "data": "LLDP neighbors:\nInterface: swp1, via\n SysName: b\n PortID: ifname swp2\n"}, {"hostname": "b", "data": "{\"lldp\": {}}"}]`)
}

func FuzzLLDPText(f *testing.F) {
	fuzzFormat(f, "lldp", "lldpctl/s2.keyvalue", "----\nLLDP neighbors:\n----\nInterface:    eth1, via: LLDP\n  SysName:  b\n  ChassisID: mac 52:54:00:00:00:01\n  PortID: ifalias to a\n",
		`<lldp><interface name="swp1"><chassis><name>b</name></chassis><port><id type="mac">x</id></port></interface></lldp>`)
}

// FuzzLLDPJoin has short records instead of real ones, of which many meet: names, chassis and ports are single letters.
func FuzzLLDPJoin(f *testing.F) {
	f.Add([]byte("a1bAp2b2aBp1a3b.p2b2a.p3"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file := &File{}
		l := &lldp{file: file, known: map[string]bool{}, ports: map[string][]string{}}
		for ; len(text) >= 6; text = text[6:] {
			n := neighbour{host: string('a' + text[0]%4), port: string('0' + text[1]%5), id: string('0' + text[5]%5), file: "x", line: 1, alias: text[4]&1 > 0}
			if text[2]%8 > 0 {
				n.name = string('a' + text[2]%5)
			}
			if text[3]%4 > 0 {
				n.chassis = "52:54:00:00:00:0" + string('0'+text[3]%4)
			}
			if text[4]&6 == 6 {
				n.id = "0c:42:a1:00:00:0" + n.id
			}
			l.host(n.host, false)
			l.add(n)
		}
		if len(l.hosts) == 0 {
			return
		}
		if err := l.build("x"); err != nil {
			t.Fatal(err)
		}
		roundTrip(t, "x", file.Fabric)
	})
}

func FuzzDot(f *testing.F) {
	fuzzFormat(f, "dot", "ptm-dot/ptm-sample.dot",
		"graph G { L1=\"m\" # c\n a [function=leaf]; \"a\":\"p1\" -- b:p2 [x=y, z=\"1\"+\"2\"] subgraph s { a b } -> {c d}; node [x=<b>] }", "strict digraph { a -> b -> a }")
}

func FuzzAir(f *testing.F) {
	fuzzFormat(f, "air", "", `{"format": "JSON", "content": {"nodes": {"a": {"os": "ubuntu"}, "b": {}}, "links": [[{"node": "a", "interface": "1"}, {"node": "b", "interface": "2"}], [{"node": "a", "interface": "3"}, "unconnected"]]}}`,
		`{"format": "DOT", "content": "graph { a:b -- c:d }"}`)
}

func FuzzBatfish(f *testing.F) {
	fuzzFormat(f, "batfish", "batfish/asymmetric.json", `{"edges": [{"node1": {"hostname": "a", "interfaceName": "1"}, "node2": {"hostname": "b", "interfaceName": "1"}}]}`)
}

// FuzzRecognise reads whatever comes without being told what it is.
func FuzzRecognise(f *testing.F) {
	fuzzFormat(f, "", "suzieq-lldp/eos.ifCounters.output", "{", "[{\"nodes\": {", "<a/>", "a b", "graph {", "name: x", "lldp.a.via=LLDP", "---\nLLDP neighbors:")
}

// leaks are the words by which libraries speak of this program's own types and functions.
var leaks = regexp.MustCompile(`\bGo (value|struct)|unmarshal|strconv\.|formats\.|\bjson:|\bxml:|\bcsv:|ParseAddr|ParsePrefix`)

// manyNames are ranges that stand for so many names that a run would see few texts.
var manyNames = regexp.MustCompile(`[0-9]{4}`)

// fuzzFormat reads whatever comes in one format. What is wrong is told in one clean line with the file; what can be read can be written, and
// read again.
func fuzzFormat(f *testing.F, format, real string, seeds ...string) {
	if text, err := os.ReadFile(filepath.Join(realFiles, real)); err == nil && real != "" {
		f.Add(text)
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 || format == "slurm" && manyNames.Match(text) {
			return
		}
		file, err := (&File{}).readAll(format, "x", []source{{"x", text}})
		if err != nil {
			var at *Error
			if s := err.Error(); !errors.As(err, &at) || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) || leaks.MatchString(s) {
				t.Errorf("not a clean error: %q", s)
			}
			return
		}
		for _, n := range file.Notes {
			if !utf8.ValidString(n) || strings.ContainsFunc(n, func(r rune) bool { return r < ' ' }) {
				t.Errorf("not a clean note: %q", n)
			}
		}
		if file.Fabric.NumNodes() > 10_000 {
			return
		}
		roundTrip(t, format, file.Fabric)
		var out bytes.Buffer
		if err := WriteGraphML(&out, file.Fabric); err != nil {
			t.Fatal(err)
		}
		back, err := Read(&out, "x")
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if file.Fabric.NumLinks() != back.Fabric.NumLinks() || file.Fabric.NumNodes() != back.Fabric.NumNodes() {
			t.Errorf("%s became %s", file.Fabric, back.Fabric)
		}
	})
}
