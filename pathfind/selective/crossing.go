package selective

import (
	"math"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// A numbering counts all causes of a fabric: arcs, links, nodes, groups, in this order.
type numbering struct {
	f                    *graphs.Fabric
	links, nodes, groups int32 // number of the first of each
	n                    int32
}

func number(f *graphs.Fabric) numbering {
	ix := numbering{f: f, links: int32(f.NumArcs())}
	ix.nodes = ix.links + int32(f.NumLinks())
	ix.groups = ix.nodes + int32(f.NumNodes())
	ix.n = ix.groups + int32(f.NumGroups())
	return ix
}

func (ix *numbering) cause(i int32) localize.Cause {
	switch {
	case i < ix.links:
		return localize.Cause{Kind: localize.Arc, ID: i}
	case i < ix.nodes:
		return localize.Cause{Kind: localize.Link, ID: i - ix.links}
	case i >= ix.groups:
		return localize.Cause{Kind: localize.Group, ID: i - ix.groups}
	case ix.f.Node(graphs.NodeID(i - ix.nodes)).IsHost():
		return localize.Cause{Kind: localize.Host, ID: i - ix.nodes}
	}
	return localize.Cause{Kind: localize.Node, ID: i - ix.nodes}
}

// A part is the share of the ways of a flow that cross a cause, which is told by its number.
type part struct {
	cause int32
	share float64
}

// A tally adds up the parts of one flow.
type tally struct {
	share []float64 // by number
	way   []int     // by number, the last way that crossed it
	ways  int
	some  []int32 // those with a share
}

func (t *tally) add(i int32, share float64) {
	if t.share[i] == 0 {
		t.some = append(t.some, i)
	}
	t.share[i] += share
}

// once adds to what the way crosses that was begun last, however often it does.
func (t *tally) once(i int32, share float64) {
	if t.way[i] != t.ways {
		t.way[i] = t.ways
		t.add(i, share)
	}
}

// take appends what was added up, and begins anew.
func (t *tally) take(to []part) []part {
	for _, i := range t.some {
		to = append(to, part{i, float64(float32(min(t.share[i], 1)))}) // in which equal shares are equal, however they were added up
		t.share[i] = 0
	}
	t.some = t.some[:0]
	return to
}

// crossing appends what an observation may have crossed. Of what lies on the path sets of switches it appends the candidates alone, unless there are none yet.
func (s *solver) crossing(o *localize.Observation, among []*candidate, to []part) []part {
	t := &s.tally
	s.along(o.Path, 1)
	switch {
	case len(o.Alternatives) > 0:
		sum := 0.0
		for _, x := range o.Alternatives {
			sum += max(x.Share, 0)
		}
		if !(sum > 0 && sum <= math.MaxFloat64) {
			break // of no way more is known than of none
		}
		for _, x := range o.Alternatives {
			s.along(x.Arcs, max(x.Share, 0)/sum)
		}
	case o.From != o.To && s.paths != nil:
		for _, p := range s.spread(o.From, o.To, among) {
			t.add(p.cause, p.share)
		}
	}
	for _, n := range []graphs.NodeID{o.Src, o.Dst} {
		if n >= 0 && int(n) < s.f.NumNodes() && s.f.Node(n).IsHost() {
			t.add(s.nodes+int32(n), 1)
		}
	}
	return t.take(to)
}

// along adds what a way crosses that a share of the flows takes.
func (s *solver) along(arcs []graphs.ArcID, share float64) {
	t := &s.tally
	t.ways++
	for _, a := range arcs {
		t.once(int32(a), share)
		t.once(s.links+int32(a.Link()), share)
		for _, g := range s.f.Link(a.Link()).Groups {
			t.once(s.groups+int32(g), share)
		}
		for _, n := range []graphs.NodeID{s.f.Tail(a), s.f.Head(a)} {
			if !s.f.Node(n).IsHost() {
				t.once(s.nodes+int32(n), share)
			}
		}
	}
}

// spread returns what the flows between two switches cross: of candidates, or all.
func (s *solver) spread(from, to graphs.NodeID, among []*candidate) []part {
	key := [2]graphs.NodeID{from, to}
	if known, ok := s.pairs[key]; ok {
		return known
	}
	ps := s.paths
	over := func(a graphs.ArcID) float64 {
		if step := ps.Step(a, to); step > 0 {
			return step * ps.Reach(from, s.f.Tail(a), to)
		}
		return 0
	}
	share := func(i int32) (sum float64) {
		switch c := s.cause(i); c.Kind {
		case localize.Arc:
			return over(graphs.ArcID(c.ID))
		case localize.Link, localize.Group:
			for _, l := range s.linksOf(c) {
				sum += over(l.Forward()) + over(l.Backward())
			}
			return sum
		case localize.Node:
			return ps.Reach(from, graphs.NodeID(c.ID), to)
		}
		return 0 // no host is on the way between others
	}
	var out []part
	for _, c := range among {
		if x := share(c.number); x > 0 {
			out = append(out, part{c.number, x})
		}
	}
	if among == nil {
		for i := range s.n {
			if x := share(i); x > 0 {
				out = append(out, part{i, x})
			}
		}
	}
	s.pairs[key] = out
	return out
}

func (s *solver) linksOf(c localize.Cause) []graphs.LinkID {
	if c.Kind == localize.Link {
		return []graphs.LinkID{graphs.LinkID(c.ID)}
	}
	return s.f.Group(graphs.GroupID(c.ID)).Links
}
