package diagnose

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/halves"
	"whichlink/pathfind/localize"
)

const (
	// mostApart bounds the storms that are looked at one by one, and mostRounds how often.
	mostApart, mostRounds = 16, 32
	// leastLost is the least number of packets that an outage loses.
	leastLost = 3
)

// apart finds the links, arcs and switches that go down each at its own times, beside those that are found already. Next to a link that many flows cross another hardly shows,
// and where outages overlap neither lost nearly all in the storm that they make: what the ones lost while they were down is taken away for the others to be seen.
func (x *sorter) apart(storms []stretch, before []localize.Suspect) []localize.Suspect {
	s, dead := x.store, x.dead
	var found, untimed []localize.Suspect
	whole := storms
	storms = dead.onsets(whole)
	for _, sus := range before {
		o := x.outageOf(sus.Cause, storms)
		if x.take(o, whole); !o.timed {
			untimed = append(untimed, sus)
		}
	}
	for range mostRounds {
		// What was lost by flows of which the way is not known cannot be taken away from the storms: these are left out.
		storms = where(storms, s.explained(storms, untimed, dead, x.known), false)
		worst := x.worstIn(storms)
		if worst == nil {
			break
		}
		if x.taken[worst.cause] == nil {
			found = append(found, worst.suspect)
		}
		if !worst.timed {
			untimed = append(untimed, worst.suspect)
		}
		x.take(worst, whole)
		whole = dead.whole(s.storms(x.known))
		storms = dead.onsets(whole)
	}
	s.fallen = fallen{dead: dead, outages: x.taken}
	return found
}

// mostlyTraced reports whether of most windows with losses it is known which way these went.
func (s *Store) mostlyTraced() bool {
	traced, all := 0, 0
	for _, l := range s.order {
		for i := range l.echoes {
			if e := &l.echoes[i]; e.lost > 0 {
				if all++; e.path.known() && e.back.known() {
					traced++
				}
			}
		}
	}
	return 2*traced >= all
}

// An outage is what an arc, a link, or a switch with all of its links, lost while it was down.
type outage struct {
	cause   localize.Cause
	when    downs // of each of its arcs
	lost    int
	timed   bool // flows tell when that surely crossed it; else it is storms in which it is to blame
	suspect localize.Suspect
}

// A sorter tells in storms the outages of one link from those of another.
type sorter struct {
	store *Store
	// dead are arcs that lose nearly all between storms, too.
	dead  deadArcs
	known downs
	// taken are the outages that are known, by what was down.
	taken map[localize.Cause]downs
	// traced is whether of most flows that lost packets it is known which way they went: then these are asked what is to blame, which takes far less time.
	traced bool
	lists  *observer // of the ways of flows that are not known
	// blamed is what is to blame for what was lost in a storm by itself.
	blamed map[stretch][]localize.Suspect
}

// sorter returns one that has told nothing yet.
func (s *Store) sorter(dead deadArcs) *sorter {
	return &sorter{store: s, dead: dead, known: downs{}, taken: map[localize.Cause]downs{}, traced: s.mostlyTraced(), lists: s.observer(), blamed: map[stretch][]localize.Suspect{}}
}

// confirmed returns those of what went down in storms, by what was lost in all of them, that are to blame for one or another by itself. A flow that was traced only while what went down had moved it
// loses packets in all of them on a way on which nothing is wrong.
func (x *sorter) confirmed(found []localize.Suspect, storms []stretch) (sure []localize.Suspect) {
	causes, _ := x.fallen(storms)
	for _, sus := range found {
		if slices.Contains(causes, sus.Cause) {
			sure = append(sure, sus)
		}
	}
	if sure == nil {
		return found
	}
	return sure
}

// take takes an outage for known, which lies in whole storms.
func (x *sorter) take(o *outage, whole []stretch) {
	if x.taken[o.cause] == nil {
		x.taken[o.cause] = downs{}
	}
	for a, when := range o.when {
		x.taken[o.cause][a] = unbroken(append(x.taken[o.cause][a], when...))
		x.known[a] = unbroken(append(x.known[a], x.dead.goingOn(when, whole)...))
	}
	all := o.when.stretches()
	maps.DeleteFunc(x.blamed, func(storm stretch, _ []localize.Suspect) bool {
		return slices.ContainsFunc(all, storm.overlaps)
	})
}

