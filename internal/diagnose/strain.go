package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

const (
	// strainMargin is how far beyond its ends a strain reaches: probes overtake each other on the way, and clocks differ.
	strainMargin = 5 * time.Millisecond
	// strainTold is the most that may be lost in a strain, as a multiple of what the host says that it did, for the host to have done it.
	strainTold = 1.5
	// mostSilent is how many packets a host may lose at most for each that it owns up to, where it does so each time.
	mostSilent = 4
	// A process that does not run loses nothing: what comes waits. Where its machine did not run, nearly all is lost that is sent to it, by whatever path:
	// pausedLost is the least share, and pausedLeast the least number.
	pausedLost, pausedLeast = 0.7, 5
	// mostPaused is the share of the time above which the pauses of a host explain nothing: it works on between them, and what it measures counts.
	mostPaused = 0.5
)

// A strain is a stretch of time in which a host was too busy for probes, as one prober tells.
type strain struct {
	by    string
	node  graphs.NodeID
	own   bool // the prober tells it of its own host
	what  evidence.Strain
	count int
	stretch
}

// A cut is a stretch of time in which what some flows lost is left out.
type cut struct {
	stretch
	by   string
	node graphs.NodeID // who was too busy
	own  bool
	// overflow, overdue and late are what it did to probes, by kind; idle is, of pauses, the times in which it sent nothing, none overlapping another.
	overflow, overdue, late int
	idle                    []stretch
	// sent and lost are the probes of the flows that may have suffered, in this time, and usual how many these lose in as much time otherwise.
	sent, usual float64
	lost        int
	// others is how many of those the other end says that it lost at the same time: the reflectors of a prober, or the prober of a reflector.
	others int
	// full and slow are how many packets the host loses for each of which it says that it had no room for it, and for each that it says it kept waiting, 1 or more.
	full, slow float64
	stops      bool // nearly all is lost in the pauses of the host, taken together
}

// A cutScope is the flows that a strain concerns: those of a prober to all hosts or to one, or those of a host as their source or their destination. What does
// not matter is empty, or None.
type cutScope struct {
	by       string
	src, dst graphs.NodeID
}

// cutLists are strains by whom they concern, in the order of time, none overlapping another.
type cutLists map[cutScope][]*cut

// strained is all that hosts did to probes themselves, ready to be left out.
type strained struct {
	pauses cutLists                    // of hosts that stood still
	told   cutLists                    // of what hosts count that they did to probes
	held   cutLists                    // those of both that explain what was lost in them, which is left out
	ever   map[graphs.NodeID]bool      // hosts that hardly run, and whether they lost anything
	left   map[graphs.NodeID]*leftover // what was left out in the end
	busy   map[graphs.NodeID]bool      // see Store.busy; nil where nobody asked
}

// A leftover is what was left out for the sake of a host.
type leftover struct {
	lost   int
	during stretch
	cuts   map[*cut]bool
}

// addStrain takes in when a host was too busy. Strains of later versions, which this one does not know, say nothing.
func (s *Store) addStrain(r *evidence.Record) {
	n, ok := s.fabric.NodeByName(r.Node)
	if !ok {
		s.skipped["strains of hosts that the fabric does not have"]++
		return
	}
	x := strain{by: r.By, node: n, own: r.By == r.Node, what: r.Strain, stretch: stretch{r.Start(), r.Time}}
	if r.Count != nil {
		x.count = *r.Count
	}
	switch {
	case x.what == evidence.Pause && x.own:
		s.strains = append(s.strains, x)
	case x.count == 0:
	case x.what == evidence.Refused:
		s.refusals = append(s.refusals, x)
	case x.what == evidence.Overflow || x.what == evidence.Overdue || x.what == evidence.Late:
		s.strains = append(s.strains, x)
	}
}

// restore puts back what an earlier diagnosis left out.
func (s *Store) restore() {
	for _, l := range s.order {
		for i := range l.echoes {
			if e := &l.echoes[i]; e.whole != nil {
				*e = *e.whole
			}
		}
	}
}

