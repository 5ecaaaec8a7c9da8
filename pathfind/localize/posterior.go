package localize

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
)

const (
	// listed is the least probability of a suspect.
	listed = 0.01
	// alike is how much the evidence may differ, in nats, between two causes that it does not tell apart: odds of one in twelve are
	// no reason to pull the wrong cable.
	alike = 2.5
)

// result turns the visited hypotheses into probabilities of causes.
func (s *search) result() *Result {
	if len(s.views) == 0 {
		s.views = []view{s.view(unknownHabits(s.cfg))}
	}
	s.heedKind()
	weights := s.views[0].weights
	causes := s.causes()
	marginal := make(map[int32]float64, len(causes))
	for _, c := range causes {
		marginal[c] = s.probability(c)
	}
	rank := func(a, b int32) int {
		return cmp.Or(cmp.Compare(about(marginal[b]), about(marginal[a])), cmp.Compare(s.ix.logPrior(b), s.ix.logPrior(a)), cmp.Compare(a, b))
	}
	s.devicesFirst(causes, marginal, rank)

	r := &Result{Score: s.score(), Exposure: s.ev.sent, Ignored: s.ev.ignored, Selected: s.ev.selected, Uneven: s.tilted}
	if learnt := &s.views[0].habits; !s.ev.selected && learnt.shape != unknownHabits(s.cfg).shape {
		r.Own = Own{learnt.total, learnt.shape[0]}
	}
	if s.ev.sets != nil {
		r.Loose = s.ev.sets.expected()
		for a := range r.Loose {
			r.Loose[a] *= s.ev.run
		}
	}
	for i := range s.views {
		r.Healthy += s.views[i].share * s.views[i].healthy()
	}
	s.like.kin.placings = allPlacings // whatever the search has tried: what is told would lack what it does not place
	t := teller{search: s, weights: weights, marginal: marginal, rank: rank, owner: make([]int32, s.ix.n), places: map[placeKey][]place{}}
	var comps []int32 // those of the suspects
	for _, c := range causes {
		if marginal[c] < listed/4 {
			break
		}
		if t.owned(c) {
			continue
		}
		if x := t.suspect(c); x.Probability >= listed {
			r.Suspects, comps = append(r.Suspects, x), append(comps, c)
		}
	}
	s.crossing = s.ix.count(r.Suspects, comps, s.ev)
	r.rank()

	r.Early = s.ev.early(func(comps []int32) float64 { return s.probability(comps...) })
	s.loadLikeliest(weights, -1)
	r.Background, r.Normal, r.Least = -math.Expm1(-s.background), -math.Expm1(-s.normal[len(s.normal)-1]), -math.Expm1(-s.bad[0])
	r.Shy = s.shyResponders()
	return r
}

// rank puts the suspects that are likely enough to be listed into their order.
func (r *Result) rank() {
	r.Suspects = slices.DeleteFunc(r.Suspects, func(x Suspect) bool { return x.Probability < listed })
	slices.SortStableFunc(r.Suspects, func(a, b Suspect) int { return cmp.Compare(b.Probability, a.Probability) })
}

// score is the log of how probable the evidence is by all views together, but for a constant.
func (s *search) score() float64 {
	sum := math.Inf(-1)
	for i := range s.views {
		sum = logSum(sum, s.views[i].score)
	}
	return sum
}

// A teller makes suspects of causes, the likeliest first.
type teller struct {
	*search
	weights  []float64         // of the hypotheses
	marginal map[int32]float64 // by cause, its probability
	rank     func(a, b int32) int
	owner    []int32 // by component: the cause of the first suspect in whose class it is, plus one; 0 if there is none
	told     []int32 // switches that are likelier bad than not
	arcs     []int32 // arcs likewise
	places   map[placeKey][]place
}

// A placeKey is a hypothesis and a switch.
type placeKey struct {
	hypothesis uint64
	at         int32
}

