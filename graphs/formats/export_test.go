package formats

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// describeCables lists what a cable list can hold: nodes in any order with their roles, and links.
func describeCables(f *graphs.Fabric) string {
	var nodes []string
	for i := range graphs.NodeID(f.NumNodes()) {
		n := f.Node(i)
		nodes = append(nodes, fmt.Sprintf("node %q %s %t\n", n.Name, n.Role, n.RoleGuessed))
	}
	slices.Sort(nodes)
	_, links, _ := strings.Cut(describe(f), "\nlink ")
	return strings.Join(nodes, "") + links
}

// What is exported is imported as the same fabric, as far as the format can hold it, and its format is recognised.
func TestExportImport(t *testing.T) {
	for _, c := range []struct {
		format   string
		write    func(io.Writer, *graphs.Fabric) error
		describe func(*graphs.Fabric) string
	}{
		{"graphml", WriteGraphML, describe},
		{"csv", WriteCSV, describeCables},
	} {
		t.Run(c.format, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f := drawFabric(t)
				var text bytes.Buffer
				if err := c.write(&text, f); err != nil {
					t.Fatal(err)
				}
				if strings.ContainsAny(describe(f), "\ufffe\uffff") {
					t.Skip("XML cannot hold these characters")
				}
				back, err := Read(bytes.NewReader(text.Bytes()), "x")
				if err != nil {
					t.Fatalf("%v\n%s", err, text.String())
				}
				if d := cmp.Diff(c.describe(f), c.describe(back.Fabric)); d != "" || back.Format != c.format {
					t.Fatalf("%s %s\n%s", back.Format, d, text.String())
				}
			})
		})
	}
}

func TestWriteTables(t *testing.T) {
	var b graphs.Builder
	for _, n := range []graphs.Node{{Name: "=cmd|' /C calc'!A0", Role: "tor"}, {Name: "`b", Role: "+sum"}, {Name: "'@c"}} {
		if _, err := b.AddNode(n); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.AddLink(graphs.End{Node: 0, Port: "-1"}, graphs.End{Node: 1, Port: "@x"}, 100e9, "a;b", "@c|d", `e\`); err != nil {
		t.Fatal(err)
	}
	f, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		write func(io.Writer, *graphs.Fabric) error
		want  string
	}{
		{WriteCSV, "a_node,a_port,a_role,a_addresses,b_node,b_port,b_role,b_addresses,speed,groups\n" +
			`'=cmd|' /C calc'!A0,'-1,tor,,` + "`b" + `,'@x,'+sum,,100G,a\;b;@c|d;e\\` + "\n" +
			"''@c,,,,,,,,,\n"},
		{WriteMarkdown, "| from | to | speed | shared risk |\n| --- | --- | ---: | --- |\n" +
			"| `=cmd\\|' /C calc'!A0:-1` | `` `b:@x `` | 100G | `a;b` `@c\\|d` `e\\` |\n"},
	} {
		var got strings.Builder
		if err := c.write(&got, f); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got.String()); d != "" {
			t.Error(d)
		}
	}
}

// Import of a fabric of 32,000 links.
func BenchmarkImport(b *testing.B) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 1000, Degree: 64, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		format string
		write  func(io.Writer, *graphs.Fabric) error
	}{
		{"graphml", WriteGraphML}, {"csv", WriteCSV}, {"netbox", writeNetbox}, {"rfc8345", writeRFC8345}, {"containerlab", WriteFabric},
	} {
		b.Run(c.format, func(b *testing.B) {
			var text bytes.Buffer
			if err := c.write(&text, f); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				back, err := Read(bytes.NewReader(text.Bytes()), "x")
				if err != nil {
					b.Fatal(err)
				}
				if back.Format != c.format || back.Fabric.NumLinks() != f.NumLinks() {
					b.Fatalf("%s with %d links", back.Format, back.Fabric.NumLinks())
				}
			}
		})
	}
}

func eachLink(w io.Writer, f *graphs.Fabric, format string) {
	for l := range graphs.LinkID(f.NumLinks()) {
		a, z := f.Port(f.Link(l).Ends[0]), f.Port(f.Link(l).Ends[1])
		fmt.Fprintf(w, format, f.NodeName(a.Node), a.Name, f.NodeName(z.Node), z.Name)
	}
}

func writeNetbox(w io.Writer, f *graphs.Fabric) error {
	fmt.Fprint(w, netboxHead)
	eachLink(w, f, "%s,dcim.interface,%s,%s,dcim.interface,%s\n")
	return nil
}

func writeRFC8345(w io.Writer, f *graphs.Fabric) error {
	fmt.Fprint(w, `{"ietf-network:networks": {"network": [{"network-id": "x", "node": [`)
	for i := range graphs.NodeID(f.NumNodes()) {
		fmt.Fprintf(w, "{\"node-id\": %q},\n", f.NodeName(i))
	}
	fmt.Fprint(w, "{\"node-id\": \"one more\"}], \"ietf-network-topology:link\": [\n")
	eachLink(w, f, `{"source": {"source-node": %[1]q, "source-tp": %[2]q}, "destination": {"dest-node": %[3]q, "dest-tp": %[4]q}},
{"source": {"source-node": %[3]q, "source-tp": %[4]q}, "destination": {"dest-node": %[1]q, "dest-tp": %[2]q}},
`)
	a, z := f.Port(f.Link(0).Ends[0]), f.Port(f.Link(0).Ends[1])
	_, err := fmt.Fprintf(w, `{"source": {"source-node": %q, "source-tp": %q}, "destination": {"dest-node": %q, "dest-tp": %q}}]}]}}`,
		f.NodeName(a.Node), a.Name, f.NodeName(z.Node), z.Name)
	return err
}
