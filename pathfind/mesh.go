package pathfind

import (
	"slices"

	"whichlink/graphs"
)

// A mesh is the live links of a fabric, laid out for walking.
type mesh struct {
	f *graphs.Fabric
	// The live arcs that leave node n are arcs[start[n]:start[n+1]].
	start []int32
	arcs  []graphs.ArcID
	head  []graphs.NodeID // by arc
	host  []bool          // by node
}

func newMesh(f *graphs.Fabric, down func(graphs.LinkID) bool) mesh {
	m := mesh{
		f:     f,
		start: make([]int32, f.NumNodes()+1),
		arcs:  make([]graphs.ArcID, 0, f.NumArcs()),
		head:  make([]graphs.NodeID, f.NumArcs()),
		host:  make([]bool, f.NumNodes()),
	}
	for n := range graphs.NodeID(f.NumNodes()) {
		m.host[n] = f.Node(n).IsHost()
		for _, a := range f.Out(n) {
			m.head[a] = f.Head(a)
			if down == nil || !down(a.Link()) {
				m.arcs = append(m.arcs, a)
			}
		}
		m.start[n+1] = int32(len(m.arcs))
	}
	return m
}

// Fabric returns the fabric over which packets are forwarded.
func (m *mesh) Fabric() *graphs.Fabric { return m.f }

// Live returns the live arcs that leave a node, in the order of its ports. The slice must not be written to.
func (m *mesh) Live(n graphs.NodeID) []graphs.ArcID { return m.out(n) }

// out returns the live arcs that leave a node.
func (m *mesh) out(n graphs.NodeID) []graphs.ArcID { return m.arcs[m.start[n]:m.start[n+1]] }

// roots returns the switches that deliver to a destination: itself, or those that a host is linked to, each once.
func (m *mesh) roots(dst graphs.NodeID) []graphs.NodeID {
	if !m.host[dst] {
		return []graphs.NodeID{dst}
	}
	var roots []graphs.NodeID
	for _, a := range m.out(dst) {
		if s := m.head[a]; !m.host[s] && !slices.Contains(roots, s) {
			roots = append(roots, s)
		}
	}
	return roots
}
