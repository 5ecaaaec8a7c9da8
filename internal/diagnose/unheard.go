package diagnose

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

const (
	// leastUnheard is of how many probes between two ends none must be answered, along so many flows, for the two to be said not to hear each other.
	leastUnheard, leastUnheardFlows = 20, 2
	// surelyUnheard is how sure that is said. What else drops all of several flows of two hosts and nothing of theirs to others, on the same links, nobody knows.
	surelyUnheard = 0.9
	// mostUnheard is how many such pairs are listed.
	mostUnheard = 8
	// usuallyUnheard is how many pairs do not hear each other that one would bet on in a fabric that somebody looks at, of so many that are asked at least, and partPrior is the same of each arc.
	usuallyUnheard, leastAsked, partPrior = 0.1, 30, 3.0 / 400
	// leastShare is the least that a flow counts for which arrived and may have crossed a part: what is known of its way may be old.
	leastShare = 0.01
	// mostWeighed is how many of a class are weighed against pairs: the others are like them.
	mostWeighed = 16
)

// A fate is what became of the probes of some flows.
type fate struct{ flows, sent, lost int }

func (x *fate) add(y fate) { x.flows, x.sent, x.lost = x.flows+y.flows, x.sent+y.sent, x.lost+y.lost }

// dead reports whether nothing at all was answered.
func (x fate) dead() bool {
	return x.lost == x.sent && x.sent >= leastUnheard && x.flows >= leastUnheardFlows
}

// fate is what became of the probes of a flow, without what is left out.
func (l *flowLog) fate() fate {
	x := fate{flows: 1}
	for i := range l.echoes {
		x.sent, x.lost = x.sent+l.echoes[i].sent, x.lost+l.echoes[i].lost
	}
	return x
}

// A pairing is two ends, the lesser first.
type pairing [2]graphs.NodeID

func pairingOf(a, b graphs.NodeID) pairing { return pairing{min(a, b), max(a, b)} }

// The unheard are those who lose packets that no link does: pairs of live hosts that do not hear each other whatever way their packets take, as filters and missing routes make them.
type unheard struct {
	pairs map[pairing]fate // of hosts, or of the switches that they are at if all of these are
	// oneWay are those of which the first asks and is not answered, and the other is.
	oneWay map[pairing]fate
	lost   int // by all of them
	asked  int // how many pairs there are
}

// unheardOf looks for them.
func (s *Store) unheardOf() *unheard {
	u := &unheard{pairs: map[pairing]fate{}, oneWay: map[pairing]fate{}}
	of, all, asks := map[graphs.NodeID]fate{}, map[pairing]fate{}, map[pairing]fate{}
	add := func(fates map[pairing]fate, p pairing, one fate) {
		x := fates[p]
		x.add(one)
		fates[p] = x
	}
	for _, l := range s.order {
		one := l.fate()
		if l.src == graphs.None || l.dst == graphs.None || one.sent == 0 {
			continue
		}
		for _, h := range []graphs.NodeID{l.src, l.dst} {
			x := of[h]
			x.add(one)
			of[h] = x
		}
		add(all, pairingOf(l.src, l.dst), one)
		add(asks, pairing{l.src, l.dst}, one)
	}
	u.asked = len(all)
	alive := func(h graphs.NodeID) bool { return of[h].lost < of[h].sent }
	for p, x := range all {
		if x.dead() && alive(p[0]) && alive(p[1]) {
			u.pairs[p], u.lost = x, u.lost+x.lost
		}
	}
	for p, x := range asks {
		if _, dead := u.pairs[pairingOf(p[0], p[1])]; !dead && x.dead() && alive(p[0]) && alive(p[1]) {
			u.oneWay[p], u.lost = x, u.lost+x.lost
		}
	}
	s.joinRacks(u, all)
	return u
}

// unheardAs returns the pair as which two hosts do not hear each other, or the first is not answered.
func (s *Store) unheardAs(u *unheard, a, b graphs.NodeID) (p pairing, dead bool) {
	if a == graphs.None || b == graphs.None {
		return p, false
	}
	if _, dead = u.oneWay[pairing{a, b}]; dead {
		return pairing{a, b}, true
	}
	p = pairingOf(a, b)
	if _, dead = u.pairs[p]; dead {
		return p, true
	}
	if near, far := s.fabric.Out(a), s.fabric.Out(b); len(near) > 0 && len(far) > 0 {
		p = pairingOf(s.fabric.Head(near[0]), s.fabric.Head(far[0]))
		_, dead = u.pairs[p]
	}
	return p, dead
}

