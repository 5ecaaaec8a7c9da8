package diagnose

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

const (
	// mostBouts bounds how many bouts are looked at, one by one.
	mostBouts = 16
	// boutLosses and boutFlows are how many packets are lost in a bout at least, and by how many flows. What a flow loses within boutRun counts once: it may have one reason, which is that flow's.
	boutLosses, boutFlows = 10, 3
	boutRun               = time.Second
	// boutProof is how much likelier a bout must be than that losses fell together by chance, a logarithm, beyond the number of arcs and times to choose from.
	boutProof = 8
)

// A bout is when what crossed an arc lost far more packets than at other times.
type bout struct {
	arc  graphs.ArcID
	when []stretch
	// around is a stretch of time in which most of it is, and proof how much likelier that is than chance, a logarithm.
	around stretch
	proof  float64
}

// A boutSearch looks for bouts beside what is known.
type boutSearch struct {
	store *Store
	// known is when arcs were bad that are known to be, and named what these are.
	known downs
	named map[localize.Cause]bool
	tried map[graphs.ArcID]bool      // arcs whose losses tell of no bout, or of one that was looked at
	ways  map[trip]way               // that the model allows, as far as was asked
	lost  map[graphs.ArcID]arcLosses // beside what is known
	flows map[trip][]*flowLog        // between two hosts; nil until asked for
	// settled are times that were looked at, all of whose losses are of what was named already: other arcs of unknown ways that share them have no bout of their own then.
	settled [][]stretch
}

// addBouts looks for what failed for a while beside all that is named: of hours, what lost one packet in a hundred for minutes is next to nothing, and where something else failed, the time of
// that is not its own. Such times are told by the arcs whose losses lie together, and what is to blame by what was measured in them of flows that cross nothing that is named.
func (s *Store) addBouts(d *Diagnosis, causes map[string]localize.Cause, ports *portWords, gone []withdrawal) {
	x := boutSearch{store: s, known: downs{}, named: map[localize.Cause]bool{}, tried: map[graphs.ArcID]bool{}, ways: map[trip]way{}}
	x.leaveAlone(d, causes)
	x.sumUp()
	for range mostBouts {
		b := x.worst()
		if b == nil {
			return
		}
		if x.tried[b.arc] = true; x.isSettled(b.when) {
			continue
		}
		then := s.observeSpells(b.when, true, x.known)
		then.spells = b.when
		if then.unanswered() > 0 {
			continue
		}
		found, blamed := x.take(s.localize(then, s.solver(ports)).Suspects, b.when)
		if !blamed {
			continue
		}
		if len(found) == 0 {
			x.settled = append(x.settled, b.when)
		}
		s.flapping = append(slices.Clip(s.flapping), found...)
		arcs := maps.Clone(causes) // each may fail at its own times, also those of one link
		maps.DeleteFunc(arcs, func(_ string, c localize.Cause) bool { return c.Kind != localize.Arc })
		maps.Copy(causes, s.lossSuspects(d, found, then, ports, gone, arcs))
		x.sumUp()
	}
}

// isSettled reports whether some stretches are, all but for a moment, times that were looked at and had nothing new.
func (x *boutSearch) isSettled(when []stretch) bool {
	return slices.ContainsFunc(x.settled, func(then []stretch) bool {
		return slices.EqualFunc(then, when, func(a, b stretch) bool {
			return a.from.Sub(b.from).Abs() < boutRun && a.to.Sub(b.to).Abs() < boutRun
		})
	})
}

// leaveAlone takes for known what is named, or would be if it were not doubted for what packets cannot tell, with all of its class.
func (x *boutSearch) leaveAlone(d *Diagnosis, causes map[string]localize.Cause) {
	s := x.store
	classes := map[localize.Cause][]localize.Cause{}
	for _, list := range [][]localize.Suspect{s.flapping, s.solved.Suspects} {
		for i := range list {
			if sus := &list[i]; sus.Probability >= Named {
				classes[sus.Cause] = sus.Class
			}
		}
	}
	for i := range d.Suspects {
		told := &d.Suspects[i]
		c, ok := causes[told.ID]
		if !ok {
			c, ok = s.causeOf(told)
		}
		class, solved := classes[c]
		if !ok || told.Probability < Named && !solved {
			continue
		}
		when := told.times(verge)
		if when == nil {
			when = []stretch{{s.flowing.from, s.flowing.to}}
		}
		for _, c := range append([]localize.Cause{c}, class...) {
			x.know(c, when)
			maps.Copy(x.tried, arcsOf(s.fabric, c))
		}
	}
}

