package formats

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"

	"whichlink/graphs"
)

// gmlKeys are the attributes that are written, in order, with what they belong to. Speeds are in bit/s.
var gmlKeys = []struct{ of, name, kind string }{
	{"graph", gmlName, "string"},
	{"node", gmlLabel, "string"}, {"node", gmlRole, "string"}, {"node", gmlKind, "string"}, {"node", gmlModel, "string"},
	{"node", gmlLoopback, "string"}, {"node", gmlManagement, "string"},
	{"edge", gmlSourcePort, "string"}, {"edge", gmlTargetPort, "string"}, {"edge", gmlSourceAddr, "string"}, {"edge", gmlTargetAddr, "string"},
	{"edge", gmlSpeed, "long"}, {"edge", gmlGroups, "string"},
}

// WriteGraphML writes a fabric as GraphML, with all that a fabric file can hold. Roles that were guessed are left out.
func WriteGraphML(w io.Writer, f *graphs.Fabric) error {
	out := &gmlWriter{w: bufio.NewWriter(w)}
	out.print(xml.Header, `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">`, "\n")
	for _, k := range gmlKeys {
		out.print(`  <key id="`, k.of, "_", k.name, `" for="`, k.of, `" attr.name="`, k.name, `" attr.type="`, k.kind, `"/>`, "\n")
	}
	out.print(`  <graph edgedefault="undirected">`, "\n")
	out.data("graph", gmlName, f.Name())
	out.print("\n")
	for i := range graphs.NodeID(f.NumNodes()) {
		out.node(i, f.Node(i))
	}
	for l := range graphs.LinkID(f.NumLinks()) {
		out.edge(f, l)
	}
	out.print("  </graph>\n</graphml>\n")
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("write fabric %s: %w", f.Name(), err)
	}
	return nil
}

// gmlWriter writes elements. An error stays in the buffered writer until it is flushed.
type gmlWriter struct{ w *bufio.Writer }

func (o *gmlWriter) print(words ...string) {
	for _, s := range words {
		o.w.WriteString(s)
	}
}

func (o *gmlWriter) data(of, name, value string) {
	if value == "" {
		return
	}
	o.print(`<data key="`, of, "_", name, `">`)
	xml.EscapeText(o.w, []byte(value))
	o.print("</data>")
}

func (o *gmlWriter) node(id graphs.NodeID, n *graphs.Node) {
	o.print(`    <node id="n`, strconv.Itoa(int(id)), `">`)
	o.data("node", gmlLabel, n.Name)
	if !n.RoleGuessed {
		o.data("node", gmlRole, string(n.Role))
	}
	o.data("node", gmlKind, n.Kind)
	o.data("node", gmlModel, n.Model)
	var loopback []string
	for _, a := range n.Loopback {
		loopback = append(loopback, a.String())
	}
	o.data("node", gmlLoopback, joinList(loopback))
	if n.Management.IsValid() {
		o.data("node", gmlManagement, n.Management.String())
	}
	o.print("</node>\n")
}

func (o *gmlWriter) edge(f *graphs.Fabric, id graphs.LinkID) {
	l := f.Link(id)
	a, z := f.Port(l.Ends[0]), f.Port(l.Ends[1])
	o.print(`    <edge id="e`, strconv.Itoa(int(id)), `" source="n`, strconv.Itoa(int(a.Node)), `" target="n`, strconv.Itoa(int(z.Node)), `">`)
	o.data("edge", gmlSourcePort, a.Name)
	o.data("edge", gmlTargetPort, z.Name)
	o.data("edge", gmlSourceAddr, joinPrefixes(a.Prefixes))
	o.data("edge", gmlTargetAddr, joinPrefixes(z.Prefixes))
	if l.Speed != 0 {
		o.data("edge", gmlSpeed, strconv.FormatUint(uint64(l.Speed), 10))
	}
	o.data("edge", gmlGroups, joinGroups(f, l))
	o.print("</edge>\n")
}