// joinRacks puts two switches in the place of several pairs of their hosts, if no pair of theirs is heard.
func (s *Store) joinRacks(u *unheard, all map[pairing]fate) {
	racks := map[pairing][]pairing{}
	heard := map[pairing]bool{}
	for p := range all {
		near, far := s.fabric.Out(p[0]), s.fabric.Out(p[1])
		if len(near) == 0 || len(far) == 0 {
			continue
		}
		a, b := s.fabric.Head(near[0]), s.fabric.Head(far[0])
		rack := pairingOf(a, b)
		if _, dead := u.pairs[p]; dead && a != b {
			racks[rack] = append(racks[rack], p)
		} else {
			heard[rack] = true
		}
	}
	for rack, pairs := range racks {
		if len(pairs) < 2 || heard[rack] {
			continue
		}
		var sum fate
		for _, p := range pairs {
			sum.add(u.pairs[p])
			delete(u.pairs, p)
		}
		u.pairs[rack] = sum
	}
}

// addUnheard names the pairs that do not hear each other, if nothing explains that better: links that others cross clean lose no packets of one pair alone. Where others lost much as well, only those are named in whose
// place a part is suspected.
func (s *Store) addUnheard(d *Diagnosis, causes map[string]localize.Cause, background float64) {
	probes, lost, _ := s.totals()
	if !Unexplained(probes, lost, background) {
		return
	}
	u := s.unheardOf()
	if n := len(u.pairs) + len(u.oneWay); n == 0 || n > mostUnheard || !Unexplained(probes, u.lost, background) {
		return
	}
	parts, others := s.weighUnheard(d, causes, u)
	for i, fates := range []map[pairing]fate{u.pairs, u.oneWay} {
		for _, p := range slices.SortedFunc(maps.Keys(fates), func(a, b pairing) int { return slices.Compare(a[:], b[:]) }) {
			odds, weighed := parts[p]
			if probability := surelyUnheard / (1 + odds); probability >= leastListed && (weighed || !others && mostly(u.lost, lost)) {
				d.Suspects = append(d.Suspects, s.unheardPair(p, fates[p], probability, i == 1))
			}
		}
	}
}

// weighUnheard weighs each suspect that loses all of what crosses it, and has no other losses to explain, against that the pairs do not hear each other of which it may be the reason, and lowers it by that. Returned are,
// by pair, the odds for what is suspected, and whether there are others that are likely. That all flows of a pair met the same part, of which it is not known, and no other flow did, is a coincidence that the pair does
// without.
func (s *Store) weighUnheard(d *Diagnosis, causes map[string]localize.Cause, u *unheard) (parts map[pairing]float64, others bool) {
	parts = map[pairing]float64{}
	for i := range d.Suspects {
		x := &d.Suspects[i]
		var theirs map[pairing]float64
		alone := false
		if cause := causes[x.ID]; cause.Kind != "" && x.Loss != nil && *x.Loss >= losesAll {
			theirs, alone = s.oddsOf(cause, u)
		}
		if len(theirs) == 0 || !alone {
			others = others || x.Probability >= Doubted
		}
		odds := 0.0
		for p, more := range theirs {
			switch {
			case alone:
				parts[p] += more
				odds = max(odds, more)
			case x.Probability >= Doubted:
				parts[p] = math.Inf(1) // it explains them beside what else it does
			}
		}
		if alone && len(theirs) > 0 {
			x.Probability *= odds / (1 + odds)
		}
	}
	d.Suspects = slices.DeleteFunc(d.Suspects, func(x Suspect) bool { return causes[x.ID].Kind != "" && x.Probability < leastListed })
	return parts, others
}

