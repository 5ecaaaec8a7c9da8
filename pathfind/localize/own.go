package localize

import (
	"cmp"
	"math"
	"slices"

	"whichlink/internal/halves"
)

// habits are how flows lose packets by themselves: how many of them do, and how much they lose.
type habits struct {
	rate  bySort   // the share of flows that do
	total float64  // of those, the share that lose everything
	shape [2]shape // by sort, of those that do not lose everything, how many lose about as much as each of keeping says
	prior float64  // log of how likely they are before any evidence, and of what they pay for having been learnt from it
}

// A shape is the share of flows that lose about as much as each of keeping says.
type shape [len(keeping)]float64

// A bySort is a number for each sort of flows: those that were sent to measure, and those that the fabric carries.
type bySort [2]float64

// sortOf is the index into a bySort.
func sortOf(carried bool) int {
	if carried {
		return 1
	}
	return 0
}

// carriedOutlier is how many times as many of the flows that the fabric carries lose packets by themselves as of those that are sent to measure, before any evidence: their receivers may
// have no room, and what captures had none for looks lost.
const carriedOutlier = 3

// outliers is the share of flows of each sort that lose packets by themselves, before any evidence.
func (c Config) outliers() bySort { return bySort{c.Outlier, min(carriedOutlier*c.Outlier, 0.5)} }

// keeping are what a flow with losses of its own lets pass: its share of them is drawn from Beta(k, 1), so that it loses 1/(k+1) in the mean.
var keeping = [...]float64{1, 30, 180, 1000}

// Own is how much flows lose that lose packets by themselves; the zero value knows nothing of it.
type Own struct {
	total float64
	shape shape
}

// Known reports whether anything is known of it.
func (o *Own) Known() bool { return *o != Own{} }

// Likely returns the logarithm of how likely such a flow loses so many packets and lets so many others pass, which ones being told. If nothing is known of it, any share is as likely.
func (o *Own) Likely(lost, passed float64) float64 {
	if !o.Known() {
		return spared(lost, passed, keeping[0])
	}
	sum := math.Inf(-1)
	if passed == 0 {
		sum = log(o.total)
	}
	for k, keep := range keeping {
		if share := (1 - o.total) * o.shape[k]; share > 0 {
			sum = logSum(sum, log(share)+spared(lost, passed, keep))
		}
	}
	return sum
}

// spared is the logarithm of how likely that is where what passes each packet is drawn from Beta(keep, 1).
func spared(lost, passed, keep float64) float64 {
	return log(keep) + lgamma(lost+1) + lgamma(passed+keep) - lgamma(lost+passed+keep+1)
}

const (
	// fewOwn is how many flows must probably have losses of their own for habits to be learnt from them.
	fewOwn = 4
	// negligibleOdds are those of losses of its own at which a flow tells nothing of them.
	negligibleOdds = 1e-4
	// learnt is by what factor the rate of a habit must change for it to be learnt anew, and rounds how long one lesson is.
	learnt, rounds = 1.5, 20
)

// unknownHabits are what is thought of flows before any evidence. Of one that is sent to measure any share of its packets is as likely to be lost as any other: that it loses many would be
// hard to tell from a fault. Those that the fabric carries lose a few by themselves, mostly.
func unknownHabits(cfg Config) habits {
	return habits{rate: cfg.outliers(), total: usuallyTotal, shape: [2]shape{{1, 0, 0, 0}, kindsCarried}, prior: math.Log1p(-otherHabits)}
}

// A school is how habits are learnt.
type school struct {
	least   float64 // flows that must seem to lose packets by themselves
	shares  [2]beta // of the share of flows of each sort that do
	lessons int     // how often habits are learnt at the most
	proceed func(*search, int32)
}

// A beta is the Beta distribution of a share: as if so many had been seen that do something, and so many others.
type beta struct{ own, other float64 }

// aboutUsual is the school of those who hold that flows have about the habits that are usual, and openMinded that of those who hold no such thing.
func aboutUsual(cfg Config) school {
	usual := cfg.outliers()
	return school{fewOwn, [2]beta{{1, 1/usual[0] - 1}, {1, 1/usual[1] - 1}}, 3, (*search).grown}
}

var openMinded = school{0, [2]beta{anyShare, anyShare}, 4, (*search).followed}

// anyShare is what those think of a share.
var anyShare = beta{0.3, 2.7}

// kindsOwn is how many of the flows that habits are learnt from are expected to be of each kind: their Dirichlet distribution. Those that lose everything
// stand beside.
var kindsOwn = shape{1, 0.6, 0.4, 0.4}

