package localize

import (
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
	hurt       []float64 // see lose
}

// A sharing is the pairs that a component shares with others of the loaded hypothesis.
type sharing struct {
	version int
	passes  []passBy
}

// A passBy is a pass by a node, or by an arc if that is not None.
type passBy struct {
	pass
	arc graphs.ArcID
}

// A besides is what passes a component beside others of the loaded hypothesis. What was asked for last is remembered, one of so many components each.
type besides struct {
	comp    int32
	version int
	flows   passing
}

const remembered = 64

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
	if hazard > 0 {
		x.hurt = t.lose(hazard)
	}
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
				p.sites[at].hazard, p.sites[at].hurt = x.hazard, x.hurt
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
	after := t.between(t.pairs[i].to, sites)
	known, sum := &t.unhurt, 0.0
	known.turn(sites, after, int(t.top))
	for _, b := range t.bunchesOf(i) {
		x := &known.bySize[b.size]
		if x.round != known.round {
			*x = found{known.round, log(max(t.pass(b.size, sites, after), leastPassed))}
		}
		sum += float64(b.copies) * x.value
	}
	return sum
}

// A siteMemo is what was found out of the flows of a pair, by size. Most pairs have sites where the one before had them.
type siteMemo struct {
	shares, after []float64
	hurt          []*float64
	round         int
	bySize        []found
}

// A found is a number, and the round in which it was found.
type found struct {
	round int
	value float64
}

// turn begins a new round unless sites lie as those of the round did.
func (x *siteMemo) turn(sites []site, after []float64, top int) {
	same := len(sites) == len(x.shares) && slices.Equal(after, x.after)
	for i := 0; same && i < len(sites); i++ {
		same = sites[i].share == x.shares[i] && &sites[i].hurt[0] == x.hurt[i]
	}
	if same {
		return
	}
	if x.bySize == nil {
		x.bySize = make([]found, top)
	}
	x.round++
	x.shares, x.hurt, x.after = x.shares[:0], x.hurt[:0], append(x.after[:0], after...)
	for i := range sites {
		x.shares, x.hurt = append(x.shares, sites[i].share), append(x.hurt, &sites[i].hurt[0])
	}
}

// between returns, by later and earlier site, the share of the flows at the earlier one that pass the later one. It is valid until the next call.
func (t *setTable) between(to graphs.NodeID, sites []site) (after []float64) {
	n := len(sites)
	if cap(t.arrived) < n {
		t.arrived, t.after = make([]float64, 2*n), make([]float64, 4*n*n)
	}
	after = t.after[:n*n]
	for i := range sites {
		for j := range i {
			after[i*n+j] = t.ps.Reach(sites[j].head, sites[i].tail, to) * sites[i].step
		}
	}
	return after
}

// pass returns the share of flows of a size that pass all sites unharmed, and leaves in arrived what arrives at each.
func (t *setTable) pass(size int32, sites []site, after []float64) float64 {
	pass, arrived := 1.0, t.arrived[:len(sites)]
	for i := range sites {
		x := sites[i].share
		for j := range i {
			x += arrived[j] * sites[j].hurt[size] * after[i*len(sites)+j]
		}
		arrived[i] = x
		pass += x * sites[i].hurt[size]
	}
	return pass
}

// at returns the log-likelihood of the pairs that a component lies on, with that component at a hazard and all others as loaded,
// less what it is without it.
func (t *setTable) at(c int32, h float64) float64 {
	if len(t.sharedWith(c)) == 0 {
		return t.weigh(c).at(h, t.lose(h))
	}
	return t.beside(c).at(h, t.lose(h))
}

// beside adds up what passes a component of the flows that pass all others of the loaded hypothesis unharmed: what becomes of the rest does not depend
// on it. Where it shares no paths with others that is all that passes it.
func (t *setTable) beside(c int32) *passing {
	known := &t.besides[c%remembered]
	if known.comp == c && known.version == t.version {
		return &known.flows
	}
	sum := t.summing(t.weigh(c))
	for _, x := range t.sharedWith(c) {
		sum.add(float64(x.share), t.bunchesOf(x.pair), -1)
		site := t.site(&t.pairs[x.pair], c, float64(x.share), x.arc, 0)
		t.unharmed(x.pair, site, func(share float64, b []bunch) { sum.add(share, b, 1) })
	}
	sum.end(&known.flows)
	known.comp, known.version = c, t.version
	return &known.flows
}

