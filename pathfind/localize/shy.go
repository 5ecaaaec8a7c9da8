package localize

import (
	"math"
	"slices"

	"whichlink/graphs"
)

// Most switches limit the ICMP time-exceeded messages that they send, some send none. A missing answer is therefore explained by
// the responder first, unless it answers others fine: its weight as an outlier is learned from the other observations of the same
// responder. The way back of an answer is not part of a path that ends at the responder, so the prober's other
// observations count likewise: a lossy way back to it makes all responders look shy, from there.

// Before any evidence: nine in ten responders are thought shy, which counts like two responders seen, and one prober in five to have
// a lossy way back.
const (
	shyPrior  = 0.9
	shyWeight = 2
	backPrior = 0.2
)

// kindsHeld is how many of a responder's shy observations are expected to be of each kind, before any evidence: their Dirichlet distribution. Most hold back any share.
var kindsHeld = [...]float64{1, 0.1, 0.1, 0.1}

// A manner is how a switch answers TTL-limited probes, or a prober gets answers: how many observations were shy, how many of these silent, and how many there were in
// all. Those that lack no answer count as far as a shy one would lack some.
type manner struct {
	shy, silent, all float64
	kinds            [len(keeping)]float64 // of those that were shy, how many lack about as much as each of keeping says
}

// habits returns the habits of a responder: what it holds back of one flow's answers it may hold back of another's.
func (m *manner) habits() habits {
	var held shape
	for k, n := range kindsHeld {
		held[k] = n + max(0, m.kinds[k])
	}
	held = held.shares()
	return habits{total: usuallyTotal, shape: [2]shape{held, held}}
}

// shyAs is how much of an observation is shy, and as which kind.
type shyAs struct {
	shy   float64
	kinds [len(keeping)]float64
}

// weighShyness sets the outlier weights of all terms of TTL-limited observations, given the odds that a lossy one's answers were held back, as far as what it lost tells.
func weighShyness(ix *index, ev *evidence, held func(t *term) float64) {
	if !ev.answers {
		return
	}
	responders := make([]manner, len(ix.host))
	probers := make([]manner, len(ix.host))
	shy := make([]shyAs, len(ev.terms))
	usual := (&manner{}).habits()
	for i := range ev.terms {
		t := &ev.terms[i]
		o := &ev.obs[t.obs]
		if !o.ttl() || t.lost == 0 {
			continue
		}
		t.setHabits(&usual, 0.5)
		odds := held(t)
		x := &shy[i]
		x.shy = odds / (1 + odds)
		r := &responders[o.Responder]
		r.shy += x.shy
		if t.lone {
			r.silent += x.shy
		} else {
			x.kinds = t.kindsBy(&usual, x.shy)
			for k, n := range x.kinds {
				r.kinds[k] += n
			}
		}
		if o.Src != graphs.None {
			probers[o.Src].shy += x.shy
		}
	}
	for i := range ev.obs {
		o := &ev.obs[i]
		if !o.ttl() {
			continue
		}
		r, all := &responders[o.Responder], 1.0
		if o.lost == 0 {
			h := r.habits()
			all -= (1 - h.total) * h.mean(0, losslessFlows{flows: 1, packets: o.sent}.lossless())
		}
		r.all += all
		if o.Src != graphs.None {
			probers[o.Src].all++
		}
	}
	// Switches of one fabric are mostly set up alike: what a responder does is expected to be what the others do.
	var all manner
	for _, r := range responders {
		if r.all > 0 {
			all.shy += r.shy / r.all
			all.all++
		}
	}
	for i := range ev.terms {
		t := &ev.terms[i]
		o := &ev.obs[t.obs]
		if !o.ttl() || t.lost == 0 {
			continue
		}
		r, x := responders[o.Responder], &shy[i]
		prior := (shyPrior*shyWeight + max(0, all.shy-r.shy/r.all)) / (shyWeight + all.all - 1)
		w := (prior + max(0, r.shy-x.shy)) / r.all // r.all counts this one, which stands for the prior
		own := 1.0
		if o.Src != graphs.None && !ix.returns(o.Observation) {
			p := probers[o.Src]
			back := min((backPrior+max(0, p.shy-x.shy))/p.all, 1)
			itself := min(w, 1)
			w = 1 - (1-itself)*(1-back)
			own = itself / (itself + back)
		}
		// One that answers nobody is silent once for all: that it is so each time again proves nothing.
		silent, others := r.silent, r.shy-x.shy
		if t.lone {
			silent -= x.shy
		}
		for k, n := range x.kinds {
			r.kinds[k] -= n
		}
		h := r.habits()
		h.total = (usuallyTotal*shyWeight + max(0, silent)) / (shyWeight + max(0, others))
		t.own = own
		t.setHabits(&h, min(max(w, 0.001), 0.999))
	}
}

// ifGood returns the odds that answers were held back if all arcs are good.
func (s *search) ifGood(t *term) float64 { return t.oddsAt(1e-4 * max(s.ev.arcs[t.first], 1)) }

// oddsAt returns the odds that an observation of one way lost packets by itself, under a hazard of that.
func (t *term) oddsAt(hazard float64) float64 {
	in, out := t.parts(hazard)
	return exp(min(out-in, 300))
}

