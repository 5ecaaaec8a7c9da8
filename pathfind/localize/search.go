package localize

import (
	"math"
	"slices"
)

// A search walks over hypotheses, best first: it refits the best one not yet expanded, looks at all its neighbours (one component
// more, one less, one for another, several parts for their whole and the reverse), and remembers what it saw for the posterior.
type search struct {
	*model
	hyps []hypothesis
	by   map[uint64]int32 // hypothesis by key
	best float64          // score of the best hypothesis so far

	parent     int32         // the hypothesis in expansion
	atHand     int32         // the one that was refitted last and is loaded, or -1
	candidates []int32       // components that a lossy observation crosses
	lossy      []int32       // by component, how many do, by their weight
	cache      memory        // see cached
	like       likenesses    // where flows are known by their path sets only
	other      *search       // see aside
	peer       *search       // see weigh
	odds       []float64     // by component, of being faulty too; zero where not in hypothesis.extra
	uneven     []uneven      // arcs under the hypothesis in expansion
	spare      float64       // their gain
	here       deviceTable   // counts the hypothesis in expansion
	bonus      float64       // what devices add to the score of the hypothesis in expansion
	overlap    []float64     // by component: how much of that it would take away, because it explains some of the same losses
	listed     [2][]prospect // see prospects
	moves      []move        // those found so far that make the hypothesis in expansion likelier, if moving
	moving     bool
	views      []view            // by habits of flows, the likeliest first; its hypotheses are those of the search
	lossless   []losslessFlows   // flows without loss; where only others are known, those that are to be expected
	rival      *search           // another answer, by other traffic, if there is one: see traffic
	ratherBad  map[Cause]float64 // how likely arcs of hosts are bad that may be busy instead: see busy
	tilted     float64           // how likely it is that traffic is uneven, if that is asked
	flooded    bool              // what grew from nothing took all effort: see flood
	crossing   []int32           // of all observations, those whose path crosses an arc of a suspect; known with the result
	bounds     bounds            // of the component looked at last
	barred     func(int32) bool  // those that grow may not add; none if nil
	careful    bool              // grow adds one at a time
	occam      []float64
	dispensed  []int // components of the hypothesis that is refitted, by place, that gain little beside the others
	system     system
	scratch
}

// scratch is the space that a search needs for itself to look at the neighbours of a hypothesis.
type scratch struct {
	seen    []int32 // by component, the last observation that near saw it in, plus one
	nearby  []int32
	shared  []int32 // by component in nearby: how many lossy observations it shares, by their weight
	common  []int32 // by component, see couple; zero outside of it
	coupled []int
	comps   []int32
	rates   []float64
	devs    deviceTable
	// Found are the neighbours to be remembered, if that has to wait; moved is what was found out about components meanwhile.
	found []finding
	waits bool
	moved memory
}

func newScratch(n int32, devs deviceTable) scratch {
	return scratch{seen: make([]int32, n), shared: make([]int32, n), common: make([]int32, n), moved: briefMemory(), devs: devs}
}

// A hypothesis is a set of faulty components, with their likeliest hazards.
type hypothesis struct {
	key      uint64
	comps    []int32 // ascending
	rates    []float64
	score    float64 // log of its posterior probability, but for a constant
	expanded bool
	grown    bool  // grow was asked what it lacks
	revised  bool  // refitted, though not expanded
	parent   int32 // the hypothesis whose neighbour it was found to be
	// background is its own, or its parent's as long as it is not expanded.
	background float64
	// extra are components that may be faulty besides; known once expanded.
	extra []extra
	// devices are known once the search has ended: see placeDevices.
	devices []device
}

// An extra is a component that may be faulty beside those of a hypothesis.
type extra struct {
	comp        int32
	probability float64
}

// An addition is a component that should be faulty besides those of a hypothesis, by its own log odds and by what it adds to a device.
type addition struct {
	comp         int32
	rate         float64
	odds, beside float64
}

const (
	// horizon is how much less likely than the best a hypothesis may be, in nats, to be remembered.
	horizon = 10
	// rival is how much less likely one may be to be refitted and expanded after the best was found, and rivals how many are.
	rival, rivals = 4, 6
	// effort bounds the evaluations of an observation's likelihood, of which a core does some 20 million a second.
	effort = 2e7
	// utmost bounds them where the likeliest hypotheses are not looked at yet.
	utmost = 20 * effort
	// patience is the effort after which only what clearly improves on the best hypothesis is pursued, if that is healthy; it is less the
	// more faults there are, since every look costs more.
	patience = 6e6
	// even is by how much the scores of two hypotheses may differ, in nats, that are equally likely.
	even = 0.01
	// leeway is how much more the devices of a neighbour may add to its score.
	leeway = 8
	// sweeps bounds how often the rates of a hypothesis are fitted in turn, and gained is what one more turn must gain, in nats: those of
	// components that share packets give way to each other slowly.
	sweeps, gained = 12, 0.1
	// faint are the least odds of an extra component.
	faint = 1e-3
)