// know takes for known when a cause was bad.
func (x *boutSearch) know(c localize.Cause, when []stretch) {
	x.named[c] = true
	for a := range arcsOf(x.store.fabric, c) {
		x.known[a] = unbroken(append(slices.Clone(x.known[a]), when...))
	}
}

// take takes for known what is to blame for what was lost in some stretches of time, and returns what of it was not named before; blamed tells whether anything is to blame.
func (x *boutSearch) take(suspects []localize.Suspect, when []stretch) (found []localize.Suspect, blamed bool) {
	for _, sus := range suspects {
		if sus.Probability < Named {
			continue
		}
		blamed = true
		if !slices.ContainsFunc(sus.Class, func(c localize.Cause) bool { return x.named[c] }) {
			found = append(found, sus)
		}
		for _, c := range sus.Class {
			x.know(c, when)
		}
	}
	return found, blamed
}

// worst returns the bout that is the least likely by chance of arcs that were not tried; nil if there is none.
func (x *boutSearch) worst() *bout {
	s := x.store
	var list []*bout
	for _, a := range slices.Sorted(maps.Keys(x.lost)) {
		if x.tried[a] {
			continue
		}
		b := x.together(a)
		if b.proof -= math.Log(float64(s.fabric.NumArcs())); b.proof >= boutProof {
			list = append(list, &b)
		}
	}
	slices.SortStableFunc(list, func(a, b *bout) int { return cmp.Compare(b.proof, a.proof) })
	bad := map[graphs.ArcID]bool{}
	for a := range x.known {
		bad[a] = true
	}
	for _, b := range list {
		c := localize.Cause{Kind: localize.Arc, ID: int32(b.arc)}
		// Of flows whose way is not known it is not known either when something else was to blame.
		for _, without := range []map[graphs.ArcID]bool{nil, bad} {
			r := s.rhythmWithout(c, without, x.known)
			b.when = slices.DeleteFunc(s.stretches(r.Episodes), func(st stretch) bool { return st.to.Sub(st.from) < onsetTime }) // moments are those of storms
			if r.Bayes >= boutProof && slices.ContainsFunc(b.when, b.around.overlaps) {
				return b
			}
		}
		x.tried[b.arc] = true
	}
	return nil
}

// A loss is when a flow lost a packet.
type loss struct {
	at   time.Duration // since the evidence began
	flow int
}

// arcLosses are those of flows that crossed an arc.
type arcLosses []loss

// sumUp finds when packets were lost, beside what is known of bad arcs, by the arcs that they may have been lost on.
func (x *boutSearch) sumUp() {
	x.lost = map[graphs.ArcID]arcLosses{}
	for i, l := range x.store.order {
		for j := range l.echoes {
			e := &l.echoes[j]
			if e.lost == 0 {
				continue
			}
			path, back := l.at(e, true)
			path, back = x.orAny(path, l.there()), x.orAny(back, l.home())
			bad := append(x.explain(e, path), x.explain(e, back)...)
			if !e.split || e.lostForward > 0 || e.lostBack == 0 {
				x.add(i, e, path, bad)
			}
			if !e.split || e.lostBack > 0 || e.lostForward == 0 {
				x.add(i, e, back, bad)
			}
		}
	}
}

// add adds what an echo of a flow lost at other times than some to all arcs of a way.
func (x *boutSearch) add(flow int, e *echo, w way, bad []stretch) {
	arcs := slices.Concat(w.alternatives...)
	slices.Sort(arcs)
	arcs = slices.Compact(arcs)
	for at := range e.lossesBeside(bad) {
		one := loss{at.Sub(x.store.flowing.from), flow}
		for _, a := range arcs {
			before := x.lost[a]
			if n := len(before); n == 0 || before[n-1].flow != flow || one.at-before[n-1].at >= boutRun {
				x.lost[a] = append(before, one)
			}
		}
	}
}

