package formats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"whichlink/graphs"
)

// realFiles are where files of real tools and fabrics lie. Not all of their licences let them be part of this repository.
const realFiles = "../../../shared/data/fabrics"

func TestRealFiles(t *testing.T) {
	for _, c := range []struct {
		format, files       string
		nodes, hosts, links int
	}{
		{"netbox", "netbox/nrx-air-nb_06_cables.csv netbox/nrx-air-nb_05_devices.csv", 10, 4, 24},
		{"netbox", "netbox/nrx-air-nb_05_devices.csv netbox/nrx-air-nb_06_cables.csv", 10, 4, 24},
		{"netbox", "netbox/nrx-dc1-nb_05_devices.csv netbox/nrx-dc1-nb_06_cables.csv", 10, 4, 12},
		{"netbox", "netbox/nrx-dc2-nb_05_devices.csv netbox/nrx-dc2-nb_06_cables.csv", 10, 4, 12},
		{"netbox", "netbox/nrx-dc2-nb_06_cables.csv", 10, 4, 12},
		{"netbox", "netbox/nrx-colo-nb_05_devices.csv netbox/nrx-colo-nb_06_cables.csv", 2, 0, 5},
		{"netbox", "netbox/nrx-colo-nb_06_cables.csv", 2, 0, 5},
		{"sonic", "sonic-mgmt/sonic_snappi-sonic_links.csv", 3, 0, 8},
		{"sonic", "sonic-mgmt/sonic_lab_devices.csv", 20, 8, 0},
		{"sonic", "sonic-mgmt/minigraph-SONIC01DPU.xml", 2, 0, 2},
		{"slurm", "slurm/testcase3-topology.conf", 423, 400, 422},
		{"ibnetdiscover", "ibnetdiscover/ibsim-8leaf-4spine-96node.ibnetdiscover", 108, 96, 160},
		{"ibnetdiscover", "ibnetdiscover/ibsim-8leaf-4spine-96node.ports", 108, 96, 160},
		{"ibnetdiscover", "ibnetdiscover/ibsim-8leaf-4spine-96node.net", 108, 96, 160},
		{"graphml", "graphml/Abilene.graphml", 11, 0, 14},
		{"graphml", "graphml/Geant2012.graphml", 40, 8, 61},
	} {
		t.Run(c.files, func(t *testing.T) {
			var paths []string
			for name := range strings.FieldsSeq(c.files) {
				path := filepath.Join(realFiles, name)
				if _, err := os.Stat(path); err != nil {
					t.Skipf("%s is not part of this repository and not beside it", name)
				}
				paths = append(paths, path)
			}
			f, err := Import("", paths...)
			if err != nil {
				t.Fatal(err)
			}
			nodes, hosts, links := f.Fabric.NumNodes(), len(f.Fabric.Hosts()), f.Fabric.NumLinks()
			if f.Format != c.format || nodes != c.nodes || hosts != c.hosts || links != c.links {
				t.Errorf("%s: %d nodes, %d hosts, %d links, want %s: %d, %d, %d", f.Format, nodes, hosts, links, c.format, c.nodes, c.hosts, c.links)
			}
		})
	}
}

// brief tells of a fabric in a few lines: names with stated roles, links with speeds and groups, notes.
func brief(f *File) string {
	var b strings.Builder
	for i := range graphs.NodeID(f.Fabric.NumNodes()) {
		if n := f.Fabric.Node(i); !n.RoleGuessed || n.Management.IsValid() {
			b.WriteString(n.Name + " " + string(n.Role))
			if n.Management.IsValid() {
				b.WriteString(" " + n.Management.String())
			}
			b.WriteString("\n")
		}
	}
	for l := range graphs.LinkID(f.Fabric.NumLinks()) {
		x := f.Fabric.Link(l)
		b.WriteString(strings.TrimSpace(f.Fabric.LinkName(l)+" "+speedOrNone(x.Speed)+" "+joinGroups(f.Fabric, x)) + "\n")
	}
	for _, n := range f.Notes {
		if !strings.HasPrefix(n, "no role given") && !strings.Contains(n, "have no name in the file") {
			b.WriteString("- " + n + "\n")
		}
	}
	return b.String()
}