// owned reports whether a component is in the class of a suspect.
func (t *teller) owned(x int32) bool { return t.owner[x] != 0 }

// own notes that a component is in the class of a suspect.
func (t *teller) own(cause, x int32) {
	if !t.owned(x) {
		t.owner[x] = cause + 1
	}
}

// taken reports whether a component is in the class of another suspect than c. Of two that a hypothesis has and that are likely, each may be at the place of either.
func (t *teller) taken(h *hypothesis, c, x int32) bool {
	return t.owned(x) && (t.marginal[c] <= 0.5 || !slices.ContainsFunc(h.comps, func(y int32) bool { return y != c && t.owner[y] == t.owner[x] }))
}

// suspect returns a cause with what the evidence does not tell apart from it; if that is too unlikely to be listed, nothing else of it.
func (t *teller) suspect(c int32) Suspect {
	first := c
	t.own(first, c)
	if d := t.likeliestDevice(c, t.weights); d != nil {
		x := t.deviceSuspect(d, min(t.marginal[c], 1), t.owned)
		for _, y := range x.Class {
			n := t.ix.node(graphs.NodeID(y.ID))
			t.own(first, n)
			t.tell(n, x.Probability)
		}
		return x
	}
	if len(t.told) > 0 && t.marginal[c]*(1-t.explained([]int32{c}, t.told, t.weights)) < listed {
		return Suspect{}
	}
	h := t.loadLikeliest(t.weights, c)
	taken := func(x int32) bool { return t.taken(h, c, x) }
	class, odds, against := t.class(c, taken, nil)
	alone := t.marginal[c]
	switch arc, link, other := t.otherWay(c); {
	case other < 0:
	case len(class) == 1:
		t.own(first, other)
		alone = t.probability(arc, link)
		c, h = arc, t.loadLikeliest(t.weights, arc)
		class, odds, against = t.class(c, taken, nil)
	default:
		if !slices.Contains(class, other) {
			class = append(class, other)
		}
		odds[other] = odds[c] + math.Log(t.marginal[other]/t.marginal[c])
	}
	slices.SortFunc(class[1:], t.rank)
	x := Suspect{Cause: t.ix.cause(c), Alone: min(alone, 1), Against: against}
	own := len(class)
	if !t.single {
		for _, y := range t.alsoFor(h, c, class) {
			if !slices.Contains(class[own:], y.comp) {
				class, odds[y.comp] = append(class, y.comp), odds[c]+math.Log(y.mass)
			}
		}
	}
	if slices.ContainsFunc(class, func(y int32) bool { return t.ix.cause(y) == x.Against.RunnerUp }) {
		_, _, x.Against = t.class(c, taken, class)
	}
	x.Probability = max(t.oneMore(first, class), x.Alone)
	for _, y := range class {
		if y == c || !slices.Contains(h.comps, y) { // what is faulty besides is a suspect of its own
			t.own(first, y)
		}
		x.Class = append(x.Class, t.ix.cause(y))
	}
	if len(t.told) > 0 {
		besides := 1 - t.explained(class, t.told, t.weights)
		x.Probability, x.Alone = x.Probability*besides, x.Alone*besides
	}
	if x.Probability < listed {
		return Suspect{}
	}
	x.Weights = shares(class, odds, x.Probability)
	if len(class) > own {
		x.Alone = x.Weights[0]
	}
	if x.Against.RunnerUp.Kind == "" {
		// That there is no such fault may also be because good arcs are uneven, or by what else the search has weighed.
		x.Against.Nats = min(x.Against.Nats, math.Log(x.Probability)-math.Log1p(-x.Probability))
	}
	t.tell(c, x.Probability)
	iv := t.interval(c) // class left c loaded
	x.Loss, x.Low, x.High = iv.median, iv.low, iv.high
	if t.ix.kindOf(c) == 0 { // with what is lost to its link, whichever way
		passes := math.Exp(-t.excess[t.ix.link(graphs.ArcID(c).Link())])
		x.Loss, x.Low, x.High = 1-passes*(1-x.Loss), 1-passes*(1-x.Low), 1-passes*(1-x.High)
	}
	return x
}

