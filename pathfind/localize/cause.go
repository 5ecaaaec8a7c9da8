package localize

import (
	"math"
	"slices"

	"whichlink/graphs"
)

// A Kind of cause, in the words of the diagnosis.
type Kind string

// The kinds.
const (
	Arc   Kind = "arc"   // one direction of a link
	Link  Kind = "link"  // both directions, with one rate
	Node  Kind = "node"  // a switch, whatever it forwards or answers
	Host  Kind = "host"  // an end host, whatever it sends or receives
	Group Kind = "group" // a shared-risk group: all its links, both directions
)

// A Cause is a component of the fabric that may be faulty.
type Cause struct {
	Kind Kind
	ID   int32 // a graphs.ArcID, LinkID, NodeID or GroupID
}

// Preference is how usual a fault of a kind is beside the others. It decides between causes that the evidence cannot tell apart.
func Preference(k Kind) float64 {
	switch k {
	case Arc:
		return 1
	case Host:
		return 0.9
	case Link:
		return 0.8
	case Node:
		return 0.7
	}
	return 0.5
}

// leastCauses is the least number of causes that the prior is spread over. Without it a handful of losses would convict in a
// fabric of a dozen links, only because there is little else to blame.
const leastCauses = 400

// An index numbers all components of a fabric densely: arcs, links, nodes, groups, in this order. A component's number is an int32
// in the hot code.
type index struct {
	f                   *graphs.Fabric
	links, nodes, group int32 // number of the first of each
	n                   int32
	prior               [len(kinds)]float64 // log prior odds by kindOf
	census              *censusPrior
	// Derived once, because the fabric's methods go through its ports.
	tail, head []graphs.NodeID
	host       []bool
	access     []graphs.ArcID // the one arc into a host with one link, else None
}

func newIndex(f *graphs.Fabric, cfg Config) *index {
	ix := &index{f: f}
	ix.links = int32(f.NumArcs())
	ix.nodes = ix.links + int32(f.NumLinks())
	ix.group = ix.nodes + int32(f.NumNodes())
	ix.n = ix.group + int32(f.NumGroups())
	causes := ix.n
	number := census{f.NumArcs(), f.NumLinks(), 0, 0, f.NumGroups()} // by kindOf
	if cfg.OneWay {
		causes -= int32(f.NumLinks())
		number[1] = 0
	}
	odds := math.Log(cfg.Faults / float64(max(causes, leastCauses)))
	for i, k := range kinds {
		ix.prior[i] = odds + math.Log(Preference(k))
	}
	ix.tail = make([]graphs.NodeID, f.NumArcs())
	ix.head = make([]graphs.NodeID, f.NumArcs())
	for a := range ix.tail {
		ix.tail[a], ix.head[a] = f.Tail(graphs.ArcID(a)), f.Head(graphs.ArcID(a))
	}
	ix.host = make([]bool, f.NumNodes())
	ix.access = make([]graphs.ArcID, f.NumNodes())
	for n := range ix.host {
		id := graphs.NodeID(n)
		if ix.host[n] = f.Node(id).IsHost(); ix.host[n] {
			number[3]++
		} else {
			number[2]++
		}
		ix.access[n] = graphs.None
		if out := f.Out(id); ix.host[n] && len(out) == 1 {
			ix.access[n] = out[0].Reverse()
		}
	}
	ix.census = newCensusPrior(number, min(cfg.MaxFaults+exchanged, int(ix.n)))
	return ix
}

var kinds = [...]Kind{Arc, Link, Node, Host, Group}

func (ix *index) kindOf(c int32) int {
	switch {
	case c < ix.links:
		return 0
	case c < ix.nodes:
		return 1
	case c >= ix.group:
		return 4
	case ix.host[c-ix.nodes]:
		return 3
	}
	return 2
}

// logPrior returns the log prior odds that a component is faulty.
func (ix *index) logPrior(c int32) float64 { return ix.prior[ix.kindOf(c)] }