// ifAsLossy returns a function that tells the odds that answers were held back if each arc loses as much as packets from end to end do that cross it. More can none lose.
func (s *search) ifAsLossy() func(t *term) float64 {
	lost, sent := make([]float64, s.ix.links), make([]float64, s.ix.links)
	for a := range lost {
		sent[a] = s.ev.exposure[a] + 1
	}
	for i := range s.ev.flows {
		t := &s.ev.terms[i]
		if o := &s.ev.obs[t.obs]; !o.ttl() && t.n == 1 {
			for _, c := range s.ev.comps[s.ev.first[t.first]:s.ev.first[t.first+1]] {
				if c < s.ix.links {
					lost[c], sent[c] = lost[c]+float64(o.lost), sent[c]+float64(o.sent)
				}
			}
		}
	}
	return func(t *term) float64 {
		most := 1e-4 * max(s.ev.arcs[t.first], 1)
		for _, c := range s.ev.comps[s.ev.first[t.first]:s.ev.first[t.first+1]] {
			if c < s.ix.links {
				most = max(most, -math.Log1p(-min(lost[c]/sent[c], 0.999)))
			}
		}
		return t.oddsAt(most)
	}
}

// reconsider asks whether what many switches seem to hold back is lost on the way to them: then each of their answers speaks against what loses it, the more the shyer
// they look. So what is looked for once more is what explains the evidence if they hold back no more than what packets from end to end leave to them, and what the
// switches are then; and what explains it clearly better stays. That takes about twice as long as what was done so far: it is not asked where that was long, as where all
// effort was taken to no end, or faults are many.
func (s *search) reconsider() {
	h := s.likeliestSoFar()
	if !s.ev.answers || len(h.comps) > handful || s.flooded || s.work > effort {
		return
	}
	held := s.ifAsLossy()
	if !s.unsettled(held) {
		return
	}
	hyps, by, best := s.hyps, s.by, s.best
	was := slices.Clone(s.ev.terms[:s.ev.flows])
	s.recall(&h)
	weighShyness(s.ix, s.ev, s.oddsOfOwn)
	s.stale = true
	h.comps, h.rates = slices.Clone(h.comps), slices.Clone(h.rates)
	s.refit(&h)
	least := max(best, h.score) + horizon // by what it thinks of switches itself
	for range opinions {
		if s.rethink(held); s.best+sure < least {
			break
		}
		h := s.likeliestSoFar()
		s.recall(&h)
		held = s.oddsOfOwn
	}
	if s.best > least {
		return
	}
	copy(s.ev.terms, was)
	s.leave()
	s.countLossy()
	s.hyps, s.by, s.best = hyps, by, best
}

// opinions is how often it is asked what switches hold back.
const opinions = 2

// rethink looks for what explains the evidence with the answers that switches hold back weighed anew.
func (s *search) rethink(held func(t *term) float64) {
	weighShyness(s.ix, s.ev, held)
	s.leave()
	s.countLossy()
	work := s.work
	s.work = 0 // however long the search took so far
	s.explore()
	s.work += work
}

// unsettled reports whether there are switches that seem shy if all arcs are good, and not if these are as lossy as may be.
func (s *search) unsettled(lossy func(t *term) float64) bool {
	good, bad := 0.0, 0.0
	for i := range s.ev.flows {
		if t := &s.ev.terms[i]; t.answers && t.lost > 0 {
			own := exp(t.outlier - t.inlier) // what is thought of the switch already
			x, y := s.ifGood(t)/own, lossy(t)/own
			good, bad = good+x/(1+x), bad+y/(1+y)
		}
	}
	return good-bad >= several
}

// leastHeld is the share of its answers that a responder must seem to hold back for it to be called shy.
const leastHeld = 0.05

// shyResponders returns the responders that hold their answers back, under the loaded hypothesis.
func (m *model) shyResponders() []Responder {
	if !m.ev.answers {
		return nil
	}
	type sum struct {
		Responder
		open float64 // probability that all missing answers are due to lost packets
		held float64 // answers that it held back, expected
	}
	sums := make([]sum, len(m.ix.host))
	for i := range m.ev.obs {
		if o := &m.ev.obs[i]; o.ttl() {
			r := &sums[o.Responder]
			r.Sent = addSaturating(r.Sent, o.sent)
			r.Answered = addSaturating(r.Answered, o.sent-o.lost)
			r.open = 1
		}
	}
	for i := range m.ev.terms {
		t := &m.ev.terms[i]
		o := &m.ev.obs[t.obs]
		if !o.ttl() || t.lost == 0 {
			continue
		}
		p := 0.0
		for b := t.first; b < t.first+t.n; b++ {
			in, out := t.parts(m.hazard[b])
			p += m.weight[b] / (1 + math.Exp(in-out))
		}
		p = min(p*t.own, 1)
		sums[o.Responder].open *= 1 - p
		sums[o.Responder].held += p * float64(o.lost)
	}
	var out []Responder
	for n, r := range sums {
		if r.Sent > 0 && 1-r.open >= 0.5 && r.held >= leastHeld*float64(r.Sent) {
			r.Node, r.Probability = graphs.NodeID(n), 1-r.open
			out = append(out, r.Responder)
		}
	}
	return out
}
