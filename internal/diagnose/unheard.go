package diagnose

import (
	"fmt"
	"slices"
	"time"

	"whichlink/graphs"
)

const (
	// leastUnheard is of how many probes between two ends none must be answered, along so many flows, for the two to be said not to hear each other.
	leastUnheard, leastUnheardFlows = 20, 2
	// surelyUnheard is how sure that is said. What else drops all of several flows of two hosts and nothing of theirs to others, on the same links, nobody knows.
	surelyUnheard = 0.9
	// mostUnheard is how many such pairs are listed.
	mostUnheard = 8
)

// A fate is what became of the probes of some flows.
type fate struct {
	flows, sent, lost int
	since             time.Time // when the first of them was sent
}

func (x *fate) add(y fate) {
	x.flows, x.sent, x.lost = x.flows+y.flows, x.sent+y.sent, x.lost+y.lost
	x.since = soonest(x.since, y.since)
}

// dead reports whether nothing at all was answered.
func (x fate) dead() bool {
	return x.lost == x.sent && x.sent >= leastUnheard && x.flows >= leastUnheardFlows
}

// fate is what became of the probes of a flow since a moment, without what is left out.
func (l *flowLog) fate(since time.Time) fate {
	x := fate{flows: 1}
	for i := range l.echoes {
		if e := l.echoes[i].after(since); e.sent > 0 {
			x.add(fate{sent: e.sent, lost: e.lost, since: later(e.start, since)})
		}
	}
	return x
}

// A pairing is two ends, the lesser first.
type pairing [2]graphs.NodeID

func pairingOf(a, b graphs.NodeID) pairing { return pairing{min(a, b), max(a, b)} }

func comparePairings(a, b pairing) int { return slices.Compare(a[:], b[:]) }

// The unheard are those who lose packets that no link does: pairs of live hosts that do not hear each other whatever way their packets take, as filters and missing routes make them.
type unheard struct {
	pairs map[pairing]fate // of hosts, or of the switches that they are at if all of these are
	// oneWay are those of which the first asks and is not answered, and the other is.
	oneWay map[pairing]fate
	asked  int // how many pairs there are
}

// unheardOf looks for them in what was sent since a moment.
func (s *Store) unheardOf(since time.Time) *unheard {
	u := &unheard{pairs: map[pairing]fate{}, oneWay: map[pairing]fate{}}
	of, all, asks := map[graphs.NodeID]fate{}, map[pairing]fate{}, map[pairing]fate{}
	add := func(fates map[pairing]fate, p pairing, one fate) {
		x := fates[p]
		x.add(one)
		fates[p] = x
	}
	for _, l := range s.order {
		one := l.fate(since)
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
			u.pairs[p] = x
		}
	}
	for p, x := range asks {
		if _, dead := u.pairs[pairingOf(p[0], p[1])]; !dead && x.dead() && alive(p[0]) && alive(p[1]) {
			u.oneWay[p] = x
		}
	}
	s.joinRacks(u, all, alive)
	return u
}

// lost is how many packets all of them lost.
func (u *unheard) lost() (n int) {
	for _, fates := range []map[pairing]fate{u.pairs, u.oneWay} {
		for _, x := range fates {
			n += x.lost
		}
	}
	return n
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

// joinRacks puts two switches in the place of several pairs of their hosts, if no pair of theirs is heard: of those that too little was sent between to tell by itself, all tell together.
func (s *Store) joinRacks(u *unheard, all map[pairing]fate, alive func(graphs.NodeID) bool) {
	racks := map[pairing][]pairing{}
	heard := map[pairing]bool{}
	for p, x := range all {
		near, far := s.fabric.Out(p[0]), s.fabric.Out(p[1])
		if len(near) == 0 || len(far) == 0 {
			continue
		}
		a, b := s.fabric.Head(near[0]), s.fabric.Head(far[0])
		rack := pairingOf(a, b)
		if x.lost < x.sent || a == b {
			heard[rack] = true
		} else if alive(p[0]) && alive(p[1]) {
			racks[rack] = append(racks[rack], p)
		}
	}
	for rack, pairs := range racks {
		var sum fate
		for _, p := range pairs {
			sum.add(all[p])
		}
		if len(pairs) < 2 || heard[rack] || !sum.dead() {
			continue
		}
		for _, p := range pairs {
			delete(u.pairs, p)
		}
		u.pairs[rack] = sum
	}
}

// addUnheard names the pairs that do not hear each other, if nothing explains that better: of those that a part explains it is not told that they might be something else, too.
func (s *Store) addUnheard(d *Diagnosis) {
	with := map[graphs.NodeID]int{}
	told := slices.DeleteFunc(slices.Clone(s.filtered), func(x weighedPair) bool { return x.probability < Doubted })
	for i := range told {
		for _, n := range told[i].pairing {
			with[n]++
		}
	}
	for i := range told {
		out := s.unheardPair(&told[i])
		for _, n := range told[i].pairing {
			if name := s.fabric.NodeName(n); with[n] > 1 {
				out.Next = slices.Insert(out.Next, 0, Step{Why: fmt.Sprintf("%d such pairs have %s in common", with[n], name), Do: "look first what was changed on " + name + " and its switch"})
			}
		}
		d.Suspects = append(d.Suspects, out)
	}
}

// mostly reports whether a part is nearly all of what was lost.
func mostly(part, lost int) bool { return 10*part >= 9*lost }

// unheardPair puts a pair into words. Of what is not answered nobody knows whether it was lost there or on the way back.
func (s *Store) unheardPair(x *weighedPair) Suspect {
	a, b := s.fabric.NodeName(x.pairing[0]), s.fabric.NodeName(x.pairing[1])
	loss, low := 1.0, 1-3/float64(x.sent+1)
	out := Suspect{Kind: "pair", ID: a + ">" + b, Class: []string{a + ">" + b, b + ">" + a}, Symptom: Loss, Probability: x.probability, Loss: &loss, LossLow: &low, LossHigh: &loss}
	since := s.dial().clock(x.since) + ", when the first was sent"
	if x.began {
		since = s.dial().clock(x.since) + ", when losses began"
	}
	out.For = fmt.Sprintf("none of %s probes of %d flows between %s and %s was answered since %s, whichever way they took, and both are heard by others", thousands(x.sent), x.flows, a, b, since)
	if x.oneWay {
		out.Class = out.Class[:1]
		out.For = fmt.Sprintf("none of %s probes of %d flows from %s to %s was answered since %s, whichever way they took, and those from %s to %s are", thousands(x.sent), x.flows, a, b, since, b, a)
	}
	out.Against = "only probes were sent: other traffic of the two may pass"
	out.Evidence = []Evidence{{s.instrument(), out.For}}
	out.Next = []Step{
		{Why: "it is a filter or a missing route, and no link", Do: fmt.Sprintf("on %s, %s and the switches between them compare filters (ACLs) and routes for both directions", a, b)},
	}
	if s.fabric.Node(x.pairing[0]).IsHost() {
		for i, from := range x.pairing {
			out.Next = append(out.Next, Step{Why: "see behind which switch it ends", On: s.fabric.NodeName(from),
				Do: fmt.Sprintf("whichlink trace %s", s.fabric.Address(x.pairing[1-i], false))})
		}
	}
	return out
}