func importTexts(format string, texts ...string) (*File, error) {
	var from []source
	for i, text := range texts {
		s, err := readSource(strings.NewReader(text), "f"+string(rune('1'+i)))
		if err != nil {
			return nil, err
		}
		from = append(from, s)
	}
	return (&File{}).readAll(format, "f", from)
}

type reading struct {
	name  string
	texts []string
	want  string
}

func checkReadings(t *testing.T, readings []reading) {
	for _, c := range readings {
		t.Run(c.name, func(t *testing.T) {
			f, err := importTexts("", c.texts...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.TrimLeft(c.want, "\n"), brief(f)); d != "" {
				t.Error(d)
			}
		})
	}
}

const netboxHead = "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name\n"

func TestNetbox(t *testing.T) {
	checkReadings(t, []reading{
		{"byte order mark, devices second, power and console", []string{
			"\ufeff" + netboxHead + "leaf1,dcim.interface,Eth1,srv,dcim.interface,eno1\nsrv,dcim.powerport,PSU1,pdu,dcim.poweroutlet,7\n",
			"name,role,device_type,primary_ip4,IP Address\nsrv,Compute Node,R640,10.0.0.9/24,\nleaf1,Leaf,DCS,,10.0.0.1/24\npdu,PDU,AP,,\n,Leaf,DCS,,\n",
		}, `
srv host 10.0.0.9
leaf1 leaf 10.0.0.1
leaf1:Eth1--srv:eno1
- 1 cables that do not run between interfaces (power, console, circuits): passed over
- 1 devices at which no link ends, only other cables (patch panels, power): passed over
- 1 devices without a name: passed over
`},
		{"two panels with names of their own for front and rear, one that leads nowhere", []string{netboxHead +
			"sw1,interface,e1,pp1,frontport,Front 1\npp1,rearport,Rear 1,pp2,rearport,Rear 1\npp2,frontport,Front 1,sw2,interface,e1\n" +
			"sw1,interface,e2,pp1,frontport,Front 2\npp1,rearport,Rear 2,pp2,rearport,Rear 2\nsw1,interface,e3,sw1,interface,e4\n"}, `
sw1:e1--sw2:e1
- 1 interfaces whose cable ends at a patch panel and goes no further: passed over
- 2 links from a device to itself: passed over
`},
		{"semicolons and tabs of a spreadsheet", []string{
			strings.ReplaceAll(netboxHead+"a,interface,1,b,interface,1\n", ",", ";"), strings.ReplaceAll("name,role,device_type\nb,spine,x\n", ",", "\t"),
		}, "b spine\na:1--b:1\n"},
		{"GraphQL with breakouts, positions of a trunk, speeds", []string{`{"data": {
 "device_list": [{"name": "s1", "role": {"name": "Spine"}, "primary_ip4": {"address": "10.0.0.1/32"}}, {"name": "h1", "device_role": {"slug": "server"}}],
 "cable_list": [
  {"id": "7", "label": "", "a_terminations": [{"__typename": "InterfaceType", "name": "Eth1", "device": {"name": "s1"}, "type": "400gbase-x-qsfpdd"}],
   "b_terminations": [{"__typename": "InterfaceType", "name": "e0", "device": {"name": "h1"}, "type": "A_100GBASE_X_SFPDD"},
                      {"__typename": "InterfaceType", "name": "e0", "device": {"name": "h2"}, "speed": 100000000}]},
  {"id": "8", "a_terminations": [{"__typename": "InterfaceType", "name": "Eth2", "device": {"name": "s1"}}],
   "b_terminations": [{"__typename": "FrontPortType", "name": "A1", "device": {"name": "p1"}, "rear_port": {"name": "R"}, "rear_port_position": 1}]},
  {"id": "9", "a_terminations": [{"__typename": "InterfaceType", "name": "Eth3", "device": {"name": "s1"}}],
   "b_terminations": [{"__typename": "FrontPortType", "name": "A2", "device": {"name": "p1"}, "rear_port": {"name": "R"}, "rear_port_position": 2}]},
  {"id": "10", "a_terminations": [{"__typename": "RearPortType", "name": "R", "device": {"name": "p1"}}],
   "b_terminations": [{"__typename": "RearPortType", "name": "R", "device": {"name": "p2"}}]},
  {"id": "11", "a_terminations": [{"__typename": "FrontPortType", "name": "B2", "device": {"name": "p2"}, "rear_port": {"name": "R"}, "rear_port_position": 2}],
   "b_terminations": [{"__typename": "InterfaceType", "name": "e1", "device": {"name": "h1"}}]},
  {"id": "12", "a_terminations": [{"__typename": "FrontPortType", "name": "B1", "device": {"name": "p2"}, "rear_port": {"name": "R"}, "rear_port_position": 1}],
   "b_terminations": [{"__typename": "InterfaceType", "name": "e1", "device": {"name": "h2"}}]},
  {"id": "13", "a_terminations": [{"__typename": "CircuitTerminationType"}], "b_terminations": [{"name": "e9", "device": {"name": "h2"}}]},
  {"id": "14", "a_terminations": [], "b_terminations": [{"name": "e8", "device": {"name": "h2"}}]}
 ]}}`}, `
s1 spine 10.0.0.1
h1 host
s1:Eth1/1--h1:e0 100G cable 7
s1:Eth1/2--h2:e0 100G cable 7
s1:Eth2--h2:e1
s1:Eth3--h1:e1
- 1 cables that do not run between interfaces (power, console, circuits): passed over
- 1 cables with an end that goes nowhere, or whose ends cannot be matched: passed over
`},
		{"REST", []string{`{"count": 1, "results": [{"id": 3, "a_terminations": [{"object_type": "dcim.interface", "object": {"name": "1", "device": {"name": "a"}}}],
 "b_terminations": [{"object_type": "dcim.interface", "object": {"name": "2", "device": {"name": "b"}}}]}]}`}, "a:1--b:2\n"},
	})
}