func (ix *index) cause(c int32) Cause {
	k := ix.kindOf(c)
	first := [...]int32{0, ix.links, ix.nodes, ix.nodes, ix.group}
	return Cause{kinds[k], c - first[k]}
}

func (ix *index) link(l graphs.LinkID) int32     { return ix.links + int32(l) }
func (ix *index) node(n graphs.NodeID) int32     { return ix.nodes + int32(n) }
func (ix *index) inGroup(g graphs.GroupID) int32 { return ix.group + int32(g) }

// parts appends the arcs of which a component is made. An arc is its own part; a node's are the arcs at it.
func (ix *index) parts(to []int32, c int32) []int32 {
	switch ix.kindOf(c) {
	case 0:
		return append(to, c)
	case 1:
		l := graphs.LinkID(c - ix.links)
		return append(to, int32(l.Forward()), int32(l.Backward()))
	case 4:
		for _, l := range ix.f.Group(graphs.GroupID(c - ix.group)).Links {
			to = append(to, int32(l.Forward()), int32(l.Backward()))
		}
		return to
	}
	for _, a := range ix.f.Out(graphs.NodeID(c - ix.nodes)) {
		to = append(to, int32(a), int32(a.Reverse()))
	}
	return to
}

// wholes appends the components of which an arc or a link is a part, itself left out, and of a host with one link the switch that it hangs off: where all
// of these lose packets alike it is likelier the switch.
func (ix *index) wholes(to []int32, c int32) []int32 {
	var l graphs.LinkID
	switch ix.kindOf(c) {
	case 0:
		l = graphs.ArcID(c).Link()
		to = append(to, ix.link(l))
	case 1:
		l = graphs.LinkID(c - ix.links)
	case 3:
		if n := ix.switchOf(c); n != graphs.None {
			to = append(to, ix.node(n))
		}
		return to
	default:
		return to
	}
	to = append(to, ix.node(ix.tail[l.Forward()]), ix.node(ix.head[l.Forward()]))
	for _, g := range ix.f.Link(l).Groups {
		to = append(to, ix.inGroup(g))
	}
	return to
}

// switchOf returns the switch that the only link of a host leads to, or None.
func (ix *index) switchOf(host int32) graphs.NodeID {
	if a := ix.access[host-ix.nodes]; a != graphs.None && !ix.host[ix.tail[a]] {
		return ix.tail[a]
	}
	return graphs.None
}

// relatives appends the components that share most packets with one: its whole, and its parts if they are few.
func (ix *index) relatives(to []int32, c int32) []int32 {
	to = ix.wholes(to, c)
	switch ix.kindOf(c) {
	case 1:
		return ix.parts(to, c)
	case 3:
		if out := ix.f.Out(graphs.NodeID(c - ix.nodes)); len(out) == 1 {
			return append(ix.parts(to, c), ix.link(out[0].Link()))
		}
	}
	return to
}

// endsOf returns the nodes at the ends of an arc or a link.
func (ix *index) endsOf(c int32) [2]graphs.NodeID {
	a := graphs.ArcID(c)
	if c >= ix.links {
		a = graphs.LinkID(c - ix.links).Forward()
	}
	return [2]graphs.NodeID{ix.tail[a], ix.head[a]}
}

// within reports whether all arcs of a component are arcs of whole, or a host hangs off it.
func (ix *index) within(c, whole int32) bool {
	if c >= ix.nodes {
		return ix.kindOf(c) == 3 && ix.kindOf(whole) == 2 && ix.switchOf(c) == graphs.NodeID(whole-ix.nodes)
	}
	l := graphs.ArcID(c).Link()
	if c >= ix.links {
		l = graphs.LinkID(c - ix.links)
	}
	switch ix.kindOf(whole) {
	case 0:
		return false
	case 1:
		return c < ix.links && whole == ix.link(l)
	case 4:
		return slices.Contains(ix.f.Link(l).Groups, graphs.GroupID(whole-ix.group))
	}
	n := graphs.NodeID(whole - ix.nodes)
	return ix.tail[l.Forward()] == n || ix.head[l.Forward()] == n
}
