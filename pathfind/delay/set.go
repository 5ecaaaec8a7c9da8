package delay

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"whichlink/graphs"
)

// A set is the paths of which some flows took one each: listed, or the equal-cost paths between two switches.
type set struct {
	from, to graphs.NodeID
	listed   []way
	shares   []compShare // by component
	flows    []int32
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

func (s *set) share(c int32) float64 {
	i, ok := slices.BinarySearchFunc(s.shares, c, func(x compShare, c int32) int { return cmp.Compare(x.comp, c) })
	if !ok {
		return 0
	}
	return s.shares[i].share
}

// setKey names the paths of which an observation took one; nothing where there is only one.
func setKey(key []byte, o *Observation) []byte {
	if len(o.Alternatives) == 0 {
		if o.From == o.To {
			return key
		}
		key = binary.LittleEndian.AppendUint32(key, uint32(o.From))
		return binary.LittleEndian.AppendUint32(key, uint32(o.To))
	}
	for _, alt := range o.Alternatives {
		key = binary.LittleEndian.AppendUint64(append(key, '|'), math.Float64bits(alt.Share))
		for _, a := range alt.Arcs {
			key = binary.LittleEndian.AppendUint32(key, uint32(a))
		}
	}
	return key
}

func (ev *evidence) newSet(o *Observation, ps PathSets) set {
	shares := tally{of: ev.shares}
	s := set{from: o.From, to: o.To}
	if len(o.Alternatives) == 0 {
		ev.spread(o.From, o.To, ps, &shares)
	} else {
		s.from, s.to = graphs.None, graphs.None
		sum := 0.0
		for _, a := range o.Alternatives {
			sum += a.Share
		}
		s.listed = make([]way, len(o.Alternatives))
		for i, a := range o.Alternatives {
			w := way{a.Share / sum, ev.componentsOf(a.Arcs)}
			s.listed[i] = w
			for k, c := range w.comps {
				if k == 0 || c != w.comps[k-1] {
					shares.add(c, w.share)
				}
			}
		}
	}
	s.shares = shares.take()
	return s
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
		for _, x := range ev.sets[k].shares {
			ev.members[x.comp] = append(ev.members[x.comp], member{int32(k), x.share})
		}
	}
}

// A part is the share of a set's flows that cross some components and no others of those asked for, as often as they are listed.
type part struct {
	share   float64
	crossed []int32
}

// mostOnSet bounds how many components of one set are looked at together: there are two to this power of parts.
const mostOnSet = 6

// split divides the flows of a set by which of some components they cross. The shares sum to one.
func (ev *evidence) split(s *set, comps []int32, ps PathSets) []part {
	var on []int32
	for _, c := range comps {
		if s.share(c) > 0 && len(on) < mostOnSet {
			on = append(on, c)
		}
	}
	switch {
	case len(on) == 0:
		return []part{{share: 1}}
	case s.listed != nil:
		var parts []part
		for _, w := range s.listed {
			p := part{share: w.share}
			for _, c := range w.comps {
				if slices.Contains(on, c) {
					p.crossed = append(p.crossed, c)
				}
			}
			if i := slices.IndexFunc(parts, func(o part) bool { return slices.Equal(o.crossed, p.crossed) }); i >= 0 {
				parts[i].share += p.share
			} else {
				parts = append(parts, p)
			}
		}
		return parts
	case len(on) == 1:
		q := min(1, s.share(on[0]))
		return []part{{share: 1 - q}, {q, on}}
	}
	x := chain{ev: ev, s: s, ps: ps}
	for _, c := range on {
		if p := ev.partIn(s, c); !slices.Contains(x.on, p) {
			x.on = append(x.on, p)
		}
	}
	x.sort()
	x.follow(-1, 1, nil)
	for i := range x.parts {
		crossed := x.parts[i].crossed
		x.parts[i].crossed = slices.DeleteFunc(slices.Clone(on), func(c int32) bool { return !slices.Contains(crossed, ev.partIn(s, c)) })
	}
	return x.parts
}

// A chain follows flows from one component of interest to the next. Which way a flow takes from a switch on depends on the switch and on
// where it goes, so what comes after a component does not depend on what came before.
type chain struct {
	ev    *evidence
	s     *set
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
		d := 2 * x.ps.Hops(x.s.from, x.enter(c))
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
		return x.s.share(x.on[j])
	}
	c := x.on[j]
	share := x.ps.Reach(x.leave(x.on[i]), x.enter(c), x.s.to)
	if c < x.ev.arcs {
		share *= x.ps.Step(graphs.ArcID(c), x.s.to)
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
