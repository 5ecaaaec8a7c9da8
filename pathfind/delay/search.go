package delay

import (
	"cmp"
	"math"
	"slices"
)

// A fault is a component with what it adds.
type fault struct {
	comp         int32
	shape, level int
	mean         float64
}

// A search holds a hypothesis: some faults, with what the flows take under it.
type search struct {
	ev     *evidence
	cfg    Config
	base   *baselines
	t      *table
	faults []fault // by component
	prior  []float64
	full   []int32 // arcs of Config.Full that flows cross
	// least and most are the levels that a fault may have; levels up to good are no fault.
	least, most, good int
	// Of each flow: what the faults that it is certain to cross add, and the shape of the greatest of them.
	sum   []float64
	shape []uint8
	// Of each set whose flows may cross faults: how its flows are divided among them. Nil for the others.
	parts [][]weighed
}

// A weighed part of a set's flows: what faults add to it.
type weighed struct {
	share float64
	sum   float64
	shape uint8
}

const (
	// rounds is how often the baselines are learnt anew at most, after the suspects are known.
	rounds = 4
	// mostFaults bounds the number of suspects.
	mostFaults = 32
	// usualOutlier is the chance that a flow is late for a reason that no component explains.
	usualOutlier = 0.02
)

func newSearch(ev *evidence, cfg Config) *search {
	s := &search{ev: ev, cfg: cfg, base: ev.classify(), sum: make([]float64, len(ev.flows)), shape: make([]uint8, len(ev.flows)),
		parts: make([][]weighed, len(ev.sets))}
	s.prior = priors(ev, cfg.Choices)
	for _, a := range cfg.Full {
		if a >= 0 && int32(a) < ev.arcs && s.prior[a] < 0 && !math.IsInf(s.prior[a], -1) {
			s.full = append(s.full, int32(a))
			s.prior[a] = 0
			for _, i := range ev.through(int32(a)) {
				ev.flows[i].full = true
			}
		}
	}
	slices.Sort(s.full)
	ev.evenHosts(s.base, float64(cfg.Least))
	return s
}

// leastCauses is the least number of causes that the prior is spread over, or a handful of late flows would convict in a small fabric.
const leastCauses = 600

// priors returns the log prior odds of each component, -Inf where no flow crosses it: one is bet on in a fabric that somebody looks at, at one of the times that there are to choose from. Hosts are slow
// more often than links or switches.
func priors(ev *evidence, choices float64) []float64 {
	odds := make([]float64, ev.n)
	sum := 0.0
	for c := range ev.n {
		if !ev.told(c) {
			continue
		}
		switch ev.cause(c).Kind {
		case Arc:
			odds[c] = 1
		case Host:
			odds[c] = 3
		case Node, Link:
			odds[c] = 0.5
		case Group:
			odds[c] = 0.2
		}
		sum += odds[c]
	}
	for c := range odds {
		odds[c] = math.Log(odds[c] / (max(sum, leastCauses) * choices))
	}
	return odds
}

func (s *search) run() {
	healthy := s.ev.ordinary
	outlier, how := usualOutlier, lower
	for round := range rounds {
		s.learn(healthy, outlier, how)
		before := s.named()
		s.settle()
		s.addBest(s.full) // before what else may seem to explain all of them
		if s.grow() {
			s.learn(s.healthy(), s.outliers(outlier), pooled)
			s.settle()
			s.grow()
		}
		s.exchange()
		s.regroup()
		learnt := s.outliers(outlier)
		if round > 0 && slices.Equal(before, s.named()) && learnt > outlier/2 { // else too many were learnt from baselines that did not fit
			return
		}
		healthy, outlier, how = s.healthy(), learnt, usual
	}
}

// learn learns the baselines from the flows, each weighing as much as it is likely to be healthy.
func (s *search) learn(healthy []float64, outlier float64, how fitting) {
	s.base.fit(s.ev, healthy, how)
	least := max(float64(s.cfg.Least), s.cfg.LeastSpreads*s.base.spread)
	s.t = newTable(s.ev, s.base, least)
	s.t.fill(s.ev, s.base, outlier)
	s.setLevels(least)
}

// outliers returns what share of the flows seems to be late for reasons of their own, beside the faults that were found, if more than is expected before any evidence: where
// many are, some of them meet by chance.
func (s *search) outliers(rate float64) float64 {
	sum := 1.0
	for i := range s.ev.flows {
		sum += rate / float64(s.t.bins) / s.likelihood(int32(i))
	}
	return min(max(usualOutlier, sum/(1/usualOutlier+float64(len(s.ev.flows)))), 0.5)
}