// oneMore returns the probability that a member of a class is faulty beside one for each suspect that has members of it in its own class.
func (t *teller) oneMore(c int32, class []int32) float64 {
	var own, others []int32
	for _, x := range class {
		switch owner := t.owner[x] - 1; {
		case owner < 0 || owner == c:
			own = append(own, x)
		case !slices.Contains(others, owner):
			others = append(others, owner)
		}
	}
	p := 0.0
	for i := range t.views {
		v := &t.views[i]
		if v.drawn != nil {
			p += v.share * v.often(t.search, class, 1+len(others))
		} else {
			p += v.share * v.probability(t.search, own)
		}
	}
	return min(p, 1)
}

// tell notes that a cause has that probability.
func (t *teller) tell(c int32, probability float64) {
	switch k := t.ix.kindOf(c); {
	case probability <= 0.5:
	case k == 0:
		t.arcs = append(t.arcs, c)
	case k == 2:
		t.told = append(t.told, c)
	}
}

// otherWay returns, of a link or arc that is faulty beside an arc of the link which is told, the arc the other way and the link, and which of both is the other one, where they are about as
// likely: either says that the arc loses packets. Else other is negative.
func (t *teller) otherWay(c int32) (arc, link, other int32) {
	for _, a := range t.arcs {
		arc, link = int32(graphs.ArcID(a).Reverse()), t.ix.link(graphs.ArcID(a).Link())
		other = link
		if c == link {
			other = arc
		}
		if (c == link || c == arc) && !t.owned(other) && math.Abs(math.Log(t.marginal[other]/t.marginal[c])) <= alike {
			return arc, link, other
		}
	}
	return 0, 0, -1
}

// about rounds a probability, so that what is equal but for rounding errors is ranked by something else.
func about(p float64) float64 { return math.Round(p * 1e6) }

// mentions are how much weight the hypotheses have that hold a component, how much that it is faulty besides others, and, of a switch, how much that
// it is faulty as a whole or in part.
type mentions struct{ with, besides, device float64 }

// mentioned returns what the hypotheses say of each component that may be faulty.
func (s *search) mentioned(weights []float64) map[int32]mentions {
	seen := map[int32]mentions{}
	add := func(c int32, t mentions) {
		was := seen[c]
		seen[c] = mentions{was.with + t.with, was.besides + t.besides, was.device + t.device}
	}
	for i, w := range weights {
		h := &s.hyps[i]
		for _, c := range h.comps {
			add(c, mentions{with: w, device: w})
		}
		for j := range h.devices {
			add(h.devices[j].comp, mentions{device: w * h.devices[j].probability()})
		}
		for _, x := range h.extra {
			add(x.comp, mentions{besides: w * x.probability})
		}
	}
	return seen
}