func newSearch(m *model) *search {
	s := &search{model: m, atHand: -1, bounds: bounds{comp: -1}, lossless: m.ev.clean, by: map[uint64]int32{}, like: likenesses{kin: newKin()}, best: math.Inf(-1),
		odds: make([]float64, m.ix.n), overlap: make([]float64, m.ix.n), lossy: make([]int32, m.ix.n)}
	s.scratch = newScratch(m.ix.n, newDeviceTable(m.ix, m.ev, m.cfg.OneWay))
	s.here = s.devs.another()
	weighShyness(m.ix, m.ev, s.ifGood)
	s.countLossy()
	for c := range m.ix.n {
		if s.lossy[c] > 0 {
			s.candidates = append(s.candidates, c)
		}
	}
	s.cache = newMemory(m.ix.n, len(s.candidates))
	return s
}

// countLossy counts the lossy observations that cross each component.
func (s *search) countLossy() {
	clear(s.lossy)
	clear(s.seen)
	for i := range s.ev.terms {
		t := &s.ev.terms[i]
		if t.lost == 0 {
			continue
		}
		for _, c := range s.ev.comps[s.ev.first[t.first]:s.ev.first[t.first+t.n]] {
			if s.seen[c] != int32(i)+1 && !(s.cfg.OneWay && s.ix.kindOf(c) == 1) { // no observation of a link counts then
				s.seen[c] = int32(i) + 1
				s.lossy[c] += t.weight()
			}
		}
	}
	clear(s.seen)
}

func (s *search) run() {
	s.chooseTwins()
	s.explore()
	s.reconsider()
	s.heedFlows()
}

// explore looks for what explains the evidence if flows have the habits that are set.
func (s *search) explore() {
	s.grown(s.remember(nil, nil, 0))
	for i := range s.hyps {
		if slices.ContainsFunc(s.hyps[i].comps, s.ix.manifold) {
			for j := s.scatter(int32(i)); j >= 0; {
				j = s.grow(j, 0)
			}
			if s.ev.sets != nil {
				s.piecemeal()
			}
			break
		}
	}
	s.follow()
	if slices.ContainsFunc(s.hyps[s.likeliest()].comps, s.ix.manifold) {
		s.growOn()
		s.follow()
	}
	if s.hyps[s.likeliest()].background >= heady {
		s.sober()
		s.follow()
	}
	if s.exhausted() {
		s.flood()
	}
}

// follow expands hypotheses, best first, until there is nothing more to be gained. What promises to be better than all that was looked at is looked
// at for longer: its score is but an estimate, and what is still to be taken out of it would be told for sure.
func (s *search) follow() {
	improved := math.Inf(1)
	for since := 0; ; since++ {
		next := s.promised()
		if next < 0 || s.hyps[next].score < s.best-rival || since > 2*rivals || s.work > utmost {
			return
		}
		tired := func() bool {
			n := len(s.hyps[next].comps) + 1
			if n <= handful && !s.hyps[s.likeliest()].expanded {
				return false // what nobody has looked at from all sides would be believed, however long it took to grow
			}
			return since > rivals || s.work > effort || s.work > patience/(n*n) && improved < 1
		}
		if s.hyps[next].score <= s.best+even && tired() {
			if next = s.simpler(next); next < 0 || tired() {
				return
			}
		}
		was := s.best
		if h := &s.hyps[next]; len(h.comps) > handful && !h.grown {
			// The looks at all neighbours of many faults, to add one, are as many as there are faults: what is missing is added first.
			for i := next; i >= 0; {
				i = s.grow(i, 0)
			}
			continue
		}
		s.expand(next)
		if improved = s.best - was; improved > even {
			since = 0
		}
	}
}

