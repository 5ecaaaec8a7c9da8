package localize

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
)

// PathSets says how flows are spread over the equal-cost paths between two nodes. Which way a flow takes from a node on depends on its
// destination alone, and all paths of a pair are of the same length.
type PathSets interface {
	// Hops returns the number of arcs on each path from one node to another, 0 if there is none.
	Hops(from, to graphs.NodeID) int
	// Reach returns the share of the flows on their way from one node to another that pass a third.
	Reach(from, via, to graphs.NodeID) float64
	// Step returns the share of the flows on their way to a node that leave the tail of an arc by it.
	Step(a graphs.ArcID, to graphs.NodeID) float64
}

// Flows of which only the path set is known and that lost nothing say little each, and are many. They are never enumerated by path: only
// where the faults of a hypothesis lie on the paths of a pair matters. Let w be the share of flows of n packets that pass a fault
// unharmed, exp(-n h). Then the share that passes all faults i on the way unharmed is 1 + sum F_i (w_i - 1), where F_i is what arrives at i:
// F_i = P(i) + sum over earlier j of F_j (w_j - 1) P(i after j). Background does not matter to it, since all paths are of the same length.

// mostPaths is how many paths a pair may have for its flows that lost packets to be of use.
const mostPaths = 1024

// A bunch is flows of one pair with about as many packets each.
type bunch struct {
	size   int32 // index into packets
	copies float64
}

// A pair is two nodes and the flows between them without loss.
type pair struct {
	from, to graphs.NodeID
	bunches  []bunch
	sites    []site  // where the components of the loaded hypothesis lie on its paths, in the order of the way
	value    float64 // log-likelihood
}

// A site is where a component lies on the paths of a pair: an arc, or a node, which begins and ends at itself.
type site struct {
	comp       int32
	tail, head graphs.NodeID
	order      int     // along the way
	share      float64 // of the pair's flows that pass it
	step       float64 // of the flows at tail that go on by it
	hazard     float64
}

// A pass is a pair of which a component lies on the paths.
type pass struct {
	pair  int32
	share float64
}

// weighted is flows without loss, of as many packets each, a share of which passes a component.
type weighted struct {
	size   int32
	share  float64
	copies float64
}

// A setTable holds the evidence of flows without loss whose path set is known.
type setTable struct {
	ix      *index
	ps      PathSets
	pairs   []pair
	packets []float64 // sizes of bunches, ascending
	top     int32     // more than the greatest size that occurs
	byArc   [][]pass  // by arc, pairs ascending
	byNode  [][]pass
	flows   [][]weighted // by component, once asked for
	soft    [][]float64  // by component: sum of share times copies, by size; likewise
	sum     float64      // log-likelihood under the loaded hypothesis
	sites   []site       // scratch
	arrived []float64
	hurt    []float64
	tables  map[uint64][]float64 // exp(-n h) - 1 by size, for the hazards of the grid
}

// size returns the bunch that flows of n packets are counted in.
func sizeOf(n int) int32 {
	if n <= 8 {
		return int32(n - 1)
	}
	return int32(min(4*(math.Log2(float64(n))-3)+7.5, 150))
}

// newSetTable sorts the flows without loss by pair. It needs them in any order.
func newSetTable(ix *index, ps PathSets, loose []looseFlow) *setTable {
	t := &setTable{ix: ix, ps: ps, tables: map[uint64][]float64{}}
	t.flows, t.soft = make([][]weighted, ix.n), make([][]float64, ix.n)
	for s := range int32(152) {
		n := float64(s + 1)
		if s >= 8 {
			n = math.Exp2(float64(s-7)/4 + 3)
		}
		t.packets = append(t.packets, n)
	}
	slices.SortFunc(loose, func(a, b looseFlow) int { return cmp.Compare(a.key, b.key) })
	for i := 0; i < len(loose); {
		key := loose[i].key >> 8
		p := pair{to: graphs.NodeID(key >> 28), from: graphs.NodeID(key & (1<<28 - 1))}
		for i < len(loose) && loose[i].key>>8 == key {
			size, n := int32(loose[i].key&255), 0
			for same := loose[i].key; i < len(loose) && loose[i].key == same; i++ {
				n += loose[i].sent
			}
			t.top = max(t.top, size+1)
			p.bunches = append(p.bunches, bunch{size, float64(n) / t.packets[size]})
		}
		t.pairs = append(t.pairs, p)
	}
	t.walk()
	return t
}

