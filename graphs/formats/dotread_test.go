package formats

import (
	"strings"
	"testing"

	"whichlink/graphs"
)

func TestReadDot(t *testing.T) {
	for text, want := range map[string]string{
		`graph G { "a":"swp1" -- "b":"swp2" }`: "a:swp1--b:swp2",
		"# PTM's comments\n## are not DOT's\ngraph G {\n LLDP=\"\"\n B1=\"upMinTx=250\"\n a:swp1--b:swp2 [BFD=\"bfdtmpl=B1\"] # here too\n}": "a:swp1--b:swp2",
		"graph { leaf-1:swp51 -- spine-1:Ethernet1/1; // done\n /* or\n not */ \"leaf-2:swp51\" -- \"spine-1:Ethernet1/2\" }":                "leaf-1:swp51--spine-1:Ethernet1/1 leaf-2:swp51--spine-1:Ethernet1/2",
		`graph { a:p1 -- b:p1; b:p1 -- a:p1 }`:                                     "a:p1--b:p1", // both ends tell
		`graph { a -- b -- c; a -- b }`:                                            "a:p1--b:p1 b:p2--c:p1 a:p2--b:p3",
		`strict graph { a -- b; b -- a; a -- b }`:                                  "a:p1--b:p1",
		`digraph { a -> b; b -> a; a -> b; a -> b }`:                               "a:p1--b:p1 a:p2--b:p2 a:p3--b:p3",
		`digraph { a:x -> b:y; b:y -> a:x }`:                                       "a:x--b:y",
		`graph { subgraph cluster_1 { a b } -- { c; "d e" } }`:                     "a:p1--c:p1 a:p2--d e:p1 b:p1--c:p2 b:p2--d e:p2",
		`graph { a:n -- b:s:w; a:"n" -- b:x:w }`:                                   "a:p1--b:s a:n--b:x",
		`graph { a:1 -- a:2; a:3 -- b:3 }`:                                         "a:3--b:3",
		`graph { "a\"b\\c" [label=<<b>x</b>>] "a\"b\\c" -- "x" + "y" }`:            `a"b\c:p1--xy:p1`,
		`GRAPH { node [shape=box] edge [color=red] graph [rank=same] a [x] -- b }`: "", // no edge begins at a bracket
		"\ufeffgraph { a:p -- b:p } graph { c -- d }":                              "a:p--b:p",
	} {
		f, err := Read(strings.NewReader(text), "dir/some.dot")
		if want == "" && err != nil {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.Join(linksOf(f.Fabric), " "); got != want || f.Format != "dot" || f.Fabric.Name() != "some" {
			t.Errorf("%s: got %s %s %s, want %s", text, f.Format, f.Fabric.Name(), got, want)
		}
	}
}

func TestDotRoles(t *testing.T) {
	f, err := Read(strings.NewReader(`graph "dc 1" {
		"a" [function="leaf" os="cumulus-vx-5.8.0" mgmt_ip="192.168.200.1"] b [function=exit] c [os="generic/ubuntu2204"] d [function="oob-server"] e
		a -- b -- c -- d -- e -- a }`), "x")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range graphs.NodeID(f.Fabric.NumNodes()) {
		n := f.Fabric.Node(i)
		got = append(got, n.Name+"="+string(n.Role))
	}
	const want = "a=leaf b=exit c=host d=host e=switch"
	if s := strings.Join(got, " "); s != want || f.Fabric.Name() != "dc 1" || f.Fabric.Node(0).Management.String() != "192.168.200.1" {
		t.Errorf("got %s, want %s", s, want)
	}
}

func TestSourcesErrors(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"dot", "graph {\n a --\n}", `x:3: "}", expected a node`},
		{"dot", "graph {\n a -- b", `x:2: the file ends, expected a node`},
		{"dot", "graph {\n \"a -- b\n", `x:2: a string that begins here does not end`},
		{"dot", "graph {\n /* a -- b\n", `x:2: a comment that begins here does not end`},
		{"dot", "graph { a [label=<b>> }", `x:1: ">", expected a name, an edge or a bracket`},
		{"dot", "graph {\n a:p -- b:p\n a:p -- c:p\n}", `x:3: port "a:p" has a link to "c:p", and another to "b:p" before`},
		{"dot", "graph { \"a\x1b\" -- b }", "has control characters"},
		{"dot", strings.Repeat("graph {", 1) + strings.Repeat("{", 200), "x:1: nested more than 100 levels deep"},
		{"dot", "graph { {" + strings.Repeat("a b c d e f g h i j ", 100) + "} -- {" + strings.Repeat("k l m n o p q r s t ", 110) + "} }", "x:1: more than 1048576 edges"},
		{"dot", "graph { }", "x: the fabric has no nodes"},
		{"batfish", "{\"edges\": [\n{\"node1\": {\"hostname\": \"a\", \"interfaceName\": \"1\"}}]}", "x:2: edges[0].node2 lacks hostname or interfaceName"},
		{"batfish", "{\"edges\":\n 3}", "x:2: edges is a number, expected a list"},
		{"batfish", "{\"a\": 3}", "x: there is no edges, expected a list"},
		{"batfish", "{\"edges\": []}{}", "x: 2 JSON values, expected one"},
		{"batfish", "{\"edges\": [],\n\n}", "x:3: not JSON: invalid character '}'"},
		{"air", "{\"nodes\": {},\n\"links\": [[{\"node\": \"a\"}, \"unconnected\"]]}", `x:2: links[0]: no node "a" in nodes`},
		{"air", "{\"nodes\": {},\n\"links\": [{}]}", "x:2: links[0] is no list of two ends"},
		{"air", "{\"nodes\": []}", "x:1: nodes is a list, expected an object"},
		{"air", "{\"content\":\n\"graph { a -- }\"}", "x:2: content: "},
	} {
		_, err := ReadAs(c.format, strings.NewReader(c.text), "x")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got %v, want %s", c.format, c.text[:min(len(c.text), 60)], err, c.want)
		}
	}
}