// worstIn returns of what is to blame for what was lost in one storm or another that which lost the most, or nil.
func (x *sorter) worstIn(storms []stretch) *outage {
	var list []*outage
	causes, whole := x.fallen(storms)
	for _, c := range causes {
		if o := x.outageOf(c, storms); o.timed {
			list = append(list, o)
		} else if x.taken[c] == nil && whole[c] != nil {
			for a := range arcsOf(x.store.fabric, c) {
				o.when[a] = whole[c]
			}
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b *outage) int { return cmp.Compare(b.lost, a.lost) })
	for _, o := range list {
		seen := x.store.observeStorms(o.when.stretches(), x.dead, x.known, false)
		for _, sus := range x.store.outagesOf(seen, x.store.solveStorms(seen), stormLoss) {
			if sus.Cause == o.cause && !slices.ContainsFunc(sus.Class, func(c localize.Cause) bool { return c != o.cause && x.taken[c] != nil }) {
				o.suspect = sus // and not of what is known to go down, which nothing tells it from
				return o
			}
		}
	}
	return nil
}

// outageOf returns when an arc, a link, or each link of a switch, was down as far as flows tell that surely crossed it.
func (x *sorter) outageOf(c localize.Cause, storms []stretch) *outage {
	o := &outage{cause: c, when: downs{}}
	down := func(arcs ...graphs.ArcID) {
		when, lost := x.downIn(arcs, storms)
		for _, a := range arcs {
			if when != nil {
				o.when[a], o.timed = when, true
			}
		}
		o.lost += lost
	}
	if c.Kind == localize.Arc {
		down(graphs.ArcID(c.ID))
		return o
	}
	for _, l := range linksOf(x.store.fabric, c) {
		down(l.Forward(), l.Backward())
	}
	return o
}

// fallen returns what is to blame for what was lost in one storm or another, and the storms in which it lost nearly all.
func (x *sorter) fallen(storms []stretch) (causes []localize.Cause, whole map[localize.Cause][]stretch) {
	whole = map[localize.Cause][]stretch{}
	some := make([]stretch, min(len(storms), mostApart))
	for i := range some {
		some[i] = storms[i*len(storms)/len(some)]
	}
	x.blame(some)
	for _, storm := range some {
		for _, sus := range x.blamed[storm] {
			if !slices.Contains(causes, sus.Cause) {
				causes = append(causes, sus.Cause)
			}
			if sus.Loss >= stormLoss {
				whole[sus.Cause] = append(whole[sus.Cause], storm)
			}
		}
	}
	return causes, whole
}

// blame asks what is to blame for what was lost in each of some storms by itself, where that was not asked before.
func (x *sorter) blame(storms []stretch) {
	type trial struct {
		storm  stretch
		seen   *observer
		solved *localize.Result
	}
	var trials []trial
	for _, storm := range storms {
		if _, ok := x.blamed[storm]; !ok {
			trials = append(trials, trial{storm: storm, seen: x.store.observeStorms([]stretch{storm}, x.dead, x.known, x.traced)})
		}
	}
	halves.Each(len(trials), func(i int) { trials[i].solved = x.store.solveStorms(trials[i].seen) })
	for _, t := range trials {
		x.blamed[t.storm] = x.dead.living(x.store.fabric, []stretch{t.storm}, x.store.outagesOf(t.seen, t.solved, 0))
	}
}

// downIn returns when some arcs lost nearly all in storms and little was lost elsewhere, once in each of these at most, and how much they lost then.
func (x *sorter) downIn(arcs []graphs.ArcID, storms []stretch) (own []stretch, lost int) {
	ours := map[graphs.ArcID]bool{}
	for _, a := range arcs {
		ours[a] = true
	}
	parts := make([]stormCounts, len(storms))
	for _, l := range x.store.order {
		for i := range l.echoes {
			first, end := l.echoes[i].among(storms)
			if first == end {
				continue
			}
			e, path, back, known := x.waysOf(l, &l.echoes[i])
			on, surely := path.someOf(ours) || back.someOf(ours), path.allOf(ours) || back.allOf(ours)
			if !path.known() || !back.known() || (on || !known) && !surely || l.onDead(x.dead, e, path, back) {
				continue
			}
			others := x.known.on(e, path, back)
			if on {
				for b := first; b < end; b++ {
					parts[b].send(storms[b], e, others)
				}
			}
			for b, at := range e.lossesIn(storms, others) {
				parts[b].lose(storms[b].partAt(at), on)
			}
		}
	}
	for b := range storms {
		if from, to, n := parts[b].worst(); n >= leastLost {
			part := storms[b].part()
			st := stretch{storms[b].from.Add(time.Duration(from) * part), storms[b].to}
			if to < stormParts {
				st.to = storms[b].from.Add(time.Duration(to) * part)
			}
			own = append(own, st)
			lost += n
		}
	}
	return own, lost
}

