package delay

import (
	"cmp"
	"slices"

	"whichlink/graphs"
)

// A set is what is uncertain of the paths of some flows: of each of its legs they took one way, whichever they took of the other.
type set struct {
	legs  []*leg
	flows []int32
}

// A leg is ways of which one was taken: listed, or the equal-cost paths between two switches.
type leg struct {
	ways   *Ways
	listed []way
	shares []compShare // by component
}

// shares returns the share of a set's flows that cross each component at all.
func (s *set) shares() []compShare {
	if len(s.legs) == 1 {
		return s.legs[0].shares
	}
	return either(s.legs[0].shares, s.legs[1].shares)
}

// A way is one listed path: its share, and its components in order, as often as it crosses them.
type way struct {
	share float64
	comps []int32
}

// compShare is the share of the flows of a set that cross a component.
type compShare struct {
	comp  int32
	share float64
}

// member says that a component is in a set, and which share of its flows crosses it.
type member struct {
	set   int32
	share float64
}

// shareOf returns the share of a component, 0 if it has none.
func shareOf(shares []compShare, c int32) float64 {
	i, ok := slices.BinarySearchFunc(shares, c, func(x compShare, c int32) int { return cmp.Compare(x.comp, c) })
	if !ok {
		return 0
	}
	return shares[i].share
}

// either returns the shares that cross components on the one leg or on the other.
func either(a, b []compShare) []compShare {
	out := make([]compShare, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].comp < b[0].comp:
			out, a = append(out, a[0]), a[1:]
		case a[0].comp > b[0].comp:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, compShare{a[0].comp, 1 - (1-a[0].share)*(1-b[0].share)})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// A tally adds up shares by component. What it adds them up in is zero before and after.
type tally struct {
	of    []float64
	comps []int32
}

func (t *tally) add(c int32, share float64) {
	if t.of[c] == 0 {
		t.comps = append(t.comps, c)
	}
	t.of[c] += share
}

// take returns the sums, by component.
func (t *tally) take() []compShare {
	slices.Sort(t.comps)
	t.comps = slices.Compact(t.comps) // what has no share was met more than once
	list := make([]compShare, len(t.comps))
	for i, c := range t.comps {
		list[i], t.of[c] = compShare{c, t.of[c]}, 0
	}
	return list
}

// spread lets one unit flow from one switch to another and adds what crosses each component between them.
func (ev *evidence) spread(from, to graphs.NodeID, ps PathSets, shares *tally) {
	mass := map[graphs.NodeID]float64{from: 1}
	level := []graphs.NodeID{from}
	for len(level) > 0 {
		var then []graphs.NodeID
		for _, n := range level {
			m := mass[n]
			if n != from {
				shares.add(ev.arcs+int32(n), m)
			}
			for _, a := range ev.f.Out(n) {
				step := ps.Step(a, to)
				if step == 0 {
					continue
				}
				shares.add(int32(a), m*step)
				if !ev.f.IsHostArc(a) { // of groups, of which a path may cross several arcs, only listed ways tell
					shares.add(ev.links+int32(a.Link()), m*step)
				}
				h := ev.f.Head(a)
				if h == to {
					continue
				}
				if _, seen := mass[h]; !seen {
					then = append(then, h)
				}
				mass[h] += m * step
			}
		}
		level = then
	}
}

func (ev *evidence) indexSets() {
	ev.members = make([][]member, ev.n)
	for k := range ev.sets {
		for _, x := range ev.sets[k].shares() {
			ev.members[x.comp] = append(ev.members[x.comp], member{int32(k), x.share})
		}
	}
}

// A part is the share of a set's flows that cross some components and no others of those asked for, as often as they are listed.
type part struct {
	share   float64
	crossed []int32
}

// mostOnLeg bounds how many components of one leg are looked at together: there are two to this power of parts.
const mostOnLeg = 6

// split divides the flows of a set by which of some components they cross, in order and as often as they do. The shares sum to one.
func (ev *evidence) split(s *set, comps []int32, ps PathSets) []part {
	parts := ev.splitLeg(s.legs[0], comps, ps)
	if len(s.legs) == 1 {
		return parts
	}
	var out []part
	for _, y := range ev.splitLeg(s.legs[1], comps, ps) {
		for _, x := range parts {
			crossed := slices.Concat(x.crossed, y.crossed)
			slices.Sort(crossed)
			out = addPart(out, part{x.share * y.share, crossed})
		}
	}
	return out
}

