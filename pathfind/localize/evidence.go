package localize

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/internal/halves"
)

// evidence is the observations in the form that the model works on. Certain observations without loss are in exposure only: under
// additive hazards they are one linear term per component, however many there are. Everything else is a term.
type evidence struct {
	all      []Observation // as they came
	routes   routes
	obs      []merged // those that are not plain: see sift
	lossy    []int32  // of all, those that lost packets
	ignored  int
	run      float64 // by what the packets of flows without loss were divided because they are lost in runs; else 1
	distinct bool    // that each of all is surely of a flow of its own
	// exposure is, per component, its crossings by the packets of linear observations.
	exposure []float64
	// linear is the sum of the exposure of arcs, crossings that of all observations: what the background is estimated over.
	linear, crossings float64
	sent              []int // per arc, as Result.Exposure
	// answered is what of exposure TTL-limited probes have, nil if there are none, and answeredArcs what of linear.
	answered     []float64
	answeredArcs float64

	clean   []losslessFlows // flows without loss, by the length of the number of their packets in bits
	answers bool            // whether some of obs hang on a switch's own answer
	// selected tells that nothing is known of flows that lost nothing.
	selected bool
	// beyond tells that nothing stands in their place either: of others only what they lost beyond that there is some of it counts.
	beyond  bool
	traffic *traffic // all flows, where those that are known tell what others there are

	sets  *setTable // flows without loss whose path set is known; nil if there are none
	terms []term
	flows int // the first so many terms are observations, the others what devices counted
	// meters are those that can be used, by component.
	meters []metering
	// A branch is one way that a term's packets may have gone: the log of its share, and its arcs.
	share, arcs []float64
	// entries[start[c]:start[c+1]] are the branches that cross component c, in order; comps[first[b]:first[b+1]] the reverse.
	start   []int32
	entries []entry
	first   []int32
	comps   []int32
	times   []float32 // how often a branch crosses the component at the same place of comps
}

// merged is one or several observations of the same flow over the same path.
type merged struct {
	*Observation
	sent, lost, bursts int
	untold             bool
	begins             int64 // see evidence.sort
}

type entry struct {
	term, branch int32
	times        float64 // how often the branch crosses the component
}

// ttl reports whether the observation hangs on a switch's own answer.
func (m *merged) ttl() bool { return m.Responder != graphs.None }

// arcs is how many the path has, about.
func (m *merged) arcs() int {
	n := len(m.Path)
	if len(m.Alternatives) > 0 {
		n += len(m.Alternatives[0].Arcs)
	}
	return n
}

// compile cleans, merges and indexes observations.
func compile(ix *index, obs []Observation, cfg Config) *evidence {
	ev := &evidence{all: obs, exposure: make([]float64, ix.n), sent: make([]int, ix.links), first: []int32{0}}
	c := collector{ix: ix, oneWay: cfg.OneWay, times: make([]float64, ix.n)}
	ev.sift(ix, cfg.Paths)
	ev.run = max(cfg.bursts.within(ev.size()).length, 1)
	if ev.run > 1 {
		ev.thin()
	}
	if ev.distinct {
		ev.sort()
	} else {
		ev.merge()
	}
	ev.selected = cfg.Selected || ev.onlyLossy()
	ev.beyond = ev.selected && cfg.imputed == nil
	switch {
	case cfg.imputed != nil:
		ev.expect(cfg.imputed)
	case ev.beyond && ev.crossings == 0 && cfg.Paths != nil:
		ev.traffic = newTraffic(ix, ev, cfg)
	}
	ev.reserve(&c)
	made := ev.makeTerms(cfg)
	var loose []int32 // observations without loss whose path is uncertain
	for i := range ev.obs {
		o := &ev.obs[i]
		known := o.sent
		if o.ttl() {
			known, ev.answers = o.sent-o.lost, true
		}
		for _, a := range o.Path {
			ev.sent[a] = addSaturating(ev.sent[a], known)
		}
		switch {
		case o.lost > 0:
			ev.add(&c, int32(i), made[len(ev.terms)])
		case len(o.Alternatives) > 1:
			loose = append(loose, int32(i))
		default:
			c.collect(o, 0)
			n := float64(o.sent)
			if o.ttl() {
				ev.answer(&c, n)
			} else {
				n /= ev.run
			}
			for _, x := range c.comps {
				ev.exposure[x] += n * c.times[x]
			}
			ev.linear += n * c.arcs
			ev.crossings += n * c.arcs
		}
	}
	ev.shareOutliers(cfg)
	ev.addLoose(&c, loose, cfg)
	ev.addMeters(ix, &c, cfg)
	ev.sortEntries(ix, c.flat, c.flatTimes)
	return ev
}