func (s *search) setLevels(least float64) {
	s.least = max(doubling+1, min(s.t.level(least), len(s.t.levels)-2))
	s.most = len(s.t.levels) - 1
	s.good = min(s.t.level(least/4), s.least-doubling-1)
	for i := range s.faults {
		s.faults[i].level = max(s.leastOf(s.faults[i].comp), s.t.level(s.faults[i].mean))
	}
	s.apply()
}

// leastOf is the least level of a component that counts as a fault. Round trips cross a link both ways, and its arcs would be named for what both add.
func (s *search) leastOf(c int32) int {
	if c >= s.ev.links {
		return s.least - doubling
	}
	return s.least
}

// goodOf is up to which level a component is no fault.
func (s *search) goodOf(c int32) int {
	if c >= s.ev.links {
		return max(0, s.good-doubling)
	}
	return s.good
}

func (s *search) named() []int32 {
	var list []int32
	for _, x := range s.faults {
		list = append(list, x.comp)
	}
	return list
}

// apply computes what flows and sets take under the faults.
func (s *search) apply() {
	clear(s.sum)
	clear(s.parts)
	largest := make([]float64, len(s.sum))
	touched := map[int32]bool{}
	for _, x := range s.faults {
		times := s.ev.timesThrough(x.comp)
		for k, i := range s.ev.through(x.comp) {
			s.sum[i] += float64(times[k]) * x.mean
			if x.mean > largest[i] {
				largest[i], s.shape[i] = x.mean, uint8(x.shape)
			}
		}
		for _, m := range s.ev.members[x.comp] {
			touched[m.set] = true
		}
	}
	comps := s.named()
	for k := range touched {
		for _, p := range s.ev.split(&s.ev.sets[k], comps, s.cfg.Paths) {
			s.parts[k] = append(s.parts[k], s.weigh(p, -1))
		}
	}
}

// weigh adds up what the faults of a part add, but for one component.
func (s *search) weigh(p part, without int32) weighed {
	w := weighed{share: p.share}
	largest := 0.0
	for _, c := range p.crossed {
		if c == without {
			continue
		}
		i, _ := slices.BinarySearchFunc(s.faults, c, func(x fault, c int32) int { return cmp.Compare(x.comp, c) })
		x := s.faults[i]
		w.sum += x.mean
		if x.mean > largest {
			largest, w.shape = x.mean, uint8(x.shape)
		}
	}
	return w
}

// none is the division of a set that no fault is in.
var none = []weighed{{share: 1}}

// partsOf returns how the flows of a flow's set are divided.
func (s *search) partsOf(x *flow) []weighed {
	if x.set < 0 || s.parts[x.set] == nil {
		return none
	}
	return s.parts[x.set]
}

// likelihood is the probability of a flow's bin.
func (s *search) likelihood(i int32) float64 {
	x := &s.ev.flows[i]
	p := 0.0
	for _, w := range s.partsOf(x) {
		sum, shape := join(s.sum[i], s.shape[i], w.sum, w.shape)
		p += w.share * s.t.p[s.t.at(x, int(shape), s.t.level(sum))]
	}
	return p
}

// join adds up two delays; the greater one gives the shape.
func join(a float64, aShape uint8, b float64, bShape uint8) (float64, uint8) {
	if b > a {
		return a + b, bShape
	}
	return a + b, aShape
}

// healthy returns how likely each flow is to cross no fault.
func (s *search) healthy() []float64 {
	out := make([]float64, len(s.ev.flows))
	for i := range out {
		x := &s.ev.flows[i]
		if s.sum[i] > 0 {
			continue
		}
		clean := 0.0
		for _, w := range s.partsOf(x) {
			if w.sum == 0 {
				clean += w.share
			}
		}
		if clean > 0 {
			out[i] = clean * s.t.p[s.t.at(x, 0, 0)] / s.likelihood(int32(i))
		}
	}
	return out
}

// grow adds the best suspect until none is worth it, or it is one that was driven out by another: since levels are coarse, two explanations may take turns for ever. It reports whether a
// longer tail of the baselines explains as well what some explained, which are left out.
func (s *search) grow() (tailed bool) {
	var steps []grown
	added := map[int32]bool{}
	for len(s.faults) < mostFaults {
		trials := s.best(s.candidates())
		if len(trials) == 0 || trials[0].score <= 0 || added[trials[0].comp] {
			break
		}
		x := grown{trials[0].fault, trials[0].score, s.tailed(trials[0].fault)}
		steps = append(steps, x)
		added[x.comp] = true
		s.put(trials[0].fault)
		s.settle()
	}
	return s.cut(steps)
}

