package localize

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
)

// A switch may be bad in part: a line card, a memory bank or some of its optics make several of its arcs lose packets, each at a rate of
// its own. That is a cause beside as many independent faults of arcs that happen to meet, and a matter of the prior alone: the
// likelihood of both is the same. If a share of its arcs is bad of which nothing is known, then m given ones of M are so with probability
// 1/((M+1) C(M,m)).

// partly is how usual a switch is that is bad in part, as in preference: a switch is less often bad than an arc, and if it is, about as often in part
// as all of it.
const partly = 0.5

// A device is a switch that may be bad in part under a hypothesis.
type device struct {
	comp    int32   // of the switch
	odds    float64 // log of the odds that it is, against faults that are independent
	members []int32 // those of the hypothesis that it explains, ascending
	// places are other switches that may be so in its place, whose odds are part of its own: see placeDevices.
	places []place
}

func (d *device) probability() float64 { return 1 / (1 + exp(-d.odds)) }

// blamed is what a hypothesis blames at a switch.
type blamed struct {
	arcs, links int
	bad         int     // arcs that packets crossed, among these and those of the links
	vague       int     // arcs and links of which packets crossed one way only, so that the one looks like the other
	price       float64 // log prior of these
	// chosen is the logarithm of how many ways there are to choose others in their place that lie elsewhere, for each of these, and others in how many of
	// those one of them is another.
	chosen, others float64
}

// add adds an arc or a link to what is blamed at a switch, or takes it away.
func (t *deviceTable) add(ix *index, b *blamed, n graphs.NodeID, c int32, sign int) {
	link := c - ix.links
	if c < ix.links {
		link = int32(graphs.ArcID(c).Link())
		b.arcs += sign
		b.bad += sign
	} else {
		b.links += sign
		b.bad += sign * int(t.ways[link])
	}
	if t.ways[link] == 1 {
		b.vague += sign
	}
	b.price += float64(sign) * ix.logPrior(c)
	if x := t.choices[c]; x != nil {
		times := x.times[0]
		if ix.endsOf(c)[0] != n {
			times = x.times[1]
		}
		b.chosen += float64(sign) * math.Log(times)
		b.others += float64(sign) * (times - 1)
	}
}

// A deviceTable counts what a hypothesis blames at each switch. Its counts are zero outside of the methods that use them.
type deviceTable struct {
	measured []float64 // by node: its arcs that packets crossed
	ways     []int8    // by link: the same, one at least
	at       []blamed  // by node
	all      census    // components blamed
	touched  []graphs.NodeID
	// part are the arcs and links that count at switches, by component. Of a link and its arcs only the link does: what it loses is not for another part to lose again.
	part    []bool
	counted []int32
	log     float64 // log prior odds of a switch that is bad in part
	// queued are the components whose own queue counts what they drop: that queues of one switch are full together comes of the traffic, and makes no
	// switch sick.
	queued   []bool
	choices  map[int32]*choices // of components, where ways are not known: see chooseTwins
	arcsOnly bool               // links do not fail as a whole
	// few is by how much the log prior of any fault falls short in a fabric with fewer causes than the prior is spread over: that faults meet at a
	// switch by chance is the likelier the fewer arcs there are.
	few float64
}

func newDeviceTable(ix *index, ev *evidence, oneWay bool) deviceTable {
	t := deviceTable{
		measured: make([]float64, len(ix.host)), at: make([]blamed, len(ix.host)), part: make([]bool, ix.nodes), ways: make([]int8, ix.nodes-ix.links), choices: map[int32]*choices{},
		few: math.Log(float64(max(ix.n, leastCauses)) / float64(ix.n)), arcsOnly: oneWay,
	}
	t.log = ix.prior[0] + t.few + math.Log(partly)
	t.queued = make([]bool, ix.n)
	for i := range ev.meters {
		if m := &ev.meters[i]; m.Sort == Discards && m.On.Kind == Arc && m.loud() {
			t.queued[m.comps[0]] = true
		}
	}
	for a := range ix.links {
		if ev.crosses(a) {
			t.measured[ix.tail[a]]++
			t.measured[ix.head[a]]++
			t.ways[graphs.ArcID(a).Link()]++
		}
	}
	for l, n := range t.ways {
		t.ways[l] = max(n, 1)
	}
	return t
}

// crosses reports whether packets crossed an arc, or may have.
func (ev *evidence) crosses(a int32) bool {
	return ev.exposure[a] > 0 || ev.start[a] < ev.start[a+1] || ev.sets != nil && ev.sets.crosses(a)
}

