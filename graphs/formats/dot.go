package formats

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/dominikbraun/graph"
	"github.com/dominikbraun/graph/draw"

	"whichlink/graphs"
)

var dotEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// WriteDOT draws a fabric in the DOT language of Graphviz, hosts as boxes. Parallel links are one line, with their number on it.
func WriteDOT(w io.Writer, f *graphs.Fabric) error {
	plain, err := f.Graph()
	if err != nil {
		return err
	}
	// The drawing library puts names between quotes as they are, and in the order of a map.
	g := graph.New(graph.StringHash)
	for i := range graphs.NodeID(f.NumNodes()) {
		n := f.Node(i)
		shape := "ellipse"
		if n.IsHost() {
			shape = "box"
		}
		err := g.AddVertex(dotEscape.Replace(n.Name), graph.VertexAttribute("shape", shape), graph.VertexAttribute("class", dotEscape.Replace(string(n.Role))))
		if err != nil {
			return fmt.Errorf("draw node %s: %w", n.Name, err)
		}
	}
	edges, err := plain.Edges()
	if err != nil {
		return fmt.Errorf("draw %s: %w", f.Name(), err)
	}
	for _, e := range edges {
		attributes := maps.Clone(e.Properties.Attributes)
		for k, v := range attributes {
			attributes[k] = dotEscape.Replace(v)
		}
		err := g.AddEdge(dotEscape.Replace(e.Source), dotEscape.Replace(e.Target), graph.EdgeWeight(e.Properties.Weight), graph.EdgeAttributes(attributes))
		if err != nil {
			return fmt.Errorf("draw the link from %s to %s: %w", e.Source, e.Target, err)
		}
	}
	var text bytes.Buffer
	if err := draw.DOT(g, &text); err != nil {
		return fmt.Errorf("draw %s: %w", f.Name(), err)
	}
	return sortDOT(w, text.String())
}

// sortDOT writes the statements in order, each line once: the library draws a line between two nodes from both of them.
func sortDOT(w io.Writer, text string) error {
	var nodes, edges []string
	drawn := map[[2]string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, `"`) {
			continue
		}
		u, rest := quotedWord(line)
		rest, isEdge := strings.CutPrefix(rest, " -- ")
		if !isEdge {
			nodes = append(nodes, "\t"+line+"\n")
			continue
		}
		v, rest := quotedWord(rest)
		pair := [2]string{min(u, v), max(u, v)}
		if !drawn[pair] {
			drawn[pair] = true
			edges = append(edges, "\t"+pair[0]+" -- "+pair[1]+rest+"\n")
		}
	}
	slices.Sort(nodes)
	slices.Sort(edges)
	_, err := io.WriteString(w, "strict graph {\n"+strings.Join(nodes, "")+strings.Join(edges, "")+"}\n")
	return err
}

// quotedWord cuts a string in quotes, which it keeps, from the front of a line.
func quotedWord(line string) (word, rest string) {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return line[:i+1], line[i+1:]
		}
	}
	return line, ""
}