// size returns how many packets flows without loss have, in the mean; 1 if there are none.
func (ev *evidence) size() float64 {
	var all losslessFlows
	for _, b := range ev.clean {
		all.join(b)
	}
	if all.flows == 0 {
		return 1
	}
	return all.size()
}

// thin divides the exposure to losses by the length of their runs.
func (ev *evidence) thin() {
	for c := range ev.exposure {
		ev.exposure[c] /= ev.run
	}
	ev.linear /= ev.run
	ev.crossings /= ev.run
	if ev.sets != nil {
		ev.sets.thin(ev.run)
	}
}

// reserve makes room for terms of the observations: what grows by itself takes twice as much for a while.
func (ev *evidence) reserve(c *collector) {
	crossed, ways := 0, 0
	each := 3 // arcs, links and switches
	if c.oneWay {
		each = 2
	}
	for i := range ev.obs {
		o := &ev.obs[i]
		ways += max(1, len(o.Alternatives))
		crossed += each * len(o.Path) * max(1, len(o.Alternatives))
		for j := range o.Alternatives {
			crossed += each * len(o.Alternatives[j].Arcs)
		}
	}
	ev.terms, ev.first = make([]term, 0, len(ev.obs)), append(make([]int32, 0, ways+1), ev.first...)
	ev.share, ev.arcs = make([]float64, 0, ways), make([]float64, 0, ways)
	c.flat, c.flatTimes = make([]int32, 0, crossed), make([]float32, 0, crossed)
}

// makeTerms makes the terms of lossy observations, in their order, where they will be.
func (ev *evidence) makeTerms(cfg Config) []term {
	var lossy []int32
	for i := range ev.obs {
		if ev.obs[i].lost > 0 {
			lossy = append(lossy, int32(i))
		}
	}
	terms := ev.terms[:len(lossy)]
	halves.Briefly(len(lossy), func(_, from, to int) {
		for i := from; i < to; i++ {
			terms[i] = newTerm(&ev.obs[lossy[i]], cfg)
			if ev.beyond {
				terms[i].selected()
			}
		}
	})
	return terms
}

// leastLossy is the number of observations of which all lost packets from which on that is no chance.
const leastLossy = 30

// onlyLossy reports whether all flows that are known lost packets, over paths that are known. Either they were kept for it, as where switches or hosts report
// retransmissions only, or all lose so much that it makes no difference to ask how much they lost beyond that.
func (ev *evidence) onlyLossy() bool {
	return ev.crossings == 0 && ev.sets == nil && len(ev.obs) >= leastLossy &&
		!slices.ContainsFunc(ev.obs, func(o merged) bool { return o.lost == 0 || o.ttl() || len(o.Alternatives) > 1 })
}

// shareOutliers lets the observations of one flow on its way from one end to the other, over several paths or over one that was first not known and
// then traced, be outliers together: what makes a flow lose packets of its own does so whatever way it takes, and its chance counts once.
func (ev *evidence) shareOutliers(cfg Config) {
	const most = 3
	leg := func(i int) (flow int, src, dst graphs.NodeID, lossy bool) {
		o := &ev.obs[ev.terms[i].obs]
		return o.Flow, o.Src, o.Dst, !o.ttl() && o.lost > 0
	}
	for i, j := 0, 0; i < len(ev.terms); i = j { // observations of one flow follow each other
		flow, _, _, _ := leg(i)
		for j = i + 1; j < len(ev.terms); j++ {
			if f, _, _, _ := leg(j); f != flow {
				break
			}
		}
		for k := i; j-i > 1 && k < j; k++ {
			_, src, dst, lossy := leg(k)
			if !lossy {
				continue
			}
			same := 0
			for l := i; l < j; l++ {
				if _, s, d, lost := leg(l); lost && s == src && d == dst {
					same++
				}
			}
			if same > 1 {
				t := &ev.terms[k]
				t.same = float64(min(same, most))
				t.setOutlier(math.Pow(cfg.outliers()[sortOf(t.carried)], 1/t.same))
			}
		}
	}
}

// addLoose indexes the observations without loss whose path is uncertain. Many flows of one pair are alike but for their number: those with
// about as many packets become one term.
func (ev *evidence) addLoose(c *collector, loose []int32, cfg Config) {
	about := func(i int32) int { return int(8 * math.Log2(float64(ev.obs[i].sent))) }
	slices.SortFunc(loose, func(a, b int32) int {
		return cmp.Or(compareWay(ev.obs[a].Observation, ev.obs[b].Observation), cmp.Compare(about(a), about(b)), cmp.Compare(a, b))
	})
	for i := 0; i < len(loose); {
		first, packets, n := loose[i], 0.0, 0.0
		for ; i < len(loose) && about(loose[i]) == about(first) && compareWay(ev.obs[loose[i]].Observation, ev.obs[first].Observation) == 0; i++ {
			packets += float64(ev.obs[loose[i]].sent)
			n++
		}
		t := newTerm(&ev.obs[first], cfg)
		t.passed, t.copies = packets/n, n
		if !ev.obs[first].ttl() {
			t.passed /= max(cfg.bursts.within(t.passed).length, 1)
		}
		ev.add(c, first, t)
	}
}

