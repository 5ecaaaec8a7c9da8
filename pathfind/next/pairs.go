package next

import (
	"cmp"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// A pairOffer is two hosts between which a new flow may be traced, and what it may turn out to cross.
type pairOffer struct {
	src, dst graphs.NodeID
	ways     []wayOffer
	shares   map[int32]float64 // by cause: probability that a flow crosses it, on either way
}

// A wayOffer is a way that a new flow may turn out to take, there or back, as far as causes go.
type wayOffer struct {
	signature int
	share     float64
}

// Bounds of what is looked at to find new flows.
const (
	causesLooked = 24 // the likeliest of a question
	arcsLooked   = 4  // of a cause that is made of many
	hostsLooked  = 4  // at each end of an arc
	pairsKept    = 2  // for an arc, and as many that divide its two directions
	widerKept    = 24 // for an arc, where those tell nothing
	aroundLooked = 8  // neighbours of each end of an arc whose two directions are to be told apart
)

// mostlyLost is the loss from which it matters which host of a pair sends: too little of what crosses the cause on its way there comes to the way back.
const mostlyLost = 0.5

// takePairs takes the pairs of hosts that are found for each cause of what is open.
func (b *batch) takePairs(find func(*Cause) [][2]graphs.NodeID) {
	var kept [][2]graphs.NodeID
	seen := map[[2]graphs.NodeID]bool{}
	for _, s := range b.states {
		if s.open() == 0 {
			continue
		}
		for i := range min(len(s.causes), causesLooked) {
			for _, pair := range find(&s.causes[i]) {
				if !seen[pair] {
					seen[pair] = true
					kept = append(kept, pair)
				}
			}
		}
	}
	for _, pair := range kept {
		if o := b.offer(pair[0], pair[1]); len(o.ways) > 0 {
			b.pairs = append(b.pairs, o)
		}
	}
}

// A scored is a pair of hosts, with how good it is for what is looked for.
type scored struct {
	pair  [2]graphs.NodeID
	score float64
}

// best returns the pairs of highest score, those found first where that is the same.
func best(all []scored) (pairs [][2]graphs.NodeID) {
	slices.SortStableFunc(all, func(x, y scored) int { return cmp.Compare(y.score, x.score) })
	for _, x := range all[:min(len(all), pairsKept)] {
		pairs = append(pairs, x.pair)
	}
	return pairs
}

// pairsFor returns the pairs that are most likely to cross a cause, and those whose flows may cross it in one direction only, where others of what is open
// are in the way of the other.
func (b *batch) pairsFor(c *Cause) [][2]graphs.NodeID {
	var pairs [][2]graphs.NodeID
	for _, a := range b.p.arcsOf(c.Cause) {
		var all []scored
		tail, head := b.p.f.Tail(a), b.p.f.Head(a)
		look := func(srcs, dsts []graphs.NodeID) {
			for _, src := range srcs {
				for _, dst := range dsts {
					if src == dst {
						continue
					}
					// An echo that crosses the arc on its way back tells as much as one that does on its way there.
					share := max(b.p.shareOf(src, dst, a), b.p.shareOf(dst, src, a))
					if share > 0 && !slices.ContainsFunc(all, func(x scored) bool { return x.pair == [2]graphs.NodeID{src, dst} }) {
						all = append(all, scored{[2]graphs.NodeID{src, dst}, share})
					}
				}
			}
		}
		look(b.nearest(sends, tail), b.nearest(answers, head))
		if len(all) == 0 {
			look(b.nearest(sends, head), b.nearest(answers, tail))
		}
		if len(all) == 0 && b.cfg.Sources != nil {
			far := slices.DeleteFunc(slices.Clone(b.cfg.Sources), func(n graphs.NodeID) bool { return !b.may[sends](n) })
			slices.Sort(far)
			far = far[:min(len(far), hostsLooked)]
			look(far, b.nearest(answers, head))
			look(far, b.nearest(answers, tail))
		}
		crossing := best(all)
		if c.Loss >= mostlyLost {
			crossing = b.eitherWay(crossing)
		}
		pairs = append(append(pairs, crossing...), b.eitherWay(b.dividing(a))...)
	}
	return pairs
}

// eitherWay returns pairs in both orders, as far as their hosts may send and answer.
func (b *batch) eitherWay(pairs [][2]graphs.NodeID) (either [][2]graphs.NodeID) {
	for _, p := range pairs {
		for _, p := range [2][2]graphs.NodeID{p, {p[1], p[0]}} {
			if b.may[sends](p[0]) && b.may[answers](p[1]) {
				either = append(either, p)
			}
		}
	}
	return either
}

// dividing returns the pairs whose echoes best divide what is open of the two directions of an arc, such as an arc and its link. All that hosts next to a
// link send across it comes back across it where there is no other shortest path; what hosts around it send may come back another way.
func (b *batch) dividing(a graphs.ArcID) [][2]graphs.NodeID {
	one, other := b.byArc[a], b.byArc[a.Reverse()]
	if len(one) == 0 || len(other) == 0 || slices.Equal(one, other) {
		return nil
	}
	only, back, both := b.division(one), b.division(other), b.division(append(slices.Clone(one), other...))
	var all []scored
	tail, head := b.p.f.Tail(a), b.p.f.Head(a)
	for _, end := range [2]int{sends, answers} {
		for _, src := range b.around(end, tail) {
			for _, dst := range b.around(1-end, head) {
				if src == dst {
					continue
				}
				s, r := b.p.shareOf(src, dst, a), b.p.shareOf(dst, src, a.Reverse())
				if score := s*(1-r)*only + r*(1-s)*back + s*r*both; score > 0 {
					all = append(all, scored{[2]graphs.NodeID{src, dst}, score})
				}
			}
		}
	}
	return best(all)
}

// wider returns pairs that may cross a cause from further around it, where those that most probably do cross all that is open alike.
func (b *batch) wider(c *Cause) (pairs [][2]graphs.NodeID) {
	for _, a := range b.p.arcsOf(c.Cause) {
		found := 0
		for _, src := range b.around(sends, b.p.f.Tail(a)) {
			for _, dst := range b.around(answers, b.p.f.Head(a)) {
				if found < widerKept && src != dst && b.p.shareOf(src, dst, a) > 0 {
					found++
					pairs = append(pairs, [2]graphs.NodeID{src, dst})
				}
			}
		}
	}
	return pairs
}

// division is how evenly what is open is divided into some causes and the rest: the product of their probabilities.
func (b *batch) division(causes []int32) float64 {
	product, first := 0.0, 0
	for _, s := range b.states {
		sum := 0.0
		for i, w := range s.scenarios[0].weights[:len(s.causes)] {
			if slices.Contains(causes, int32(first+i)) {
				sum += w
			}
		}
		product += sum * (1 - sum)
		first += len(s.causes)
	}
	return product
}

// around returns the hosts that may be an end of a flow next to a node, and next to each of its neighbours.
func (b *batch) around(end int, n graphs.NodeID) (hosts []graphs.NodeID) {
	at := []graphs.NodeID{n}
	for _, a := range b.p.f.Out(n) {
		if m := b.p.f.Head(a); !b.p.f.Node(m).IsHost() && len(at) <= aroundLooked {
			at = append(at, m)
		}
	}
	for _, m := range at {
		if near := b.nearest(end, m); len(near) > 0 && !slices.Contains(hosts, near[0]) {
			hosts = append(hosts, near[0])
		}
	}
	return hosts
}

// arcsOf returns some of the arcs that a cause is made of.
func (p *Planner) arcsOf(c localize.Cause) []graphs.ArcID {
	var arcs []graphs.ArcID
	switch c.Kind {
	case localize.Arc:
		return []graphs.ArcID{graphs.ArcID(c.ID)}
	case localize.Link:
		return []graphs.ArcID{graphs.LinkID(c.ID).Forward()}
	case localize.Group:
		for _, l := range p.f.Group(graphs.GroupID(c.ID)).Links {
			arcs = append(arcs, l.Forward())
		}
	default:
		for _, a := range p.f.Out(graphs.NodeID(c.ID)) {
			arcs = append(arcs, a.Reverse())
		}
	}
	for len(arcs) > arcsLooked { // spread over all of them
		arcs = slices.Clone(arcs)
		for i := 0; i < arcsLooked; i++ {
			arcs[i] = arcs[i*len(arcs)/arcsLooked]
		}
		arcs = arcs[:arcsLooked]
	}
	return arcs
}

// shareOf returns the share of a pair's flows that cross an arc.
func (p *Planner) shareOf(src, dst graphs.NodeID, a graphs.ArcID) float64 {
	for _, x := range p.set(src, dst).shares {
		if x.Arc == a {
			return x.Share
		}
	}
	return 0
}

// offer lists what a new flow of a pair may turn out to cross. The two ways are looked at each by itself, but for what every flow crosses on the other:
// where that is dead, nothing is told of this one.
func (b *batch) offer(src, dst graphs.NodeID) pairOffer {
	o := pairOffer{src: src, dst: dst, shares: map[int32]float64{}}
	ends := [2][2]graphs.NodeID{{src, dst}, {dst, src}}
	var some, every [2][]crossing // by leg: what flows may cross, and what all of them do
	for leg, e := range ends {
		some[leg] = b.across(e[0], e[1], int8(leg), nil)
		every[leg] = slices.DeleteFunc(slices.Clone(some[leg]), func(x crossing) bool { return x.share < 1-1e-9 })
	}
	for leg, e := range ends {
		other := every[1-leg]
		if b.cfg.Blind != nil && b.cfg.Blind(e[0], e[1]) {
			b.blind = true
			b.addWay(&o, some[leg], other, 1)
			continue
		}
		if paths := b.p.list(e[0], e[1]); paths != nil {
			for _, path := range paths {
				b.addWay(&o, b.across(e[0], e[1], int8(leg), path.Arcs), other, path.Share)
			}
			continue
		}
		// Too many to list: each cause by itself, by its share.
		for _, x := range some[leg] {
			b.addWay(&o, []crossing{{x.cause, x.leg, 1}}, other, x.share)
		}
	}
	return o
}

// addWay notes a way that crosses something, with what flows cross on the other leg.
func (b *batch) addWay(o *pairOffer, crosses, other []crossing, share float64) {
	if len(crosses) == 0 {
		return
	}
	for _, x := range crosses {
		o.shares[x.cause] += share * x.share
	}
	sig := b.signature(slices.Concat(crosses, other), [2]Count{})
	if i := slices.IndexFunc(o.ways, func(w wayOffer) bool { return w.signature == sig }); i >= 0 {
		o.ways[i].share += share
		return
	}
	o.ways = append(o.ways, wayOffer{sig, share})
}

// What a host is wanted for.
const (
	sends = iota
	answers
)

// nearest returns some of the hosts that may be an end of a flow and are nearest to a node, the nearest first; of many that are equally far, some that
// chance picks.
func (b *batch) nearest(end int, n graphs.NodeID) []graphs.NodeID {
	hosts, remembered := b.cfg.Sources, b.near[end]
	if end == answers {
		hosts = b.cfg.Targets
	}
	if hosts == nil {
		remembered = b.p.near
	}
	near, ok := remembered[n]
	if !ok {
		near = b.p.nearest(n, b.may[end])
		remembered[n] = near
	}
	return near
}

func (p *Planner) nearest(n graphs.NodeID, may func(graphs.NodeID) bool) []graphs.NodeID {
	f := p.f
	var near []graphs.NodeID
	if f.Node(n).IsHost() && may(n) {
		near = append(near, n)
	}
	seen := map[graphs.NodeID]bool{n: true}
	for level := []graphs.NodeID{n}; len(level) > 0 && len(near) < hostsLooked; {
		var then, ring []graphs.NodeID
		for _, x := range level {
			if f.Node(x).IsHost() && x != n {
				continue
			}
			for _, a := range f.Out(x) {
				if m := f.Head(a); !seen[m] {
					seen[m] = true
					then = append(then, m)
					if f.Node(m).IsHost() && may(m) {
						ring = append(ring, m)
					}
				}
			}
		}
		slices.SortFunc(ring, func(x, y graphs.NodeID) int {
			return cmp.Or(cmp.Compare(mix(uint64(n)<<32|uint64(x)), mix(uint64(n)<<32|uint64(y))), cmp.Compare(x, y))
		})
		near = append(near, ring...)
		level = then
	}
	return near[:min(len(near), hostsLooked)]
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
