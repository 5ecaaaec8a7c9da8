package localize

import (
	"math"

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

// weighShyness sets the outlier weights of all terms of TTL-limited observations.
func weighShyness(ix *index, ev *evidence) {
	if !ev.answers {
		return
	}
	type tally struct{ shy, silent, all float64 }
	responders := make([]tally, len(ix.host))
	probers := make([]tally, len(ix.host))
	shy := make([]float64, len(ev.terms))
	for i := range ev.terms {
		t := &ev.terms[i]
		o := &ev.obs[t.obs]
		if !o.ttl() || t.lost == 0 {
			continue
		}
		t.setOutlier(0.5)
		in, out := t.parts(1e-4 * max(ev.arcs[t.first], 1))
		shy[i] = 1 / (1 + math.Exp(in-out))
		responders[o.Responder].shy += shy[i]
		if t.lone {
			responders[o.Responder].silent += shy[i]
		}
		if o.Src != graphs.None {
			probers[o.Src].shy += shy[i]
		}
	}
	for i := range ev.obs {
		if o := &ev.obs[i]; o.ttl() {
			responders[o.Responder].all++
			if o.Src != graphs.None {
				probers[o.Src].all++
			}
		}
	}
	// Switches of one fabric are mostly set up alike: what a responder does is expected to be what the others do.
	var all tally
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
		r := responders[o.Responder]
		prior := (shyPrior*shyWeight + max(0, all.shy-r.shy/r.all)) / (shyWeight + all.all - 1)
		w := (prior + max(0, r.shy-shy[i])) / r.all // r.all counts this one, which stands for the prior
		if o.Src != graphs.None && !ix.returns(o.Observation) {
			p := probers[o.Src]
			back := min((backPrior+max(0, p.shy-shy[i]))/p.all, 1)
			own := min(w, 1)
			w = 1 - (1-own)*(1-back)
			t.own = own / (own + back)
		}
		// One that answers nobody is silent once for all: that it is so each time again proves nothing.
		silent, others := r.silent, r.shy-shy[i]
		if t.lone {
			silent -= shy[i]
		}
		t.total = (usuallyTotal*shyWeight + max(0, silent)) / (shyWeight + max(0, others))
		t.setOutlier(min(max(w, 0.001), 0.999))
	}
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