func (s *search) has(c int32) bool {
	return slices.ContainsFunc(s.faults, func(x fault) bool { return x.comp == c })
}

func (s *search) put(x fault) {
	i, _ := slices.BinarySearchFunc(s.faults, x.comp, func(y fault, c int32) int { return cmp.Compare(y.comp, c) })
	s.faults = slices.Insert(s.faults, i, x)
	s.apply()
}

// take removes a fault and returns it.
func (s *search) take(c int32) fault {
	i, _ := slices.BinarySearchFunc(s.faults, c, func(y fault, c int32) int { return cmp.Compare(y.comp, c) })
	x := s.faults[i]
	s.faults = slices.Delete(s.faults, i, i+1)
	s.apply()
	return x
}

// settle fits each fault anew, given the others, and drops those that are not needed any more.
func (s *search) settle() {
	for range 2 {
		for _, c := range s.named() {
			s.take(c)
			if t := s.try(c); t.score > 0 {
				s.put(t.fault)
			}
		}
	}
}

// exchange puts the best alternative into the place of each fault, where another explains more.
func (s *search) exchange() {
	for range 4 {
		changed := false
		for _, c := range s.named() {
			if !s.has(c) {
				continue
			}
			old := s.take(c)
			best := s.try(c)
			if trials := s.best(s.candidates()); len(trials) > 0 && trials[0].score > best.score+1e-9 {
				best = trials[0]
			}
			if best.score <= 0 {
				changed = true
				continue
			}
			changed = changed || best.comp != old.comp
			s.put(best.fault)
		}
		if !changed {
			return
		}
		s.settle()
	}
}

// lateness says how late a flow is among flows like it: minus the logarithm of the share that is later still, less what that is on the average of all. In its bin a flow may lie anywhere.
func (s *search) lateness(x *flow, i int32) float64 {
	faster, here := 0.0, 0.0
	for _, w := range s.partsOf(x) {
		sum, shape := join(s.sum[i], s.shape[i], w.sum, w.shape)
		level := s.t.level(sum)
		faster += w.share * s.t.faster(x, int(shape), level)
		here += w.share * s.t.p[s.t.at(x, int(shape), level)]
	}
	integral := func(later float64) float64 { return later*math.Log(max(later, 1e-9)) - later } // of the logarithm
	const most = 5
	return min(most, (integral(1-faster-here)-integral(1-faster))/here-1)
}

// mostTried is how many components are looked at closely, of those that late flows cross most. What the same flows cross counts as one: of unknown ways it is one class, of which none may be missed, up
// to mostAlike in all.
const mostTried, mostAlike = 48, 512

// candidates returns the components whose flows are later than the hypothesis explains, the latest first.
func (s *search) candidates() []int32 {
	lateness := make([]float64, len(s.ev.flows))
	for i := range lateness {
		lateness[i] = s.lateness(&s.ev.flows[i], int32(i))
	}
	ofSet := make([]float64, len(s.ev.sets))
	for k := range s.ev.sets {
		for _, i := range s.ev.sets[k].flows {
			ofSet[k] += lateness[i]
		}
	}
	type scored struct {
		comp  int32
		score float64
	}
	var list []scored
	for c := range s.ev.n {
		if math.IsInf(s.prior[c], -1) {
			continue
		}
		sum, variance := 0.0, 0.0
		for _, i := range s.ev.through(c) {
			sum += lateness[i]
			variance++
		}
		for _, m := range s.ev.members[c] {
			sum += m.share * ofSet[m.set]
			variance += m.share * m.share * float64(len(s.ev.sets[m.set].flows))
		}
		const least = 1.5
		if z := sum / math.Sqrt(variance); z > least && !s.has(c) {
			list = append(list, scored{c, z})
		}
	}
	slices.SortFunc(list, func(a, b scored) int { return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.comp, b.comp)) })
	out, tried := make([]int32, 0, mostTried), 0
	for i, x := range list[:min(mostAlike, len(list))] {
		if i == 0 || x.score != list[i-1].score {
			tried++
		}
		if tried > mostTried {
			break
		}
		out = append(out, x.comp)
	}
	return out
}
