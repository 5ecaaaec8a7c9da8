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
	fuzzFormat(f, "slurm", "", "SwitchName=a Switches=b[1-2],c LinkSpeed=1\nSwitchName=b1 \\\nNodes=n[01-04,7]x[1-2]\n")
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
		file, err := importSources(format, "x", []source{{"x", text}})
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