func TestAir(t *testing.T) {
	const nodes = `"nodes": {"leaf1": {"os": "sonic-vs"}, "srv": {"os": "generic/ubuntu2204"}}`
	const links = `"links": [[{"node": "leaf1", "interface": "Ethernet0"}, {"node": "srv", "interface": "eth1"}], [{"node": "srv", "interface": "eth2"}, "unconnected"]]`
	for _, text := range []string{
		`{"format": "JSON", "title": "air", "content": {` + nodes + "," + links + `}}`,
		`{` + links + "," + nodes + `}`,
		`{"format": "DOT", "content": "graph { srv [os=ubuntu] leaf1:Ethernet0 -- srv:eth1 }"}`,
	} {
		f, err := Read(strings.NewReader(text), "air.json")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.Join(linksOf(f.Fabric), " "); got != "leaf1:Ethernet0--srv:eth1" || f.Format != "air" || f.Fabric.Name() != "air" || len(f.Fabric.Hosts()) != 1 {
			t.Errorf("%s: got %s %s", text, f.Format, got)
		}
	}
}

// Every form of link that containerlab has: those between two nodes are links, the others lead out of the fabric.
func TestContainerlabLinks(t *testing.T) {
	const head = "topology:\n  defaults: {kind: linux, labels: {whichlink.role: leaf}}\n  kinds: {bridge: {labels: {whichlink.role: bridge}}}\n" +
		"  groups: {hosts: {kind: linux, labels: {whichlink.role: host}}}\n  nodes: {a: , b: {group: hosts}, br: {kind: bridge}}\n  links:\n    - "
	for link, want := range map[string]string{
		`endpoints: ["a:e1-1", "b:eth1"]`:               "a:e1-1--b:eth1",
		`endpoints: ["a:eth1", "br:eth1"]`:              "a:eth1--br:eth1",
		`endpoints: [{node: a, interface: e1}, "b:e1"]`: "a:e1--b:e1",
		`{type: veth, endpoints: [{node: a, interface: e1, mac: "02:00:00:00:00:01"}, {node: b, interface: e1}], mtu: 9000}`: "a:e1--b:e1",
		`{type: bridge, endpoints: ["a:e1", "br:e1"]}`:                                             "a:e1--br:e1",
		`endpoints: ["a:eth1", "host:a-eth1"]`:                                                     "",
		`endpoints: ["a:eth1", "mgmt-net:a-eth1"]`:                                                 "",
		`endpoints: ["a:eth1", "macvlan:eth0"]`:                                                    "",
		`endpoints: ["a:eth1", "dummy"]`:                                                           "",
		`{type: host, endpoint: {node: a, interface: eth1}, host-interface: x}`:                    "",
		`{type: mgmt-net, endpoint: {node: a, interface: eth1}, host-interface: x}`:                "",
		`{type: macvlan, endpoint: {node: a, interface: eth1}, host-interface: x, mode: passthru}`: "",
		`{type: dummy, endpoint: {node: a, interface: eth1}}`:                                      "",
		`{type: vxlan, endpoint: {node: a, interface: eth1}, remote: 10.0.0.18, vni: 123}`:         "",
		`{type: vxlan-stitch, endpoint: {node: a, interface: eth1}, remote: 10.0.0.18, vni: 123}`:  "",
	} {
		f, err := Read(strings.NewReader(head+link+"\n"), "x.clab.yml")
		if err != nil {
			t.Errorf("%s: %v", link, err)
			continue
		}
		if got := strings.Join(linksOf(f.Fabric), " "); got != want {
			t.Errorf("%s: got %s, want %s", link, got, want)
		}
		if out := strings.Contains(strings.Join(f.Notes, "\n"), "leads out of the fabric: passed over"); out != (want == "") {
			t.Errorf("%s: notes %q", link, f.Notes)
		}
		var roles []string
		for i := range graphs.NodeID(3) {
			roles = append(roles, string(f.Fabric.Node(i).Role))
		}
		if got := strings.Join(roles, " "); got != "leaf host bridge" {
			t.Errorf("roles are %s", got)
		}
	}
}