func TestInfiniBand(t *testing.T) {
	checkReadings(t, []reading{
		{"names that repeat, a degraded link, two-port adapters, aggregation nodes, managed switches", []string{`
switchguid=0xec8200(ec8200)
Switch	36 "S-0000000000ec8200"		# "Quantum Mellanox Technologies" base port 0 lid 3 lmc 0
[1]	"S-0000000000ec8480"[1]		# "Quantum Mellanox Technologies" lid 4 4xEDR
[2]	"S-0000000000ec8480"[2]		# "Quantum Mellanox Technologies" lid 4 4xDDR
[3]	"S-0000000000ec8480"[3]		# "Quantum Mellanox Technologies" lid 4 4xEDR s=2 w=2
[4][ext 4]	"H-0000000000100000"[1](100001) 		# "gpu01 mlx5_0" lid 9 2xHDR
[5]	"H-0000000000100000"[2](100002) 		# "gpu01 mlx5_0" lid 10 4xHDR
[37]	"H-0000000000200000"[1](200001) 		# "Mellanox Technologies Aggregation Node" lid 11 4xEDR
[6]	"S-0000000000ec9000"[1]		# "MF0;core-sw:MQM8700/U1" lid 4 4xEDR

Switch	36 "S-0000000000ec8480"		# "Quantum Mellanox Technologies" base port 0 lid 4 lmc 0
[2]	"S-0000000000ec8200"[2]		# "Quantum Mellanox Technologies" lid 3 4xDDR

caguid=0x100000
Ca	2 "H-0000000000100000"		# "gpu01 mlx5_0"
[1](100001) 	"S-0000000000ec8200"[4]		# lid 9 lmc 0 "Quantum Mellanox Technologies" lid 3 2xHDR
`}, `
Quantum Mellanox Technologies/S-0000000000ec8200 switch
Quantum Mellanox Technologies/S-0000000000ec8480 switch
gpu01 mlx5_0 host
Quantum Mellanox Technologies/S-0000000000ec8200:1--Quantum Mellanox Technologies/S-0000000000ec8480:1 100G
Quantum Mellanox Technologies/S-0000000000ec8200:2--Quantum Mellanox Technologies/S-0000000000ec8480:2 20G
Quantum Mellanox Technologies/S-0000000000ec8200:3--Quantum Mellanox Technologies/S-0000000000ec8480:3 100G
Quantum Mellanox Technologies/S-0000000000ec8200:4--gpu01 mlx5_0:1 100G
Quantum Mellanox Technologies/S-0000000000ec8200:5--gpu01 mlx5_0:2 200G
Quantum Mellanox Technologies/S-0000000000ec8200:6--core-sw:1 100G
- 1 aggregation nodes within switches: passed over
- names that repeat among the 5 nodes were completed by what identifies the node: "Quantum Mellanox Technologies" (2 nodes)
- slower than most links of their kind, which run at 100G: Quantum Mellanox Technologies/S-0000000000ec8200:2--Quantum Mellanox Technologies/S-0000000000ec8480:2 at 20G
- slower than most links of their kind, which run at 200G: Quantum Mellanox Technologies/S-0000000000ec8200:4--gpu01 mlx5_0:1 at 100G
`},
		{"ports", []string{`
CA     5  1 0x0000000000100001 4x EDR - SW     2  4 0x0000000000300000 ( 'gpu01 mlx5_0' - 'tor a' )
CA     6  2 0x0000000000100002 4x EDR - SW     2  5 0x0000000000300000 ( 'gpu01 mlx5_0' - 'tor a' )
CA     7  1 0x0000000000400001 4x EDR - SW     2  6 0x0000000000300000 ( 'localhost' - 'tor a' )
CA     8  1 0x0000000000500001 4x EDR - SW     2  7 0x0000000000300000 ( 'localhost' - 'tor a' )
SW     2  4 0x0000000000300000 4x EDR - CA     5  1 0x0000000000100001 ( 'tor a' - 'gpu01 mlx5_0' )
SW     2  8 0x0000000000300000 4x ???                                    'tor a'
`}, `
gpu01 mlx5_0 host
localhost/CA0000000000400001 host
localhost/CA0000000000500001 host
gpu01 mlx5_0:1--tor a:4 100G
gpu01 mlx5_0:2--tor a:5 100G
localhost/CA0000000000400001:1--tor a:6 100G
localhost/CA0000000000500001:1--tor a:7 100G
- names that repeat among the 4 nodes were completed by what identifies the node: "localhost" (2 nodes)
- 1 ports without a link: passed over
`},
	})
}