// another returns one of the same switches, with counts of its own.
func (t *deviceTable) another() deviceTable {
	o := *t
	o.at, o.touched, o.part, o.counted = make([]blamed, len(t.at)), nil, make([]bool, len(t.part)), nil
	return o
}

// countAll counts components, links before arcs.
func (t *deviceTable) countAll(ix *index, comps []int32) {
	for _, links := range [...]bool{true, false} {
		for _, c := range comps {
			if (ix.kindOf(c) == 1) != links {
				continue
			}
			t.all[ix.kindOf(c)]++
			if t.parted(ix, c) && !t.inLink(ix, c) {
				t.part[c] = true
				t.counted = append(t.counted, c)
				t.count(ix, c, 1)
			}
		}
	}
}

// parted reports whether a component may be part of a switch.
func (t *deviceTable) parted(ix *index, c int32) bool { return c < ix.nodes && !t.queued[c] }

// inLink reports whether a component is an arc of a link that counts.
func (t *deviceTable) inLink(ix *index, c int32) bool {
	return c < ix.links && t.part[ix.link(graphs.ArcID(c).Link())]
}

// count adds an arc or a link to the counts of both its switches, or takes it away.
func (t *deviceTable) count(ix *index, c int32, sign int) {
	for _, n := range ix.endsOf(c) {
		if ix.host[n] {
			continue
		}
		if t.at[n].bad == 0 {
			t.touched = append(t.touched, n)
		}
		t.add(ix, &t.at[n], n, c, sign)
	}
}

// clear forgets all counts.
func (t *deviceTable) clear() {
	for _, n := range t.touched {
		t.at[n] = blamed{}
	}
	for _, c := range t.counted {
		t.part[c] = false
	}
	t.touched, t.counted, t.all = t.touched[:0], t.counted[:0], census{}
}

// odds returns the log odds of a switch being bad in part, with what is blamed there, among all faults.
func (t *deviceTable) odds(ix *index, n graphs.NodeID, at blamed, all census) float64 {
	bad := float64(at.bad)
	if bad < 2 {
		return math.Inf(-1)
	}
	rest := all
	rest[0] = max(0, rest[0]-at.arcs)
	rest[1] = max(0, rest[1]-at.links)
	rest[2]++
	price := at.price + float64(at.arcs+at.links)*t.few + ix.census.gain(&all) - ix.census.gain(&rest)
	m := max(t.measured[n], bad)
	choose := lgamma(m+1) - lgamma(bad+1) - lgamma(m-bad+1)
	odds := t.log - log(m+1) - choose - price
	if !t.arcsOnly {
		odds -= math.Ln2 * float64(at.vague)
	}
	if at.others > 0 {
		odds += math.Log1p(at.others) - at.chosen
	}
	return odds
}

// alone returns by how much one more component of each kind raises the log prior of the hypothesis counted.
func (t *deviceTable) alone(ix *index) (more [len(kinds)]float64) {
	for k := range more {
		more[k] = ix.census.more(&t.all, k)
	}
	return more
}

// beside returns by how much the devices of the hypothesis counted raise the log prior of one more component, of which alone says what any of its kind does.
func (t *deviceTable) beside(ix *index, c int32, alone float64) float64 {
	more := alone
	if c >= ix.links || t.queued[c] || t.inLink(ix, c) {
		return more
	}
	for _, n := range ix.endsOf(c) {
		if t.at[n].bad > 0 {
			at, all := t.at[n], t.all
			all[ix.kindOf(c)]++
			was := softplus(t.odds(ix, n, at, t.all))
			t.add(ix, &at, n, c, 1)
			more = max(more, alone+softplus(t.odds(ix, n, at, all))-was)
		}
	}
	return more
}

// unlikely are the log odds below which a switch is not told as a cause.
const unlikely = -4

// devices finds the switches that may be bad in part if all comps are, likeliest first; each component is explained by one at most. What they
// add to the log prior is the second result.
func (t *deviceTable) devices(ix *index, comps []int32) (found []device, bonus float64) {
	t.clear()
	t.countAll(ix, comps)
	bonus = ix.census.gain(&t.all)
	for {
		best, odds := graphs.NodeID(graphs.None), float64(unlikely)
		for _, n := range t.touched {
			if t.at[n].bad < 2 {
				continue // as are most
			}
			if o := t.odds(ix, n, t.at[n], t.all); o > odds || o == odds && n < best {
				best, odds = n, o
			}
		}
		if best == graphs.None {
			break
		}
		d := device{comp: ix.node(best), odds: odds}
		for _, c := range comps {
			taken := slices.ContainsFunc(found, func(x device) bool { return slices.Contains(x.members, c) })
			if !taken && c < ix.nodes && t.part[c] && ix.within(c, d.comp) {
				d.members = append(d.members, c)
				t.all[ix.kindOf(c)]--
				t.count(ix, c, -1)
			}
		}
		t.all[2]++ // the device itself
		found = append(found, d)
		bonus += softplus(odds)
	}
	t.clear()
	return found, bonus
}

