package whatif

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// A Matrix is traffic: who sends how much to whom, in bit/s. Where no link has a speed, a link carries 1.
type Matrix struct {
	name string
	// Either every sender shares its rate evenly among all others, or flows say who sends to whom.
	senders []sender
	flows   []Flow
}

type sender struct {
	node graphs.NodeID
	rate float64
}

// A Flow is traffic from one node to another.
type Flow struct {
	Src, Dst graphs.NodeID
	Rate     float64
}

// String says in a few words what a matrix is.
func (m *Matrix) String() string { return m.name }

// Uniform is the matrix in which every end, a switch that has hosts, sends what the links of its hosts carry, evenly to all other ends. Where no
// switch has hosts, every switch sends what its own links carry.
func Uniform(f *graphs.Fabric) *Matrix {
	speed := pathfind.Speeds(f)
	m := &Matrix{name: "uniform"}
	for _, n := range pathfind.Uniform(f).Ends {
		hosts, links := 0.0, 0.0
		for _, a := range f.Out(n) {
			links += speed[a.Link()]
			if f.Node(f.Head(a)).IsHost() {
				hosts += speed[a.Link()]
			}
		}
		if hosts > 0 {
			links = hosts
		}
		m.senders = append(m.senders, sender{n, links})
	}
	return m
}

// AllToAll is the matrix in which every one of some nodes sends what its links carry, evenly to all the others.
func AllToAll(f *graphs.Fabric, nodes []graphs.NodeID) *Matrix {
	m := &Matrix{name: fmt.Sprintf("all-to-all of %d", len(nodes))}
	rate := lineRates(f)
	for _, n := range nodes {
		m.senders = append(m.senders, sender{n, rate(n)})
	}
	return m
}

// Ring is the matrix in which every one of some nodes sends what its links carry to the next, and the last to the first.
func Ring(f *graphs.Fabric, nodes []graphs.NodeID) *Matrix {
	m := &Matrix{name: fmt.Sprintf("ring of %d", len(nodes))}
	rate := lineRates(f)
	for i, n := range nodes {
		m.flows = append(m.flows, Flow{n, nodes[(i+1)%len(nodes)], rate(n)})
	}
	return m
}

// Permutation is the matrix in which every one of some nodes sends what its links carry to one other, and gets from one other, all in one
// ring in the order that a seed draws. So none sends to itself.
func Permutation(f *graphs.Fabric, nodes []graphs.NodeID, seed uint64) *Matrix {
	nodes = slices.Clone(nodes)
	rng := rand.New(rand.NewPCG(seed, uint64(len(nodes))))
	rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	m := Ring(f, nodes)
	m.name = fmt.Sprintf("permutation of %d, seed %d", len(nodes), seed)
	return m
}

// Flows is the matrix of some flows, with a name that says where they are from. Flows of the same pair add up.
func Flows(name string, flows []Flow) *Matrix { return &Matrix{name: name, flows: flows} }

// Traffic returns the matrix pair by pair. It reports false where these would be more than most.
func (m *Matrix) Traffic(most int) ([]Flow, bool) {
	if n := len(m.senders); len(m.flows) > most || n*(n-1) > most {
		return nil, false
	}
	flows := slices.Clone(m.flows)
	for _, src := range m.senders {
		for _, dst := range m.senders {
			if src.node != dst.node {
				flows = append(flows, Flow{src.node, dst.node, src.rate / float64(len(m.senders)-1)})
			}
		}
	}
	return flows, true
}

// lineRates returns a function that tells what a node's links carry together.
func lineRates(f *graphs.Fabric) func(graphs.NodeID) float64 {
	speed := pathfind.Speeds(f)
	return func(n graphs.NodeID) float64 {
		sum := 0.0
		for _, a := range f.Out(n) {
			sum += speed[a.Link()]
		}
		return sum
	}
}

// demand is the matrix as a demand between the places of its nodes, with the traffic of those only that are there. What stays within one place
// is none.
func (m *Matrix) demand(place func(graphs.NodeID) graphs.NodeID, there func(graphs.NodeID) bool) pathfind.Demand {
	var d pathfind.Demand
	known := map[graphs.NodeID]bool{}
	end := func(n graphs.NodeID) graphs.NodeID {
		n = place(n)
		if !known[n] {
			known[n] = true
			d.Ends = append(d.Ends, n)
		}
		return n
	}
	if m.senders == nil {
		volume := map[[2]graphs.NodeID]float64{}
		for _, w := range m.flows {
			if there(w.Src) && there(w.Dst) {
				volume[[2]graphs.NodeID{end(w.Src), end(w.Dst)}] += w.Rate
			}
		}
		d.Volume = func(src, dst graphs.NodeID) float64 { return volume[[2]graphs.NodeID{src, dst}] }
		return d
	}
	rate, count := map[graphs.NodeID]float64{}, map[graphs.NodeID]float64{}
	for _, s := range m.senders {
		if there(s.node) {
			n := end(s.node)
			rate[n] += s.rate / float64(len(m.senders)-1)
			count[n]++
		}
	}
	d.Volume = func(src, dst graphs.NodeID) float64 { return rate[src] * count[dst] }
	return d
}
