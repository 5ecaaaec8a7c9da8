package diagnose

import (
	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

const (
	// mostListed is how many paths a pair may have for them to be listed with each of its flows: lists of more cost a gigabyte for some thousands
	// of flows.
	mostListed = 16
	// mostSpread is how many a pair may have for its flows to tell anything, as in localize.
	mostSpread = 1024
)

// pathSets returns the path sets of the fabric, which are worked out when first asked for; nil where switches forward by another model.
func (s *Store) pathSets() *pathfind.EqualCost {
	if s.model != pathfind.Model(s.ecmp) {
		return nil
	}
	if s.spread == nil {
		s.spread = pathfind.NewEqualCost(s.fabric, pathfind.PerHop)
	}
	return s.spread
}

// askedSets returns the path sets of the fabric if anybody asked for them; nil, and not one of another type, where nobody did.
func (s *Store) askedSets() localize.PathSets {
	if s.spread == nil {
		return nil
	}
	return s.spread
}

// A spreading is where the packets of a flow of which no path is known are spread over many: between two switches. The links of the hosts are
// certain.
type spreading struct {
	ends     []graphs.ArcID
	from, to graphs.NodeID
}

// spread returns between which switches packets from one host to another spread. It reports false where their few paths are better listed, or
// not known.
func (o *observer) spread(way trip) (spreading, bool) {
	if !o.many || way.src == graphs.None || way.dst == graphs.None || way.src == way.dst || o.s.pathSets() == nil || !o.s.asPlanned(way) {
		return spreading{}, false
	}
	up, down := o.s.ecmp.Live(way.src), o.s.ecmp.Live(way.dst)
	if way.out != graphs.None && !o.s.leave.weak {
		up = []graphs.ArcID{way.out}
	}
	if way.in != graphs.None && !o.s.anyLink {
		down = []graphs.ArcID{way.in.Reverse()}
	}
	if len(up) != 1 || len(down) != 1 {
		return spreading{}, false // which of its links a host takes is not known
	}
	x := spreading{[]graphs.ArcID{up[0], down[0].Reverse()}, o.s.fabric.Head(up[0]), o.s.fabric.Head(down[0])}
	paths := o.s.pathSets().Paths(x.from, x.to)
	return x, paths > mostListed && paths <= mostSpread
}

// spreadOver returns the share of the packets of an observation that cross what is among its spreading: of a cause with several links, of that
// which most cross.
func (o *observer) spreadOver(obs *localize.Observation, c localize.Cause) float64 {
	if obs.From == obs.To {
		return 0
	}
	if c.Kind == localize.Node {
		return o.s.pathSets().Reach(obs.From, graphs.NodeID(c.ID), obs.To)
	}
	if c.Kind == localize.Arc {
		return o.arcShare(obs.From, obs.To, graphs.ArcID(c.ID))
	}
	most := 0.0
	for _, l := range linksOf(o.s.fabric, c) {
		most = max(most, o.arcShare(obs.From, obs.To, l.Forward()), o.arcShare(obs.From, obs.To, l.Backward()))
	}
	return most
}

// arcShare returns the share of what spreads between two switches that crosses an arc.
func (o *observer) arcShare(from, to graphs.NodeID, a graphs.ArcID) float64 {
	sets := o.s.pathSets()
	step := sets.Step(a, to)
	if step == 0 {
		return 0
	}
	return sets.Reach(from, o.s.fabric.Tail(a), to) * step
}
