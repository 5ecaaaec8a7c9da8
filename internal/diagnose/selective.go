package diagnose

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/selective"
)

const (
	// beyondChance is by how many nats what a flow lost must be unlikelier than what it should lose, for it to be strange.
	beyondChance = 10
	// flowProves is how many losses of one flow are enough, as in localize.
	flowProves = 10.0
	// losesAll is the share that a flow must lose to be strange of whose losses much may be its ends' own doing.
	losesAll = 0.9
	// mostShown is how many of the flows that a fault hits are told.
	mostShown = 3
)

// addSelective tells what drops the packets of some flows and lets others pass, where flows lose more than what was found explains. Where cables are elsewhere than planned
// it is not known what flows cross. Where something else goes down and comes up, and paths change with it, only what is named is told. It returns the flows that lose more than anything that
// is named explains.
func (s *Store) addSelective(d *Diagnosis, seen *observer, solved *localize.Result, unsteady bool) (odd []*flowLog) {
	if len(s.misplaced) > 0 {
		return nil
	}
	if times := d.flaps(); times != nil {
		seen = s.observe(times, seen.since)
	}
	strange := s.unexplainedFlows(seen, solved)
	for _, i := range strange {
		if l := seen.flow(&seen.list[i]); !slices.Contains(odd, l) {
			odd = append(odd, l)
		}
	}
	if len(strange) < 2 {
		return odd
	}
	least := leastListed
	if unsteady {
		least = Named
	}
	flows, strange := seen.meanwhile(strange)
	for _, x := range selective.Solve(s.fabric, flows, strange, s.askedSets()) {
		if x.Probability < least || x.Clean == 0 {
			continue // what hits all flows that cross it is no such fault
		}
		out := s.selectiveSuspect(&x, seen)
		sent := 0
		for _, i := range x.Hit {
			sent += seen.list[i].Sent
		}
		s.blameHost(&out, &localize.Suspect{Cause: x.Cause, Class: x.Class, Probability: x.Probability, Loss: x.Loss, Sent: sent})
		same := func(y Suspect) bool { return y.ID == out.ID || y.Link != "" && y.Link == out.Link }
		if i := slices.IndexFunc(d.Suspects, same); i >= 0 {
			if d.Suspects[i].Probability >= min(Named, out.Probability) {
				continue
			}
			d.Suspects = slices.DeleteFunc(d.Suspects, same)
		}
		d.Suspects = append(d.Suspects, out)
		if out.Probability >= Named {
			odd = slices.DeleteFunc(odd, func(l *flowLog) bool {
				return slices.ContainsFunc(x.Hit, func(i int32) bool { return seen.flow(&seen.list[i]) == l })
			})
		}
	}
	return odd
}

// flaps returns when what is named went down and came up, in the order of time: what flows lost then was lost to that, on whatever path they were for the moment.
func (d *Diagnosis) flaps() []stretch {
	var times []stretch
	for i := range d.Suspects {
		x := &d.Suspects[i]
		if x.Symptom != Flap || x.Probability < Named {
			continue
		}
		times = append(times, x.times(stormBin)...)
	}
	return unbroken(times)
}

