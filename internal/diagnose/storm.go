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

// A stretch is a span of time.
type stretch struct{ from, to time.Time }

// overlaps reports whether two stretches have some time in common.
func (st stretch) overlaps(other stretch) bool {
	return st.from.Before(other.to) && other.from.Before(st.to)
}

// mostOf reports whether it lasts for most of another.
func (st stretch) mostOf(whole stretch) bool { return 2*st.to.Sub(st.from) > whole.to.Sub(whole.from) }

const (
	// stormBin is the resolution at which storms are told from calm: about half of what routing takes to go around a dead link. Where fewer than stormSent probes are sent in that time, it is
	// as long as these take, up to mostBin: some must come together to tell of an outage.
	stormBin, mostBin = 100 * time.Millisecond, time.Second
	stormSent         = 25
	// stormLosses is the least number of losses in a bin that make a storm.
	stormLosses = 5
	// manyStorms is how many there must be for weaker ones to be looked for.
	manyStorms = 3
	// stormLeast is the least that a storm lasts. Links that go down take longer to come up; what is lost at one moment was sent or read at one.
	stormLeast = 5 * time.Millisecond
	// stormShare is the part of the time above which storms are the weather, and no storms. Where several links flap, each at times of its own, there is little time in which none is down:
	// then calm is what is usual in the calmest fifth of the time, and storms may take up mostStormy of it.
	stormShare, mostStormy = 0.4, 0.75
	// stormLoss is the share of packets that an outage loses at least where it is, and stormTold the share of a storm's losses that
	// outages must explain. Less is what a busy host or a full queue makes, and nothing that a link does which goes down.
	stormLoss = 0.8
	stormTold = 0.8
)

// storms finds the stretches of time in which far more was lost than usually. A link that flaps loses all it carries for a moment
// and nothing in between; over the whole time that is a small and doubtful share, and within the storm as clear as day.
//
// What links lost while they were known to be down is left out.
func (s *Store) storms(known downs) []stretch {
	width := stormBin
	lost := s.weather(width, known)
	sent := 0
	for _, l := range s.order {
		n, _ := l.sums()
		sent += n
	}
	if sent < stormSent*len(lost) {
		width = min(stormSent*width*time.Duration(len(lost))/time.Duration(max(1, sent)), mostBin)
		lost = s.weather(width, known)
	}
	if len(lost) < 10 {
		return nil
	}
	counts := make([]int, 0, len(lost))
	for _, x := range lost {
		counts = append(counts, x.n)
	}
	slices.Sort(counts)
	usual := counts[len(counts)/2]
	if found := s.stormsIn(lost, width, usual, usual, stormShare, known); found != nil {
		return found
	}
	usual = max(1, counts[len(counts)/5])
	return s.stormsIn(lost, width, usual, usual+int(3*math.Sqrt(float64(usual))), mostStormy, known)
}

// stormsIn finds storms in what was lost in bins of time of a width, where so many losses in one are usual, and up to calm no part of a storm. It returns nil if they take up more than a
// share of the time.
func (s *Store) stormsIn(lost map[int]*spell, width time.Duration, usual, calm int, most float64, known downs) []stretch {
	limit := func(usual float64) float64 { return stormLosses + 2*usual + 4*math.Sqrt(usual) }
	least := limit(float64(usual))
	gusts, heavy := gustsOf(lost, calm), map[int]bool{}
	for _, x := range gusts {
		for b := x.first; b <= x.last; b++ {
			heavy[b] = float64(lost[b].n) >= least || usual == 0 && float64(x.n) >= least // where nothing is usual, a few in one bin and a few in the next are as odd
		}
	}
	// What is lost all the time for a while, as of something that loses a part, comes together by chance, too.
	odd := func(first, last, n int) bool {
		return float64(n) >= least && float64(n) >= limit(float64(last+1-first)*around(lost, first, last, heavy))
	}
	strong, many := make([]bool, len(gusts)), 0
	lasts := func(x *gust) bool { return x.to.Sub(x.from) >= stormLeast }
	for i := range gusts {
		x := &gusts[i]
		for b := x.first; b <= x.last && !strong[i]; b++ {
			strong[i] = odd(b, b, lost[b].n)
		}
		if strong[i] && lasts(x) {
			many++
		}
	}
	again := usual == 0 && many >= manyStorms // what came again may do so when it hits less
	var found []stretch
	for i := range gusts {
		if x := &gusts[i]; lasts(x) && (strong[i] || again && odd(x.first, x.last, x.n)) {
			found = append(found, stretch{x.from, x.to}) // its edges are those of the losses: beside them is calm
		}
	}
	if usual > 0 {
		s.narrow(found, float64(usual)/width.Seconds(), known)
		found = slices.DeleteFunc(found, func(st stretch) bool { return st.to.Sub(st.from) < stormLeast })
	}
	var stormy time.Duration
	for i := range found {
		stormy += found[i].to.Sub(found[i].from)
		found[i].to = found[i].to.Add(time.Millisecond)
	}
	if stormy.Seconds() > most*float64(len(lost))*width.Seconds() {
		return nil
	}
	return found
}