// weights returns the posterior probability of each visited hypothesis, with whatever else may be faulty besides, and the log of their sum
// but for a constant.
func (s *search) weights() ([]float64, float64) {
	for i := range s.hyps {
		h := &s.hyps[i]
		h.extra = slices.DeleteFunc(h.extra, func(x extra) bool {
			_, ok := s.by[h.key+scramble(uint64(x.comp))] // counted by itself
			return ok
		})
	}
	w := make([]float64, len(s.hyps))
	best, sum := math.Inf(-1), 0.0
	for i := range s.hyps {
		h := &s.hyps[i]
		w[i] = h.score
		// Each extra raises the weight. Those of a hypothesis that was not expanded are not known, so its parent's must do.
		if !h.expanded {
			h = &s.hyps[h.parent]
		}
		for _, x := range h.extra {
			w[i] -= math.Log1p(-x.probability)
		}
		best = max(best, w[i])
	}
	for i := range w {
		w[i] = math.Exp(w[i] - best)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w, best + math.Log(sum)
}

// holds returns the probability that a member of a class is faulty under a hypothesis.
func (s *search) holds(h *hypothesis, class []int32) float64 {
	for _, c := range h.comps {
		if slices.Contains(class, c) {
			return 1
		}
	}
	p := 0.0
	for _, x := range h.extra {
		if slices.Contains(class, x.comp) {
			p += x.probability
		}
	}
	for i := range h.devices {
		if slices.Contains(class, h.devices[i].comp) {
			p = max(p, h.devices[i].probability())
		}
	}
	return min(p, 1)
}

// likeliestWith returns the number of the likeliest hypothesis that holds a component. A negative component means the likeliest of all.
func (s *search) likeliestWith(weights []float64, c int32) int {
	top, most := 0, -1.0
	for i := range s.hyps {
		if p := weights[i]; p > most && (c < 0 || p*s.holds(&s.hyps[i], []int32{c}) > most) {
			if c >= 0 {
				p *= s.holds(&s.hyps[i], []int32{c})
			}
			top, most = i, p
		}
	}
	return top
}

// loadLikeliest loads that, makes the component faulty if it is but an extra there, and returns it.
func (s *search) loadLikeliest(weights []float64, c int32) *hypothesis {
	h := &s.hyps[s.likeliestWith(weights, c)]
	s.recall(h)
	if c >= 0 {
		s.suppose(c)
	}
	return h
}

// suppose makes a component faulty, and reports whether it was not.
func (s *search) suppose(c int32) bool {
	if s.excess[c] > 0 {
		return false
	}
	s.shift(c, s.fit(c).rate)
	return true
}

// shares shares the probability of a class out among its members by their log odds.
func shares(class []int32, odds map[int32]float64, probability float64) []float64 {
	w := make([]float64, len(class))
	most, sum := math.Inf(-1), 0.0
	for _, c := range class {
		most = max(most, odds[c])
	}
	for i, c := range class {
		w[i] = math.Exp(odds[c] - most)
		sum += w[i]
	}
	for i := range w {
		w[i] *= probability / sum
	}
	return w
}

// usual returns the log prior odds of one more fault of each kind, beside those that are loaded.
func (s *search) usual() (odds [len(kinds)]float64) {
	var beside census
	for _, c := range s.faulty {
		beside[s.ix.kindOf(c)]++
	}
	for k := range odds {
		odds[k] = s.ix.prior[k] + s.ix.census.more(&beside, k)
	}
	return odds
}

// class returns the components that the evidence cannot tell from c, a member of the loaded hypothesis: itself first, the log odds of each, and what speaks
// against c but for what is known to be in its class.
func (s *search) class(c int32, taken func(int32) bool, known []int32) ([]int32, map[int32]float64, Against) {
	rate := s.excess[c]
	s.shift(c, 0)
	own := s.fit(c)
	usual := s.usual()
	ownOdds := own.bayes + usual[s.ix.kindOf(c)]
	class, of := []int32{c}, map[int32]float64{c: ownOdds}
	runner, odds := int32(-1), 0.0
	for _, x := range s.near(c) {
		prior := usual[s.ix.kindOf(x)]
		if x == c || s.excess[x] > 0 || 2*s.shared[x] < s.lossy[c] {
			continue
		}
		if s.hopeless(x, min(own.bayes-alike, odds-prior)) {
			continue
		}
		switch f := s.fit(x); {
		case f.bayes >= own.bayes-alike && !taken(x):
			class = append(class, x)
			of[x] = f.bayes + prior
		case f.bayes+prior > odds && !slices.Contains(known, x):
			runner, odds = x, f.bayes+prior
		}
	}
	s.shift(c, rate)
	a := Against{Nats: ownOdds - odds}
	if runner >= 0 {
		a.RunnerUp = s.ix.cause(runner)
	}
	return class, of, a
}