// explain returns when an echo may have lost packets to arcs that are known to be bad: of those that are for most of the time if most of its ways cross one.
func (x *boutSearch) explain(e *echo, w way) []stretch {
	bad, crosses := x.known.on(e, w, way{}), 0
	for _, arcs := range w.alternatives {
		if len(bad) > 0 && x.known.onAny(e.start, e.end, [][]graphs.ArcID{arcs}) != nil {
			crosses++
		}
	}
	return slices.DeleteFunc(bad, func(st stretch) bool { return 2*crosses < len(w.alternatives) && st.mostOf(x.store.flowing) })
}

// orAny returns a way, or where it is not known any that the model allows between two nodes.
func (x *boutSearch) orAny(w way, pair trip) way {
	if w.known() || pair.src == graphs.None || pair.dst == graphs.None {
		return w
	}
	w, ok := x.ways[pair]
	if !ok {
		for _, alt := range x.store.allowed().set(pair) {
			w.alternatives = append(w.alternatives, alt.Arcs)
		}
		x.ways[pair] = w
	}
	return w
}

// together returns when the most of an arc's losses lie together, as is the least likely by chance.
func (x *boutSearch) together(a graphs.ArcID) bout {
	from, whole := x.store.flowing.from, x.store.flowing.to.Sub(x.store.flowing.from)
	lost := x.lost[a]
	slices.SortFunc(lost, func(a, b loss) int { return cmp.Compare(a.at, b.at) })
	proof, first, last := lost.together(whole, nil)
	if proof >= boutProof {
		proof, first, last = lost.together(whole, x.sent(lost))
	}
	if proof == 0 {
		return bout{arc: a}
	}
	return bout{arc: a, around: stretch{from.Add(lost[first].at), from.Add(lost[last].at)}, proof: proof}
}

// sent returns the pace of what was sent between the hosts of some losses.
func (x *boutSearch) sent(lost arcLosses) *pace {
	if x.flows == nil {
		x.flows = map[trip][]*flowLog{}
		for _, l := range x.store.order {
			x.flows[l.there()] = append(x.flows[l.there()], l)
		}
	}
	var flows []*flowLog
	trips := map[trip]bool{}
	for i := range lost {
		if t := x.store.order[lost[i].flow].there(); !trips[t] {
			trips[t] = true
			flows = append(flows, x.flows[t]...)
		}
	}
	return x.store.paceOf(flows)
}

// together returns between which of them more lie than is likely by chance, and how much, a logarithm, less the number of times at which they might. By chance as many lie in a time as is its
// share of the whole, or of what was sent, if that is known: where somebody probes the faster, more is lost.
func (x arcLosses) together(whole time.Duration, sent *pace) (best float64, from, to int) {
	if len(x) < boutLosses {
		return 0, 0, 0
	}
	for long := whole / 2; long >= onsetTime; long /= 2 {
		in := map[int]int{} // how many losses of each flow lie in the window
		first := 0
		for i := range x {
			for in[x[i].flow]++; x[i].at-x[first].at > long; first++ {
				if in[x[first].flow]--; in[x[first].flow] == 0 {
					delete(in, x[first].flow)
				}
			}
			n := float64(i + 1 - first)
			if n < boutLosses || len(in) < boutFlows {
				continue
			}
			share := long.Seconds() / whole.Seconds()
			if sent != nil {
				share = max(share, sent.until(x[first].at+long, whole)-sent.until(x[first].at, whole))
			}
			usual := (float64(len(x)) - n + 1) * share / (1 - share)
			if proof := n*math.Log(n/usual) - (n - usual) - math.Log(whole.Seconds()/long.Seconds()); n > usual && proof > best {
				best, from, to = proof, first, i
			}
		}
	}
	return best, from, to
}