// leaveOut takes out of the evidence what hosts did to probes themselves: no link did.
func (s *Store) leaveOut() {
	s.strained = strained{}
	if len(s.strains) == 0 {
		return
	}
	s.strained = s.strainedHosts()
	x := &s.strained
	for _, all := range []cutLists{x.pauses, x.told} { // what is lost while a machine stands still is nobody else's doing
		for _, l := range s.order {
			still := x.held.of(l)
			for _, cuts := range all.of(l) {
				suffered(l, cuts, still)
			}
		}
		all.shareOut()
		for scope, cuts := range all {
			learn(cuts)
			x.held[scope] = slices.DeleteFunc(slices.Clone(cuts), func(c *cut) bool { return !x.holds(c) })
		}
	}
	for _, l := range s.order {
		lists := x.held.of(l)
		for i := range l.echoes {
			s.leaveOutOf(l, &l.echoes[i], lists)
		}
	}
}

// of returns the strains that concern a flow, each list in the order of time.
func (x cutLists) of(l *flowLog) (lists [][]*cut) {
	for _, scope := range []cutScope{{l.by, graphs.None, graphs.None}, {l.by, graphs.None, l.dst}, {"", l.src, graphs.None}, {"", graphs.None, l.dst}} {
		if cuts := x[scope]; len(cuts) > 0 && (scope.by != "" || scope.src != scope.dst) {
			lists = append(lists, cuts)
		}
	}
	return lists
}

// strainedHosts sorts the strains by whom they concern.
func (s *Store) strainedHosts() strained {
	x := strained{pauses: cutLists{}, told: cutLists{}, held: cutLists{}, ever: map[graphs.NodeID]bool{}, left: map[graphs.NodeID]*leftover{}}
	list := slices.Clone(s.strains)
	slices.SortStableFunc(list, func(a, b strain) int {
		return cmp.Or(a.from.Compare(b.from), a.to.Compare(b.to), cmp.Compare(a.by, b.by), cmp.Compare(a.node, b.node), cmp.Compare(a.what, b.what), cmp.Compare(a.count, b.count))
	})
	paused := map[graphs.NodeID]time.Duration{}
	for i := range list {
		r := &list[i]
		c := cut{by: r.by, node: r.node, own: r.own, stretch: stretch{r.from.Add(-strainMargin), r.to.Add(strainMargin)}}
		switch {
		case r.what == evidence.Pause:
			paused[r.node] += r.to.Sub(r.from)
			c.idle = []stretch{r.stretch}
			x.pauses.add(cutScope{"", r.node, graphs.None}, c)
			x.pauses.add(cutScope{"", graphs.None, r.node}, c)
			continue
		case r.what == evidence.Overflow:
			c.overflow = r.count
		case r.what == evidence.Late:
			c.late = r.count
		default:
			c.overdue = r.count
		}
		if r.own {
			x.told.add(cutScope{r.by, graphs.None, graphs.None}, c)
		} else {
			x.told.add(cutScope{r.by, graphs.None, r.node}, c)
		}
	}
	for n, sum := range paused {
		if sum.Seconds() > mostPaused*s.flowing.to.Sub(s.flowing.from).Seconds() {
			x.ever[n] = false
		}
	}
	return x
}

// add adds a cut to those of a scope, which are before it.
func (x cutLists) add(scope cutScope, c cut) { x[scope] = joined(x[scope], c) }

// joined adds a cut to those before it, to the last of them where they meet.
func joined(cuts []*cut, c cut) []*cut {
	if n := len(cuts); n > 0 && !c.from.After(cuts[n-1].to) {
		last := cuts[n-1]
		last.to = later(last.to, c.to)
		last.overflow, last.overdue, last.late = last.overflow+c.overflow, last.overdue+c.overdue, last.late+c.late
		for _, x := range c.idle {
			if at := len(last.idle) - 1; at >= 0 && x.from.Before(last.idle[at].to) {
				last.idle[at].to = later(last.idle[at].to, x.to)
			} else {
				last.idle = append(last.idle, x)
			}
		}
		return cuts
	}
	c.idle = slices.Clone(c.idle)
	return append(cuts, &c)
}

// firstCut returns the first of some cuts, in the order of time, that is not over at a moment.
func firstCut(cuts []*cut, at time.Time) int {
	i, _ := slices.BinarySearchFunc(cuts, at, func(c *cut, t time.Time) int { return c.to.Compare(t) })
	return i
}