// expand refits a hypothesis and looks at its neighbours.
func (s *search) expand(i int32) {
	h := s.hyps[i] // a copy: remember may move the slice
	s.parent = i
	if s.atHand != i {
		s.refit(&h)
	}
	s.atHand = -1
	h.expanded = true
	s.hyps[i].score, s.hyps[i].background, s.hyps[i].expanded = h.score, h.background, true
	s.best = max(s.best, h.score)

	s.moves, s.moving = s.moves[:0], true
	var list []prospect
	if len(h.comps) < s.cfg.MaxFaults {
		list = s.prospects(&h, log(faint), nil)
	}
	besides := s.weighing(list, log(faint), false)
	s.change(&h, besides)
	s.add(&h, besides)
	s.hyps[i].extra = h.extra
	s.split(&h)
	s.moving = false
	s.leap(&h)
}

// add looks at all components that could be faulty besides.
func (s *search) add(h *hypothesis, besides *weighing) {
	var extras []extra
	for i, x := range besides.list {
		if besides.below[i] {
			continue
		}
		if x.odds+x.beside > -rival {
			s.neighbour(h, -1, x.comp, x.rate, h.score+x.odds)
		}
		if o := exp(min(x.odds-s.twins[x.comp]+x.beside, 2)); o > faint {
			s.odds[x.comp] = o
			extras = append(extras, extra{x.comp, o})
		}
	}
	for i, x := range extras {
		// Components that share lossy observations compete: hardly two of them are needed.
		all := 1.0
		for _, y := range s.near(x.comp) {
			all += s.odds[y]
		}
		extras[i].probability = x.probability / all
	}
	for _, x := range extras {
		s.odds[x.comp] = 0
	}
	h.extra = extras
}

// addAll remembers the hypothesis with all of some additions at once: faults far from each other need not be found one by one.
func (s *search) addAll(h *hypothesis, additions []addition) int32 {
	additions = additions[:min(len(additions), s.cfg.MaxFaults-len(h.comps))]
	if len(additions) == 0 {
		return -1
	}
	comps, rates := append(s.comps[:0], h.comps...), append(s.rates[:0], h.rates...)
	score := h.score
	for _, x := range additions {
		comps, rates = append(comps, x.comp), append(rates, x.rate)
		score += x.odds
	}
	s.comps, s.rates = comps, rates
	return s.remember(comps, rates, score)
}

// refit estimates background, rates and uneven arcs anew, and scores the hypothesis. It leaves in occam what each component pays for its
// freedom.
func (s *search) refit(h *hypothesis) {
	s.atHand = -1
	s.occam = slices.Grow(s.occam[:0], len(h.comps))[:len(h.comps)]
	s.setBackground(h.background)
	load := s.loadHazards // background and rates are found from these alone
	load(h.comps, h.rates)
	for i := range sweeps {
		was, sum := s.background, s.sum
		if s.fitBackground(i == 0 && h.score > s.best+even); s.background != was {
			load(h.comps, h.rates)
			sum = math.Inf(-1)
		}
		settled := s.settle(h.comps, h.rates)
		if settled || s.stale {
			s.load(h.comps, h.rates)
			sum = s.sum
		}
		load = s.load
		if settled {
			s.weighFreedom(h.comps, h.rates)
		}
		s.dispensed = s.dispensed[:0]
		for j, c := range h.comps {
			if settled && !math.IsNaN(s.occam[j]) {
				continue
			}
			var gain float64
			if h.rates[j], s.occam[j], gain = s.again(c); gain < dispensable {
				s.dispensed = append(s.dispensed, j)
			}
		}
		if len(h.comps) == 0 || (i > 0 || settled) && s.sum < sum+gained {
			break
		}
	}
	clear(s.overlap)
	s.feel()
	if s.uneven, s.spare = s.uneven[:0], 0; len(h.comps) > 0 || !s.surelyFaulty(s.candidates) {
		s.uneven = s.fitUneven(s.uneven, s.candidates)
	}
	for _, u := range s.uneven {
		s.spare += u.gain
		for _, c := range s.near(u.arc) {
			s.overlap[c] += u.gain * float64(s.shared[c]) / float64(s.lossy[u.arc])
		}
	}
	s.load(h.comps, h.rates)
	h.background = s.background
	h.score = s.sum + s.logBackgroundPrior() + s.spare
	for _, o := range s.occam {
		h.score += o
	}
	_, s.bonus = s.devs.devices(s.ix, h.comps)
	h.score += s.bonus - s.doubled(h)
}

// recall loads a hypothesis with its background.
func (s *search) recall(h *hypothesis) {
	s.atHand = -1
	s.setBackground(h.background)
	s.load(h.comps, h.rates)
}

