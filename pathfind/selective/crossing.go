package selective

import (
	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// A tally is the share of the ways of a flow that cross each cause.
type tally map[localize.Cause]float64

// crossing hands over what an observation may have crossed, with the share of its ways that do. Of what lies on the path sets of switches it hands over the candidates alone, unless
// there are none yet.
func (s *solver) crossing(o *localize.Observation, among []*candidate, yield func(c localize.Cause, share float64)) {
	all := tally{}
	s.along(o.Path, 1, all)
	switch {
	case len(o.Alternatives) > 0:
		sum := 0.0
		for _, x := range o.Alternatives {
			sum += x.Share
		}
		for _, x := range o.Alternatives {
			s.along(x.Arcs, x.Share/sum, all)
		}
	case o.From != o.To && s.paths != nil:
		for c, share := range s.spread(o.From, o.To, among) {
			all[c] += share
		}
	}
	for _, n := range []graphs.NodeID{o.Src, o.Dst} {
		if n != graphs.None && s.f.Node(n).IsHost() {
			all[localize.Cause{Kind: localize.Host, ID: int32(n)}] = 1
		}
	}
	for c, share := range all {
		if share > 0 {
			yield(c, min(share, 1))
		}
	}
}

// along adds what a way crosses that a share of the flows takes: each cause once, however often it is crossed.
func (s *solver) along(arcs []graphs.ArcID, share float64, to tally) {
	way := tally{}
	for _, a := range arcs {
		way[localize.Cause{Kind: localize.Arc, ID: int32(a)}] = share
		for _, c := range s.wholes(a) {
			way[c] = share
		}
		for _, n := range []graphs.NodeID{s.f.Tail(a), s.f.Head(a)} {
			if !s.f.Node(n).IsHost() {
				way[localize.Cause{Kind: localize.Node, ID: int32(n)}] = share
			}
		}
	}
	for c, x := range way {
		to[c] += x
	}
}

// wholes returns the link and the groups of an arc.
func (s *solver) wholes(a graphs.ArcID) []localize.Cause {
	list := []localize.Cause{{Kind: localize.Link, ID: int32(a.Link())}}
	for _, g := range s.f.Link(a.Link()).Groups {
		list = append(list, localize.Cause{Kind: localize.Group, ID: int32(g)})
	}
	return list
}

// spread returns what the flows between two switches cross: of candidates, or all.
func (s *solver) spread(from, to graphs.NodeID, among []*candidate) tally {
	key := [2]graphs.NodeID{from, to}
	if known, ok := s.pairs[key]; ok {
		return known
	}
	out, ps := tally{}, s.paths
	over := func(a graphs.ArcID) float64 {
		if step := ps.Step(a, to); step > 0 {
			return step * ps.Reach(from, s.f.Tail(a), to)
		}
		return 0
	}
	if among == nil {
		for a := range graphs.ArcID(s.f.NumArcs()) {
			if share := over(a); share > 0 {
				s.along([]graphs.ArcID{a}, share, out)
			}
		}
		for c := range out { // a node was counted with the arcs on both of its sides
			if c.Kind == localize.Node {
				out[c] = ps.Reach(from, graphs.NodeID(c.ID), to)
			}
		}
		return out
	}
	for _, x := range among {
		switch x.Kind {
		case localize.Arc:
			out[x.Cause] = over(graphs.ArcID(x.ID))
		case localize.Node:
			out[x.Cause] = ps.Reach(from, graphs.NodeID(x.ID), to)
		case localize.Link, localize.Group:
			for _, l := range s.linksOf(x.Cause) {
				out[x.Cause] += over(l.Forward()) + over(l.Backward())
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
