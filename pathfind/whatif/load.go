package whatif

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// Load is what a matrix puts on the arcs between switches, before and after. Links to hosts do not count: their load is the matrix itself.
type Load struct {
	Matrix string
	// Offered is the traffic between different switches, Left what of it is still offered when some ends are gone.
	Offered, Left float64
	Before, After Use
	// BlackHoled is the share of what is left that is lost until routes change, at most: a flow that crosses two links that fail may count
	// twice.
	BlackHoled float64
	// Hottest are arcs by their use after, the most used first; Heated those whose use grows, by how much it does.
	Hottest, Heated []ArcUse
}

// Use is how full arcs are that are there: their load relative to the speed of the link.
type Use struct {
	Mean, P50, P95, P99, Max float64
	// Hottest is the arc that is fullest, the first of them; None where nothing is sent.
	Hottest graphs.ArcID
	// Bound is how much the whole matrix could be scaled before an arc is full: 1/Max. It is 0 where nothing is sent.
	Bound float64
	// Lost is the share of the traffic that finds no way.
	Lost float64
}

// An ArcUse is how full an arc is.
type ArcUse struct {
	Arc           graphs.ArcID
	Before, After float64
}

// listedArcs bounds the lists of a Load.
const listedArcs = 20

func (d *damage) load(c *Config, m models) *Load {
	place := d.placer(c)
	whole := c.Matrix.demand(place, func(graphs.NodeID) bool { return true })
	rest := c.Matrix.demand(place, d.there)
	before := m.before.Loads(whole)
	after := m.after.Loads(rest)
	l := &Load{
		Matrix: c.Matrix.String(), Offered: before.Offered, Left: after.Offered,
		Before: d.use(before, make([]bool, d.f.NumLinks())), After: d.use(after, d.down),
	}
	if len(c.Fail) > 0 {
		between := before
		if len(c.Drain) > 0 || l.Left < l.Offered {
			between = m.drained.Loads(rest)
		}
		l.BlackHoled = d.blackHoled(between)
	}
	d.list(l, before.Arcs, after.Arcs)
	return l
}

// there reports whether a node is left, and, if it is a host, has a link.
func (d *damage) there(n graphs.NodeID) bool {
	if d.gone[n] || !d.f.Node(n).IsHost() {
		return !d.gone[n]
	}
	return slices.ContainsFunc(d.f.Out(n), func(a graphs.ArcID) bool { return !d.down[a.Link()] })
}

// placer says where a node's traffic enters the fabric. A host stands for itself, unless all hosts have one link: then their switches send
// and receive for them, and the demand of many hosts is that of a few switches. Where a host has several, which of them it takes may depend
// on whether it sends to a switch or to a host behind it.
func (d *damage) placer(c *Config) func(graphs.NodeID) graphs.NodeID {
	several := slices.ContainsFunc(d.f.Hosts(), func(h graphs.NodeID) bool { return d.f.Degree(h) > 1 })
	return func(n graphs.NodeID) graphs.NodeID {
		host := d.f.Node(n).IsHost()
		switch up := d.f.Out(n); {
		case c.ByHost && host:
			return n
		case c.ByHost:
			return d.asked(c, n)
		case host && !several && len(up) == 1 && !d.f.Node(d.f.Head(up[0])).IsHost():
			return d.f.Head(up[0])
		}
		return n
	}
}

func (d *damage) use(l *pathfind.Loads, down []bool) Use {
	u := Use{Hottest: graphs.None}
	var full []float64
	for a, load := range l.Arcs {
		arc := graphs.ArcID(a)
		if d.f.IsHostArc(arc) || down[arc.Link()] {
			continue
		}
		x := load / d.speed[arc.Link()]
		full = append(full, x)
		u.Mean += x
		if x > u.Max {
			u.Max, u.Hottest = x, arc
		}
	}
	if l.Offered > 0 {
		u.Lost = l.Lost / l.Offered
	}
	if len(full) == 0 {
		return u
	}
	u.Mean /= float64(len(full))
	slices.Sort(full)
	rank := func(share float64) float64 { return full[int(math.Ceil(share*float64(len(full))))-1] }
	u.P50, u.P95, u.P99 = rank(0.5), rank(0.95), rank(0.99)
	if u.Max > 0 {
		u.Bound = 1 / u.Max
	}
	return u
}

// blackHoled is what crosses arcs that fail. What leaves a node that fails has crossed one that leads to it, and does not count again.
func (d *damage) blackHoled(l *pathfind.Loads) float64 {
	sum := 0.0
	for a, load := range l.Arcs {
		arc := graphs.ArcID(a)
		if link := arc.Link(); d.down[link] && !d.drained[link] && !d.gone[d.f.Tail(arc)] {
			sum += load
		}
	}
	if l.Offered == 0 {
		return 0
	}
	return min(1, sum/l.Offered)
}

// list finds the arcs that are hottest, and those that heat up most.
func (d *damage) list(l *Load, before, after []float64) {
	var all []ArcUse
	for a := range graphs.ArcID(d.f.NumArcs()) {
		if speed := d.speed[a.Link()]; !d.f.IsHostArc(a) && !d.down[a.Link()] && after[a] > 0 {
			all = append(all, ArcUse{a, before[a] / speed, after[a] / speed})
		}
	}
	slices.SortStableFunc(all, func(x, y ArcUse) int { return cmp.Compare(y.After, x.After) })
	l.Hottest = slices.Clone(all[:min(listedArcs, len(all))])
	rise := func(x ArcUse) float64 { return x.After - x.Before }
	slices.SortStableFunc(all, func(x, y ArcUse) int { return cmp.Compare(rise(y), rise(x)) })
	for _, x := range all[:min(listedArcs, len(all))] {
		if rise(x) > negligible*l.After.Max {
			l.Heated = append(l.Heated, x)
		}
	}
}