// waysOf returns the ways of an echo and what it tells of them. Where none was known and packets were lost, as of a flow that what went down has moved, these are the ways by which
// it may have gone before, until the last loss.
func (x *sorter) waysOf(l *flowLog, e *echo) (part *echo, path, back way, known bool) {
	path, back = l.at(e, true)
	if known = path.known() && back.known(); known || len(e.lostAt) == 0 {
		return e, path, back, known
	}
	there, home := x.lists.waysOf(l, path, back)
	return e.untilLost(), wayOf(there), wayOf(home), false
}

// stormCounts is what some arcs were sent and lost in the parts of a storm, and what was lost elsewhere.
type stormCounts struct{ sent, lost, elsewhere [stormParts]float64 }

// send adds what of an echo was sent in a storm, evenly, but for some stretches.
func (c *stormCounts) send(st stretch, e *echo, without []stretch) {
	part := st.part()
	for j := range c.sent {
		at := st.from.Add(time.Duration(j)*part + part/2)
		if !at.Before(e.start) && at.Before(e.end) && !during(without, at) {
			c.sent[j] += float64(e.sent) * part.Seconds() / e.end.Sub(e.start).Seconds()
		}
	}
}

func (c *stormCounts) lose(part int, on bool) {
	if on {
		c.lost[part]++
	} else {
		c.elsewhere[part]++
	}
}

// worst returns the parts of a storm, from one to before another, in which the link lost the most beyond half of what it was sent and of what was lost elsewhere, and how
// much it lost there; 0 if that is not nearly all.
func (c *stormCounts) worst() (from, to, lost int) {
	var best, now struct {
		gain, sent, lost, elsewhere float64
		from, to                    int
	}
	for j := range c.sent {
		if now.gain <= 0 {
			now.gain, now.sent, now.lost, now.elsewhere, now.from = 0, 0, 0, 0, j
		}
		now.sent, now.lost, now.elsewhere, now.to = now.sent+c.sent[j], now.lost+c.lost[j], now.elsewhere+c.elsewhere[j], j+1
		if now.gain += c.lost[j] - (c.sent[j]+c.elsewhere[j])/2; now.gain > best.gain {
			best = now
		}
	}
	if best.lost < stormLoss*best.sent || best.lost < stormTold*(best.lost+best.elsewhere) {
		return 0, 0, 0
	}
	return best.from, best.to, int(best.lost)
}

// explained reports of each storm whether nearly all of what was lost in it may have been on what is told to have been down, by flows that may not have crossed what is dead, nor a link while it was
// known to be down.
func (s *Store) explained(storms []stretch, links []localize.Suspect, dead deadArcs, known downs) []bool {
	type counts struct{ lost, told int }
	list := make([]counts, len(storms))
	lists := s.observer() // of the ways of flows that were never traced
	on := func(a localize.Alternative) bool {
		return slices.ContainsFunc(links, func(x localize.Suspect) bool { return s.on(a.Arcs, x.Cause) })
	}
	for _, l := range s.order {
		for i := range l.echoes {
			e := &l.echoes[i]
			path, back := l.at(e, true)
			var there, home []localize.Alternative
			for b := range known.inStorms(storms, l, e) {
				if there == nil {
					there, home = lists.waysOf(l, path, back)
				}
				if l.onDead(dead, e, path, back) || len(there)+len(home) == 0 {
					break
				}
				list[b].lost++
				if slices.ContainsFunc(there, on) || slices.ContainsFunc(home, on) {
					list[b].told++
				}
			}
		}
	}
	are := make([]bool, len(storms))
	for b, n := range list {
		are[b] = n.lost > 0 && float64(n.told) >= stormTold*float64(n.lost)
	}
	return are
}

// stormAt returns which of storms, in the order of time, is the first that ends at a moment or later.
func stormAt(storms []stretch, at time.Time) int {
	b, _ := slices.BinarySearchFunc(storms, at, func(st stretch, t time.Time) int { return st.to.Compare(t) })
	return b
}

// among returns the first of storms, in the order of time, of which an echo measured anything, and the first after these of which it did not.
func (e *echo) among(storms []stretch) (first, end int) {
	first = stormAt(storms, e.start)
	for end = first; end < len(storms) && storms[end].from.Before(e.end); end++ {
	}
	return first, end
}

// where returns those of storms of which something is so.
func where(storms []stretch, are []bool, so bool) []stretch {
	var some []stretch
	for b := range storms {
		if are[b] == so {
			some = append(some, storms[b])
		}
	}
	return some
}
