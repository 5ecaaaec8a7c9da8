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

// addBouts looks for what failed for a while beside all that is named: of hours, what lost one packet in a hundred for minutes is next to nothing, and where something else failed, the time of
// that is not its own. Such times are told by the arcs whose losses lie together, and what is to blame by what was measured in them of flows that cross nothing that is named.
func (s *Store) addBouts(d *Diagnosis, causes map[string]localize.Cause, ports *portWords, gone []withdrawal) {
	known, tried := downs{}, map[graphs.ArcID]bool{}
	named := s.badTimes(d, causes, known, tried)
	for range mostBouts {
		b := s.worstBout(known, tried)
		if b == nil {
			return
		}
		then := s.observeSpells(b.when, true, known)
		then.spells = b.when
		tried[b.arc] = true
		if then.unanswered() > 0 {
			continue
		}
		var found []localize.Suspect
		for _, x := range localize.Solve(s.fabric, then.list, s.solver(ports)).Suspects {
			if x.Probability < Named {
				continue
			}
			before := slices.ContainsFunc(x.Class, func(c localize.Cause) bool { return named[c] })
			for _, c := range x.Class {
				named[c] = true
				known.bad(arcsOf(s.fabric, c), b.when)
			}
			if !before {
				found = append(found, x)
			}
		}
		s.flapping = append(slices.Clip(s.flapping), found...)
		arcs := maps.Clone(causes) // each may fail at its own times, also those of one link
		maps.DeleteFunc(arcs, func(_ string, c localize.Cause) bool { return c.Kind != localize.Arc })
		maps.Copy(causes, s.lossSuspects(d, found, then, ports, gone, arcs))
	}
}

// badTimes adds to known when the arcs were bad of what is named, or would be if it were not doubted for what packets cannot tell, with all of their class, and to arcs which they are. It
// returns those causes.
func (s *Store) badTimes(d *Diagnosis, causes map[string]localize.Cause, known downs, arcs map[graphs.ArcID]bool) map[localize.Cause]bool {
	named, classes := map[localize.Cause]bool{}, map[localize.Cause][]localize.Cause{}
	for _, list := range [][]localize.Suspect{s.flapping, s.solved.Suspects} {
		for i := range list {
			if x := &list[i]; x.Probability >= Named {
				classes[x.Cause] = x.Class
			}
		}
	}
	for i := range d.Suspects {
		x := &d.Suspects[i]
		c, ok := causes[x.ID]
		if !ok {
			c, ok = s.causeOf(x)
		}
		class, solved := classes[c]
		if !ok || x.Probability < Named && !solved {
			continue
		}
		var when []stretch
		for _, e := range x.Episodes {
			when = append(when, stretch{e.Start.Add(e.From - verge), e.Start.Add(e.To + verge)})
		}
		if when == nil {
			when = []stretch{{s.from, s.to}}
		}
		for _, c := range append([]localize.Cause{c}, class...) {
			named[c] = true
			bad := arcsOf(s.fabric, c)
			known.bad(bad, when)
			maps.Copy(arcs, bad)
		}
	}
	return named
}

// bad adds when some arcs were bad.
func (d downs) bad(arcs map[graphs.ArcID]bool, when []stretch) {
	for a := range arcs {
		d[a] = unbroken(append(slices.Clone(d[a]), when...))
	}
}