// cutAt returns which of some cuts, in the order of time, holds a moment, or nil.
func cutAt(cuts []*cut, at time.Time) *cut {
	if i := firstCut(cuts, at); i < len(cuts) && !at.Before(cuts[i].from) {
		return cuts[i]
	}
	return nil
}

// measured returns an echo as it was measured, before anything was left out.
func (e *echo) measured() *echo {
	if e.whole != nil {
		return e.whole
	}
	return e
}

// leaveOutOf takes cuts out of one echo of a flow. Each list of them is in the order of time.
func (s *Store) leaveOutOf(l *flowLog, e *echo, lists [][]*cut) {
	if mine := e.meets(lists); len(mine) > 0 {
		*e = e.keeping(s.without(l, e, mine))
	}
}

// meets returns those of some cuts that fell into an echo. Each list of them is in the order of time.
func (e *echo) meets(lists [][]*cut) (mine []*cut) {
	for _, cuts := range lists {
		for i := firstCut(cuts, e.start); i < len(cuts) && cuts[i].from.Before(e.end); i++ {
			mine = append(mine, cuts[i])
		}
	}
	return mine
}

// taken returns when some cuts were during an echo. Each list of them is in the order of time.
func (e *echo) taken(lists [][]*cut) []stretch {
	var gone []stretch
	for _, c := range e.meets(lists) {
		gone = append(gone, c.stretch)
	}
	return unbroken(gone)
}

// kept returns the parts of an echo that lie beside the cuts that were taken out of it: what it has left was sent in these.
func (e *echo) kept(lists [][]*cut) []echo {
	gone := e.taken(lists)
	if e.whole == nil || len(gone) == 0 || e.lost > 0 && len(e.lostAt) == 0 {
		return []echo{*e}
	}
	parts, answered, at := e.beyond(gone), 0, time.Duration(0)
	left := max(time.Millisecond, e.end.Sub(e.start)-overlap(stretch{e.start, e.end}, gone))
	for i := range parts {
		at += parts[i].end.Sub(parts[i].start)
		n := int(math.Round(float64(e.sent-e.lost) * min(1, at.Seconds()/left.Seconds())))
		parts[i].sent = parts[i].lost + n - answered
		answered = n
	}
	return parts
}

// leaveOut leaves out all of an echo.
func (e *echo) leaveOut() { *e = e.keeping(echo{start: e.start, end: e.end, epoch: e.epoch}) }

// keeping returns a part of an echo that keeps how it was measured.
func (e *echo) keeping(part echo) echo {
	if part.whole = e.whole; part.whole == nil {
		whole := *e
		part.whole = &whole
	}
	return part
}

// without returns an echo without what was sent in cuts. Losses of which nobody knows when they were stay.
func (s *Store) without(l *flowLog, e *echo, cuts []*cut) echo {
	if e.lost > 0 && len(e.lostAt) == 0 {
		return *e
	}
	part := *e
	part.lostAt = nil
	there, home := 0, 0
	for _, ms := range e.lossTimes() {
		at := e.start.Add(time.Duration(ms) * time.Millisecond)
		i := slices.IndexFunc(cuts, func(c *cut) bool { return !at.Before(c.from) && !at.After(c.to) })
		if i < 0 {
			part.lostAt = append(part.lostAt, ms)
			continue
		}
		c := cuts[i]
		s.strained.leave(c, at)
		// An own socket loses answers; what else a host loses or keeps waiting are requests, or their answers, which are taken for those.
		switch {
		case len(c.idle) > 0:
		case c.own && c.overflow > 0:
			home++
		default:
			there++
		}
	}
	part.lost = len(part.lostAt)
	part.sent = part.lost + int(math.Round((1-cutShare(l, e, cuts))*float64(e.sent-e.lost)))
	if e.split {
		part.lostForward, part.lostBack = e.leftOf(part.lost, there, home)
	}
	return part
}

// leftOf returns how many of an echo's losses there were on either way, if in all so many are left, and of those that are not some were certainly of
// the way there, and some of the way home.
func (e *echo) leftOf(left, there, home int) (forward, back int) {
	forward, back = e.lostForward-there, e.lostBack-home
	if forward < 0 {
		back, forward = back+forward, 0
	}
	if back < 0 {
		forward, back = max(0, forward+back), 0
	}
	if sum := forward + back; sum > left { // the rest of what was left out may be of either
		forward = int(math.Round(float64(left) * float64(forward) / float64(sum)))
		back = left - forward
	}
	return forward, max(0, back)
}

