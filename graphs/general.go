package graphs

import (
	"fmt"

	"github.com/dominikbraun/graph"
)

// Graph hands the fabric to the general algorithms and the DOT writer of github.com/dominikbraun/graph, as an undirected
// graph over node names. That library knows no parallel edges: parallel links become one edge whose weight is their number
// and whose label names them.
func (f *Fabric) Graph() (graph.Graph[string, string], error) {
	g := graph.New(graph.StringHash)
	for i := range f.nodes {
		n := &f.nodes[i]
		if err := g.AddVertex(n.Name, graph.VertexAttribute("role", string(n.Role))); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	type pair struct{ a, b NodeID }
	parallel := map[pair][]LinkID{}
	var order []pair
	for l := range LinkID(len(f.links)) {
		p := pair{f.Tail(l.Forward()), f.Head(l.Forward())}
		if p.a > p.b {
			p.a, p.b = p.b, p.a
		}
		if parallel[p] == nil {
			order = append(order, p)
		}
		parallel[p] = append(parallel[p], l)
	}
	for _, p := range order {
		ls := parallel[p]
		e := f.links[ls[0]].Ends
		label := f.ports[e[0]].Name + "--" + f.ports[e[1]].Name
		if len(ls) > 1 {
			label = fmt.Sprintf("%s and %d more", label, len(ls)-1)
		}
		err := g.AddEdge(f.nodes[p.a].Name, f.nodes[p.b].Name, graph.EdgeWeight(len(ls)), graph.EdgeAttribute("label", label))
		if err != nil {
			return nil, fmt.Errorf("link %s: %w", f.LinkName(ls[0]), err)
		}
	}
	return g, nil
}
