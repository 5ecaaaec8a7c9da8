package localize

import (
	"cmp"
	"math/bits"
	"slices"

	"whichlink/graphs"
	"whichlink/internal/halves"
)

// mostSent is the greatest count of packets in one plain observation, so that sums of counts are exact whatever their order.
const mostSent = 1 << 36

// A sieve remembers the flows that lost packets. Most others are told by one look at a bit.
type sieve struct {
	bits  []uint64
	mask  uint64
	flows map[int]struct{}
}

func newSieve(obs []Observation) sieve {
	var lossy [2][]int
	halves.Do(len(obs), func(half, from, to int) {
		for i := from; i < to; i++ {
			if obs[i].Lost > 0 {
				lossy[half] = append(lossy[half], obs[i].Flow)
			}
		}
	})
	flows := make(map[int]struct{}, len(lossy[0])+len(lossy[1]))
	for _, some := range lossy {
		for _, f := range some {
			flows[f] = struct{}{}
		}
	}
	size := 64
	for size < 16*len(flows) {
		size *= 2
	}
	s := sieve{make([]uint64, size/64), uint64(size - 1), flows}
	for f := range flows {
		x := scramble(uint64(f)) & s.mask
		s.bits[x/64] |= 1 << (x % 64)
	}
	return s
}

func (s sieve) has(flow int) bool {
	x := scramble(uint64(flow)) & s.mask
	if s.bits[x/64]>>(x%64)&1 == 0 {
		return false
	}
	_, ok := s.flows[flow]
	return ok
}

// sift drops what cannot be used and counts plain observations: measured from end to end, no loss, one path or one set of them. Of those only
// the exposure of components matters, so that the bulk of all flows is neither copied nor sorted. What needs more thought goes to obs.
func (ev *evidence) sift(ix *index, ps PathSets) {
	sifted, ok := siftHalves(ix, ps, ev.all, nil)
	ev.distinct = ok
	if !ok {
		lossy := newSieve(ev.all)
		sifted, _ = siftHalves(ix, ps, ev.all, &lossy)
	}
	t, loose, hops := &sifted[0], sifted[0].loose, sifted[0].hops
	ev.routes[0] = t.paths
	if u := &sifted[1]; u.ix != nil {
		ev.routes[1] = u.paths
		t.tally.join(&u.tally)
		t.lossy = append(t.lossy, u.lossy...)
		t.obs = append(t.obs, u.obs...)
		loose = append(loose, u.loose...)
		hops += u.hops
		t.ignored += u.ignored
	}
	ev.obs, ev.lossy, ev.ignored = t.obs, t.lossy, t.ignored
	t.expose(ev)
	ev.clean = t.clean
	ev.linear += float64(hops)
	ev.crossings = ev.linear
	if len(loose) > 0 {
		ev.sets = newSetTable(ix, ps, loose)
	}
}

// siftHalves sifts both halves of all observations. Without a sieve that holds only if no flow was observed twice: it reports whether their numbers
// tell so by their order, and stops where they do not.
func siftHalves(ix *index, ps PathSets, all []Observation, lossy *sieve) (sifted [2]sifting, ok bool) {
	var stopped [2]bool
	halves.Do(len(all), func(half, from, to int) {
		sifted[half] = newSifting(ix, ps)
		if from < to {
			sifted[half].paths = newRoute(to-from, all[from].Path)
		}
		stopped[half] = !sifted[half].sift(all, from, to, lossy)
	})
	return sifted, !stopped[0] && !stopped[1]
}

// A sifting is what comes of sifting some observations.
type sifting struct {
	tally
	paths   route
	ways    enumerator
	obs     []merged
	lossy   []int32 // of all observations, those that lost packets
	loose   []looseFlow
	hops    int // of the packets of loose flows: an integer, so that the order of the sum does not matter
	ignored int
}

func newSifting(ix *index, ps PathSets) sifting {
	return sifting{
		tally: tally{ix: ix, arcs: make([]int, ix.links), through: make([]int, len(ix.host)), atHost: make([]int, len(ix.host)), clean: newLossless()},
		ways:  enumerator{ix: ix, ps: ps, known: map[[2]graphs.NodeID][]Alternative{}},
	}
}