func TestSlurm(t *testing.T) {
	const tree = `
root switch
a1 switch
a2 switch
n01 host
n02 host
n10 host
root:p1--a1:p1
root:p2--a2:p1
a1:p2--n01:p1
a1:p3--n02:p1
a2:p2--n10:p1
- Slurm tells of a tree: one link for each switch or node below a switch, however many cables there are
`
	checkReadings(t, []reading{
		{"conf", []string{"# a comment\nswitchname=root Switches=a[1-2] LinkSpeed=100\nSwitchName=a1 \\\n  Nodes=n[01-02],n01 # here too\n\nSwitchName=a2 Nodes=n10\n"},
			tree + "- LinkSpeed, in 1 lines, has no unit in Slurm: passed over\n"},
		{"yaml", []string{"---\n- topology: blocks\n  block: {block_sizes: [4]}\n- topology: other\n  tree: {switches: [{switch: x}]}\n" +
			"- topology: main\n  cluster_default: true\n  tree:\n    switches:\n      - {switch: root, children: 'a[1-2]'}\n      - switch: a1\n        nodes: n[01-02]\n      - switch: a2\n        nodes: n10\n"},
			tree + "- other topologies in the file: blocks, other: passed over\n"},
	})
}

func TestHostlist(t *testing.T) {
	for list, want := range map[string]string{
		"n1": "n1", "": "", "a,b , c": "a b c", "n[1-3]": "n1 n2 n3", "n[08-11]x": "n08x n09x n10x n11x", "n[1,3-4,007]": "n1 n3 n4 n007",
		"r[1-2]n[1-2]": "r1n1 r1n2 r2n1 r2n2", "a[1-2],b[3]": "a1 a2 b3",
	} {
		h := hostlist{maxNames}
		names, err := h.expand(list)
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", list, got, err, want)
		}
	}
	for list, want := range map[string]string{
		"n[1-3": "without a ]", "n1-3]": "without a [", "n[[1]]": "without a ]", "n[]": "expected numbers", "n[3-1]": "backwards", "n[a-b]": "expected numbers",
		"n[1-1000001]": "more than 1000000", "n[0-999][0-999][0-1]": "more than 1000000", "n[1-99999999999999999999]": "expected numbers",
		strings.Repeat("x", 300) + "[1-2]": "longer than 255",
	} {
		h := hostlist{maxNames}
		if names, err := h.expand(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %d names, %v, want an error that says %q", list, len(names), err, want)
		}
	}
}

