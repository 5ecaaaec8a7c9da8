package diagnose

import (
	"maps"
	"math"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/rhythm"
)

// alwaysLossy is how much likelier a loss that is always there must be than none for flows to tell it, a logarithm.
const alwaysLossy = 5

// rhythmOf finds how the losses of what crossed a cause lie in time. The times of the rhythm count from the beginning of the evidence. What flows lose
// elsewhere may be taken for the cause's outages, whether that comes and goes or is always there, or hide them: flows that cross nothing else that is named tell first, if they tell anything,
// and then those that cross nothing else that is down just then. While a link of it is down with another switch, its losses are of that.
func (s *Store) rhythmOf(c localize.Cause) rhythm.Rhythm {
	links := linksOf(s.fabric, c)
	flapping := s.beside(links, s.flapping)
	sick := map[graphs.ArcID]bool{}
	if s.solved != nil {
		sick = s.beside(links, s.solved.Suspects)
	}
	others := maps.Clone(flapping)
	maps.Copy(others, sick)
	down, own := s.fallen.beside(s.fabric, c)
	r := s.rhythmWithout(c, others, own)
	if r.Kind != rhythm.Steady || r.Proof-r.Bayes > alwaysLossy {
		return r
	}
	tries := []struct {
		without map[graphs.ArcID]bool
		down    downs
	}{{flapping, own}, {sick, down}, {nil, own}, {sick, own}}
	for _, x := range tries {
		if (len(x.without) < len(others) || len(x.down) > len(own)) && r.Kind == rhythm.Steady {
			r = s.rhythmWithout(c, x.without, x.down)
		}
	}
	return r
}

// rhythmWithout finds the rhythm of what crossed a cause and none of some arcs, nor of some links while they were down. What crosses the other direction of an arc tells nothing of it: that may be well.
func (s *Store) rhythmWithout(c localize.Cause, without map[graphs.ArcID]bool, down downs) rhythm.Rhythm {
	t := timeline{store: s, arcs: arcsOf(s.fabric, c), without: without, down: down, model: s.allowed(), pairs: map[trip]pairShare{},
		thin: map[[2]float64]float64{}}
	t.died = s.fallen.dead.is(t.arcs)
	t.settle()
	for _, l := range s.order {
		t.flow(l)
	}
	t.addThin()
	r := rhythm.Find(t.counts, milliseconds(quiet))
	t.lookAway(&r)
	return r
}

// allowed tells which ways the forwarding model allows to flows that were never traced.
func (s *Store) allowed() *observer {
	if s.lists == nil {
		s.lists = s.observer()
		s.lists.many = true
	}
	return s.lists
}

// lookAway leaves out of the duty of a rhythm when nothing crossed that was measured, as between two runs of probers; where that is most of the time, no period is known.
func (t *timeline) lookAway(r *rhythm.Rhythm) {
	slices.SortFunc(t.watched, func(a, b stretch) int { return a.from.Compare(b.from) })
	bad := r.Duty * (r.To - r.From)
	for i := 1; i < len(t.watched); i++ {
		last, next := &t.watched[i-1], &t.watched[i]
		if next.from.Sub(last.to) > quiet {
			from, to := t.at(last.to), t.at(next.from)
			r.Unwatched += to - from
			for _, e := range r.Episodes {
				bad -= max(0, min(to, e.To)-max(from, e.From))
			}
		}
		next.to = later(last.to, next.to)
	}
	if watched := r.To - r.From - r.Unwatched; r.Unwatched > 0 && watched > 0 && r.Kind != rhythm.Steady {
		r.Duty = min(max(0, bad/watched), 1)
	}
	if 2*r.Unwatched > r.To-r.From {
		r.Period, r.Jitter = 0, 0 // it may be that of the runs
	}
}

// arcsOf returns the arcs on which a cause shows.
func arcsOf(f *graphs.Fabric, c localize.Cause) map[graphs.ArcID]bool {
	arcs := map[graphs.ArcID]bool{}
	if c.Kind == localize.Arc {
		arcs[graphs.ArcID(c.ID)] = true
		return arcs
	}
	for _, l := range linksOf(f, c) {
		arcs[l.Forward()], arcs[l.Backward()] = true, true
	}
	return arcs
}

