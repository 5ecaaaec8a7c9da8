package diagnose

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"whichlink/graphs"
)

const (
	// leastHeard is of how many probes the other way about a host must have been answered meanwhile for its silence to be its own, and heardShare at least which part.
	leastHeard, heardShare = 10, 0.5
	// leastSilent is how long a silence must last at least: what is shorter may be chance where probes are few.
	leastSilent = 500 * time.Millisecond
	// unevenly is how many of the intervals in which probes are sent there may be between two of them.
	unevenly = 6
	// lostShare is the least part that must have been lost of what one end did not hear, and heardParts in how many parts of that time the other must have been heard.
	lostShare, heardParts = 0.9, 4
)

// An end is one address of a host as one end of flows: where they come from, or where they go to.
type end struct {
	addr netip.Addr
	asks bool
}

// ends are the two of a flow: whom it asks, and who asks.
func (l *flowLog) ends() [2]end { return [2]end{{l.flow.Dst, false}, {l.flow.Src, true}} }

// A silentTime is a time in which all probes from one address of a host, or all to it, were lost, while those the other way about were answered: as where no reflector runs, or a
// filter is in the way. No link does that, since probes and answers of either kind cross the same ones.
type silentTime struct {
	host graphs.NodeID
	end
	stretch
	fate
}

// leaveOutSilent takes out of the evidence what was lost because an agent or a filter of a host was silent, and notes it in s.silences.
func (s *Store) leaveOutSilent() {
	s.silences = nil
	ends, runs := s.silentRuns()
	order := make([]end, 0, len(ends))
	for x, flows := range ends {
		if len(flows) >= leastUnheardFlows {
			order = append(order, x)
		}
	}
	if len(order) == 0 {
		return
	}
	// Who asks two that are silent is not: those of the most flows come first.
	slices.SortFunc(order, func(a, b end) int {
		return cmp.Or(cmp.Compare(len(ends[b]), len(ends[a])), a.addr.Compare(b.addr), cmp.Compare(bit(a.asks), bit(b.asks)))
	})
	x := silentEnds{s: s, of: s.flowsByEnd(), found: map[end][]stretch{}}
	for before := -1; before < len(s.silences); { // of whom the silence of another hides something, that is seen once this is known
		before = len(s.silences)
		for _, e := range order {
			x.find(e, runs)
		}
	}
	for _, e := range order {
		times := unbroken(x.found[e])
		for _, l := range x.of[e] {
			for i := range l.echoes {
				if e := &l.echoes[i]; e.lost > 0 && slices.ContainsFunc(times, stretch{e.start, e.end}.overlaps) {
					*e = e.keeping(e.within(times, false))
				}
			}
		}
	}
	slices.SortFunc(s.silences, func(a, b silentTime) int {
		return cmp.Or(a.from.Compare(b.from), cmp.Compare(a.host, b.host), a.addr.Compare(b.addr), cmp.Compare(bit(a.asks), bit(b.asks)))
	})
}

// silentEnds looks for ends that were silent.
type silentEnds struct {
	s     *Store
	of    map[end][]*flowLog
	found map[end][]stretch
}

// find adds the times in which an end was silent, as far as they were not found before.
func (x *silentEnds) find(e end, runs map[*flowLog][]stretch) {
	times, margin := silentTimes(x.of[e], runs)
	for _, st := range times {
		if st.to.Sub(st.from) < leastSilent || slices.ContainsFunc(x.found[e], st.overlaps) {
			continue
		}
		if one, ok := x.silence(e, st); ok {
			one.stretch = stretch{st.from.Add(-margin), st.to.Add(margin)}
			x.s.silences = append(x.s.silences, one)
			x.found[e] = append(x.found[e], one.stretch)
		}
	}
}