func (s *sifting) sift(all []Observation, from, to int, lossy *sieve) bool {
	ix := s.ix
	for i := from; i < to; i++ {
		o := &all[i]
		if lossy == nil && i > 0 && all[i-1].Flow >= o.Flow {
			return false
		}
		if o.Lost > 0 && o.possible() {
			s.lossy = append(s.lossy, int32(i))
		}
		set := o.From != o.To && len(o.Alternatives) == 0
		if !ix.known(o) {
			s.paths.add(nil)
			s.ignored++
			continue
		}
		s.paths.add(o.Path)
		if set && !s.ways.usable(o) {
			s.ignored++
			continue
		}
		if ix.plain(o) && !(set && o.Carried) && (lossy == nil || !lossy.has(o.Flow)) {
			n := int(min(int64(o.Sent), mostSent))
			s.add(o, n, set)
			if set {
				if s.loose == nil {
					s.loose = make([]looseFlow, 0, to-i)
				}
				s.loose = append(s.loose, newLooseFlow(o.From, o.To, n))
				s.hops += n * s.ways.ps.Hops(o.From, o.To)
			}
			continue
		}
		if set {
			c := *o
			if c.Alternatives = s.ways.list(o.From, o.To); c.Alternatives == nil {
				s.ignored++
				continue
			}
			o = &c
		}
		if !ix.clean(o) {
			o = ix.cleaned(o)
		}
		s.obs = append(s.obs, merged{o, o.Sent, min(max(o.Lost, 0), o.Sent), max(o.Bursts, 0), o.Untold || o.Bursts <= 0, 0})
	}
	return true
}

// losslessFlows are flows that lost nothing, of about as many packets each.
type losslessFlows struct {
	flows, packets int
	carried        bool // they are of the fabric's own traffic
}

// magnitudes is how many numbers of packets are told apart, by their length in bits.
const magnitudes = 65

// newLossless returns the flows without loss, none yet, by the length of the number of their packets in bits: first those that were sent to measure.
func newLossless() []losslessFlows {
	list := make([]losslessFlows, 2*magnitudes)
	for i := range list[magnitudes:] {
		list[magnitudes+i].carried = true
	}
	return list
}

// binOf is the place of a flow of so many packets among flows without loss.
func binOf(packets int, carried bool) int {
	return bits.Len(uint(packets)) + magnitudes*sortOf(carried)
}

func (b *losslessFlows) join(other losslessFlows) {
	b.flows += other.flows
	b.packets += other.packets
}

// size is how many packets each has, in the mean.
func (b losslessFlows) size() float64 { return float64(b.packets) / float64(b.flows) }

// A tally counts the packets of plain observations.
type tally struct {
	ix      *index
	arcs    []int           // by arc
	through []int           // by switch: how many more were forwarded through it than came in by its arcs
	atHost  []int           // by host that sent or received them
	clean   []losslessFlows // see evidence.clean
}

func (t *tally) add(o *Observation, n int, set bool) {
	t.clean[binOf(n, o.Carried)].join(losslessFlows{flows: 1, packets: n})
	last := t.pass(o.Path, n)
	if set {
		t.passEnds(o, n)
	}
	if last == o.Src {
		n *= 2 // there and back: both hosts sent and received
	}
	if o.Src != graphs.None {
		t.atHost[o.Src] += n
	}
	if o.Dst != graphs.None {
		t.atHost[o.Dst] += n
	}
}

// pass adds packets along a path, and returns where it ends.
func (t *tally) pass(path []graphs.ArcID, n int) (last graphs.NodeID) {
	arcs := t.arcs
	tails, heads := t.ix.tail[:len(arcs)], t.ix.head[:len(arcs)]
	last = tails[path[0]]
	for _, a := range path {
		arcs[a] += n
		if tail := tails[a]; tail != last {
			t.through[tail] += n
		}
		last = heads[a]
	}
	t.through[last] -= n
	return last
}

// passEnds adds packets to the switches at the ends of a path set, which are passed once, unless the path that is known passes them.
func (t *tally) passEnds(o *Observation, n int) {
	for _, end := range [...]graphs.NodeID{o.From, o.To} {
		if !slices.ContainsFunc(o.Path[1:], func(a graphs.ArcID) bool { return t.ix.tail[a] == end }) &&
			!slices.ContainsFunc(o.Path[:len(o.Path)-1], func(a graphs.ArcID) bool { return t.ix.head[a] == end }) {
			t.through[end] += n
		}
	}
}