// beside returns the arcs of those suspects that are named and on none of some links, nor an arc or a link that cannot be told from one there.
func (s *Store) beside(links []graphs.LinkID, suspects []localize.Suspect) map[graphs.ArcID]bool {
	arcs := map[graphs.ArcID]bool{}
	for i := range suspects {
		x := &suspects[i]
		on := func(c localize.Cause) bool {
			return (c == x.Cause || c.Kind == localize.Arc || c.Kind == localize.Link) &&
				slices.ContainsFunc(linksOf(s.fabric, c), func(l graphs.LinkID) bool { return slices.Contains(links, l) })
		}
		if x.Probability < Named || on(x.Cause) || slices.ContainsFunc(x.Class, on) {
			continue
		}
		maps.Copy(arcs, arcsOf(s.fabric, x.Cause))
	}
	return arcs
}

// quiet is the least time between two outages: routing and line protocols take about as long to see that a link is back.
const quiet = 350 * time.Millisecond

// A timeline is what crossed some arcs, with its times.
type timeline struct {
	store  *Store
	arcs   map[graphs.ArcID]bool
	counts []rhythm.Count
	// watched is when some of that was under way.
	watched []stretch
	// without are arcs whose flows are left out.
	without map[graphs.ArcID]bool
	// down is when other links were down, of which what flows lost then tells.
	down downs
	// died tells that the arcs are those that are dead.
	died bool
	// model knows which ways flows may take that were never traced, pairs what it said.
	model *observer
	pairs map[trip]pairShare
	// newest is what was last asked for: echoes of a flow mostly go one way.
	newest shares
	// thin is how many packets of flows that hardly cross the arcs are to be expected there, by from when to when they were sent.
	thin map[[2]float64]float64
	// settled is the probability that flows cross the arcs which are known to do so by some of their ways only.
	settled map[passing]float64
	// clean is the packets of one flow without loss that are not yet among the counts: a flow is without loss for long, mostly, and one count
	// says it all.
	clean rhythm.Count
	// run tells that the newest count is losses of this flow and none of its packets was answered since: what is lost next is of the same run.
	run bool
}

func (t *timeline) at(when time.Time) float64 { return milliseconds(when.Sub(t.store.flowing.from)) }

// flow adds what is known of a flow.
func (t *timeline) flow(l *flowLog) {
	untraced, cuts := l.untraced(), t.store.strained.held.of(l)
	for j := range l.echoes {
		whole := &l.echoes[j]
		e, there, home := t.shares(l, whole, untraced)
		share := there + home - there*home
		if share > 0 && share < 1 {
			share = t.settled[passing{l, e.epoch}]
		}
		switch {
		case share == 0, e.torn && share < 1, t.ofOthers(l, e):
			t.run = t.run && whole.lost == whole.sent
		case share < hardly && e.lost == 0:
			t.thin[[2]float64{t.grained(e.start), t.grained(e.end)}] += share * float64(e.sent)
		default:
			path, back := l.at(e, false)
			one := e.oneWay(there > 0, home > 0)
			if t.died && !(path.known() && back.known()) {
				calm := one.within(t.store.stormy, false) // what goes down in these took packets of the same flows
				one = &calm
			}
			for _, kept := range one.kept(cuts) {
				for _, part := range kept.beyond(t.down.on(e, path, back)) {
					t.echo(&part, share)
					t.watch(part.start, part.end)
				}
			}
			t.run = t.run && e == whole
		}
	}
	t.flush()
	var lossy losses
	for j := range l.captured {
		lossy.before = lossy.before || l.captured[j].before > 0
		lossy.after = lossy.after || l.captured[j].after > 0
		lossy.between = lossy.between || l.captured[j].between > 0
	}
	for j := range l.captured {
		t.captured(l, &l.captured[j], lossy)
	}
}

// ofOthers reports whether a flow whose ways are not known was dead by then, but not of the arcs, or lost packets without being dead where the arcs are.
func (t *timeline) ofOthers(l *flowLog, e *echo) bool {
	dead := t.store.fallen.dead
	if dead.none() {
		return false
	}
	path, back := l.at(e, false)
	switch {
	case path.known() && back.known():
		return false
	case t.died:
		return e.lost > 0 && !l.wasDead()
	}
	return l.onDead(dead, e, path, back)
}