func TestSonic(t *testing.T) {
	checkReadings(t, []reading{
		{"links and devices", []string{
			"StartDevice,StartPort,EndDevice,EndPort,BandWidth,VlanID,VlanMode,AutoNeg\ndut,Ethernet0,fan,Ethernet4,100000,1681-1712,Trunk\nfan,Ethernet4,dut,Ethernet0,,\ndut,Ethernet8,dut,Ethernet12,100000,,\n",
			"Hostname,ManagementIp,HwSku,Type,Protocol,Os\ndut,10.0.0.1/23,x,DevSonic,,sonic\nfan,,x,FanoutLeaf,,eos,extra\nserv,10.0.0.3,x,Server,,\n",
		}, `
dut switch 10.0.0.1
fan fanout
serv host 10.0.0.3
dut:Ethernet0--fan:Ethernet4 100G
- without a link: serv
- 1 links from a device to itself: passed over
`},
		{"minigraph", []string{`<DeviceMiniGraph xmlns="x" xmlns:i="y">
<DpgDec><DeviceDataPlaneInfo><LoopbackIPInterfaces xmlns:a="z"><a:LoopbackIPInterface><a:PrefixStr>10.1.0.32/32</a:PrefixStr></a:LoopbackIPInterface></LoopbackIPInterfaces>
<Hostname>t0</Hostname><IPInterfaces><IPInterface><AttachTo>fortyGigE0/0</AttachTo><Prefix>10.0.0.0/31</Prefix></IPInterface>
<IPInterface><AttachTo>PortChannel1</AttachTo><Prefix>10.0.0.8/31</Prefix></IPInterface></IPInterfaces></DeviceDataPlaneInfo></DpgDec>
<PngDec><DeviceInterfaceLinks>
<DeviceLinkBase><ElementType>DeviceInterfaceLink</ElementType><EndDevice>t1</EndDevice><EndPort>Ethernet1/1</EndPort><StartDevice>t0</StartDevice><StartPort>fortyGigE0/0</StartPort></DeviceLinkBase>
<DeviceLinkBase><ElementType>DeviceInterfaceLink</ElementType><Bandwidth>10000</Bandwidth><EndDevice>srv</EndDevice><EndPort>eth0</EndPort><StartDevice>t0</StartDevice><StartPort>fortyGigE0/4</StartPort></DeviceLinkBase>
<DeviceLinkBase><ElementType>DeviceSerialLink</ElementType><EndDevice>con</EndDevice><EndPort>1</EndPort><StartDevice>t0</StartDevice><StartPort>console</StartPort></DeviceLinkBase>
</DeviceInterfaceLinks><Devices><Device i:type="ToRRouter"><Hostname>t0</Hostname><ManagementAddress xmlns:a="w"><a:IPPrefix>10.9.0.1/24</a:IPPrefix></ManagementAddress></Device>
<Device i:type="LeafRouter"><Hostname>t1</Hostname></Device><Device i:type="Server"><Hostname>srv</Hostname></Device></Devices></PngDec>
<DeviceInfos><DeviceInfo><EthernetInterfaces><EthernetInterface><InterfaceName>fortyGigE0/0</InterfaceName><Speed>40000</Speed></EthernetInterface></EthernetInterfaces></DeviceInfo></DeviceInfos>
<Hostname>t0</Hostname></DeviceMiniGraph>`}, `
t0 tor 10.9.0.1
t1 leaf
srv host
t0:fortyGigE0/0--t1:Ethernet1/1 40G
t0:fortyGigE0/4--srv:eth0 10G
- addresses of 1 ports to which no link is told of (port channels, others): passed over
- 1 links of type DeviceSerialLink: passed over
`},
	})
}