// addPart adds a part to those that it is alike, or as one more.
func addPart(parts []part, p part) []part {
	if i := slices.IndexFunc(parts, func(o part) bool { return slices.Equal(o.crossed, p.crossed) }); i >= 0 {
		parts[i].share += p.share
		return parts
	}
	return append(parts, p)
}

func (ev *evidence) splitLeg(l *leg, comps []int32, ps PathSets) []part {
	var on []int32
	for _, c := range comps {
		if shareOf(l.shares, c) > 0 && len(on) < mostOnLeg {
			on = append(on, c)
		}
	}
	switch {
	case len(on) == 0:
		return []part{{share: 1}}
	case l.listed != nil:
		var parts []part
		for _, w := range l.listed {
			p := part{share: w.share}
			for _, c := range w.comps {
				if slices.Contains(on, c) {
					p.crossed = append(p.crossed, c)
				}
			}
			parts = addPart(parts, p)
		}
		return parts
	case len(on) == 1:
		q := min(1, shareOf(l.shares, on[0]))
		return []part{{share: 1 - q}, {q, on}}
	}
	x := chain{ev: ev, l: l, ps: ps}
	for _, c := range on {
		if p := ev.partIn(l, c); !slices.Contains(x.on, p) {
			x.on = append(x.on, p)
		}
	}
	x.sort()
	x.follow(-1, 1, nil)
	for i := range x.parts {
		crossed := x.parts[i].crossed
		x.parts[i].crossed = slices.DeleteFunc(slices.Clone(on), func(c int32) bool { return !slices.Contains(crossed, ev.partIn(l, c)) })
	}
	return x.parts
}

// A chain follows flows from one component of interest to the next. Which way a flow takes from a switch on depends on the switch and on
// where it goes, so what comes after a component does not depend on what came before.
type chain struct {
	ev    *evidence
	l     *leg
	ps    PathSets
	on    []int32
	parts []part
}

// enter and leave are the nodes at which a component begins and ends.
func (x *chain) enter(c int32) graphs.NodeID {
	if c < x.ev.arcs {
		return x.ev.f.Tail(graphs.ArcID(c))
	}
	return graphs.NodeID(c - x.ev.arcs)
}

func (x *chain) leave(c int32) graphs.NodeID {
	if c < x.ev.arcs {
		return x.ev.f.Head(graphs.ArcID(c))
	}
	return graphs.NodeID(c - x.ev.arcs)
}

// sort puts the components into the order in which flows meet them; a switch comes before the arcs that leave it.
func (x *chain) sort() {
	depth := func(c int32) int {
		d := 2 * x.ps.Hops(x.l.ways.From, x.enter(c))
		if c < x.ev.arcs {
			d++
		}
		return d
	}
	slices.SortFunc(x.on, func(a, b int32) int { return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(a, b)) })
}

// reach is the share of the flows that have just left component i (the first switch for -1) that cross component j later.
func (x *chain) reach(i, j int) float64 {
	if i < 0 {
		return shareOf(x.l.shares, x.on[j])
	}
	c := x.on[j]
	share := x.ps.Reach(x.leave(x.on[i]), x.enter(c), x.l.ways.To)
	if c < x.ev.arcs {
		share *= x.ps.Step(graphs.ArcID(c), x.l.ways.To)
	}
	return share
}

// follow divides the flows that have just left component i by the one they meet next.
func (x *chain) follow(i int, share float64, crossed []int32) {
	next := make([]float64, len(x.on)) // to meet component j before any other
	rest := 1.0
	for j := i + 1; j < len(x.on); j++ {
		next[j] = x.reach(i, j)
		for k := i + 1; k < j; k++ {
			next[j] -= next[k] * x.reach(k, j)
		}
		next[j] = max(0, next[j])
		rest -= next[j]
		if next[j] > 1e-9 {
			x.follow(j, share*next[j], append(crossed[:len(crossed):len(crossed)], x.on[j]))
		}
	}
	if rest > 1e-9 {
		x.parts = append(x.parts, part{share * rest, crossed})
	}
}