// oneWay returns what an echo tells of what only its way there crosses, or only its way back, where it is told on which its losses were. When those of one way were is not known where both
// had some.
func (e *echo) oneWay(there, home bool) *echo {
	if !e.split || there == home || e.lostForward+e.lostBack != e.lost {
		return e
	}
	part := *e
	if part.lost = e.lostForward; home {
		part.sent, part.lost = e.sent-e.lostForward, e.lostBack
	}
	if part.lost == e.lost {
		return e
	}
	part.lostAt, part.split = nil, false
	return &part
}

// watch notes when a flow was under way, of which what is next mostly follows at once.
func (t *timeline) watch(from, to time.Time) {
	if n := len(t.watched); n > 0 && !from.Before(t.watched[n-1].from) && from.Sub(t.watched[n-1].to) <= quiet {
		t.watched[n-1].to = later(t.watched[n-1].to, to)
		return
	}
	t.watched = append(t.watched, stretch{from, to})
}

// losses says on which parts of its path a captured flow lost packets at any time.
type losses struct{ before, after, between bool }

// echo adds the probes of an echo, which crossed the links with the probability share. They are sent evenly, so that it shows when those were which were answered, between those that were lost.
// Where not all losses are listed, those after the last that is are known by their number alone, unless they are of a burst.
func (t *timeline) echo(e *echo, share float64) {
	from, to := t.at(e.start), t.at(e.end)
	if e.lost > 0 && len(e.lostAt) == 0 {
		t.flush()
		t.counts = append(t.counts, rhythm.Count{From: from, To: to, Sent: e.sent, Lost: e.lost, Share: share})
		return
	}
	every, answered := (to-from)/float64(max(1, e.sent)), e.sent-e.lost
	at, passed := from, 0
	times := e.lostAt
	if len(times) < e.lost && !e.goesOn() {
		times = e.lossTimes()
	}
	phase := sendPhase(times, every)
	for i, ms := range times {
		lost := from + float64(ms)
		n := min(int(math.Round(float64(ms)/every-phase))-i, answered) - passed // of what was sent before it
		t.pass(at, lost, n, every, share)
		passed += max(n, 0)
		t.lose(lost, share)
		at = lost
	}
	if unlisted := e.lost - len(times); unlisted > 0 {
		t.flush()
		t.counts = append(t.counts, rhythm.Count{From: at, To: max(at, to), Sent: unlisted + answered - passed, Lost: unlisted, Share: share})
		return
	}
	t.pass(at, to, answered-passed, every, share)
}

// sendPhase returns how long after the window began its first probe was sent, as a part of the interval in which they were, as the times of those that were lost tell: of their parts of the
// interval, which lie on a circle, the mean. Which of two is first, one at the very beginning or the end of it, clocks do not tell: it is at the beginning, where probers begin their windows.
func sendPhase(times []int, every float64) float64 {
	const late = 0.9
	x, y := 0.0, 0.0
	for _, ms := range times {
		sin, cos := math.Sincos(2 * math.Pi * float64(ms) / every)
		x, y = x+cos, y+sin
	}
	phase := math.Atan2(y, x) / (2 * math.Pi)
	if phase < late-1 {
		phase++
	}
	return phase
}

// lose adds a probe that was lost.
func (t *timeline) lose(at, share float64) {
	if n := len(t.counts); t.run && t.counts[n-1].Share == share && at >= t.counts[n-1].To {
		t.counts[n-1].To = at
		t.counts[n-1].Sent++
		t.counts[n-1].Lost++
		return
	}
	t.flush()
	t.counts = append(t.counts, rhythm.Count{From: at, To: at, Sent: 1, Lost: 1, Share: share, Run: !t.store.atOnce})
	t.run = true
}

