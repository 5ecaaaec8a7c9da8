package whatif

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// Pairs says what pairs lose.
type Pairs struct {
	// All counts the ordered pairs of ends that are left, Gone those with an end that is not. CutOff counts the pairs, of All, that had a way
	// over links and have none left. All three are exact.
	All, Gone, CutOff int
	// Looked counts the pairs that were measured. If these are not all, Near of them were chosen because they are cut off, or begin and end
	// at switches that lose links, the worst first; the others were drawn.
	Looked, Near int
	// Hurt are the pairs, of those that were measured, that lose anything, the worst first.
	Hurt []Pair
	// UsableLost is the mean over all pairs of the share of usable capacity that is lost, and BlackHoled that of the share of flows that are lost
	// until routes change: exact if all were measured, and estimated if not.
	UsableLost, BlackHoled float64
	// LeastDisjoint is the least number of disjoint paths that a pair which was measured has left, -1 where none was.
	LeastDisjoint int
}

// A Pair is what an ordered pair of ends loses.
type Pair struct {
	Src, Dst               graphs.NodeID
	Capacity, CapacityLeft float64
	Usable, UsableLeft     float64
	Disjoint, DisjointLeft int
	// BlackHoled is the share of flows that cross what fails, and are lost until routes change.
	BlackHoled float64
}

// CutOff reports whether a pair had a way and has none.
func (p *Pair) CutOff() bool { return p.Usable > 0 && p.UsableLeft == 0 }

// UsableLost is the share of its usable capacity that a pair loses, negative where it gains.
func (p *Pair) UsableLost() float64 { return lostOf(p.Usable, p.UsableLeft) }

// hurt reports whether a pair loses anything.
func (p *Pair) hurt() bool {
	return p.UsableLost() > negligible || p.CapacityLeft < p.Capacity || p.DisjointLeft < p.Disjoint || p.BlackHoled > negligible
}

// negligible is a share that rounding may make of nothing.
const negligible = 1e-9

// worse orders pairs: those that are cut off first, then by the shares of usable capacity, disjoint paths and capacity that are lost, and the flows
// that are lost at first.
func worse(x, y *Pair) int {
	cut := func(p *Pair) int {
		if p.CutOff() {
			return 1
		}
		return 0
	}
	disjoint := func(p *Pair) float64 { return lostOf(float64(p.Disjoint), float64(p.DisjointLeft)) }
	return cmp.Or(
		cmp.Compare(cut(y), cut(x)),
		cmp.Compare(y.UsableLost(), x.UsableLost()),
		cmp.Compare(disjoint(y), disjoint(x)),
		cmp.Compare(lostOf(y.Capacity, y.CapacityLeft), lostOf(x.Capacity, x.CapacityLeft)),
		cmp.Compare(y.BlackHoled, x.BlackHoled),
		cmp.Compare(x.Src, y.Src), cmp.Compare(x.Dst, y.Dst),
	)
}

func (d *damage) pairs(c *Config, m models, switches []Switch) Pairs {
	var ends []graphs.NodeID
	for _, n := range d.ends {
		if !d.gone[n] {
			ends = append(ends, n)
		}
	}
	p := Pairs{All: len(ends) * (len(ends) - 1), LeastDisjoint: -1}
	p.Gone = len(d.ends)*(len(d.ends)-1) - p.All
	isolated := d.isolated(ends)
	p.CutOff = isolated.count
	chosen := d.choose(c, ends, isolated, switches)
	p.Looked, p.Near = len(chosen.pairs), chosen.near
	looked := make([]Pair, len(chosen.pairs))
	n := newNetwork(d)
	inParallel(len(looked), n.newFlood, func(x *flood, i int) { looked[i] = d.measure(c, m, x, chosen.pairs[i]) })

	p.UsableLost = estimate(looked, p.Near, p.All, (*Pair).UsableLost)
	p.BlackHoled = estimate(looked, p.Near, p.All, func(p *Pair) float64 { return p.BlackHoled })
	at := map[graphs.NodeID]*Switch{}
	for i := range switches {
		at[switches[i].Node] = &switches[i]
	}
	for _, pair := range looked {
		p.LeastDisjoint = least(p.LeastDisjoint, pair.DisjointLeft)
		for _, n := range []graphs.NodeID{pair.Src, pair.Dst} {
			if s := at[n]; s != nil {
				s.LeastDisjoint = least(s.LeastDisjoint, pair.DisjointLeft)
				s.WorstLoss = max(s.WorstLoss, pair.UsableLost())
			}
		}
		if pair.hurt() {
			p.Hurt = append(p.Hurt, pair)
		}
	}
	slices.SortFunc(p.Hurt, func(x, y Pair) int { return worse(&x, &y) })
	return p
}

// least is the lesser of two, -1 standing for none.
func least(x, y int) int {
	if x < 0 {
		return y
	}
	return min(x, y)
}

// estimate returns the mean over all pairs of something that was measured of the first near ones, which are as they are, and of those that were
// drawn from the others and stand for them.
func estimate(looked []Pair, near, all int, what func(*Pair) float64) float64 {
	if all == 0 {
		return 0
	}
	sum, drawn := 0.0, 0.0
	for i := range looked {
		if i < near {
			sum += what(&looked[i])
		} else {
			drawn += what(&looked[i])
		}
	}
	if n := len(looked) - near; n > 0 {
		sum += drawn / float64(n) * float64(all-near)
	}
	return sum / float64(all)
}

