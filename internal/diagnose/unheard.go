package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

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
type fate struct{ flows, sent, lost int }

func (x *fate) add(y fate) { x.flows, x.sent, x.lost = x.flows+y.flows, x.sent+y.sent, x.lost+y.lost }

// dead reports whether nothing at all was answered.
func (x fate) dead() bool {
	return x.lost == x.sent && x.sent >= leastUnheard && x.flows >= leastUnheardFlows
}

// A pairing is two ends, the lesser first.
type pairing [2]graphs.NodeID

func pairingOf(a, b graphs.NodeID) pairing { return pairing{min(a, b), max(a, b)} }

// The unheard are those who lose packets that no link does: pairs of live hosts that do not hear each other whatever way their packets take, as filters and missing routes make them.
type unheard struct {
	pairs map[pairing]fate // of hosts, or of the switches that they are at if all of these are
	lost  int              // by all of them
}

// unheardOf looks for them.
func (s *Store) unheardOf() *unheard {
	u := &unheard{pairs: map[pairing]fate{}}
	of, all := map[graphs.NodeID]fate{}, map[pairing]fate{}
	for _, l := range s.order {
		one := fate{flows: 1}
		for i := range l.echoes {
			one.sent, one.lost = one.sent+l.echoes[i].sent, one.lost+l.echoes[i].lost
		}
		if l.src == graphs.None || l.dst == graphs.None || one.sent == 0 {
			continue
		}
		for _, h := range []graphs.NodeID{l.src, l.dst} {
			x := of[h]
			x.add(one)
			of[h] = x
		}
		p := pairingOf(l.src, l.dst)
		x := all[p]
		x.add(one)
		all[p] = x
	}
	alive := func(h graphs.NodeID) bool { return of[h].lost < of[h].sent }
	for p, x := range all {
		if x.dead() && alive(p[0]) && alive(p[1]) {
			u.pairs[p], u.lost = x, u.lost+x.lost
		}
	}
	s.joinRacks(u, all)
	return u
}

// isUnheard reports whether two hosts do not hear each other.
func (s *Store) isUnheard(u *unheard, a, b graphs.NodeID) bool {
	if a == graphs.None || b == graphs.None {
		return false
	}
	_, dead := u.pairs[pairingOf(a, b)]
	if near, far := s.fabric.Out(a), s.fabric.Out(b); !dead && len(near) > 0 && len(far) > 0 {
		_, dead = u.pairs[pairingOf(s.fabric.Head(near[0]), s.fabric.Head(far[0]))]
	}
	return dead
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

// addUnheard names the pairs that do not hear each other, if nothing else explains what was lost: links that others cross clean lose no packets of one pair alone.
func (s *Store) addUnheard(d *Diagnosis, background float64) {
	probes, lost, _ := s.totals()
	doubted := slices.ContainsFunc(d.Suspects, func(x Suspect) bool { return x.Probability >= Doubted })
	if doubted || !Unexplained(probes, lost, background) {
		return
	}
	u := s.unheardOf()
	if !mostly(u.lost, lost) || len(u.pairs) > mostUnheard {
		return
	}
	order := slices.SortedFunc(maps.Keys(u.pairs), func(a, b pairing) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	for _, p := range order {
		d.Suspects = append(d.Suspects, s.unheardPair(p, u.pairs[p]))
	}
}

// mostly reports whether a part is nearly all of what was lost.
func mostly(part, lost int) bool { return 10*part >= 9*lost }

// unheardPair puts a pair into words. Of what is not answered nobody knows whether it was lost there or on the way back.
func (s *Store) unheardPair(p pairing, x fate) Suspect {
	a, b := s.fabric.NodeName(p[0]), s.fabric.NodeName(p[1])
	loss, low := 1.0, 1-3/float64(x.sent+1)
	out := Suspect{Kind: "pair", ID: a + ">" + b, Class: []string{a + ">" + b, b + ">" + a}, Symptom: Loss, Probability: surelyUnheard,
		Loss: &loss, LossLow: &low, LossHigh: &loss}
	out.For = fmt.Sprintf("none of %s probes of %d flows between %s and %s was answered, whichever way they took, and both are heard by others", thousands(x.sent), x.flows, a, b)
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