// kindsCarried is which share of those that the fabric carries are.
var kindsCarried = kindsOwn.shares()

// shares returns numbers of flows as shares of all of them.
func (x shape) shares() shape {
	sum := 0.0
	for _, n := range x {
		sum += n
	}
	for k := range x {
		x[k] /= sum
	}
	return x
}

// totals is the distribution of the share of them that do, of which the mean is usuallyTotal.
var totals = beta{5 * usuallyTotal, 5 * (1 - usuallyTotal)}

// marginals are the probabilities of the losses of a term that lets everything else pass, by what it may keep, for the first so many kinds, each over that of
// the first; and the log of that one, but for the number of ways in which the losses may lie among the packets.
func (t *term) marginals(kinds int) (p [len(keeping)]float64, first float64) {
	n := t.lost + t.passed
	if t.whole > 0 && t.whole < 16 { // keep lost! / ((passed+keep) ... (n+keep))
		for k, keep := range keeping[:kinds] {
			x := keep / (n + keep)
			for j := t.lost; j > 0; j-- {
				x *= j / (n - j + keep)
			}
			p[k] = x
		}
		one := p[0]
		for k := range kinds {
			p[k] /= one
		}
		return p, log(one)
	}
	first = lgamma(t.passed+1) + lgamma(t.lost+1) - lgamma(n+2)
	for k, keep := range keeping[:kinds] {
		p[k] = keep * exp(lgamma(t.passed+keep)-lgamma(t.passed+1)-lgamma(n+keep+1)+lgamma(n+2))
	}
	return p, first
}

// setHabits sets what the term expects of a flow, of which a share w has losses of its own. The likeliest kind of them stands for all.
func (t *term) setHabits(h *habits, w float64) {
	t.keep, t.part, t.still, t.total = 1, 1, 1/(t.lost+t.passed+1), h.total
	if !t.lone {
		kinds := len(keeping)
		shape := &h.shape[sortOf(t.carried)]
		if shape[0] == 1 {
			kinds = 1
		}
		p, first := t.marginals(kinds)
		best, sum := 0, 0.0
		t.still = 0
		for k := range kinds {
			t.still += shape[k] * keeping[k] / (t.lost + t.passed + keeping[k])
			if sum += shape[k] * p[k]; shape[k]*p[k] > shape[best]*p[best] {
				best = k
			}
		}
		t.kind, t.keep, t.part = int8(best), keeping[best], sum/p[best]
		t.beta = first + log(sum)
		n := t.lost + t.passed
		t.mean = (t.passed + t.keep) / (n + t.keep + 1)
		t.dev = math.Sqrt(t.mean * (1 - t.mean) / (n + t.keep + 2))
		t.sharp = 1 / t.dev
	}
	t.setOutlier(w)
}

// kindsBy shares something out to the kinds by how likely each loses what a term lost.
func (t *term) kindsBy(h *habits, what float64) (kinds [len(keeping)]float64) {
	p, _ := t.marginals(len(keeping))
	sum := 0.0
	for k := range p {
		kinds[k] = h.shape[sortOf(t.carried)][k] * p[k]
		sum += kinds[k]
	}
	for k := range kinds {
		kinds[k] *= what / sum
	}
	return kinds
}

// A stranger is a flow that lost packets, perhaps by itself.
type stranger struct {
	odds  float64               // of that, over the rate of those that do, and over what total, part and kinds say
	total float64               // how likely one of those that lose everything loses what it lost
	part  float64               // and how likely one that does not
	kinds [len(keeping)]float64 // over what each kind says
	same  float64
	sort  int
}

// strangers are the lossy flows that may have lost packets by themselves, as a hypothesis has it.
type strangers struct {
	some  []strange
	lossy float64 // flows that lost packets
	own   float64 // how many of them did so by themselves, in the mean
	found float64 // how many probably did
}

// A strange flow is one of them, with the odds that it did.
type strange struct {
	*term
	odds float64
}

// strangers returns those of the loaded hypothesis.
func (s *search) strangers() strangers {
	var halved [2]strangers
	halves.Briefly(s.ev.flows, func(half, from, to int) {
		x := strangers{some: make([]strange, 0, to-from)}
		for i := from; i < to; i++ {
			if t := &s.ev.terms[i]; t.lost > 0 && !t.answers {
				x.lossy++
				x.add(t, s.oddsOfOwn(t))
			}
		}
		halved[half] = x
	})
	x, y := halved[0], halved[1]
	return strangers{append(x.some, y.some...), x.lossy + y.lossy, x.own + y.own, x.found + y.found}
}