// elsewhere reports whether the other end of a flow is known to have been silent in a time, or neither end of anything that was heard then.
func (x *silentEnds) elsewhere(l *flowLog, e end, st stretch) bool {
	far := l.ends()[0]
	if far.addr == e.addr {
		far = l.ends()[1]
	}
	return slices.ContainsFunc(x.found[far], st.overlaps) || !slices.ContainsFunc(x.of[far], func(l *flowLog) bool {
		sum := l.in(st)
		return sum.heard()
	})
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// silentRuns returns for each flow when it may have heard nothing, and for each end which flows did.
func (s *Store) silentRuns() (ends map[end][]*flowLog, runs map[*flowLog][]stretch) {
	ends, runs = map[end][]*flowLog{}, map[*flowLog][]stretch{}
	for _, l := range s.order {
		if l.src == graphs.None || l.dst == graphs.None {
			continue
		}
		var own []stretch
		several := false
		for i := range l.echoes {
			e := &l.echoes[i]
			own = append(own, e.unanswered()...)
			several = several || len(e.lostAt) > 1 || e.lost > 0 && e.lost == e.sent
		}
		if several && own != nil {
			runs[l] = unbroken(own)
			for _, x := range l.ends() {
				ends[x] = append(ends[x], l)
			}
		}
	}
	return ends, runs
}

// unanswered returns when nothing was answered in the time of an echo: all of it where all was lost, and else from one loss to the next where these are near to each other. Probers send
// unevenly, so that this is more than a run is.
func (e *echo) unanswered() (list []stretch) {
	if e.lost > 0 && e.lost == e.sent {
		return []stretch{{e.start, e.end}}
	}
	every := e.every()
	for _, ms := range e.lostAt {
		at := e.start.Add(time.Duration(ms) * time.Millisecond)
		if n := len(list); n > 0 && at.Sub(list[n-1].to) <= unevenly*every {
			list[n-1].to = at.Add(every)
			continue
		}
		list = append(list, stretch{at, at.Add(every)})
	}
	if n := len(list); n > 0 && e.end.Sub(list[n-1].to) <= unevenly*every/2 {
		list[n-1].to = e.end
	}
	return list
}

// every is how long an echo's flow waited from one probe to the next.
func (e *echo) every() time.Duration { return e.end.Sub(e.start) / time.Duration(max(1, e.sent)) }

// flowsByEnd returns the flows of each end.
func (s *Store) flowsByEnd() map[end][]*flowLog {
	of := map[end][]*flowLog{}
	for _, l := range s.order {
		if l.src == graphs.None || l.dst == graphs.None {
			continue
		}
		for _, x := range l.ends() {
			of[x] = append(of[x], l)
		}
	}
	return of
}

// silentTimes returns when all of some flows that were measured lost all, and how long before and after that flows may have lost some already, or still.
func silentTimes(flows []*flowLog, runs map[*flowLog][]stretch) (times []stretch, margin time.Duration) {
	var dead, alive []stretch
	for _, l := range flows {
		dead = append(dead, runs[l]...)
		for i := range l.echoes {
			e := &l.echoes[i]
			if e.lost > 0 {
				margin = max(margin, e.every())
			}
			if e.lost == e.sent {
				continue
			}
			for _, part := range beside(stretch{e.start, e.end}, runs[l]) {
				if 2*part.to.Sub(part.from) > e.every() { // else nothing was sent in it
					alive = append(alive, part)
				}
			}
		}
	}
	alive = unbroken(alive)
	for _, st := range unbroken(dead) {
		for _, core := range beside(st, alive) {
			if n := len(times); n > 0 && !someOverlaps(alive, stretch{times[n-1].to, core.from}) {
				times[n-1].to = core.to // nothing was answered between them
				continue
			}
			times = append(times, core)
		}
	}
	return times, margin
}

// someOverlaps reports whether one of some stretches, in the order of time, overlaps another.
func someOverlaps(list []stretch, st stretch) bool {
	i := stormAt(list, st.from)
	return i < len(list) && list[i].overlaps(st)
}

// beside returns what of a stretch lies in none of others, which are in the order of time, none overlapping another.
func beside(st stretch, others []stretch) (rest []stretch) {
	for i := stormAt(others, st.from); i < len(others) && others[i].from.Before(st.to); i++ {
		if others[i].from.After(st.from) {
			rest = append(rest, stretch{st.from, others[i].from})
		}
		st.from = later(st.from, others[i].to)
	}
	if st.to.After(st.from) {
		rest = append(rest, st)
	}
	return rest
}

// silence sums up what an end did not hear in a time, and reports whether it was silent then, and no link lost it.
func (x *silentEnds) silence(e end, st stretch) (silentTime, bool) {
	out := silentTime{end: e, stretch: st, host: graphs.None}
	peers := map[graphs.NodeID]bool{}
	var dead []*flowLog
	for _, l := range x.of[e] {
		one := l.in(st)
		if one.lost == 0 || x.elsewhere(l, e, st) {
			continue
		}
		one.flows = 1
		out.add(one)
		dead = append(dead, l)
		host, peer := l.dst, l.src
		if e.asks {
			host, peer = l.src, l.dst
		}
		out.host = host
		peers[peer] = true
	}
	if _, ever := x.s.strained.ever[out.host]; ever {
		return out, false // when it ran at all is not known well enough
	}
	var other fate
	var heardIn [heardParts]bool
	part := st.to.Sub(st.from) / heardParts
	for _, l := range x.of[end{e.addr, !e.asks}] {
		if x.elsewhere(l, e, st) {
			continue
		}
		other.add(l.in(st))
		for k := range heardIn {
			from := st.from.Add(time.Duration(k) * part)
			one := l.in(stretch{from, from.Add(part)})
			heardIn[k] = heardIn[k] || one.heard()
		}
	}
	heard := other.sent - other.lost
	if out.lost < leastUnheard || out.flows < leastUnheardFlows || len(peers) < 2 || heard < leastHeard || float64(heard) < heardShare*float64(other.sent) ||
		float64(out.lost) < lostShare*float64(out.sent) || slices.Contains(heardIn[:], false) {
		return out, false
	}
	at := x.s.lookAt(st, func(l *flowLog) bool { return l.flow.Src == e.addr || l.flow.Dst == e.addr })
	return out, x.s.noLink(dead, st, at)
}

// heard reports whether surely something was answered: what was sent in a part of a window is known to about a probe at either end.
func (x fate) heard() bool { return x.sent > x.lost && (x.lost == 0 || x.sent-x.lost > 2) }

// firstAt returns the first of a flow's echoes that may not have ended at a time.
func (l *flowLog) firstAt(at time.Time) int {
	i, _ := slices.BinarySearchFunc(l.echoes, at, func(e echo, t time.Time) int { return e.end.Compare(t) })
	return i
}

// in returns what became of a flow's probes in a time.
func (l *flowLog) in(st stretch) (sum fate) {
	for i := l.firstAt(st.from); i < len(l.echoes) && l.echoes[i].start.Before(st.to); i++ {
		if e := &l.echoes[i]; (stretch{e.start, e.end}).overlaps(st) {
			part := e.within([]stretch{st}, true)
			sum.sent, sum.lost = sum.sent+part.sent, sum.lost+part.lost
		}
	}
	return sum
}

// mostSilences is how many silences are told one by one.
const mostSilences = 4

// silenceNotes say which hosts were silent, when, and that what was lost to that is left out.
func (s *Store) silenceNotes() (notes []string) {
	for i := range s.silences {
		if more := len(s.silences) - i; i == mostSilences && more > 1 {
			return append(notes, fmt.Sprintf("%d more times that a host was silent, and no link lost what it did not hear or answer, are left out", more))
		}
		notes = append(notes, s.silenceWords(&s.silences[i])+"; no link lost these, and they are left out")
	}
	return notes
}

// silenceWords say which host was silent, and when that was not all the time.
func (s *Store) silenceWords(x *silentTime) string {
	when, over := "", !s.lasts(x)
	if x.from.After(s.flowing.from.Add(stale)) {
		when = " from " + s.dial().clock(x.from)
	}
	if over {
		when += " until " + s.dial().clock(x.to)
	}
	words := "%s answers none of %s probes%s, though its own are answered: a firewall, a reflector that does not run, or a filter"
	switch {
	case x.asks && over:
		words = "%s heard no answer to %s probes of its own%s, though it answered others: a firewall or a filter"
	case x.asks:
		words = "%s hears no answer to %s probes of its own%s, though it answers others: a firewall or a filter"
	case over:
		words = "%s answered none of %s probes%s, though its own were answered: a reflector that did not run, a firewall or a filter"
	}
	return fmt.Sprintf(words, s.fabric.NodeName(x.host), thousands(x.lost), when)
}

// lasts reports whether a silence was not over when the evidence ended.
func (s *Store) lasts(x *silentTime) bool { return !x.to.Before(s.flowing.to.Add(-stale)) }

// silentNow returns the first of the silences that were not over when the evidence ended, or nil, and what was lost to all of these.
func (s *Store) silentNow() (first *silentTime, lost int) {
	for i := range s.silences {
		if x := &s.silences[i]; s.lasts(x) {
			first, lost = cmp.Or(first, x), lost+x.lost
		}
	}
	return first, lost
}

// next is what to do about a silence.
func (x *silentTime) next() string {
	if x.asks {
		return "see there which firewall or filter drops what comes back to UDP ports of its probes"
	}
	return "see there that whichlink agent runs and no firewall or filter drops UDP to its port"
}
