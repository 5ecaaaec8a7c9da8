package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"whichlink/graphs"
	"whichlink/pathfind"
)

const (
	fewPaths    = 20 // so many paths are listed in text, if not told otherwise
	mostArcs    = 10 // so many arcs are listed in text,
	fewNodes    = 4  // and the nodes of a layer if they are so few
	textColumns = 80
	pathColumn  = 10 // where paths begin, after their shares
)

// printPaths draws what a pair's flows may do: the layers in a line and one by one, lengths, the arcs that most flows cross, paths.
func printPaths(to io.Writer, m pathfind.Model, w *pathfind.Ways, limit int) error {
	f := m.Fabric()
	src, dst := w.Ends()
	paths, count := w.Paths(limit)
	var b strings.Builder
	b.WriteString(wrap([]string{
		fmt.Sprintf("%s to %s,", f.NodeName(src), f.NodeName(dst)), fmt.Sprintf("model %s:", m), counted(count),
		fmt.Sprintf("%d of them disjoint between switches", w.Disjoint()),
	}, " ", textColumns))
	for _, l := range w.Losses() {
		fmt.Fprintf(&b, "%s lost at %s: %s\n", percent(l.Share), f.NodeName(l.Node), l.Reason)
	}
	layers := w.Layers()
	b.WriteString("\n" + wrap(layerLine(f, w, layers), " -> ", textColumns))
	printLayers(&b, f, layers)
	if lengths := w.Lengths(); len(lengths) > 0 {
		b.WriteString("\n   flows  links from end to end\n")
		for _, l := range lengths {
			fmt.Fprintf(&b, "%s  %d\n", percent(l.Share), l.Links)
		}
	}
	printArcs(&b, f, w.Shares())
	switch {
	case len(paths) > 0:
		b.WriteString("\n   flows  path, by the ports that it leaves\n")
		for _, p := range paths {
			var ports []string
			for _, a := range p.Arcs {
				ports = append(ports, f.PortName(f.TailPort(a)))
			}
			fmt.Fprintf(&b, "%s  %s\n", percent(p.Share), indent(wrap(append(ports, f.NodeName(dst)), " > ", textColumns-pathColumn)))
		}
	case count > 0 && limit > 0:
		fmt.Fprintf(&b, "\ntoo many paths to list; --limit allows more\n")
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// layerLine names layers for a line: those of one node by the node, others by their name and how many nodes they have. A switch that sprays is
// told with how many links it sprays over.
func layerLine(f *graphs.Fabric, w *pathfind.Ways, layers []pathfind.Layer) []string {
	var words []string
	for _, l := range layers {
		switch {
		case l.Name == "SPRAY":
			words = append(words, fmt.Sprintf("SPRAY %d", len(w.NextHops(l.Nodes[0]))))
		case len(l.Nodes) == 1:
			words = append(words, f.NodeName(l.Nodes[0]))
		default:
			words = append(words, fmt.Sprintf("%s %d", l.Name, len(l.Nodes)))
		}
	}
	return words
}

func printLayers(b *strings.Builder, f *graphs.Fabric, layers []pathfind.Layer) {
	width := 0
	for _, l := range layers {
		width = max(width, len(l.Name))
	}
	b.WriteString("\n   flows  nodes  layer\n")
	for _, l := range layers {
		line := fmt.Sprintf("%s  %5d  %-*s", percent(l.Share), len(l.Nodes), width, l.Name)
		if names := strings.Join(nodeNames(f, l.Nodes[:min(fewNodes, len(l.Nodes))]), " "); len(l.Nodes) <= fewNodes && names != l.Name {
			line += "  " + names
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// printArcs lists the arcs that most flows cross.
func printArcs(b *strings.Builder, f *graphs.Fabric, shares []pathfind.ArcShare) {
	if len(shares) == 0 {
		return
	}
	slices.SortStableFunc(shares, func(x, y pathfind.ArcShare) int { return cmp.Compare(y.Share, x.Share) })
	if n := len(shares); n > mostArcs {
		fmt.Fprintf(b, "\n   flows  arc (%d of %d)\n", mostArcs, n)
		shares = shares[:mostArcs]
	} else {
		b.WriteString("\n   flows  arc\n")
	}
	for _, s := range shares {
		fmt.Fprintf(b, "%s  %s\n", percent(s.Share), f.ArcName(s.Arc))
	}
}

// percent writes a share in 8 columns.
func percent(share float64) string { return fmt.Sprintf("%6.2f %%", 100*share) }

// counted writes a number of paths, which may be beyond counting.
func counted(n float64) string {
	switch {
	case n == 1:
		return "1 path,"
	case n < 1e9:
		return fmt.Sprintf("%.0f paths,", n)
	}
	return fmt.Sprintf("%.2g paths,", n)
}

// wrap joins words into lines of so many columns.
func wrap(words []string, between string, columns int) string {
	var b strings.Builder
	column := 0
	for i, word := range words {
		if i > 0 {
			word = between + word
			if column+len(word) > columns {
				b.WriteString("\n ")
				column = 1
			}
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String() + "\n"
}

// indent sets the lines after the first under the text of a column of shares.
func indent(text string) string {
	return strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+strings.Repeat(" ", pathColumn))
}

var dotQuote = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// drawPaths writes a drawing for Graphviz, a layer a rank from left to right. A node that is in two layers stands in the first.
func drawPaths(to io.Writer, f *graphs.Fabric, w *pathfind.Ways) error {
	var b strings.Builder
	quote := func(n graphs.NodeID) string { return `"` + dotQuote.Replace(f.NodeName(n)) + `"` }
	b.WriteString("digraph {\n\trankdir=LR;\n\tnode [shape=box];\n")
	drawn := map[graphs.NodeID]bool{}
	for _, l := range w.Layers() {
		fmt.Fprintf(&b, "\t{ rank=same; // %s\n", strings.ReplaceAll(l.Name, "\n", " "))
		for _, n := range l.Nodes {
			if !drawn[n] {
				drawn[n] = true
				fmt.Fprintf(&b, "\t\t%s;\n", quote(n))
			}
		}
		b.WriteString("\t}\n")
	}
	for _, s := range w.Shares() {
		fmt.Fprintf(&b, "\t%s -> %s [label=\"%.2f %%\", taillabel=\"%s\", penwidth=%.2f];\n", quote(f.Tail(s.Arc)), quote(f.Head(s.Arc)),
			100*s.Share, dotQuote.Replace(f.Port(f.TailPort(s.Arc)).Name), 0.5+4*min(1, s.Share))
	}
	b.WriteString("}\n")
	_, err := io.WriteString(to, b.String())
	return err
}