// add counts a flow with the odds that it lost packets by itself.
func (all *strangers) add(t *term, odds float64) {
	if !(odds >= negligibleOdds) {
		return
	}
	all.own += t.ownShare(odds)
	if odds > 1 {
		all.found += 1 / t.same
	}
	all.some = append(all.some, strange{t, odds})
}

// apart tells what habits have no part in.
func (all *strangers) apart(h *habits) []stranger {
	list := make([]stranger, 0, len(all.some))
	for _, t := range all.some {
		x := stranger{odds: t.odds / exp(t.outlier-t.inlier), same: t.same, sort: sortOf(t.carried)}
		if t.lone {
			for k := range x.kinds {
				x.kinds[k] = 1 // what loses everything tells nothing of the others
			}
			x.total, x.part = 1, 1/(t.lost+1)
		} else {
			x.kinds, _ = t.marginals(len(keeping))
			x.part = 1
		}
		x.odds /= h.likely(&x, h.mean(x.sort, x.kinds))
		list = append(list, x)
	}
	return list
}

// oddsOfOwn are the odds that a flow lost packets by itself.
func (s *search) oddsOfOwn(t *term) float64 {
	if t.n == 1 {
		if in, out := t.over(s.hazard[t.first]); in > 0 && out > 0 {
			return out / in
		}
	}
	in, out := math.Inf(-1), math.Inf(-1)
	for b := t.first; b < t.first+t.n; b++ {
		x, y := t.parts(s.hazard[b])
		in, out = logSum(in, s.ev.share[b]+x), logSum(out, s.ev.share[b]+y)
	}
	return exp(min(out-in, 300))
}

// ownShare is how much of a flow lost packets by itself, in the mean, at the odds that it did.
func (t *term) ownShare(odds float64) float64 { return odds / ((1 + odds) * t.same) }

// likely is how likely a flow that loses packets by itself lost what a stranger did, given the mean of what is said of each kind.
func (h *habits) likely(x *stranger, mean float64) float64 {
	return h.total*x.total + (1-h.total)*x.part*mean
}

// mean is that of what is said of each kind.
func (h *habits) mean(sort int, kinds [len(keeping)]float64) float64 {
	sum := 0.0
	for k, p := range kinds {
		sum += h.shape[sort][k] * p
	}
	return sum
}

// allFlows is how many observations there are, those without loss among them.
func (s *search) allFlows() float64 {
	n := s.flowsBySort()
	return n[0] + n[1]
}

func (s *search) flowsBySort() (n bySort) {
	for i := range s.ev.flows {
		n[sortOf(s.ev.terms[i].carried)] += s.ev.terms[i].copies
	}
	for _, b := range s.lossless {
		n[sortOf(b.carried)] += float64(b.flows)
	}
	return n
}

// learn finds the habits of flows from those that the loaded hypothesis leaves unexplained, by expectation maximisation. It reports whether they were enough
// to learn from: so many that probably lose packets by themselves at least. Faults that the hypothesis lacks make the habits worse rather than better.
func (s *search) learn(h *habits, by school, from strangers) bool {
	if from.found < by.least {
		return false
	}
	list, known := from.apart(h), s.flowsBySort()
	for i, b := range by.shares {
		known[i] += b.own + b.other
	}
	var own bySort
	var total float64
	var kinds shape
	for range rounds {
		own, total, kinds = bySort{by.shares[0].own, by.shares[1].own}, totals.own, kindsOwn
		partly := 0.0 // those that do not lose everything
		add := func(sort int, flows, mean float64, likely [len(keeping)]float64) {
			own[sort], partly = own[sort]+flows, partly+flows
			for k, p := range likely {
				kinds[k] += flows * h.shape[sort][k] * p / mean
			}
		}
		for i := range list {
			x := &list[i]
			rate := h.rate[x.sort]
			if x.same > 1 {
				rate = math.Pow(rate, 1/x.same)
			}
			mean := h.mean(x.sort, x.kinds)
			likely := h.likely(x, mean)
			w := rate * x.odds * likely
			w /= (1 - rate + w) * x.same
			all := w * h.total * x.total / likely
			own[x.sort], total = own[x.sort]+all, total+all
			add(x.sort, w-all, mean, x.kinds)
		}
		for _, b := range s.lossless {
			if b.flows > 0 {
				likely := b.lossless()
				sort := sortOf(b.carried)
				mean := h.mean(sort, likely)
				add(sort, float64(b.flows)*h.rate[sort]*(1-h.total)*mean, mean, likely)
			}
		}
		for i := range own {
			h.rate[i] = min(own[i]/known[i], 0.5)
		}
		h.total = total / (total + totals.other + partly)
		shares := kinds.shares()
		h.shape = [2]shape{shares, shares}
	}
	h.prior = math.Log(otherHabits) + by.freedom(h, own, known, total, kinds)
	return true
}

