package diagnose

import (
	"math"
	"slices"
	"sort"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

type flowKey struct {
	by   string
	flow evidence.Flow
	size int
}

// A flowLog is all that is known of one flow, in the order of time.
type flowLog struct {
	flowKey
	src, dst graphs.NodeID // None where the address is not the fabric's
	// intoSrc and intoDst are the arcs over which packets come to the ends, as their addresses tell at hosts of several links; else None.
	intoSrc, intoDst graphs.ArcID
	paths            []sighting
	echoes           []echo
	hops             []hop
	captured         []captured
	method           string
	leftOut          bool                    // it is none of those that suffer
	late             bool                    // something was added that is older than what was there
	settled          map[string]*settledWays // by epoch, where ways of some echoes are open; nil mostly: see settleWays
	gone, came       time.Time               // see goneSince and deadUntil; zero mostly
	haunts           []sighting              // see haunted; nil mostly
	stays            map[string]string       // of a flow that was dead for a while, see noteDead; nil mostly
}

func (s *Store) addEcho(l *flowLog, r *evidence.Record, path, back way) {
	if n := len(l.echoes); n > 0 { // a flow mostly stays where it is: its echoes share one path in memory
		path, back = path.shared(l.echoes[n-1].path), back.shared(l.echoes[n-1].back)
	}
	e := echo{
		epoch: graphs.Clean(r.Epoch), start: r.Start(), end: r.Time, path: path, back: back,
		sent: *r.Sent, lost: *r.Lost, lostAt: lossTimesOf(r), rtt: r.RTT, ahead: r.AheadMS,
	}
	if e.lost == e.sent && e.lostAt == nil {
		e.lostAt = sendTimes(e.sent, r.WindowMS)
	}
	if e.lost-len(e.lostAt) > mostUntimed {
		e.lostAt = nil
	}
	if r.LostForward != nil && r.LostBack != nil {
		e.split, e.lostForward, e.lostBack = true, *r.LostForward, *r.LostBack
	}
	if r.CorruptForward != nil {
		e.corruptForward = *r.CorruptForward
	}
	if r.CorruptBack != nil {
		e.corruptBack = *r.CorruptBack
	}
	s.meet(l, &e)
	l.echoes = filed(l.echoes, e, compareEchoes, &l.late)
}

// lossTimesOf returns when the lost probes of a record were sent. Times that cannot be, as those of a time outside the window or of probes that were not lost, tell nothing.
func lossTimesOf(r *evidence.Record) []int {
	at := r.LostAtMS
	if n := len(at); n > 0 && (n > *r.Lost || at[0] < 0 || at[n-1] > r.WindowMS || !slices.IsSorted(at)) {
		return nil
	}
	return at
}

// mostUntimed is how many losses of one record may be without a time for those that have one to say anything of when the others were.
const mostUntimed = 1 << 16

// sendTimes are the times at which the probes of a window were sent, evenly, in milliseconds after its start: where all were lost, these were lost then, whether
// the record says so or not. There are no more of them than records hold.
func sendTimes(sent, window int) []int {
	if window <= 0 {
		return nil
	}
	times := make([]int, min(sent, evidence.MaxLostAt))
	for i := range times {
		times[i] = i * window / sent
	}
	return times
}

// at returns the ways of a flow in a stretch of time: those of the record itself, unless the path was seen to change while
// packets were lost. Then either may have been the way of the lost ones, so both are given: evidence of two paths is never mixed.
// A storm may itself be what paths change for: what was lost in it before the flow was first traced may have gone any way.
// Where a flow lost packets in a storm, or most of them and was dead, it may have gone any way that it was traced on: see haunted.
//
// A flow that is probed goes on being counted on its old path until it is traced anew. Of what was sent meanwhile and answered it is not known either
// which way it went: to count it on a dead link, which it had left, would clear that link.
func (l *flowLog) at(e *echo, storm bool) (path, back way) {
	path, back = e.path, e.back
	settled := l.settledWays(e)
	if settled != nil {
		path, back = settled.path, settled.back
	}
	if e.beside != nil {
		path, back = union(path, e.beside.path), union(back, e.beside.back)
	}
	if storm && e.lost > 0 || l.stays != nil && 2*e.lost > e.sent {
		for _, h := range l.haunts {
			path, back = union(path, h.path), union(back, h.back)
		}
	}
	first := sort.Search(len(l.paths), func(i int) bool { return l.paths[i].at.After(e.start) })
	for i := max(first, 1); i < len(l.paths); i++ {
		p, before := &l.paths[i], &l.paths[i-1]
		if !before.at.Before(e.end) {
			break
		}
		untraced := storm && e.lost > 0 && !before.path.known() && e.lostBetween(before.at, p.at)
		if untraced || p.changed && !(settled != nil && before.settledBy(p)) && e.lostBetween(p.previous, p.at) {
			path, back = union(before.path, p.path), union(before.back, p.back)
		}
	}
	return path, back
}

// doubtWays notes which echoes of a flow name ways of which the two next to them in time know nothing: what wrote them down may have looked at what was known of
// another time, and one that is clean would acquit what is dead. Either may be the way then. Where the flow's path was traced, that tells when it changed.
func (l *flowLog) doubtWays() {
	n := len(l.echoes)
	for i := range l.echoes {
		e := &l.echoes[i]
		if e.beside = nil; n < 3 || len(l.paths) > 0 {
			continue
		}
		m := min(max(i, 1), n-2)
		x, y := &l.echoes[m-1], &l.echoes[m+1]
		switch i {
		case m - 1:
			x = &l.echoes[m]
		case m + 1:
			y = &l.echoes[m]
		}
		known := x.path.known() && x.back.known() && e.path.known() && e.back.known()
		if known && x.epoch == y.epoch && x.epoch == e.epoch && x.sameWays(y) && !x.sameWays(e) {
			e.beside = x
		}
	}
}

// sameWays reports whether two echoes went the same ways.
func (e *echo) sameWays(x *echo) bool { return e.path.equal(x.path) && e.back.equal(x.back) }

// now returns the last known ways of a flow.
func (l *flowLog) now() (path, back way) {
	if n := len(l.paths); n > 0 {
		return l.paths[n-1].path, l.paths[n-1].back
	}
	if n := len(l.echoes); n > 0 {
		return l.echoes[n-1].path, l.echoes[n-1].back
	}
	return way{}, way{}
}

// A way is what is known of a path: nothing, the arcs, or several lists of arcs of which one is right.
type way struct{ alternatives [][]graphs.ArcID }

func (w way) known() bool   { return len(w.alternatives) > 0 }
func (w way) certain() bool { return len(w.alternatives) == 1 }

// set returns what a way leaves open, each as likely.
func (w way) set() []localize.Alternative {
	set := make([]localize.Alternative, len(w.alternatives))
	for i, arcs := range w.alternatives {
		set[i] = localize.Alternative{Arcs: arcs, Share: 1 / float64(len(w.alternatives))}
	}
	return set
}

// wayOf is a way that leaves open what alternatives do.
func wayOf(set []localize.Alternative) way {
	var w way
	for _, a := range set {
		w.alternatives = append(w.alternatives, a.Arcs)
	}
	return w
}

func (w way) equal(x way) bool { return slices.EqualFunc(w.alternatives, x.alternatives, slices.Equal) }

// into returns what a way leaves open if packets come in over an arc, as the address tells to which they are sent, unless the way tells otherwise. None tells nothing.
func (w way) into(last graphs.ArcID) way {
	if last == graphs.None || len(w.alternatives) < 2 {
		return w
	}
	elsewhere := func(arcs []graphs.ArcID) bool { return arcs[len(arcs)-1] != last }
	if !slices.ContainsFunc(w.alternatives, func(arcs []graphs.ArcID) bool { return !elsewhere(arcs) }) {
		return w
	}
	return way{slices.DeleteFunc(slices.Clone(w.alternatives), elsewhere)}
}

// is reports whether two ways are one in memory, as those of echoes of a flow mostly are.
func (w way) is(x way) bool {
	n := len(w.alternatives)
	return n == len(x.alternatives) && (n == 0 || &w.alternatives[0] == &x.alternatives[0])
}

// shared returns old in place of a way that is the same.
func (w way) shared(old way) way {
	if w.equal(old) {
		return old
	}
	return w
}

func (w way) crosses(l graphs.LinkID) bool {
	return slices.ContainsFunc(w.alternatives, func(arcs []graphs.ArcID) bool { return crosses(arcs, l) })
}

// crosses reports whether a path crosses a link, either way.
func crosses(path []graphs.ArcID, l graphs.LinkID) bool {
	return slices.ContainsFunc(path, func(a graphs.ArcID) bool { return a.Link() == l })
}

func union(a, b way) way {
	if !a.known() || !b.known() {
		return way{}
	}
	out := slices.Clone(a.alternatives)
	for _, arcs := range b.alternatives {
		if !slices.ContainsFunc(out, func(o []graphs.ArcID) bool { return slices.Equal(o, arcs) }) {
			out = append(out, arcs)
		}
	}
	return way{out}
}

// A sighting is a moment at which a flow's path was traced. If it had changed, the old path was last seen at previous.
type sighting struct {
	at, previous time.Time
	changed      bool
	path, back   way
}

// settledBy reports whether the next sighting of a flow may tell more of the same ways.
func (s *sighting) settledBy(next *sighting) bool {
	_, there := s.path.and(next.path)
	_, home := s.back.and(next.back)
	return there && home
}

type echo struct {
	epoch                       string
	start, end                  time.Time
	path, back                  way
	sent, lost                  int
	split                       bool
	unsplit                     bool // its flow lost packets in its epoch of which nobody tells which way, be it not in this echo: see markUnsplit
	lostOn                      direction
	lostThere, carry            float64 // where lostOn is bothWays: the share that was lost on the way there, and what rounding left of echoes before
	torn                        bool    // its flow changed its path meanwhile, and other echoes tell as well: see markTorn
	lostForward, lostBack       int
	corruptForward, corruptBack int
	lostAt                      []int // ms after start
	rtt                         *evidence.Delay
	ahead                       *int  // by how much the clock of who answers is ahead, in ms; nil if not known
	whole                       *echo // as it was measured, where something was left out
	beside                      *echo // one next to it, if the two that are next agree on other ways; nil mostly
}

// lossTimes returns when the lost probes of an echo were sent, in milliseconds after its start. A record lists only so many; the
// others, which were sent later, are taken to lie evenly in the rest of the window where they are about as many as at the share lost so far, or else to follow each other
// as the last of those did: losses in a burst end with it, not with the window.
func (e *echo) lossTimes() []int {
	n := len(e.lostAt)
	if n == 0 || n >= e.lost {
		return e.lostAt
	}
	times := slices.Clone(e.lostAt)
	last, rest := times[n-1], max(0, int(e.end.Sub(e.start).Milliseconds())-times[n-1])
	if lately := min(n-1, 16); lately > 0 && !e.goesOn() {
		rest = min(rest, (e.lost-n+1)*(last-times[n-1-lately])/lately)
	}
	for i := range e.lost - n {
		times = append(times, last+rest*(i+1)/(e.lost-n+1))
	}
	return times
}

// goesOn reports whether those of the lost probes that are not listed are as many as where the share that was lost between the first and the last listed one is lost
// until the end of the window.
func (e *echo) goesOn() bool {
	const sure = 4 // standard deviations
	first, last := e.lostAt[0], e.lostAt[len(e.lostAt)-1]
	perMS := float64(e.sent) / max(1, milliseconds(e.end.Sub(e.start)))
	before, after := perMS*float64(last-first), perMS*milliseconds(e.end.Sub(e.start))-perMS*float64(last)
	if before <= 0 || after <= 0 {
		return true
	}
	share := min(1, float64(len(e.lostAt)-1)/before)
	off := math.Abs(float64(e.lost-len(e.lostAt)) - share*after)
	return off <= 1+sure*math.Sqrt(share*(1-share)*after*(1+after/before))
}

// lostBetween reports whether probes that were sent between two times may be among the lost; of an echo without loss, whether any were sent.
func (e *echo) lostBetween(from, to time.Time) bool {
	if !to.After(e.start) || !from.Before(e.end) {
		return false
	}
	if len(e.lostAt) == 0 {
		return true // the times are not known, or those of all count
	}
	return slices.ContainsFunc(e.lossTimes(), func(ms int) bool {
		at := e.start.Add(time.Duration(ms) * time.Millisecond)
		return !at.Before(from) && !at.After(to)
	})
}

type hop struct {
	at, start      time.Time
	ttl            int
	node           graphs.NodeID
	port           graphs.PortID // where the probe came in, as the address tells that answered; None where it tells none
	sent, answered int
}

// probed reports whether whichlink probe sent a flow, and did not only read of it somewhere.
func (l *flowLog) probed() bool {
	return l.flow.Proto == "udp" && l.src != graphs.None && l.dst != graphs.None && len(l.echoes)+len(l.paths) > 0
}
