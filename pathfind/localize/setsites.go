package localize

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
)

// A site is where a component lies on the paths of a pair: an arc, or a node, which begins and ends at itself.
type site struct {
	comp       int32
	tail, head graphs.NodeID
	order      int     // along the way
	share      float64 // of the pair's flows that pass it
	step       float64 // of the flows at tail that go on by it
	hazard     float64
}

// A sharing is the pairs that a component shares with others of the loaded hypothesis.
type sharing struct {
	version int
	sites   []siteOf
}

type siteOf struct {
	pair int32
	site site
}

// places hands over the nodes and arcs that a component is made of: an arc with its tail, a node with None.
func (t *setTable) places(c int32, yield func(u graphs.NodeID, a graphs.ArcID)) {
	switch t.ix.kindOf(c) {
	case 2:
		yield(graphs.NodeID(c-t.ix.nodes), graphs.None)
	case 3:
	default:
		var some [2]int32
		for _, a := range t.ix.parts(some[:0], c) {
			yield(t.ix.tail[a], graphs.ArcID(a))
		}
	}
}

// site returns where a component lies on the paths of a pair.
func (t *setTable) site(p *pair, c int32, share float64, a graphs.ArcID, hazard float64) site {
	x := site{comp: c, share: share, hazard: hazard, step: 1}
	if a == graphs.None {
		x.tail = graphs.NodeID(c - t.ix.nodes)
		x.head = x.tail
		x.order = -2 * t.ps.Hops(x.tail, p.to)
		return x
	}
	x.tail, x.head = t.ix.tail[a], t.ix.head[a]
	x.order = 1 - 2*t.ps.Hops(x.tail, p.to)
	x.step = t.ps.Step(a, p.to)
	return x
}

// clear takes all components out.
func (t *setTable) clear() {
	for _, i := range t.busy {
		t.pairs[i].sites, t.pairs[i].value = t.pairs[i].sites[:0], 0
		t.busyAt[i] = 0
	}
	t.busy, t.sum = t.busy[:0], 0
	t.version++
}

// shift changes the hazard of one component.
func (t *setTable) shift(c int32, hazard float64) {
	t.version++
	t.passes(c, func(i int32, share float64, a graphs.ArcID) {
		p := &t.pairs[i]
		if hazard == 0 {
			p.sites = slices.DeleteFunc(p.sites, func(x site) bool { return x.comp == c })
		} else {
			x := t.site(p, c, share, a, hazard)
			at := 0
			for at < len(p.sites) && p.sites[at].before(&x) {
				at++
			}
			if at < len(p.sites) && p.sites[at].comp == c && p.sites[at].tail == x.tail && p.sites[at].head == x.head {
				p.sites[at].hazard = hazard
			} else {
				p.sites = slices.Insert(p.sites, at, x)
			}
		}
		switch at := t.busyAt[i]; {
		case len(p.sites) > 0 && at == 0:
			t.busy = append(t.busy, i)
			t.busyAt[i] = int32(len(t.busy))
		case len(p.sites) == 0 && at > 0:
			last := t.busy[len(t.busy)-1]
			t.busy, t.busy[at-1], t.busyAt[last] = t.busy[:len(t.busy)-1], last, at
			t.busyAt[i] = 0
		}
		was := p.value
		p.value = t.likelihood(i, p.sites)
		t.sum += p.value - was
	})
}