// cutShare returns which part of what a flow sent in the time of an echo fell into cuts. In a pause of its own host it sent nothing.
func cutShare(l *flowLog, e *echo, cuts []*cut) float64 {
	var in, idle []stretch
	for _, c := range cuts {
		in = append(in, c.stretch)
		if c.node == l.src {
			idle = append(idle, meeting(e, c.idle)...)
		}
	}
	whole := stretch{e.start, e.end}
	stood := overlap(whole, idle)
	sent := e.end.Sub(e.start) - stood
	if sent <= 0 {
		return 1
	}
	return min(1, max(0, (overlap(whole, in)-stood).Seconds()/sent.Seconds()))
}

// overlap returns for how long any of some stretches held during another.
func overlap(whole stretch, list []stretch) time.Duration {
	slices.SortFunc(list, func(a, b stretch) int { return a.from.Compare(b.from) })
	var sum time.Duration
	at := whole.from
	for _, st := range list {
		from, to := later(at, st.from), earlier(whole.to, st.to)
		if to.After(from) {
			sum += to.Sub(from)
			at = to
		}
	}
	return sum
}

// stoodStill returns for how long a host at either end of a flow, of which the cuts are given, did not run during an echo.
func stoodStill(e *echo, lists [][]*cut) time.Duration {
	var idle []stretch
	for _, c := range e.meets(lists) {
		idle = append(idle, meeting(e, c.idle)...)
	}
	return overlap(stretch{e.start, e.end}, idle)
}

// meeting returns those of some stretches that fell into an echo. They are in the order of time, none overlapping another.
func meeting(e *echo, list []stretch) []stretch {
	from, _ := slices.BinarySearchFunc(list, e.start, func(x stretch, t time.Time) int { return x.to.Compare(t) })
	to, _ := slices.BinarySearchFunc(list, e.end, func(x stretch, t time.Time) int { return x.from.Compare(t) })
	return list[from:max(from, to)]
}

// leave notes that a loss was left out.
func (x *strained) leave(c *cut, at time.Time) {
	left := x.left[c.node]
	if left == nil {
		left = &leftover{during: stretch{at, at}, cuts: map[*cut]bool{}}
		x.left[c.node] = left
	}
	left.lost++
	left.cuts[c] = true
	left.during = stretch{earlier(left.during.from, at), later(left.during.to, at)}
}

// words say what a host did to probes and what is left out for that.
func (x *leftover) words(d dial) string {
	overflow := map[string]int{} // each prober hears of all that a host has no room for
	pauses := map[stretch]bool{} // the same ones for what goes to the host and for what comes from it
	overdue, late, most := 0, 0, 0
	for c := range x.cuts {
		for _, p := range c.idle {
			pauses[p] = true
		}
		overflow[c.by] += c.overflow
		most = max(most, overflow[c.by])
		overdue, late = overdue+c.overdue, late+c.late
	}
	var did []string
	if most > 0 {
		did = append(did, fmt.Sprintf("had no room for %s packets that had reached it", thousands(most)))
	}
	if overdue > 0 {
		did = append(did, fmt.Sprintf("kept %s waiting for too long", thousands(overdue)))
	}
	if len(pauses) > 0 {
		var paused time.Duration
		for p := range pauses {
			paused += p.to.Sub(p.from)
		}
		did = append(did, fmt.Sprintf("stood still %s, for %s in all", timesWord(len(pauses)), paused.Round(time.Millisecond)))
	}
	busy := "was too busy and "
	if len(did) == 0 {
		busy = ""
	}
	if late > 0 {
		did = append(did, fmt.Sprintf("answered %s after they had been given up", thousands(late)))
	}
	clock := func(t time.Time) string { return d.write(t, "15:04:05.0Z") }
	return fmt.Sprintf("%s%s: what was lost by that, %s probes between %s and %s, is left out", busy, strings.Join(did, ", "), thousands(x.lost), clock(x.during.from),
		clock(x.during.to))
}