// unexplainedFlows returns the observations of flows that lost more than chance and all that may be faulty explain, and that of all that these flows sent. Those of ends that do
// not hear each other at all are left out.
func (s *Store) unexplainedFlows(seen *observer, solved *localize.Result) []int32 {
	var list []int32
	var whole map[crossing]*localize.Observation // counted where there is need
	var busy map[graphs.NodeID]bool
	var unheard *unheard // asked for where there is need
	dead := sync.OnceValue(func() map[graphs.ArcID]bool { return s.deadOf(solved) })
	for i := range seen.list {
		obs := &seen.list[i]
		if obs.Lost == 0 || obs.Responder != graphs.None {
			continue
		}
		arcs := len(obs.Path)
		if len(obs.Alternatives) > 0 {
			arcs += len(obs.Alternatives[0].Arcs)
		}
		well := math.Pow(1-solved.Normal, float64(max(arcs, 6)))
		kept, named := well, false
		for k := range solved.Suspects {
			sus := &solved.Suspects[k]
			if sus.Probability >= leastListed && slices.ContainsFunc(sus.Class, func(c localize.Cause) bool { _, maybe := seen.crossing(obs, c); return maybe }) {
				kept *= 1 - sus.High
				named = named || sus.Probability >= Named
			}
		}
		enough := flowProves
		if !named && obs.Lost == obs.Sent { // by chance something arrives of so many runs
			enough = max(enough, 1+2*float64(obs.Bursts))
		}
		if unlikely(obs, 1-kept, enough) <= beyondChance {
			continue
		}
		if whole == nil {
			whole, busy = seen.byCrossing(), s.busy()
		}
		l := seen.flow(obs)
		if w := whole[crossing{l, obs.Src}]; (busy[l.src] || busy[l.dst]) && float64(w.Lost) < losesAll*float64(w.Sent) {
			continue
		}
		// A few packets lost in the moment that a path was unclear are all of an observation, and next to nothing of the flow.
		if unlikely(whole[crossing{l, obs.Src}], 1-well, flowProves) <= beyondChance {
			continue
		}
		if unheard == nil {
			unheard = s.unheardOf(seen.since)
		}
		if _, deaf := s.unheardAs(unheard, l.src, l.dst); !deaf && !(obs.Lost < obs.Sent && l.wasDead() && s.mayCross(l, dead())) {
			list = append(list, int32(i))
		}
	}
	return list
}

// mayCross reports whether a flow may take a way over some arcs, wherever it was traced. One that is dead there, but for the moments in which routes take it elsewhere, is traced in these.
func (s *Store) mayCross(l *flowLog, arcs map[graphs.ArcID]bool) bool {
	there, home := s.allowed().waysOf(l, way{}, way{})
	return wayOf(there).someOf(arcs) || wayOf(home).someOf(arcs)
}

// byCrossing counts what each flow sent and lost there, and back, on whatever paths, from end to end.
func (o *observer) byCrossing() map[crossing]*localize.Observation {
	whole := map[crossing]*localize.Observation{}
	for i := range o.list {
		if obs := &o.list[i]; obs.Responder == graphs.None {
			c := crossing{o.flow(obs), obs.Src}
			all := whole[c]
			if all == nil {
				all = &localize.Observation{}
				whole[c] = all
			}
			all.Sent, all.Lost, all.Bursts = all.Sent+obs.Sent, all.Lost+obs.Lost, all.Bursts+obs.Bursts
		}
	}
	return whole
}

// unlikely returns, as the negative of its logarithm, how likely a flow loses as many of its packets or more, at most, if each is lost with a probability (Chernoff). Of the losses of
// one flow so many are enough, and runs of them prove hardly more than their first ones do.
func unlikely(obs *localize.Observation, p, enough float64) float64 {
	lost, share := float64(obs.Lost), float64(obs.Lost)/float64(obs.Sent)
	if share <= p {
		return 0
	}
	counted := min(lost, enough)
	if obs.Bursts > 0 && obs.Lost < obs.Sent {
		counted = min(counted, 1+2*float64(obs.Bursts))
	}
	nats := share * math.Log(share/p)
	if share < 1 {
		nats += (1 - share) * math.Log((1-share)/(1-p))
	}
	return nats * counted / share
}

// meanwhile returns the observations with nothing sent in those of flows that were measured only when no strange one lost packets: what comes and goes is no fault of some flows. A
// strange flow counts once, and so does one on the same ways in several epochs. One that itself comes and goes does not count.
func (o *observer) meanwhile(strange []int32) ([]localize.Observation, []int32) {
	list := slices.Clone(o.list)
	strange = slices.DeleteFunc(slices.Clone(strange), func(i int32) bool {
		if !o.flow(&list[i]).revives() {
			return false
		}
		list[i].Sent = 0
		return true
	})
	var times []stretch
	for _, i := range strange {
		l := o.flow(&o.list[i])
		for j := range l.echoes {
			if e := &l.echoes[j]; e.lost > 0 {
				times = append(times, stretch{e.start, e.end})
			}
		}
		for j := range l.captured {
			times = append(times, stretch{l.captured[j].start, l.captured[j].at})
		}
	}
	bad := unbroken(times)
	then := func(e echo) bool {
		return e.sent > 0 && slices.ContainsFunc(bad, stretch{e.start, e.end}.overlaps)
	}
	most := map[crossing]int32{}
	for _, i := range strange {
		c := crossing{o.flow(&list[i]), list[i].Src}
		if j, known := most[c]; !known || list[i].Lost > list[j].Lost {
			most[c] = i
		}
	}
	seen := map[string]bool{}
	for i := range list {
		l, k := o.flow(&o.list[i]), o.waysKey(int32(i))
		if j, odd := most[crossing{l, list[i].Src}]; odd && j != int32(i) || !odd && (seen[k] || list[i].Lost == 0 && len(l.captured) == 0 && !slices.ContainsFunc(l.echoes, then)) {
			list[i].Sent = 0
		}
		seen[k] = true
	}
	return list, slices.Sorted(maps.Values(most))
}