// likelihood returns the log of the probability that no flow of a pair loses packets, given the sites on its paths.
func (t *setTable) likelihood(i int32, sites []site) float64 {
	if len(sites) == 0 {
		return 0
	}
	if cap(t.arrived) < len(sites) {
		t.arrived, t.hurt = make([]float64, 2*len(sites)), make([]float64, 2*len(sites))
	}
	p := &t.pairs[i]
	arrived, hurt := t.arrived[:len(sites)], t.hurt[:len(sites)]
	var after []float64 // by later and earlier site: share of the flows at the earlier one that pass the later one
	if len(sites) > 1 {
		after = make([]float64, len(sites)*len(sites))
		for i := range sites {
			for j := range i {
				after[i*len(sites)+j] = t.ps.Reach(sites[j].head, sites[i].tail, p.to) * sites[i].step
			}
		}
	}
	sum := 0.0
	for _, b := range t.bunchesOf(i) {
		pass := 1.0
		for i := range sites {
			hurt[i] = exp(-t.packets[b.size]*sites[i].hazard) - 1
			arrived[i] = sites[i].share
			for j := range i {
				arrived[i] += arrived[j] * hurt[j] * after[i*len(sites)+j]
			}
			pass += arrived[i] * hurt[i]
		}
		sum += float64(b.copies) * log(max(pass, leastPassed))
	}
	return sum
}

// at returns the log-likelihood of the pairs that a component lies on, with that component at a hazard and all others as loaded,
// less what it is without it.
func (t *setTable) at(c int32, h float64) float64 {
	lose := t.lose(h)
	sum := t.weigh(c).at(h, lose)
	last := int32(-1)
	for _, x := range t.sharedWith(c) {
		// The component by itself is wrong here: others lie on the same paths.
		p := &t.pairs[x.pair]
		for _, b := range t.bunchesOf(x.pair) {
			if x.site.share >= 1 {
				sum += float64(b.copies) * t.packets[b.size] * h
			} else {
				sum -= float64(b.copies) * log(max(1+x.site.share*lose[b.size], leastPassed))
			}
		}
		if x.pair == last {
			continue
		}
		last = x.pair
		with := t.scratch[:0]
		for _, y := range p.sites {
			if y.comp != c {
				with = append(with, y)
			}
		}
		base := p.value
		if len(with) < len(p.sites) {
			base = t.likelihood(x.pair, with)
		}
		x.site.hazard = h
		with = append(with, x.site)
		for i := len(with) - 1; i > 0 && with[i].before(&with[i-1]); i-- {
			with[i], with[i-1] = with[i-1], with[i]
		}
		sum += t.likelihood(x.pair, with) - base
		t.scratch = with
	}
	return sum
}

// before orders sites along the way.
func (x *site) before(y *site) bool {
	return x.order < y.order || x.order == y.order && x.comp < y.comp
}

// sharedWith returns the sites of a component on pairs that have sites of others.
func (t *setTable) sharedWith(c int32) []siteOf {
	s := &t.shared[c]
	if s.version == t.version {
		return s.sites
	}
	s.version, s.sites = t.version, s.sites[:0]
	if len(t.busy) == 0 {
		return s.sites
	}
	share := func(i int32, share float64, a graphs.ArcID) {
		p := &t.pairs[i]
		if slices.ContainsFunc(p.sites, func(x site) bool { return x.comp != c }) {
			s.sites = append(s.sites, siteOf{i, t.site(p, c, share, a, 0)})
		}
	}
	t.places(c, func(u graphs.NodeID, a graphs.ArcID) {
		at, known := len(s.sites), t.lists[t.slot(u, a)]
		if known != nil && len(known) < len(t.busy) {
			for _, x := range known {
				if t.busyAt[x.pair] > 0 {
					share(x.pair, float64(x.share), a)
				}
			}
			return
		}
		for _, i := range t.busy {
			if x := t.look(i, u, a); x.share > 0 {
				share(i, float64(x.share), a)
			}
		}
		slices.SortFunc(s.sites[at:], func(x, y siteOf) int { return cmp.Compare(x.pair, y.pair) })
	})
	return s.sites
}

// print is a fingerprint of what a component shares with the loaded hypothesis.
func (t *setTable) print(c int32) uint64 {
	print := uint64(0)
	for _, x := range t.sharedWith(c) {
		for _, y := range t.pairs[x.pair].sites {
			if y.comp != c {
				print = (print ^ uint64(y.comp) ^ math.Float64bits(y.hazard)) * 0x9e3779b97f4a7c15
				print ^= print >> 29
			}
		}
	}
	return print
}