// unharmed hands over, for each size of flows of a pair, the share of those that pass a site among those that pass all of other components unharmed.
func (t *setTable) unharmed(pair int32, x site, yield func(share float64, of []bunch)) {
	with, at := t.scratch[:0], -1
	for _, y := range t.pairs[pair].sites {
		if y.comp == x.comp {
			continue
		}
		if at < 0 && x.before(&y) {
			at = len(with)
			with = append(with, x)
		}
		with = append(with, y)
	}
	if at < 0 {
		at = len(with)
		with = append(with, x)
	}
	t.scratch = with
	with[at].hurt = t.none[:t.top] // itself it hurts nothing yet
	after := t.between(t.pairs[pair].to, with)
	known := &t.goOn
	known.turn(with, after, int(t.top))
	bunches := t.bunchesOf(pair)
	for k, b := range bunches {
		y := &known.bySize[b.size]
		if y.round != known.round {
			*y = found{known.round, t.goesOn(b.size, with, at, after)}
		}
		if y.value >= 0 {
			yield(y.value, bunches[k:k+1])
		}
	}
}

// goesOn returns the share of flows of a size that pass a site among those that pass all others unharmed; below 0 if hardly any do.
func (t *setTable) goesOn(size int32, sites []site, at int, after []float64) float64 {
	n := len(sites)
	pass := t.pass(size, sites, after)
	if pass <= leastPassed {
		return -1
	}
	through, arrived := 1.0, t.arrived[:n] // of what arrives at it, the share that goes on unharmed
	mine := arrived[at]
	for i := at + 1; i < n; i++ {
		v := after[i*n+at]
		for j := at + 1; j < i; j++ {
			v += arrived[j] * sites[j].hurt[size] * after[i*n+j]
		}
		arrived[i] = v
		through += v * sites[i].hurt[size]
	}
	return min(max(mine*through/pass, 0), 1)
}

// before orders sites along the way.
func (x *site) before(y *site) bool {
	return x.order < y.order || x.order == y.order && x.comp < y.comp
}

// sharedWith returns by which pairs that have sites of others a component is passed.
func (t *setTable) sharedWith(c int32) []passBy {
	s := &t.shared[c]
	if s.version == t.version {
		return s.passes
	}
	s.version, s.passes = t.version, s.passes[:0]
	if len(t.busy) == 0 {
		return s.passes
	}
	share := func(x pass, a graphs.ArcID) {
		if slices.ContainsFunc(t.pairs[x.pair].sites, func(x site) bool { return x.comp != c }) {
			s.passes = append(s.passes, passBy{x, a})
		}
	}
	t.places(c, func(u graphs.NodeID, a graphs.ArcID) {
		known := t.listed(u, a)
		if known != nil && len(known) < costlier*len(t.busy) {
			for _, x := range known {
				if t.busyAt[x.pair] > 0 {
					share(x, a)
				}
			}
			return
		}
		if !t.allListed {
			t.looked += len(t.busy)
		}
		to, step := graphs.NodeID(graphs.None), 0.0
		for _, i := range t.busyInOrder() {
			if p := &t.pairs[i]; p.to != to {
				to, step = p.to, t.goOnBy(u, a, p.to)
			}
			if step > 0 {
				if x := t.look(i, u, a, step); x.share > 0 {
					share(x, a)
				}
			}
		}
	})
	return s.passes
}

// costlier is how many times as much it takes to work out whether a pair passes a component as to see whether one that is known to pass it has sites.
const costlier = 16

// settled makes ready for being asked from two goroutines at a time where components lie on the paths of pairs that have sites, and reports whether it could.
func (t *setTable) settled() bool {
	if len(t.busy) == 0 {
		return true
	}
	t.busyInOrder()
	if !t.allListed && t.passing <= mostListed {
		t.listAll()
	}
	return t.allListed
}

// busyInOrder returns the pairs that have sites, ascending.
func (t *setTable) busyInOrder() []int32 {
	if t.ordered != t.version {
		t.ordered = t.version
		slices.Sort(t.busy)
		for at, i := range t.busy {
			t.busyAt[i] = int32(at) + 1
		}
	}
	return t.busy
}