// worstBout returns the bout that is the least likely by chance, beside what is known, of arcs that were not tried; nil if there is none.
func (s *Store) worstBout(known downs, tried map[graphs.ArcID]bool) *bout {
	lost := s.lossesByArc(known)
	var list []*bout
	for _, a := range slices.Sorted(maps.Keys(lost)) {
		if tried[a] {
			continue
		}
		b := lost[a].together(s.from, s.to)
		b.arc = a
		if b.proof -= math.Log(float64(s.fabric.NumArcs())); b.proof >= boutProof {
			list = append(list, &b)
		}
	}
	slices.SortStableFunc(list, func(a, b *bout) int { return cmp.Compare(b.proof, a.proof) })
	bad := map[graphs.ArcID]bool{}
	for a := range known {
		bad[a] = true
	}
	for _, b := range list {
		c := localize.Cause{Kind: localize.Arc, ID: int32(b.arc)}
		// Of flows whose way is not known it is not known either when something else was to blame.
		for _, without := range []map[graphs.ArcID]bool{nil, bad} {
			r := s.rhythmWithout(c, without, known)
			b.when = slices.DeleteFunc(s.stretches(r.Episodes), func(x stretch) bool { return x.to.Sub(x.from) < onsetTime }) // moments are those of storms
			if r.Bayes >= boutProof && slices.ContainsFunc(b.when, b.around.overlaps) {
				return b
			}
		}
		tried[b.arc] = true
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

// lossesByArc returns when packets were lost, beside what is known of bad arcs, by the arcs that they may have been lost on.
func (s *Store) lossesByArc(known downs) map[graphs.ArcID]arcLosses {
	by, ways := map[graphs.ArcID]arcLosses{}, map[[2]graphs.NodeID]way{}
	for i, l := range s.order {
		for j := range l.echoes {
			e := &l.echoes[j]
			if e.lost == 0 {
				continue
			}
			path, back := l.at(e, true)
			path, back = s.orAny(path, l.src, l.dst, ways), s.orAny(back, l.dst, l.src, ways)
			bad := append(s.explain(known, e, path), s.explain(known, e, back)...)
			for _, x := range [...]struct {
				way  way
				none bool
			}{{path, e.split && e.lostForward == 0 && e.lostBack > 0}, {back, e.split && e.lostBack == 0 && e.lostForward > 0}} {
				if x.none {
					continue
				}
				arcs := slices.Concat(x.way.alternatives...)
				slices.Sort(arcs)
				arcs = slices.Compact(arcs)
				for _, ms := range e.lossTimes() {
					at := e.start.Add(time.Duration(ms) * time.Millisecond)
					if during(bad, at) {
						continue
					}
					for _, a := range arcs {
						x := loss{at.Sub(s.from), i}
						if n := len(by[a]); n == 0 || by[a][n-1].flow != i || x.at-by[a][n-1].at >= boutRun {
							by[a] = append(by[a], x)
						}
					}
				}
			}
		}
	}
	return by
}

// explain returns when an echo may have lost packets to arcs that are known to be bad: of those that are for most of the time if most of its ways cross one.
func (s *Store) explain(known downs, e *echo, w way) []stretch {
	bad, crosses := known.on(e, w, way{}), 0
	for _, arcs := range w.alternatives {
		if len(bad) > 0 && known.on(e, way{[][]graphs.ArcID{arcs}}, way{}) != nil {
			crosses++
		}
	}
	return slices.DeleteFunc(bad, func(x stretch) bool { return 2*crosses < len(w.alternatives) && 2*x.to.Sub(x.from) > s.to.Sub(s.from) })
}

// orAny returns a way, or where it is not known any that the model allows between two nodes; ways are those that were asked for before.
func (s *Store) orAny(w way, src, dst graphs.NodeID, ways map[[2]graphs.NodeID]way) way {
	if w.known() || src == graphs.None || dst == graphs.None {
		return w
	}
	pair := [2]graphs.NodeID{src, dst}
	w, ok := ways[pair]
	if !ok {
		for _, alt := range s.allowed().set(src, dst) {
			w.alternatives = append(w.alternatives, alt.Arcs)
		}
		ways[pair] = w
	}
	return w
}

// together returns when the most of them lie together, as is the least likely by chance, less the number of times at which they might.
func (x arcLosses) together(from, to time.Time) (best bout) {
	if len(x) < boutLosses {
		return best
	}
	slices.SortFunc(x, func(a, b loss) int { return cmp.Compare(a.at, b.at) })
	span := to.Sub(from)
	for long := span / 2; long >= onsetTime; long /= 2 {
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
			usual := (float64(len(x)) - n + 1) * long.Seconds() / (span - long).Seconds()
			if proof := n*math.Log(n/usual) - (n - usual) - math.Log(span.Seconds()/long.Seconds()); n > usual && proof > best.proof {
				best = bout{around: stretch{from.Add(x[first].at), from.Add(x[i].at)}, proof: proof}
			}
		}
	}
	return best
}
