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
	pairsKept    = 2  // for an arc
)

// takePairs finds the pairs of hosts that are most likely to cross a cause.
func (b *batch) takePairs() {
	var kept [][2]graphs.NodeID
	seen := map[[2]graphs.NodeID]bool{}
	for _, s := range b.states {
		for i := range min(len(s.causes), causesLooked) {
			for _, pair := range b.pairsFor(s.causes[i].Cause) {
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

// pairsFor returns the pairs that are most likely to cross a cause.
func (b *batch) pairsFor(c localize.Cause) [][2]graphs.NodeID {
	var pairs [][2]graphs.NodeID
	for _, a := range b.p.arcsOf(c) {
		type scored struct {
			pair  [2]graphs.NodeID
			share float64
		}
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
		slices.SortStableFunc(all, func(x, y scored) int { return cmp.Compare(y.share, x.share) })
		for _, x := range all[:min(len(all), pairsKept)] {
			pairs = append(pairs, x.pair)
		}
	}
	return pairs
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

// offer lists what a new flow of a pair may turn out to cross. The two ways are looked at each by itself, but for what every flow crosses on the other
// where directions cannot be told apart.
func (b *batch) offer(src, dst graphs.NodeID) pairOffer {
	o := pairOffer{src: src, dst: dst, shares: map[int32]float64{}}
	for leg, ends := range [2][2]graphs.NodeID{{src, dst}, {dst, src}} {
		var always []crossing
		if b.cfg.Unsplit {
			always = slices.DeleteFunc(b.across(ends[1], ends[0], int8(1-leg), nil), func(x crossing) bool { return x.share < 1-1e-9 })
		}
		if b.cfg.Blind != nil && b.cfg.Blind(ends[0], ends[1]) {
			b.addWay(&o, append(b.across(ends[0], ends[1], int8(leg), nil), always...), 1)
			continue
		}
		if paths := b.p.list(ends[0], ends[1]); paths != nil {
			for _, path := range paths {
				b.addWay(&o, append(b.across(ends[0], ends[1], int8(leg), path.Arcs), always...), path.Share)
			}
			continue
		}
		// Too many to list: each cause by itself, by its share.
		for _, x := range b.across(ends[0], ends[1], int8(leg), nil) {
			b.addWay(&o, []crossing{{x.cause, x.leg, 1}}, x.share)
		}
	}
	return o
}

func (b *batch) addWay(o *pairOffer, crosses []crossing, share float64) {
	if len(crosses) == 0 {
		return
	}
	sig := b.signature(crosses)
	for _, x := range crosses {
		o.shares[x.cause] += share * x.share
	}
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