// oddsOf returns the odds of a suspected cause, or another of its class, against the pairs that do not hear each other of which it may be the reason, and whether it has no other losses to explain.
func (s *Store) oddsOf(cause localize.Cause, u *unheard) (odds map[pairing]float64, alone bool) {
	class := []localize.Cause{cause}
	if k := slices.IndexFunc(s.solved.Suspects, func(y localize.Suspect) bool { return y.Cause == cause }); k >= 0 {
		class = s.solved.Suspects[k].Class
	}
	pair := math.Log(usuallyUnheard / float64(max(u.asked, leastAsked)))
	odds, alone = map[pairing]float64{}, true
	some := class[:min(mostWeighed, len(class))]
	each := partPrior * float64(len(class)) / float64(len(some))
	for _, c := range some {
		chance, pairs, only := s.coincidence(arcsOf(s.fabric, c), u)
		alone = alone && only
		for _, p := range pairs {
			odds[p] += each * localize.Preference(c.Kind) * math.Exp(chance-float64(len(pairs))*pair)
		}
	}
	return odds, alone
}

// coincidence is the logarithm of how likely all flows of the pairs that do not hear each other, of those whose flows may all cross some arcs, do, and all others do not. It returns these pairs, and whether no other flow
// that lost most of its packets may cross them.
func (s *Store) coincidence(arcs map[graphs.ArcID]bool, u *unheard) (sum float64, pairs []pairing, alone bool) {
	o := s.allowed()
	theirs := map[pairing]float64{}
	alone = true
	for _, l := range s.order {
		if len(l.echoes) == 0 {
			continue
		}
		x := l.fate()
		path, back := l.at(&l.echoes[len(l.echoes)-1], true)
		clean := (1 - o.crosses(path, l.there(), arcs)) * (1 - o.crosses(back, l.home(), arcs))
		p, dead := s.unheardAs(u, l.src, l.dst)
		switch {
		case dead:
			theirs[p] += math.Log(1 - clean) // without end where a flow goes elsewhere
		case 2*x.lost > x.sent && clean < 1:
			alone = false
		case x.sent-x.lost >= leastClean:
			sum += math.Log(max(clean, leastShare))
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(theirs), func(a, b pairing) int { return slices.Compare(a[:], b[:]) }) {
		if x := theirs[p]; !math.IsInf(x, -1) {
			sum, pairs = sum+x, append(pairs, p)
		}
	}
	return sum, pairs, alone
}

// crosses is how likely a flow crosses some arcs on one of its ways.
func (o *observer) crosses(w way, k trip, arcs map[graphs.ArcID]bool) float64 {
	if !w.known() {
		return o.over(k, arcs)
	}
	share := 0.0
	for _, alt := range w.set() {
		if slices.ContainsFunc(alt.Arcs, func(a graphs.ArcID) bool { return arcs[a] }) {
			share += alt.Share
		}
	}
	return min(share, 1)
}

// mostly reports whether a part is nearly all of what was lost.
func mostly(part, lost int) bool { return 10*part >= 9*lost }

// unheardPair puts a pair into words. Of what is not answered nobody knows whether it was lost there or on the way back.
func (s *Store) unheardPair(p pairing, x fate, probability float64, oneWay bool) Suspect {
	a, b := s.fabric.NodeName(p[0]), s.fabric.NodeName(p[1])
	loss, low := 1.0, 1-3/float64(x.sent+1)
	out := Suspect{Kind: "pair", ID: a + ">" + b, Class: []string{a + ">" + b, b + ">" + a}, Symptom: Loss, Probability: probability, Loss: &loss, LossLow: &low, LossHigh: &loss}
	out.For = fmt.Sprintf("none of %s probes of %d flows between %s and %s was answered, whichever way they took, and both are heard by others", thousands(x.sent), x.flows, a, b)
	if oneWay {
		out.Class = out.Class[:1]
		out.For = fmt.Sprintf("none of %s probes of %d flows from %s to %s was answered, whichever way they took, and those from %s to %s are", thousands(x.sent), x.flows, a, b, b, a)
	}
	out.Against = "only probes were sent: other traffic of the two may pass"
	out.Evidence = []Evidence{{s.instrument(), out.For}}
	out.Next = []Step{
		{Why: "it is a filter or a missing route, and no link", Do: fmt.Sprintf("on %s, %s and the switches between them compare filters (ACLs) and routes for both directions", a, b)},
	}
	if s.fabric.Node(p[0]).IsHost() {
		for i, from := range p {
			out.Next = append(out.Next, Step{Why: "see behind which switch it ends", On: s.fabric.NodeName(from),
				Do: fmt.Sprintf("whichlink trace %s", s.fabric.Address(p[1-i], false))})
		}
	}
	return out
}