// add indexes a term made of an observation.
func (ev *evidence) add(c *collector, i int32, t term) {
	o := &ev.obs[i]
	t.obs = i
	t.first = int32(len(ev.share))
	t.n = int32(max(1, len(o.Alternatives)))
	if c.ix.mirrors(o) {
		t.n = 2
	}
	for j := range int(t.n) {
		share := 1 / float64(t.n)
		if len(o.Alternatives) > 0 {
			share = o.Alternatives[j].Share
		}
		c.collect(o, j)
		for _, x := range c.comps {
			c.flat = append(c.flat, x)
			c.flatTimes = append(c.flatTimes, float32(c.times[x]))
		}
		ev.first = append(ev.first, int32(len(c.flat)))
		ev.share = append(ev.share, math.Log(share))
		ev.arcs = append(ev.arcs, max(c.arcs, leastArcs))
		ev.crossings += share * t.copies * (t.passed + t.lost) * c.arcs
	}
	ev.terms = append(ev.terms, t)
}

// sortEntries turns the components by branch into branches by component.
func (ev *evidence) sortEntries(ix *index, flat []int32, times []float32) {
	ev.comps, ev.times = flat, times
	ev.start = make([]int32, ix.n+1)
	for _, c := range flat {
		ev.start[c+1]++
	}
	for c := range ix.n {
		ev.start[c+1] += ev.start[c]
	}
	ev.entries = make([]entry, len(flat))
	next := slices.Clone(ev.start)
	for t := range ev.terms {
		for b := ev.terms[t].first; b < ev.terms[t].first+ev.terms[t].n; b++ {
			for i := ev.first[b]; i < ev.first[b+1]; i++ {
				c := flat[i]
				ev.entries[next[c]] = entry{int32(t), b, float64(times[i])}
				next[c]++
			}
		}
	}
}

// possible reports whether packets were sent, and no more lost than that, nor less than none.
func (o *Observation) possible() bool { return o.Sent > 0 && 0 <= o.Lost && o.Lost <= o.Sent }

// known reports whether an observation can be used: its counts are possible, and the fabric has all its arcs, of which there are any.
func (ix *index) known(o *Observation) bool {
	if !o.possible() {
		return false
	}
	some := len(o.Path) > 0
	for i := range o.Alternatives {
		some = some || len(o.Alternatives[i].Arcs) > 0
		if !ix.haveAll(o.Alternatives[i].Arcs) {
			return false
		}
	}
	return ix.haveAll(o.Path) && (some || o.From != o.To || ix.isNode(o.Src) || ix.isNode(o.Dst) || ix.isNode(o.Responder))
}

func (ix *index) haveAll(arcs []graphs.ArcID) bool {
	for _, a := range arcs {
		if a < 0 || int32(a) >= ix.links {
			return false
		}
	}
	return true
}

func (ix *index) isNode(n graphs.NodeID) bool { return n >= 0 && int(n) < len(ix.host) }

// clean reports whether nodes and shares are as the model needs them: nodes of the fabric or None, shares that sum to 1.
func (ix *index) clean(o *Observation) bool {
	for _, n := range [...]graphs.NodeID{o.Src, o.Dst, o.Responder} {
		if n != graphs.None && !ix.isNode(n) {
			return false
		}
	}
	sum := 0.0
	for _, a := range o.Alternatives {
		if !(a.Share > 0) {
			return false
		}
		sum += a.Share
	}
	return len(o.Alternatives) == 0 || math.Abs(sum-1) < 1e-9
}

// cleaned returns a copy that is clean. Alternatives without a share are impossible, unless none has one: then all are alike.
func (ix *index) cleaned(o *Observation) *Observation {
	c := *o
	for _, n := range [...]*graphs.NodeID{&c.Src, &c.Dst, &c.Responder} {
		if !ix.isNode(*n) {
			*n = graphs.None
		}
	}
	c.Alternatives = nil
	sum := 0.0
	for _, a := range o.Alternatives {
		if a.Share > 0 && !math.IsInf(a.Share, 0) {
			c.Alternatives = append(c.Alternatives, a)
			sum += a.Share
		}
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		c.Alternatives = slices.Clone(o.Alternatives)
		for i := range c.Alternatives {
			c.Alternatives[i].Share = 1
		}
		sum = float64(len(c.Alternatives))
	}
	for i := range c.Alternatives {
		c.Alternatives[i].Share = max(c.Alternatives[i].Share/sum, 1e-300)
	}
	return &c
}