// pass adds probes of a stretch of time that were answered.
func (t *timeline) pass(from, to float64, n int, every, share float64) {
	if n <= 0 {
		return
	}
	t.run = false
	if t.clean.Sent > 0 && (from-t.clean.To > 2*every || share != t.clean.Share) {
		t.flush()
	}
	if t.clean.Sent == 0 {
		t.clean.From, t.clean.Share = from, share
	}
	t.clean.To = max(from, to)
	t.clean.Sent += n
}

func (t *timeline) flush() {
	if t.clean.Sent > 0 {
		t.counts = append(t.counts, t.clean)
	}
	t.clean, t.run = rhythm.Count{}, false
}

// captured adds what a capture counted of a flow, before and behind its place or between two, as far as the time is known.
func (t *timeline) captured(l *flowLog, c *captured, lossy losses) {
	if !c.start.Before(c.at) {
		return
	}
	set := t.model.set(l.there())
	if c.paired {
		t.add(c, c.part(t.store.fabric, l, set), c.packets, c.between, lossy.between)
		return
	}
	before, after, known := c.split(t.store.fabric, l, set)
	if !known {
		t.add(c, set, max(c.packets+c.before, c.before+c.after), c.before+c.after, lossy.before || lossy.after)
		return
	}
	t.add(c, before, c.packets+c.before, c.before, lossy.before)
	t.add(c, after, max(c.packets, c.after), c.after, lossy.after)
}

// add adds packets that took one of several ways. A flow takes one way all the time: one that may cross the links and loses packets is taken to cross
// them also when it loses none, or the quiet between its losses would prove nothing.
func (t *timeline) add(c *captured, set []localize.Alternative, sent, lost int, lossy bool) {
	var over, all float64
	for _, alt := range set {
		all += alt.Share
		if t.share(way{[][]graphs.ArcID{alt.Arcs}}) > 0 {
			over += alt.Share
		}
	}
	if over > 0 && lossy {
		over = all
	}
	if over > 0 {
		t.watch(c.start, c.at)
		t.counts = append(t.counts, rhythm.Count{From: t.at(c.start), To: t.at(c.at), Sent: sent, Lost: lost, Share: over / all})
	}
}

// ratherLink puts the link of a host before the host where the evidence cannot tell the two apart and nearly all is lost for moments: links go down and come back, hosts seldom do.
func (s *Store) ratherLink(sus localize.Suspect) localize.Suspect {
	i := slices.IndexFunc(sus.Class, func(c localize.Cause) bool { return c.Kind == localize.Link })
	if sus.Kind != localize.Host || i < 0 {
		return sus
	}
	link := sus.Class[i]
	if r := s.rhythmOf(link); r.Kind != rhythm.Flapping || r.Loss < stormLoss {
		return sus
	}
	sus.Cause, sus.Class, sus.Weights = link, slices.Clone(sus.Class), slices.Clone(sus.Weights)
	sus.Class[0], sus.Class[i] = link, sus.Class[0]
	if len(sus.Weights) == len(sus.Class) {
		sus.Weights[0], sus.Weights[i] = sus.Weights[i], sus.Weights[0]
	}
	return sus
}

// stretches are the times of episodes.
func (s *Store) stretches(episodes []rhythm.Episode) (list []stretch) {
	for _, x := range episodes {
		list = append(list, stretch{s.flowing.from.Add(duration(x.From)), s.flowing.from.Add(duration(x.To))})
	}
	return list
}

// recovered reports whether most flows that lost packets in a stretch of time were answered after it, on this link or another. A link that is
// dead for good loses until the end of the evidence, and what is lost last is decided last.
func (s *Store) recovered(from, to time.Time) bool {
	hurt, again := 0, 0
	for _, l := range s.order {
		if !slices.ContainsFunc(l.echoes, func(e echo) bool { return e.lost > 0 && e.lostBetween(from, to) }) {
			continue
		}
		hurt++
		if slices.ContainsFunc(l.echoes, func(e echo) bool { return !e.start.Before(to) && e.sent > e.lost }) {
			again++
		}
	}
	return hurt > 0 && 2*again > hurt
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// soonest returns the earlier of two times, of which the first is zero as long as there is none.
func soonest(first, at time.Time) time.Time {
	if first.IsZero() {
		return at
	}
	return earlier(first, at)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