// softplus returns log(1+exp(x)).
func softplus(x float64) float64 { return logSum(0, x) }

// devicesFirst sorts causes by rank, but puts switches that are bad in part, more likely than not, before what they explain.
func (s *search) devicesFirst(causes []int32, marginal map[int32]float64, rank func(a, b int32) int) {
	device := map[int32]bool{}
	for i := range s.hyps {
		for j := range s.hyps[i].devices {
			d := s.hyps[i].devices[j].comp
			device[d] = marginal[d] > 0.5
		}
	}
	slices.SortFunc(causes, func(a, b int32) int {
		if device[a] != device[b] {
			if device[a] {
				return -1
			}
			return 1
		}
		return rank(a, b)
	})
}

// likeliestDevice returns a switch as it is bad in part under the hypothesis that says so with most weight, and loads that; or nil, if
// a hypothesis that blames all of it alike weighs more.
func (s *search) likeliestDevice(c int32, weights []float64) *device {
	if s.ix.kindOf(c) != 2 {
		return nil
	}
	var best *device
	at, most := 0, 0.0
	for i := range s.hyps {
		h := &s.hyps[i]
		if weights[i] <= most {
			continue
		}
		if slices.Contains(h.comps, c) {
			best, most = nil, weights[i]
		}
		for j := range h.devices {
			if p := weights[i] * h.devices[j].probability(); h.devices[j].comp == c && p > most {
				best, at, most = &h.devices[j], i, p
			}
		}
	}
	if best == nil {
		return nil
	}
	h := &s.hyps[at]
	s.recall(h)
	if best.places == nil && len(s.devs.choices) > 0 { // its weight may come of what may be faulty besides, and its score be too low for that
		best.places = s.places(h, best.comp)
	}
	return best
}

// explained returns how much of the probability of a class is that its members are faulty as parts of the switches told.
func (s *search) explained(class, told []int32, weights []float64) float64 {
	all, parts := 0.0, 0.0
	for i := range s.hyps {
		h := &s.hyps[i]
		alone := 1.0 // probability that a member is faulty by itself
		any := false
		for _, c := range h.comps {
			if !slices.Contains(class, c) {
				continue
			}
			own := 1.0
			for j := range h.devices {
				if d := &h.devices[j]; slices.Contains(told, d.comp) && slices.Contains(d.members, c) {
					own = 1 - d.probability()
				}
			}
			if !any || own > alone {
				any, alone = true, own
			}
		}
		if any {
			all, parts = all+weights[i], parts+weights[i]*(1-alone)
		}
	}
	if all == 0 {
		return 0
	}
	return min(parts/all, 1)
}

// deviceSuspect describes a switch that is bad in part, under the loaded hypothesis, if it or what may be in its place is with some probability. What is told
// already is not in its class.
func (s *search) deviceSuspect(d *device, probability float64, owned func(int32) bool) Suspect {
	class, all, in := []choice{{d.comp, 1}}, 1.0, 0.0
	for _, x := range d.places {
		all += x.mass
		if x.likely() && !owned(x.comp) {
			class = append(class, x.choice)
		}
	}
	slices.SortStableFunc(class[1:], func(a, b choice) int { return cmp.Compare(about(b.mass), about(a.mass)) })
	x := Suspect{Cause: s.ix.cause(d.comp), Alone: probability / all, Low: 1}
	for _, y := range class {
		in += y.mass
		x.Class, x.Weights = append(x.Class, s.ix.cause(y.comp)), append(x.Weights, probability*y.mass/all)
	}
	x.Probability = min(probability*in/all, 1) // in may be all but for rounding errors
	x.Against.Nats = log(x.Probability) - math.Log1p(-x.Probability)
	if x.Probability == 1 {
		x.Against.Nats = math.MaxFloat64
	}
	lost, crossed := 0.0, 0.0
	for _, c := range d.members {
		loss := -math.Expm1(-s.excess[c])
		x.Parts = append(x.Parts, Part{s.ix.cause(c), loss})
		iv := s.interval(c)
		x.Low, x.High = min(x.Low, iv.low), max(x.High, iv.high)
		lost, crossed = lost+loss*max(s.ev.exposure[c], 1), crossed+max(s.ev.exposure[c], 1)
	}
	x.Loss = min(max(lost/crossed, x.Low), x.High)
	return x
}