// join adds the counts of another tally.
func (t *tally) join(u *tally) {
	for _, x := range [...][2][]int{{t.arcs, u.arcs}, {t.through, u.through}, {t.atHost, u.atHost}} {
		for i, n := range x[1] {
			x[0][i] += n
		}
	}
	for i, b := range u.clean {
		t.clean[i].join(b)
	}
}

// expose adds the counts to the exposure of all components.
func (t *tally) expose(ev *evidence) {
	ix := t.ix
	for a, n := range t.arcs {
		ev.sent[a] = n
		t.through[ix.head[a]] += n
		x := float64(n)
		l := graphs.ArcID(a).Link()
		ev.exposure[a] += x
		ev.exposure[ix.link(l)] += x
		for _, g := range ix.f.Link(l).Groups {
			ev.exposure[ix.inGroup(g)] += x
		}
		ev.linear += x
	}
	for i := range ix.host {
		if !ix.host[i] {
			ev.exposure[ix.nodes+int32(i)] += float64(t.through[i])
		}
		ev.exposure[ix.nodes+int32(i)] += float64(t.atHost[i])
	}
}

// An enumerator lists the paths of pairs whose flows lost packets: few, beside all.
type enumerator struct {
	ix    *index
	ps    PathSets
	known map[[2]graphs.NodeID][]Alternative
}

// usable reports whether there are paths between the ends of an observation's path set, and not too many.
func (e *enumerator) usable(o *Observation) bool {
	return e.ps != nil && e.ix.isNode(o.From) && e.ix.isNode(o.To) && e.ps.Hops(o.From, o.To) > 0 && e.ps.Paths(o.From, o.To) <= mostPaths
}

// list returns the paths of a pair, or nil if they are too many.
func (e *enumerator) list(from, to graphs.NodeID) []Alternative {
	key := [2]graphs.NodeID{from, to}
	if w, ok := e.known[key]; ok {
		return w
	}
	var ways []Alternative
	var path []graphs.ArcID
	var walk func(at graphs.NodeID, share float64)
	walk = func(at graphs.NodeID, share float64) {
		if at == to {
			ways = append(ways, Alternative{slices.Clone(path), share})
			return
		}
		for _, a := range e.ix.f.Out(at) {
			if s := e.ps.Step(a, to); s > 0 && len(ways) <= mostPaths && len(path) < len(e.ix.host) {
				path = append(path, a)
				walk(e.ix.head[a], share*s)
				path = path[:len(path)-1]
			}
		}
	}
	walk(from, 1)
	if len(ways) > mostPaths {
		ways = nil
	}
	e.known[key] = ways
	return ways
}

// plain reports whether all that an observation tells is that its packets arrived.
func (ix *index) plain(o *Observation) bool {
	return o.Lost <= 0 && o.Responder == graphs.None && len(o.Alternatives) == 0 && len(o.Path) > 0 &&
		(o.Src == graphs.None || ix.isNode(o.Src)) && (o.Dst == graphs.None || ix.isNode(o.Dst))
}

// A crossing is what one flow, there or back, had to do with a suspect.
type crossing struct {
	flow       int
	from       graphs.NodeID
	sent, lost int
}

// count fills in the flows that cross a suspect.
func (x *Suspect) count(found []crossing) {
	byFlow := func(a, b crossing) int { return cmp.Or(cmp.Compare(a.flow, b.flow), cmp.Compare(a.from, b.from)) }
	if !slices.IsSortedFunc(found, byFlow) {
		slices.SortFunc(found, byFlow)
	}
	for i := 0; i < len(found); {
		first, sent, lost := found[i], 0, 0
		for ; i < len(found) && byFlow(first, found[i]) == 0; i++ {
			sent, lost = addSaturating(sent, found[i].sent), addSaturating(lost, found[i].lost)
		}
		x.meet(sent, lost)
	}
}

// meet counts a flow that crosses a suspect.
func (x *Suspect) meet(sent, lost int) {
	if lost > 0 {
		x.LossyFlows++
	} else {
		x.CleanFlows++
		x.Against.CleanSent = addSaturating(x.Against.CleanSent, sent)
	}
	x.Sent, x.Lost = addSaturating(x.Sent, sent), addSaturating(x.Lost, lost)
}

