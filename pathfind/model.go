// Package pathfind says where packets may go: next hops, path sets and their shares under a forwarding model, and which of these
// paths agree with what a trace saw.
//
// A [Model] is made from its name: [ParseSpec], then [New]. It turns a pair into its [Ways]: every path that a flow of the pair may
// take, as a graph, from which shares of arcs, lengths, lists of paths and pictures follow; and a traffic matrix into the load of
// every arc.
//
// The package is pure: it has no clock, no socket and no chance, and no goroutine outlives a call. All its functions run on the dense
// ids of [whichlink/graphs]. The rooms below it plan what to measure (pathfind/plan), explain what was measured
// (pathfind/localize), and say what is lost when parts fail (pathfind/whatif).
package pathfind

import "whichlink/graphs"

// A Model is a way of forwarding: what turns a fabric, and the links of it that are up, into paths. All of its methods are safe for
// concurrent use, and give the same answer, to the last bit, whenever they are asked the same.
type Model interface {
	// Fabric returns the fabric over which packets are forwarded.
	Fabric() *graphs.Fabric
	// String names the model as ParseSpec takes it.
	String() string
	// Ways returns all that flows from src to dst may do.
	Ways(src, dst graphs.NodeID) *Ways
	// Loads lets the whole of a demand flow, every pair's along its shares.
	Loads(d Demand) *Loads
}