func TestGraphML(t *testing.T) {
	checkReadings(t, []reading{
		{"labels that repeat, parallel and looping edges, a nested graph, speeds in words", []string{`<?xml version="1.0"?><graphml>
<key attr.name="label" for="node" id="d0"/><key attr.name="LinkSpeed" for="edge" id="d1"/><key attr.name="LinkSpeedUnits" for="edge" id="d2"/><key attr.name="LinkSpeedRaw" for="edge" id="d3"/>
<graph edgedefault="undirected"><edge source="0" target="1"><data key="d1">2.5</data><data key="d2">G</data></edge><edge source="1" target="0"><data key="d3">10000000000.0</data></edge>
<edge source="1" target="1"/><node id="0"><data key="d0">None</data></node><node id="1"><data key="d0">None</data><graph><node id="2"><data key="d0">a:b</data></node></graph></node>
<edge source="2" target="1" sourceport="x"/><hyperedge/></graph></graphml>`}, `
None/0:p1--None/1:p1 2500M
None/1:p2--None/0:p2 10G
a_b:x--None/1:p3
- 1 edges from a node to itself: passed over
- 1 hyperedges, which join more than two nodes: passed over
- names that repeat among the 3 nodes were completed by what identifies the node: "None" (2 nodes)
`},
		{"directed", []string{`<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/><edge source="a" target="b"/><edge source="b" target="a"/><edge source="b" target="a"/></graph></graphml>`}, `
a:p1--b:p1
b:p2--a:p2
- 1 edges repeat a link in the other direction
`},
	})
}

func TestJSONGraphs(t *testing.T) {
	checkReadings(t, []reading{
		{"RFC 8345, layered, with the roles of RFC 8542", []string{`{"ietf-network:networks": {"network": [
 {"network-id": "overlay", "supporting-network": [{"network-ref": "under"}], "node": [{"node-id": "fabric",
  "ietf-dc-fabric-topology:fabric-attributes": {"device-nodes": [{"device-ref": "s", "role": ["ietf-dc-fabric-types:spine"]}]}}], "ietf-network-topology:link": [{}, {}, {}, {}]},
 {"network-id": "under", "node": [{"node-id": "s", "ietf-network-topology:termination-point": [{"tp-id": "1"}]}, {"node-id": "l"}],
  "ietf-network-topology:link": [
   {"link-id": "1", "source": {"source-node": "s", "source-tp": "1"}, "destination": {"dest-node": "l", "dest-tp": "1"}},
   {"link-id": "2", "source": {"source-node": "l", "source-tp": "1"}, "destination": {"dest-node": "s", "dest-tp": "1"}},
   {"link-id": "3", "source": {"source-node": "l", "source-tp": "2"}, "destination": {"dest-node": "s", "dest-tp": "2"}}]}]}}`}, `
s spine
s:1--l:1
l:2--s:2
- 1 of 2 links are told of in one direction only
- networks that rest on others, or have fewer links: overlay: passed over
`},
		{"NetJSON", []string{`{"type": "NetworkGraph", "nodes": [{"id": "10.0.0.1", "label": "a"}, {"id": "10.0.0.2"}],
 "links": [{"source": "10.0.0.1", "target": "10.0.0.2", "cost": 1.0}, {"source": "10.0.0.2", "target": "10.0.0.1", "cost": 2}]}`}, `
a:p1--10.0.0.2:p1
- 1 links repeat a link in the other direction
`},
	})
}

