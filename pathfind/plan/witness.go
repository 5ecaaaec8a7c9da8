package plan

import (
	"slices"

	"whichlink/graphs"
)

// witnesses finds, for every arc that any flow of the plan's hosts may cross, one pair that may cross it. It looks at all ways to all
// hosts, and so is sure, but slow: it serves the arcs for which no pair was found nearby.
func (c *chooser) witnesses() map[graphs.ArcID]pair {
	found := map[graphs.ArcID]pair{}
	f := c.ways.f
	anySource, someProbe := c.sources(c.all), c.sources(c.probes)
	done := map[graphs.NodeID]bool{}
	for pass, dsts := range [][]graphs.NodeID{c.probes, c.all} {
		// To a host that runs probes, flows or answers come from all hosts; to any other, from those that run probes.
		sources := anySource
		if pass == 1 {
			sources = someProbe
		}
		for _, dst := range dsts {
			if g := c.ways.gate[dst].node; done[g] {
				continue
			} else {
				done[g] = true
			}
			c.witness(f, dst, sources, found)
		}
		if len(c.probes) == len(c.all) {
			break
		}
		clear(done)
	}
	return found
}

// sources returns one host behind each gate, by node.
func (c *chooser) sources(hosts []graphs.NodeID) map[graphs.NodeID]graphs.NodeID {
	m := map[graphs.NodeID]graphs.NodeID{}
	for _, h := range slices.Backward(hosts) {
		m[c.ways.gate[h].node] = h
	}
	return m
}

// witness follows the ways of all sources to one destination, from the farthest on.
func (c *chooser) witness(f *graphs.Fabric, dst graphs.NodeID, sources map[graphs.NodeID]graphs.NodeID, found map[graphs.ArcID]pair) {
	e := c.ways.e
	gate := c.ways.gate[dst].node
	var byDistance [][]graphs.NodeID
	for n := range graphs.NodeID(f.NumNodes()) {
		d := e.Distance(n, gate)
		if d < 0 {
			continue
		}
		for len(byDistance) <= d {
			byDistance = append(byDistance, nil)
		}
		byDistance[d] = append(byDistance[d], n)
	}
	via := make([]graphs.NodeID, f.NumNodes())
	for n := range via {
		via[n] = graphs.None
		if src, ok := sources[graphs.NodeID(n)]; ok && src != dst {
			via[n] = src
		}
	}
	for _, level := range slices.Backward(byDistance) {
		for _, n := range level {
			if via[n] == graphs.None {
				continue
			}
			for _, a := range e.NextHops(n, gate) {
				if _, ok := found[a]; !ok {
					found[a] = pair{via[n], dst}
				}
				if head := f.Head(a); via[head] == graphs.None {
					via[head] = via[n]
				}
			}
		}
	}
}