func (d *damage) measure(c *Config, m models, x *flood, pair [2]graphs.NodeID) Pair {
	p := Pair{Src: pair[0], Dst: pair[1]}
	p.Capacity, p.CapacityLeft = x.between(p.Src, p.Dst)
	src, dst := d.asked(c, p.Src), d.asked(c, p.Dst)
	before := m.before.Ways(src, dst)
	p.Usable, p.Disjoint = d.usable(before), before.Disjoint()
	p.UsableLeft, p.DisjointLeft = p.Usable, p.Disjoint
	if m.after != m.before {
		after := m.after.Ways(src, dst)
		p.UsableLeft, p.DisjointLeft = d.usable(after), after.Disjoint()
	}
	if len(c.Fail) > 0 {
		if m.drained != m.before {
			before = m.drained.Ways(src, dst)
		}
		p.BlackHoled = before.Crossing(func(l graphs.LinkID) bool { return d.down[l] && !d.drained[l] })
	}
	return p
}

// asked returns the node about which the model is asked for an end: itself, or one of its hosts, best one whose links are all left, and with
// few links.
func (d *damage) asked(c *Config, end graphs.NodeID) graphs.NodeID {
	best, least := end, math.MaxInt
	if !c.ByHost {
		return best
	}
	for _, a := range d.f.Out(end) {
		h := d.f.Head(a)
		if !d.f.Node(h).IsHost() {
			continue
		}
		cost := d.f.Degree(h)
		for _, up := range d.f.Out(h) {
			if d.down[up.Link()] {
				cost += d.f.NumLinks()
			}
		}
		if cost < least {
			best, least = h, cost
		}
	}
	return best
}

// usable returns what a pair may send until the first link between switches is full; of flows that get lost nothing counts.
func (d *damage) usable(w *pathfind.Ways) float64 {
	arrived := w.Arrived()
	if arrived < negligible {
		return 0
	}
	inner, access := math.Inf(1), math.Inf(1)
	for _, s := range w.Shares() {
		most := d.speed[s.Arc.Link()] / s.Share
		if d.f.IsHostArc(s.Arc) {
			access = min(access, most)
		} else {
			inner = min(inner, most)
		}
	}
	if math.IsInf(inner, 1) { // two hosts of one switch
		inner = access
	}
	return inner * arrived
}

// An isolation is the ends that are left in other parts than the largest.
type isolation struct {
	was, is []graphs.NodeID // the parts before and after
	islands []graphs.NodeID
	count   int // of ordered pairs that are cut off
}

func (d *damage) isolated(ends []graphs.NodeID) isolation {
	s := isolation{was: d.parts(nil), is: d.parts(d.down)}
	main := d.largest(s.is)
	before, after := map[graphs.NodeID]int{}, map[graphs.NodeID]int{}
	for _, n := range ends {
		before[s.was[n]]++
		after[s.is[n]]++
		if s.is[n] != s.is[main] {
			s.islands = append(s.islands, n)
		}
	}
	for _, n := range before {
		s.count += n * (n - 1)
	}
	for _, n := range after {
		s.count -= n * (n - 1)
	}
	return s
}

// A choice is the pairs that are to be measured, near ones first.
type choice struct {
	pairs [][2]graphs.NodeID
	near  int
	seen  map[[2]graphs.NodeID]bool
	most  int
}

// add reports whether there is room for more.
func (c *choice) add(src, dst graphs.NodeID) bool {
	pair := [2]graphs.NodeID{src, dst}
	if len(c.pairs) < c.most && src != dst && !c.seen[pair] {
		c.seen[pair] = true
		c.pairs = append(c.pairs, pair)
	}
	return len(c.pairs) < c.most
}

// choose takes all pairs if they are not too many. Or else it fills half with the pairs that are likely to lose most, and draws the others.
func (d *damage) choose(c *Config, ends []graphs.NodeID, cut isolation, switches []Switch) choice {
	all := len(ends) * (len(ends) - 1)
	x := choice{seen: map[[2]graphs.NodeID]bool{}, most: all}
	if all <= c.Pairs {
		for _, src := range ends {
			for _, dst := range ends {
				x.add(src, dst)
			}
		}
		x.near = all
		return x
	}
	x.most = c.Pairs / 2
	d.near(&x, ends, cut, switches)
	x.near = len(x.pairs)
	x.most = c.Pairs
	rng := rand.New(rand.NewPCG(c.Seed, uint64(len(ends))))
	for x.add(ends[rng.IntN(len(ends))], ends[rng.IntN(len(ends))]) {
	}
	return x
}

// near adds pairs that are cut off, then those that a lost link joined, then those of the switches that have lost most.
func (d *damage) near(x *choice, ends []graphs.NodeID, cut isolation, switches []Switch) {
	end := map[graphs.NodeID]bool{}
	for _, n := range ends {
		end[n] = true
	}
	both := func(n, m graphs.NodeID) bool { return x.add(n, m) && x.add(m, n) }
	for _, n := range cut.islands {
		for _, m := range ends {
			if cut.was[n] == cut.was[m] && cut.is[n] != cut.is[m] && !both(n, m) {
				return
			}
		}
	}
	for l, down := range d.down {
		a := graphs.LinkID(l).Forward()
		if n, m := d.f.Tail(a), d.f.Head(a); down && end[n] && end[m] && !both(n, m) {
			return
		}
	}
	var worst []graphs.NodeID
	for _, s := range switches {
		if end[s.Node] && s.LinksLeft < s.Links {
			worst = append(worst, s.Node)
		}
	}
	for i, n := range worst {
		for _, m := range worst[:i] {
			if !both(n, m) {
				return
			}
		}
	}
}