// freedom is what habits pay for having been learnt: by how much less likely the flows would be, were it known of each whether and how it loses packets by
// itself, if rate, total and kinds are integrated out than with what they were found to be (Cheeseman and Stutz 1996). It is given how many flows do, how many there
// are, how many lose everything and how many are of each kind, prior included.
func (by school) freedom(h *habits, own, known bySort, total float64, kinds [len(keeping)]float64) float64 {
	cost, all := 0.0, 0.0
	for i, b := range by.shares {
		some := own[i] - b.own
		cost += b.price(some, known[i]-own[i]-b.other, h.rate[i])
		all += some
	}
	cost += totals.price(total-totals.own, all-(total-totals.own), h.total)
	all = 0
	prior := 0.0
	for k, x := range kinds {
		cost += lgamma(x) - lgamma(kindsOwn[k]) - (x-kindsOwn[k])*log(h.shape[0][k])
		all, prior = all+x, prior+kindsOwn[k]
	}
	return cost - lgamma(all) + lgamma(prior)
}

// price is the log of how much less likely it is that so many do something and so many others do not if the share is integrated out than with what it was found to be.
func (b beta) price(some, others, share float64) float64 {
	return b.likely(some, some+others) - some*log(share) - others*math.Log1p(-share)
}

// lossless returns how likely such flows are to lose nothing if they lose packets by themselves, but not all, by kind.
func (b losslessFlows) lossless() (p [len(keeping)]float64) {
	for k, keep := range keeping {
		p[k] = keep / (b.size() + keep)
	}
	return p
}

// attend lets the habits of flows be learnt under a hypothesis, which is loaded, and leaves some flows to them, and begins anew with them from there; and so on
// under what comes of it. It reports whether there was anything to learn.
func (s *search) attend(by school, h hypothesis, from strangers) (habits, bool) {
	known := unknownHabits(s.cfg)
	for i := range by.lessons {
		if i > 0 {
			h = s.likeliestSoFar()
			s.recall(&h)
			from = s.strangers()
		}
		was := known
		if !s.learn(&known, by, from) || i > 0 && !known.differ(&was) {
			return was, i > 0
		}
		s.setHabits(&known)
		s.forget()
		healthy := &s.hyps[s.remember(nil, nil, 0)]
		s.refit(healthy)
		s.best = healthy.score
		by.proceed(s, s.remember(h.comps, h.rates, s.best))
	}
	return known, true
}

// differ reports whether two habits differ so much that it is worth to learn anew.
func (h *habits) differ(x *habits) bool {
	for i := range h.rate {
		if math.Abs(log(h.rate[i]/x.rate[i])) >= log(learnt) {
			return true
		}
	}
	return false
}

// grown lets a hypothesis grow until it is content.
func (s *search) grown(i int32) {
	for i >= 0 {
		i = s.grow(i, handful)
	}
}

// followed does that, and goes on from what came of it.
func (s *search) followed(i int32) {
	s.grown(i)
	s.follow()
}

// likeliestSoFar returns the hypothesis that seems likeliest, whether it was expanded or not.
func (s *search) likeliestSoFar() hypothesis {
	return slices.MaxFunc(s.hyps, func(a, b hypothesis) int { return cmp.Compare(a.score, b.score) })
}

// setHabits sets what is expected of all flows.
func (s *search) setHabits(h *habits) {
	for i := range s.ev.flows {
		if t := &s.ev.terms[i]; t.lost > 0 && !t.answers {
			t.setHabits(h, math.Pow(h.rate[sortOf(t.carried)], 1/t.same))
		}
	}
}

// leave leaves all hypotheses to who keeps them, and forgets what is known of components.
func (s *search) leave() {
	s.hyps, s.by = nil, map[uint64]int32{}
	s.forget()
}

// forget drops all hypotheses, and what is known of components.
func (s *search) forget() {
	s.hyps, s.best, s.bonus, s.parent = s.hyps[:0], math.Inf(-1), 0, 0
	s.stale, s.atHand, s.bounds.comp = true, -1, -1
	s.overBad.forget()
	s.overNormal.forget()
	clear(s.by)
	s.cache.forget()
	s.like = likenesses{kin: s.like.kin}
}