// A gust is bins of time one after the other in which more was lost than where it is calm.
type gust struct {
	spell
	first, last int
}

// gustsOf returns the gusts, in the order of time.
func gustsOf(lost map[int]*spell, calm int) (gusts []gust) {
	for _, b := range slices.Sorted(maps.Keys(lost)) {
		x := lost[b]
		switch n := len(gusts) - 1; {
		case x.n <= calm:
		case n >= 0 && gusts[n].last == b-1:
			gusts[n].last, gusts[n].n, gusts[n].to = b, gusts[n].n+x.n, x.to
		default:
			gusts = append(gusts, gust{*x, b, b})
		}
	}
	return gusts
}

// around is how much was lost on average in the bins of some seconds before and after some, those left out in which as much was lost as in a storm, and those next to them, which may be of the same.
func around(lost map[int]*spell, first, last int, heavy map[int]bool) float64 {
	const bins, next = 50, 2
	n, sum := 0, 0
	for i := first - bins; i <= last+bins; i++ {
		if x := lost[i]; x != nil && (i < first-next || i > last+next) && !heavy[i] {
			n, sum = n+1, sum+x.n
		}
	}
	return float64(sum) / float64(max(1, n))
}

// weather returns what was lost in each bin of a width of the time in which probes were sent, by the number of the bin: that nothing was lost between two runs of probers says
// nothing of what is usual. It is nil where there are too many.
func (s *Store) weather(width time.Duration, known downs) map[int]*spell {
	const most = 1e6
	lost := map[int]*spell{}
	bin := func(at time.Time) int { return int(at.Sub(s.flowing.from) / width) }
	spans := map[[2]int]bool{} // those of hosts that send at the same time are many times the same
	for _, l := range s.order {
		for i := range l.echoes {
			if e := &l.echoes[i]; e.sent > 0 {
				spans[[2]int{bin(e.start), bin(e.end.Add(-1))}] = true
			}
		}
	}
	next := math.MinInt
	for _, span := range slices.SortedFunc(maps.Keys(spans), func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) }) {
		for b := max(span[0], next); b <= span[1]; b++ {
			if lost[b] = new(spell); len(lost) > most {
				return nil
			}
		}
		next = max(next, span[1]+1)
	}
	for _, l := range s.order {
		if l.deadAlways() { // that makes no weather
			continue
		}
		for i := range l.echoes {
			e := &l.echoes[i]
			for at := range known.losses(l, e) {
				if l.longDead(at) {
					continue
				}
				if x := lost[bin(at)]; x != nil {
					x.add(at)
				}
			}
		}
	}
	return lost
}

// sums is how many probes a flow sent and lost.
func (l *flowLog) sums() (sent, lost int) {
	for i := range l.echoes {
		sent, lost = sent+l.echoes[i].sent, lost+l.echoes[i].lost
	}
	return sent, lost
}

// lostShare is the share of its probes that a flow lost.
func (l *flowLog) lostShare() float64 {
	sent, lost := l.sums()
	return float64(lost) / float64(max(1, sent))
}

// deadAlways reports whether a flow lost nearly all of its probes, and did so from the first on: one that died midway may have lost as many, since where losses are seen more is sent.
func (l *flowLog) deadAlways() bool {
	first := slices.IndexFunc(l.echoes, func(e echo) bool { return e.sent > 0 })
	return first >= 0 && float64(l.echoes[first].lost) > stormLoss*float64(l.echoes[first].sent) && l.lostShare() > stormLoss
}

// stormParts is into how many parts a storm is cut to find its edges.
const stormParts = 64

// narrow moves the edges of storms, which are in the order of time, to where losses come as densely as in a storm: where something else loses a part all the time,
// as many as usual in a bin beside a storm are not of it, and with them it would seem to pass what it never did. Usual is of a second.
func (s *Store) narrow(storms []stretch, usual float64, known downs) {
	parts := make([][stormParts]int32, len(storms))
	for _, l := range s.order {
		for i := range l.echoes {
			for b, at := range known.inStorms(storms, l, &l.echoes[i]) {
				parts[b][storms[b].partAt(at)]++
			}
		}
	}
	for b := range storms {
		storms[b] = storms[b].densest(&parts[b], usual)
	}
}

// part is how long a part of a storm lasts.
func (st stretch) part() time.Duration { return st.to.Sub(st.from) / stormParts }