// A looseFlow is one flow without loss of which the path set is known. Its key orders flows by pair, destination first, and size.
type looseFlow struct {
	key  uint64
	sent int
}

func newLooseFlow(from, to graphs.NodeID, sent int) looseFlow {
	return looseFlow{uint64(to)<<36 | uint64(from)<<8 | uint64(sizeOf(sent)), sent}
}

// walk finds what lies on the paths of each pair.
func (t *setTable) walk() {
	ix := t.ix
	t.byArc, t.byNode = make([][]pass, ix.links), make([][]pass, len(ix.host))
	next := make([][]graphs.ArcID, len(ix.host)) // towards the destination in hand
	step := make([][]float64, len(ix.host))
	known := make([]graphs.NodeID, len(ix.host))
	mass := make([]float64, len(ix.host))
	for i := range known {
		known[i] = graphs.None
	}
	var level, then []graphs.NodeID
	for i := range t.pairs {
		p := &t.pairs[i]
		mass[p.from] = 1
		level = append(level[:0], p.from)
		for len(level) > 0 {
			then = then[:0]
			for _, u := range level {
				m := mass[u]
				mass[u] = 0
				if u == p.to {
					continue
				}
				if u != p.from {
					t.byNode[u] = append(t.byNode[u], pass{int32(i), m})
				}
				if known[u] != p.to {
					known[u] = p.to
					next[u], step[u] = next[u][:0], step[u][:0]
					for _, a := range ix.f.Out(u) {
						if s := t.ps.Step(a, p.to); s > 0 {
							next[u], step[u] = append(next[u], a), append(step[u], s)
						}
					}
				}
				for j, a := range next[u] {
					share := m * step[u][j]
					t.byArc[a] = append(t.byArc[a], pass{int32(i), share})
					if v := ix.head[a]; mass[v] == 0 {
						then = append(then, v)
						mass[v] = share
					} else {
						mass[v] += share
					}
				}
			}
			level, then = then, level
		}
	}
}

// passes hands over the pairs on whose paths a component lies, once for each of its sites on them.
func (t *setTable) passes(c int32, yield func(pair int32, share float64, a graphs.ArcID)) {
	arc := func(a graphs.ArcID) {
		for _, p := range t.byArc[a] {
			yield(p.pair, p.share, a)
		}
	}
	switch t.ix.kindOf(c) {
	case 2:
		for _, p := range t.byNode[c-t.ix.nodes] {
			yield(p.pair, p.share, graphs.None)
		}
	case 3:
	default:
		for _, a := range t.ix.parts(nil, c) {
			arc(graphs.ArcID(a))
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
	for i := range t.pairs {
		t.pairs[i].sites, t.pairs[i].value = t.pairs[i].sites[:0], 0
	}
	t.sum = 0
}

// shift changes the hazard of one component.
func (t *setTable) shift(c int32, hazard float64) {
	t.passes(c, func(i int32, share float64, a graphs.ArcID) {
		p := &t.pairs[i]
		if hazard == 0 {
			p.sites = slices.DeleteFunc(p.sites, func(x site) bool { return x.comp == c })
		} else {
			x := t.site(p, c, share, a, hazard)
			at := 0
			for at < len(p.sites) && (p.sites[at].order < x.order || p.sites[at].order == x.order && p.sites[at].comp < c) {
				at++
			}
			if at < len(p.sites) && p.sites[at].comp == c && p.sites[at].tail == x.tail && p.sites[at].head == x.head {
				p.sites[at].hazard = hazard
			} else {
				p.sites = slices.Insert(p.sites, at, x)
			}
		}
		was := p.value
		p.value = t.likelihood(p, p.sites)
		t.sum += p.value - was
	})
}

// likelihood returns the log of the probability that no flow of a pair loses packets, given the sites on its paths.
func (t *setTable) likelihood(p *pair, sites []site) float64 {
	if len(sites) == 0 {
		return 0
	}
	if cap(t.arrived) < len(sites) {
		t.arrived, t.hurt = make([]float64, 2*len(sites)), make([]float64, 2*len(sites))
	}
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
	for _, b := range p.bunches {
		pass := 1.0
		for i := range sites {
			hurt[i] = math.Expm1(-t.packets[b.size] * sites[i].hazard)
			arrived[i] = sites[i].share
			for j := range i {
				arrived[i] += arrived[j] * hurt[j] * after[i*len(sites)+j]
			}
			pass += arrived[i] * hurt[i]
		}
		sum += b.copies * math.Log(max(pass, 1e-15))
	}
	return sum
}

// weigh lists what passes a component.
func (t *setTable) weigh(c int32) []weighted {
	if t.flows[c] != nil {
		return t.flows[c]
	}
	list := []weighted{}
	t.passes(c, func(i int32, share float64, _ graphs.ArcID) {
		// To seven bits, so that what is nearly alike is counted together.
		share = math.Float64frombits((math.Float64bits(share) + 1<<44) &^ (1<<45 - 1))
		for _, b := range t.pairs[i].bunches {
			list = append(list, weighted{b.size, min(share, 1), b.copies})
		}
	})
	const many = 256
	if len(list) > many {
		slices.SortFunc(list, func(a, b weighted) int { return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.share, b.share)) })
		out := list[:0]
		for _, x := range list {
			if n := len(out); n > 0 && out[n-1].size == x.size && out[n-1].share == x.share {
				out[n-1].copies += x.copies
				continue
			}
			out = append(out, x)
		}
		list = slices.Clip(out)
	}
	t.flows[c] = list
	return list
}