func TestSourceErrors(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{netboxHead + "a,interface,1,b,interface,1\na,interface,say \"2\",b,interface,2\n", "f1:3: a quotation mark in a field that does not begin with one, at byte 17 of the line"},
		{netboxHead + "a,interface,\"1\nb\n", "f1:2: a field that begins with a quotation mark does not end with one"},
		{netboxHead + "a,interface,1,b,interface,\n", "f1:2: no side_b_device or no side_b_name"},
		{netboxHead + "a,interface,1,b,interface,1\na,interface,1,c,interface,1\n", `f1:3: port "a:1" has a link to "c:1", and another to "b:1" before`},
		{netboxHead + "a:x,interface,1,b,interface,1\n", `f1:2: node name "a:x" holds one of the marks`},
		{netboxHead + "\x1b[31m,interface,1,b,interface,1\n", "f1:2: node name \"\ufffd[31m\" has control characters"},
		{"name,role,device_type,primary_ip\na,x,y,here\n", `f1:2: primary address: "here"`},
		{`{"a_terminations": [}`, "f1:1: not JSON: "},
		{"{\"data\":\n{\"cable_list\": [\n{\"a_terminations\": 5}]}}", `f1:3: cable_list[0].a_terminations is "5", expected a list`},
		{"{\"data\":\n{\"cable_list\": [\n{\"a_terminations\": [{\"name\": \"x\"}], \"b_terminations\": []}]}}", "f1:3: cable_list[0].a_terminations[0] has no name or no device.name"},
		{`{"a_terminations": ` + strings.Repeat("[", 200), "f1:1: nested more than 100 levels deep"},
		{`{"a_terminations": [], "x`, "f1:1: not JSON: "},
		{"Switch\t36 \"S-1\"\t# \"x\" base port 0\n[1]\tnonsense\n", "f1:2: \"[1]\ufffdnonsense\", expected a port"},
		{"SwitchName=a Nodes=b[1-\n", `f1:1: "b[1-" has a [ without a ]`},
		{"SwitchName=a Nodes=b\nSwitchName=b Nodes=c\n", `f1:2: "b" is a switch and a node`},
		{"SwitchName=a Switches=a\n", `f1:1: switch "a" is below itself`},
		{"SwitchName=a Nodes=b\nBlockName=b Nodes=c\n", "f1:2: a topology of blocks tells of no switches"},
		{"- topology: x\n  block: {}\n", "f1:1: no topology of the form tree"},
		{"StartDevice,StartPort,EndDevice,EndPort,BandWidth\na,1,b,1,fast\n", `f1:2: BandWidth is "fast"`},
		{"<DeviceMiniGraph>\n<DeviceLinkBase><ElementType>DeviceInterfaceLink</ElementType></DeviceLinkBase>", "f1:2: a DeviceLinkBase has no StartDevice"},
		{"<?xml version='9'?><graphml/>", `f1:1: not XML: unsupported version "9"`},
		{"<graphml>\n<node></graphml>", "f1:2: a node without an id"},
		{"<graphml>\n<node id='1'></graphml>", "f1:2: not XML: element <node> closed by </graphml>"},
		{"<graphml>\n<node id='1'/><node id='1'/></graphml>", `f1:2: node "1" is there twice, first in line 2`},
		{"<graphml>\n<node id='1'/><edge source='1' target='2'/></graphml>", `f1:2: an edge names the node "2", which is not there`},
		{"<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>\n<graphml><node id='&b;'/></graphml>", "f1:2: not XML: invalid character entity &b;"},
		{`{"ietf-network:networks": {"network": [{"supporting-network": [{}]}]}}`, "f1:1: no network in networks.network that rests on no other"},
		{`{"ietf-network:networks": {"network": [{"link": [{"source": {"source-node": "x"}}]}]}}`, `f1:1: link[0]: no node "x" in the network`},
		{`{"type": "NetworkGraph", "nodes": [{"id": "a"}], "links": [{"source": "a", "target": "b"}]}`, `f1:1: links[0].target: no node "b" in nodes`},
		{"a_node,b_node,speed\na,b,fast\n", `f1:2: speed is "fast"`},
		{"a_node,b_node,a_addresses\na,b,10.0.0.1\n", `f1:2: a_addresses: "10.0.0.1"`},
	} {
		f, err := importTexts("", c.text)
		if err == nil {
			t.Errorf("%q is read as %s without an error", c.text, f.Format)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want an error that says %s", c.text, err, c.want)
		}
	}
}