// partAt is in which of its parts a moment in a storm lies.
func (st stretch) partAt(at time.Time) int { return min(int(at.Sub(st.from)/st.part()), stormParts-1) }

// densest returns the part of a storm that most probably has its losses at their rate and not at the usual one (Poisson), which is where they outnumber
// (v-u)/ln(v/u) by the most.
func (st stretch) densest(parts *[stormParts]int32, usual float64) stretch {
	n := 0.0
	for _, lost := range parts {
		n += float64(lost)
	}
	usual *= st.part().Seconds()
	dense := n / stormParts
	if dense <= usual {
		return st
	}
	limit := (dense - usual) / math.Log(dense/usual)
	best, sum, first := 0.0, 0.0, 0
	from, last := 0, stormParts-1
	for i, lost := range parts {
		if sum <= 0 {
			sum, first = 0, i
		}
		if sum += float64(lost) - limit; sum > best {
			best, from, last = sum, first, i
		}
	}
	if from == last {
		return stretch{st.from, st.from} // all at one moment
	}
	return stretch{st.from.Add(time.Duration(from) * st.part()), st.to.Add(time.Duration(last+1-stormParts) * st.part())}
}

// A spell is the losses of a bin: how many, the first and the last.
type spell struct {
	n        int
	from, to time.Time
}

func (x *spell) add(at time.Time) {
	if x.n == 0 || at.Before(x.from) {
		x.from = at
	}
	if x.n == 0 || at.After(x.to) {
		x.to = at
	}
	x.n++
}

// outages finds the links, arcs and switches that lost nearly all that they carried in storms, and returns what was measured in these, and which of the storms they explain.
func (s *Store) outages(storms []stretch) (found []localize.Suspect, seen *observer, told []stretch) {
	if s.fallen = (fallen{}); storms == nil {
		return nil, nil, nil
	}
	dead := s.deadBetween(storms)
	storms = dead.whole(storms)
	begun := dead.onsets(storms)
	all := s.observeStorms(begun, dead, nil, false)
	if found = dead.living(s.fabric, begun, s.outagesOf(all, s.solveStorms(all), stormLoss)); all.lostOn(found) < stormTold {
		found = nil
	}
	x := s.sorter(dead)
	if !dead.none() && len(found) > 1 {
		found = x.confirmed(found, begun)
	}
	if more := x.apart(storms, found); len(more) > 0 {
		found = append(found, more...)
	} else if found == nil {
		return nil, all, nil
	}
	return found, all, where(storms, s.explained(storms, found, dead, nil), true)
}

// solveStorms localizes what was lost in storms.
func (s *Store) solveStorms(seen *observer) *localize.Result {
	return s.localize(seen, localize.Config{Independent: true, Together: true})
}

// outagesOf finds the links that lost nearly all that was observed on them, at least a share of it, of what comes of localizing that, and the switches. What goes down goes down both
// ways, so arcs stand for their links, unless packets came the other way.
func (s *Store) outagesOf(seen *observer, solved *localize.Result, least float64) []localize.Suspect {
	found := s.restarts(seen, solved)
	for _, sus := range solved.Suspects {
		links := linksOf(s.fabric, sus.Cause)
		ofOne := sus.Kind == localize.Arc || sus.Kind == localize.Link || sus.Kind == localize.Host && len(links) == 1
		if sus.Probability < leastListed || !ofOne {
			continue
		}
		if slices.ContainsFunc(found, func(x localize.Suspect) bool { return slices.Contains(linksOf(s.fabric, x.Cause), links[0]) }) {
			continue
		}
		probability := min(1, sus.Probability+ofRivals(s.fabric, solved.Suspects, sus.Cause))
		if probability < Named {
			continue
		}
		cause, needed := localize.Cause{Kind: localize.Link, ID: int32(links[0])}, least
		if seen.oneWay(sus.Cause) {
			cause, needed = sus.Cause, stormLoss
		}
		out := seen.outage(cause)
		if sus.Kind == localize.Link && sus.Loss > out.Loss { // most of what others lose that may have crossed it did not
			out.Loss, out.Low, out.High = sus.Loss, sus.Low, sus.High
		}
		if out.Loss < needed {
			continue
		}
		out.Cause, out.Class, out.Probability, out.Against.RunnerUp = cause, []localize.Cause{cause}, probability, sus.Against.RunnerUp
		out.Against.Nats = sus.Against.Nats
		for _, c := range sus.Class {
			if (c.Kind == localize.Arc || c.Kind == localize.Link) && cause.Kind == localize.Link {
				c = localize.Cause{Kind: localize.Link, ID: int32(linksOf(s.fabric, c)[0])}
			}
			if !slices.Contains(out.Class, c) {
				out.Class = append(out.Class, c)
			}
		}
		if out.Against.RunnerUp.Kind == localize.Arc && graphs.ArcID(out.Against.RunnerUp.ID).Link() == links[0] {
			out.Against.RunnerUp = localize.Cause{}
		}
		found = append(found, out)
	}
	return found
}