// revives reports whether a flow that lost most of its packets on its ways passed all on the same, and lost most again. It does so where routes move it from time to time onto a
// way that is dead: nobody traces that way, and the flow seems to stay where it was traced last.
func (l *flowLog) revives() bool {
	const enough = 5 // probes, to tell
	var before *echo // the last that lost most, or passed all after that
	changes := 0
	for i := range l.echoes {
		e := &l.echoes[i]
		if e.sent < enough || e.lost > 0 && 2*e.lost < e.sent || e.lost == 0 && before == nil {
			continue
		}
		if before != nil && (e.lost == 0) != (before.lost == 0) && e.sameWays(before) {
			changes++
		}
		before = e
	}
	return changes > 1 // a fault of some flows may have ended
}

// waysKey tells flows and their ways apart, whatever the epoch.
func (o *observer) waysKey(i int32) string {
	obs := &o.list[i]
	return string(appendWays(fmt.Appendf(nil, "%p %d %d %d|", o.flow(obs), obs.Src, obs.From, obs.To), obs.Path, obs.Alternatives))
}

// selectiveSuspect puts what hits some flows into words.
func (s *Store) selectiveSuspect(x *selective.Suspect, seen *observer) Suspect {
	out := Suspect{Kind: string(x.Kind), ID: s.name(x.Cause), Symptom: Loss, Probability: min(x.Probability, surest), dial: s.dial()}
	for _, c := range x.Class {
		out.Class = append(out.Class, s.name(c))
	}
	if x.Kind == localize.Arc || x.Kind == localize.Link {
		out.Link = s.fabric.LinkName(linksOf(s.fabric, x.Cause)[0])
	}
	out.loses(x.Share*x.Loss, x.Low*x.Loss, x.High*x.Loss)
	sent, lost := 0, 0
	var flows []string
	for _, i := range x.Hit {
		obs := &seen.list[i]
		sent, lost = sent+obs.Sent, lost+obs.Lost
		if l := seen.flow(obs); len(flows) < mostShown {
			flows = append(flows, l.words())
		}
	}
	out.Hit = &x.Share
	out.For = fmt.Sprintf("%d of %d flow paths that cross it lose packets", x.Surely, x.Surely+x.Clean)
	if x.Surely == 0 {
		out.For = fmt.Sprintf("%d flows that may cross it, their paths not being known, lose packets", len(x.Hit))
	}
	out.For += fmt.Sprintf(" (%s of %s), and no fault that all flows meet explains that", thousands(lost), thousands(sent))
	out.Against = fmt.Sprintf("%d flow paths cross it clean: it hits some flows and not others", x.Clean)
	out.Evidence = []Evidence{{s.instrument(), out.For}, {s.instrument(), "it hits " + strings.Join(flows, ", ")}}
	if n := len(out.Class); n > 1 {
		out.Next = append(out.Next, Step{Why: fmt.Sprintf("tell the %d apart: flows that cross only one of them do; then localize with %s, too", n, runFiles), Do: s.probeFor(60)})
	}
	out.Next = append(out.Next, Step{Why: "a dead member of a LAG, a broken table entry or a bad fabric module hits the same flows again and again",
		Do: "compare the counters of the members and modules of " + out.ID + ", and look these flows up in its tables"})
	return out
}
