package pathfind

import (
	"fmt"
	"maps"
	"slices"

	"whichlink/graphs"
)

// A placer is a field that knows where its stations stand in a picture.
type placer interface {
	// place returns the rank of a station, growing from source to destination, and what nodes of the rank are called.
	place(at graphs.NodeID, state int32) (rank int, name string)
}

// A Layer is some of a pair's nodes that stand side by side: a level of Spraypoint, a tier of a Clos, or the nodes that are as many hops away
// from the source on the longest way to them.
type Layer struct {
	Name  string
	Nodes []graphs.NodeID
	// Share is the share of the pair's flows that pass the layer. A flow that passes two nodes of it, or one twice, counts twice.
	Share float64
}

// Layers returns the ways as layers, the source in the first and the destination in the last. A node is in two layers where packets may
// come to it in two states.
func (w *Ways) Layers() []Layer {
	rank, names := w.ranks()
	shares := map[int]float64{}
	nodes := map[int]map[graphs.NodeID]bool{}
	for _, i := range w.order {
		s := &w.stations[i]
		if nodes[rank[i]] == nil {
			nodes[rank[i]] = map[graphs.NodeID]bool{}
		}
		nodes[rank[i]][s.node] = true
		shares[rank[i]] += s.mass
	}
	var layers []Layer
	for i, r := range slices.Sorted(maps.Keys(nodes)) {
		l := Layer{Name: names[r], Nodes: slices.Sorted(maps.Keys(nodes[r])), Share: shares[r]}
		if l.Name == "" {
			l.Name = w.roleOf(l.Nodes, i)
		}
		layers = append(layers, l)
	}
	return layers
}

// ranks returns the rank of every station, and the names of the ranks that have one.
func (w *Ways) ranks() ([]int, map[int]string) {
	rank := make([]int, len(w.stations))
	names := map[int]string{}
	if w.place != nil {
		for i := range w.stations {
			s := &w.stations[i]
			r, name := w.place.place(s.node, s.state)
			rank[i], names[r] = r, name
		}
		return rank, names
	}
	last := 0
	for _, i := range w.order {
		s := &w.stations[i]
		for _, t := range w.steps[s.first:s.last] {
			rank[t.to] = max(rank[t.to], rank[i]+1)
			last = max(last, rank[t.to])
		}
	}
	for i := range w.stations {
		if w.arrives(&w.stations[i]) {
			rank[i] = last + 1 // alone at the end, wherever lost flows end
		}
	}
	return rank, names
}

// roleOf names a layer by the role that its nodes have in common, or else by the number of hops.
func (w *Ways) roleOf(nodes []graphs.NodeID, hop int) string {
	role := w.f.Node(nodes[0]).Role
	for _, n := range nodes {
		if w.f.Node(n).Role != role {
			role = ""
		}
	}
	if role == "" {
		return fmt.Sprintf("hop-%d", hop)
	}
	return string(role)
}