// restarts finds the switches that lost nearly all that was observed on them: all of their links are down at once.
func (s *Store) restarts(seen *observer, solved *localize.Result) []localize.Suspect {
	var found []localize.Suspect
	for _, sus := range solved.Suspects {
		if sus.Kind != localize.Node || sus.Probability < Named {
			continue
		}
		if out := seen.outage(sus.Cause); out.Loss >= stormLoss {
			sus.Loss, sus.Low, sus.High, sus.Parts = out.Loss, out.Low, out.High, nil
			sus.LossyFlows, sus.CleanFlows, sus.Sent, sus.Lost = out.LossyFlows, out.CleanFlows, out.Sent, out.Lost
			sus.Against.CleanSent, sus.Against.Expected = out.Against.CleanSent, out.Against.Expected
			found = append(found, sus)
		}
	}
	return found
}

// oneWay reports whether a cause is an arc and nearly all packets came over its link the other way in what was observed: where a link is down, none do, but those that
// routes take around it at once, one way before the other.
func (o *observer) oneWay(c localize.Cause) bool {
	const least, most = 5, 0.1 // packets that came, and the share of those lost
	if c.Kind != localize.Arc {
		return false
	}
	arc, sent, lost := graphs.ArcID(c.ID), 0, 0
	for i := range o.list {
		if obs := &o.list[i]; slices.Contains(obs.Path, arc.Reverse()) && !slices.Contains(obs.Path, arc) {
			sent, lost = sent+obs.Sent, lost+obs.Lost
		}
	}
	return sent-lost >= least && float64(lost) <= most*float64(sent)
}

// ofRivals returns the probability of what stands for a link, too: itself and its arcs, which go down together, and a switch at an end of it. While routes
// change, some flows are put on paths that they had left already; what these lose elsewhere at that switch makes it a rival of its own link. It is the link
// all the same if that alone lost nearly all.
func ofRivals(f *graphs.Fabric, suspects []localize.Suspect, c localize.Cause) float64 {
	id := linksOf(f, c)[0]
	l := f.Link(id)
	p := 0.0
	for i := range suspects {
		x := &suspects[i]
		switch n := graphs.NodeID(x.ID); {
		case x.Cause == c:
		case x.Kind == localize.Node && (n == f.Port(l.Ends[0]).Node || n == f.Port(l.Ends[1]).Node),
			(x.Kind == localize.Arc || x.Kind == localize.Link) && linksOf(f, x.Cause)[0] == id:
			p += x.Probability
		}
	}
	return p
}

// lostOn returns the share of all losses that may have been on some links.
func (o *observer) lostOn(links []localize.Suspect) float64 {
	on := func(arcs []graphs.ArcID) bool {
		return slices.ContainsFunc(links, func(x localize.Suspect) bool { return o.s.on(arcs, x.Cause) })
	}
	told, all := 0, 0
	for i := range o.list {
		obs := &o.list[i]
		all += obs.Lost
		if on(obs.Path) || slices.ContainsFunc(obs.Alternatives, func(a localize.Alternative) bool { return on(a.Arcs) }) {
			told += obs.Lost
		}
	}
	return float64(told) / float64(max(1, all))
}

// outage counts what was observed on a link or switch: all that surely crossed it, and all losses that may have been on it. The interval is
// that of a share of independent packets, which those of one outage are not quite.
func (o *observer) outage(c localize.Cause) localize.Suspect {
	var x localize.Suspect
	for i := range o.list {
		obs := &o.list[i]
		surely, maybe := o.crossing(obs, c)
		switch {
		case obs.Lost > 0 && maybe:
			x.LossyFlows++
		case surely:
			x.CleanFlows++
			x.Against.CleanSent += obs.Sent
		default:
			continue
		}
		x.Sent += obs.Sent
		x.Lost += obs.Lost
	}
	if x.Sent == 0 {
		return x
	}
	n := float64(x.Sent)
	x.Loss = float64(x.Lost) / n
	x.Low, x.High = aboutShare(x.Loss, n)
	x.Against.Expected = x.Loss * float64(x.Against.CleanSent)
	return x
}

// aboutShare is the interval of a share of so many independent packets.
func aboutShare(share, packets float64) (low, high float64) {
	margin := 2 * math.Sqrt((share*(1-share)+1/packets)/packets)
	return max(0, share-margin), min(1, share+margin)
}