// soften sums up what passes a component by the size of flows.
func (t *setTable) soften(c int32) []float64 {
	if t.soft[c] == nil {
		soft := make([]float64, t.top)
		t.passes(c, func(i int32, share float64, _ graphs.ArcID) {
			for _, b := range t.pairs[i].bunches {
				soft[b.size] += share * b.copies
			}
		})
		t.soft[c] = soft
	}
	return t.soft[c]
}

// lose returns exp(-n h) - 1 by size of flows.
func (t *setTable) lose(h float64) []float64 {
	key := math.Float64bits(h)
	if x := t.tables[key]; x != nil {
		return x
	}
	if len(t.tables) > 1<<10 {
		clear(t.tables)
	}
	x := make([]float64, len(t.packets))
	for i, n := range t.packets[:t.top] {
		x[i] = math.Expm1(-n * h)
	}
	t.tables[key] = x
	return x
}

// at returns the log-likelihood of the pairs that a component lies on, with that component at a hazard and all others as loaded,
// less what it is without it.
func (t *setTable) at(c int32, h float64) float64 {
	lose := t.lose(h)
	sum := 0.0
	for _, x := range t.weigh(c) {
		sum += x.copies * math.Log(max(1+x.share*lose[x.size], 1e-15))
	}
	last := int32(-1)
	t.passes(c, func(i int32, share float64, a graphs.ArcID) {
		p := &t.pairs[i]
		if len(p.sites) == 0 || !slices.ContainsFunc(p.sites, func(x site) bool { return x.comp != c }) {
			return
		}
		// The component by itself is wrong here: others lie on the same paths.
		for _, b := range p.bunches {
			sum -= b.copies * math.Log(max(1+share*lose[b.size], 1e-15))
		}
		if i == last {
			return
		}
		last = i
		with := t.sites[:0]
		for _, x := range p.sites {
			if x.comp != c {
				with = append(with, x)
			}
		}
		base := t.likelihood(p, with)
		with = append(with, t.site(p, c, share, a, h))
		slices.SortFunc(with, func(a, b site) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.comp, b.comp)) })
		sum += t.likelihood(p, with) - base
		t.sites = with
	})
	return sum
}

// over bounds at from above, roughly.
func (t *setTable) over(c int32, h float64) float64 {
	lose, sum := t.lose(h), 0.0
	for i, w := range t.soften(c) {
		sum += w * lose[i]
	}
	return 0.7 * sum
}

// print is a fingerprint of what a component shares with the loaded hypothesis.
func (t *setTable) print(c int32) uint64 {
	print := uint64(0)
	t.passes(c, func(i int32, _ float64, _ graphs.ArcID) {
		for _, x := range t.pairs[i].sites {
			if x.comp != c {
				print = (print ^ uint64(x.comp) ^ math.Float64bits(x.hazard)) * 0x9e3779b97f4a7c15
				print ^= print >> 29
			}
		}
	})
	return print
}