// again fits a component anew that has an excess. It returns its rate, what it pays for its freedom, and what it gains.
func (s *search) again(c int32) (rate, occam, gain float64) {
	s.shift(c, 0)
	f := s.fit(c)
	s.shift(c, f.rate)
	return f.rate, f.bayes - f.peak + s.priorOf(c), f.peak
}

// near returns the components that share a lossy observation with c, on the same or on another of its alternatives, and counts in shared
// how many they share. What it returns is valid until the next call.
func (s *search) near(c int32) []int32 {
	for _, x := range s.nearby {
		s.shared[x], s.seen[x] = 0, 0
	}
	s.nearby = s.nearby[:0]
	last := int32(-1)
	for _, e := range s.ev.entries[s.ev.start[c]:s.ev.start[c+1]] {
		t := &s.ev.terms[e.term]
		if e.term == last || t.lost == 0 {
			continue
		}
		last = e.term
		weight := t.weight()
		for _, x := range s.ev.comps[s.ev.first[t.first]:s.ev.first[t.first+t.n]] {
			if s.seen[x] != e.term+1 && s.lossy[x] > 0 {
				if s.shared[x] == 0 {
					s.nearby = append(s.nearby, x)
				}
				s.seen[x] = e.term + 1
				s.shared[x] += weight
			}
		}
	}
	return s.nearby
}

// neighbour remembers the hypothesis without its j-th component, unless j is negative, and with component add, unless that is.
func (s *search) neighbour(h *hypothesis, j int, add int32, rate, score float64) {
	if score < s.best-horizon-leeway {
		return
	}
	comps, rates := append(s.comps[:0], h.comps...), append(s.rates[:0], h.rates...)
	if j >= 0 {
		comps, rates = slices.Delete(comps, j, j+1), slices.Delete(rates, j, j+1)
	}
	if add >= 0 {
		comps, rates = append(comps, add), append(rates, rate)
	}
	s.comps, s.rates = comps, rates
	s.remember(comps, rates, score)
}

// remember keeps a hypothesis if it is likely enough and new, or likelier than thought. It copies what it keeps.
// The score is taken to hold the bonus of the hypothesis in expansion. It returns the number of the hypothesis, or -1.
func (s *search) remember(comps []int32, rates []float64, score float64) int32 {
	if math.IsNaN(score) || score < s.best-horizon-leeway {
		return -1
	}
	_, bonus := s.devs.devices(s.ix, comps)
	if score += bonus - s.bonus; score < s.best-horizon {
		return -1
	}
	return s.keep(finding{comps, rates, score, bonus, false})
}

// A finding is a neighbour of the hypothesis in expansion, with what devices add to its score. One that is known was expanded.
type finding struct {
	comps        []int32
	rates        []float64
	score, bonus float64
	known        bool
}

// keep remembers what was found, or does so later. It returns the number of the hypothesis, or -1.
func (s *search) keep(f finding) int32 {
	if s.waits {
		f.comps, f.rates = slices.Clone(f.comps), slices.Clone(f.rates)
		s.found = append(s.found, f)
		return -1
	}
	s.note(f.comps, f.rates, f.score, f.bonus)
	if f.known {
		return -1
	}
	comps, rates, score := f.comps, f.rates, f.score
	key := keyOf(comps)
	if i, ok := s.by[key]; ok {
		if h := &s.hyps[i]; !h.expanded && !h.revised && score > h.score {
			h.score, h.parent, h.background = score, s.parent, s.background
			if i == s.atHand {
				s.atHand = -1
			}
		}
		return i
	}
	s.by[key] = int32(len(s.hyps))
	h := hypothesis{key: key, comps: slices.Clone(comps), rates: slices.Clone(rates), score: score, parent: s.parent, background: s.background}
	for i := 1; i < len(h.comps); i++ { // insertion sort of two slices
		for j := i; j > 0 && h.comps[j] < h.comps[j-1]; j-- {
			h.comps[j], h.comps[j-1] = h.comps[j-1], h.comps[j]
			h.rates[j], h.rates[j-1] = h.rates[j-1], h.rates[j]
		}
	}
	s.hyps = append(s.hyps, h)
	return s.by[key]
}

func keyOf(comps []int32) uint64 {
	key := uint64(0)
	for _, c := range comps {
		key += scramble(uint64(c))
	}
	return key
}

// mixed returns a fingerprint of what one tells and of what follows.
func mixed(print, x uint64) uint64 {
	print = (print ^ x) * 0x9e3779b97f4a7c15
	return print ^ print>>29
}

// scramble spreads the bits of a component's number, so that the sum over a set tells sets apart (splitmix64, Steele et al. 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
