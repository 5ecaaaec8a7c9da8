package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"whichlink/graphs"
)

// The map as Graphviz draws it: a switch a node, a link an edge, with what the layer says of it in words, in colour and in the kind of its line.

// A drawing is a screen that can be written as a graph in the language of Graphviz.
type drawing interface {
	dot(s *Snapshot) []byte
}

// dotText is a quoted string of Graphviz: within it quotes are escaped, and so is the escape.
func dotText(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(clean(text)) + `"`
}

// sheetName implements exporting: the map as a table is its links, the worst first.
func (*mapScreen) sheetName() string { return "map" }

func (m *mapScreen) sheet(s *Snapshot) sheet {
	l := layers()[m.layer]
	t := sheet{heads: []string{"link", l.name}}
	if s.Picture == nil {
		return t
	}
	links := m.drawn(s)
	slices.SortStableFunc(links, func(a, b ranked) int {
		switch {
		case a.rank > b.rank:
			return -1
		case a.rank < b.rank:
			return 1
		}
		return 0
	})
	for _, x := range links {
		t.rows = append(t.rows, []any{s.Picture.Fabric.LinkName(x.link), number(l.of(s.Picture, x.link))})
	}
	return t
}

// drawn are the links that the map shows now, of hosts or between switches.
func (m *mapScreen) drawn(s *Snapshot) []ranked {
	l := layers()[m.layer]
	var out []ranked
	for id := range graphs.LinkID(s.Picture.Fabric.NumLinks()) {
		if s.Picture.Fabric.IsHostArc(id.Forward()) == m.hosts {
			out = append(out, ranked{id, l.rank(l.of(s.Picture, id))})
		}
	}
	return out
}

// dot implements drawing.
func (m *mapScreen) dot(s *Snapshot) []byte {
	var b strings.Builder
	l := layers()[m.layer]
	f := s.Fabric
	fmt.Fprintf(&b, "graph {\n\tlabel=%s;\n\tnode [shape=box, fontname=\"sans-serif\"];\n\tedge [fontname=\"sans-serif\", fontsize=9];\n",
		dotText(fmt.Sprintf("%s, layer %s, %s", f.Name(), l.name, stamp(s.Now))))
	if m.layout == nil || !m.layout.clos {
		b.WriteString("\tlayout=neato;\n\toverlap=false;\n\tsplines=true;\n") // who is near whom, where there are no tiers
	}
	links := m.drawn(s)
	named := make([]bool, f.NumNodes())
	ranks := map[int][]string{}
	node := func(n graphs.NodeID) {
		if named[n] {
			return
		}
		named[n] = true
		shape := ""
		if f.Node(n).IsHost() {
			shape = " [shape=plaintext]"
		}
		fmt.Fprintf(&b, "\t%s%s;\n", dotText(f.NodeName(n)), shape)
		if m.layout != nil && m.layout.clos {
			ranks[m.layout.tier[n]] = append(ranks[m.layout.tier[n]], dotText(f.NodeName(n)))
		}
	}
	for _, x := range links {
		node(f.Tail(x.link.Forward()))
		node(f.Head(x.link.Forward()))
	}
	for tier := range len(ranks) + 1 {
		if names := ranks[tier]; len(names) > 0 {
			fmt.Fprintf(&b, "\t{rank=same; %s;}\n", strings.Join(names, "; "))
		}
	}
	for _, x := range links {
		l.edge(&b, x.link, s)
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// edge writes a link, from the far tier to the near one, so that the spines stand above.
func (l *layer) edge(b *strings.Builder, id graphs.LinkID, s *Snapshot) {
	f, v := s.Fabric, l.of(s.Picture, id)
	up := id.Backward()
	style := "color=gray60"
	switch {
	case math.IsNaN(v):
		style = `style=dashed, color=gray60, label="dark"`
	case v >= l.steps[4]:
		style = "penwidth=4, color=red3"
	case v >= l.steps[2]:
		style = "penwidth=2.5, color=orange3"
	case v >= l.steps[0]:
		style = "penwidth=1.5, color=black"
	}
	if v >= l.steps[0] {
		style += ", label=" + dotText(l.words(v))
	}
	fmt.Fprintf(b, "\t%s -- %s [taillabel=%s, headlabel=%s, %s];\n", dotText(f.NodeName(f.Tail(up))), dotText(f.NodeName(f.Head(up))),
		dotText(f.Port(f.TailPort(up)).Name), dotText(f.Port(f.HeadPort(up)).Name), style)
}