// join adds the flows counted by another.
func (x *Suspect) join(y *Suspect) {
	x.LossyFlows, x.CleanFlows = x.LossyFlows+y.LossyFlows, x.CleanFlows+y.CleanFlows
	x.Against.CleanSent = addSaturating(x.Against.CleanSent, y.Against.CleanSent)
	x.Sent, x.Lost = addSaturating(x.Sent, y.Sent), addSaturating(x.Lost, y.Lost)
}

// A passage is the suspects, by their place among all, that a path crosses by an arc: those whatever comes before and after it, the switch at its end, if the
// path goes on from there, and the one at its beginning, if it came there by another arc.
type passage struct{ by, into, outOf []int32 }

// passages returns the passages of suspects other than hosts, and by arc which of them is its own: the first, which is empty, if it has none.
func (ix *index) passages(suspects []int32) (at []int32, list []passage) {
	at, list = make([]int32, ix.links), make([]passage, 1)
	of := func(a int32) *passage {
		if at[a] == 0 {
			at[a] = int32(len(list))
			list = append(list, passage{})
		}
		return &list[at[a]]
	}
	for i, c := range suspects {
		j := int32(i)
		switch ix.kindOf(c) {
		case 2:
			for _, a := range ix.f.Out(graphs.NodeID(c - ix.nodes)) {
				out := of(int32(a))
				out.outOf = append(out.outOf, j)
				in := of(int32(a.Reverse()))
				in.into = append(in.into, j)
			}
		case 3:
		default:
			for _, a := range ix.parts(nil, c) {
				p := of(a)
				p.by = append(p.by, j)
			}
		}
	}
	return at, list
}

// count fills in the flows that cross each suspect. It returns the observations whose path crosses an arc of a suspect.
func (ix *index) count(suspects []Suspect, comps []int32, ev *evidence) []int32 {
	if len(suspects) == 0 {
		return nil
	}
	// Most observations cross no suspect: they are told by a look at their arcs and hosts.
	arcs, hosts := make([]bool, ix.links), make([]bool, len(ix.host))
	for _, c := range comps {
		for _, a := range ix.parts(nil, c) {
			arcs[a] = true
		}
		if ix.kindOf(c) == 3 {
			hosts[c-ix.nodes] = true
		}
	}
	onPath := ev.routes.Over(arcs)
	some := onPath
	if slices.Contains(hosts, true) {
		marked := func(n graphs.NodeID) bool { return ix.isNode(n) && hosts[n] }
		some = slices.Clone(onPath)
		for i := range ev.all {
			if o := &ev.all[i]; (marked(o.Src) || marked(o.Dst)) && ix.known(o) {
				some = append(some, int32(i))
			}
		}
		slices.Sort(some)
		some = slices.Compact(some)
	}
	var halved [2][][]crossing
	var met [2][]Suspect
	at, passages := ix.passages(comps)
	halves.Briefly(len(some), func(half, from, to int) {
		found, flows := make([][]crossing, len(comps)), make([]Suspect, len(comps))
		last := make([]int32, len(comps)) // the observation that crossed it last, plus one
		for _, i := range some[from:to] {
			o := &ev.all[i]
			if ix.isNode(o.Responder) {
				continue
			}
			cross := func(suspects []int32) {
				for _, j := range suspects {
					switch lost := min(max(o.Lost, 0), o.Sent); {
					case last[j] == i+1:
					case ev.distinct:
						flows[j].meet(o.Sent, lost)
					default:
						found[j] = append(found[j], crossing{o.Flow, o.Src, o.Sent, lost})
					}
					last[j] = i + 1
				}
			}
			for k, a := range o.Path {
				if at[a] == 0 {
					continue
				}
				p := &passages[at[a]]
				cross(p.by)
				if k > 0 {
					cross(p.outOf)
				}
				if k < len(o.Path)-1 {
					cross(p.into)
				}
			}
			for j, c := range comps {
				if n := graphs.NodeID(c - ix.nodes); ix.kindOf(c) == 3 && (o.Src == n || o.Dst == n) {
					cross([]int32{int32(j)})
				}
			}
		}
		halved[half], met[half] = found, flows
	})
	for j := range suspects {
		x, found := &suspects[j], halved[0][j]
		x.join(&met[0][j])
		if halved[1] != nil {
			x.join(&met[1][j])
			found = append(found, halved[1][j]...)
		}
		x.count(found)
		x.Against.Expected = float64(x.Against.CleanSent) * x.Loss
	}
	return onPath
}
