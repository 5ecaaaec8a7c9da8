package diagnose

import (
	"math"
	"slices"
	"time"

	"whichlink/graphs"
)

// settledWays are the ways of a flow in an epoch, as all that was traced in it tells.
type settledWays struct {
	path, back way
	mixed      bool      // it was seen on several, whatever the epoch says
	since      time.Time // what was sent before may have gone another way; zero if nothing may
}

// settleWays notes of which epochs the ways of all echoes are told by what was traced at some time of them, in which a flow keeps its path: what was sent until the first
// trace was finished went where that found it to go. Spread over all ways between its ends, what it lost would speak for what lies on all of them. But nobody sees a path change
// before it is first traced: what lost far more until then than it did later, or less, may have been on another one, as where a link went down meanwhile.
func (l *flowLog) settleWays() {
	l.settled = nil
	if !slices.ContainsFunc(l.echoes, func(e echo) bool { return e.epoch != "" && !e.traced() }) {
		return
	}
	l.settled = map[string]*settledWays{}
	for i := range l.echoes {
		e := &l.echoes[i]
		x := l.settled[e.epoch]
		if x == nil {
			x = &settledWays{}
			l.settled[e.epoch] = x
		}
		if !x.path.known() {
			x.since = l.firstTraced(e)
		}
		path, both := x.path.and(e.path)
		back, home := x.back.and(e.back)
		x.path, x.back, x.mixed = path, back, x.mixed || !both || !home
	}
	fates := map[string][2]fate{} // of what was sent until then, and after
	for i := range l.echoes {
		e := &l.echoes[i]
		x := fates[e.epoch]
		until := l.settled[e.epoch].until(e)
		x[0].add(until)
		x[1].add(fate{sent: e.sent - until.sent, lost: e.lost - until.lost})
		fates[e.epoch] = x
	}
	for epoch, x := range fates {
		if !x[0].differs(x[1]) {
			l.settled[epoch].since = time.Time{}
		}
	}
}

// until returns what became of those probes of an echo that were sent until the first trace.
func (x *settledWays) until(e *echo) fate {
	switch {
	case !e.end.After(x.since):
		return fate{sent: e.sent, lost: e.lost}
	case !e.start.Before(x.since):
		return fate{}
	}
	part := e.within([]stretch{{e.start, x.since}}, true)
	return fate{sent: part.sent, lost: part.lost}
}

// firstTraced returns when in an echo the way there of its flow was first traced, or its end.
func (l *flowLog) firstTraced(e *echo) time.Time {
	if !e.path.known() {
		return e.end
	}
	for i := range l.paths {
		if p := &l.paths[i]; p.path.known() {
			return earlier(later(e.start, p.at), e.end)
		}
	}
	return e.start
}

// settledWays returns the ways of an echo whose own are open, if its epoch tells of them; else nil.
func (l *flowLog) settledWays(e *echo) *settledWays {
	if x := l.settled[e.epoch]; x != nil && !x.mixed && e.epoch != "" && !e.traced() && !e.start.Before(x.since) {
		return x
	}
	return nil
}

// otherLoss is how many nats more likely losses are with two rates for it to be no chance that they have two.
const otherLoss = 5

// differs reports whether two fates are surely not of one rate of loss.
func (x fate) differs(y fate) bool {
	of := func(lost, sent int) float64 {
		k, n := float64(lost), float64(sent)
		if lost == 0 || lost == sent {
			return 0
		}
		return k*math.Log(k/n) + (n-k)*math.Log1p(-k/n)
	}
	return of(x.lost, x.sent)+of(y.lost, y.sent)-of(x.lost+y.lost, x.sent+y.sent) > otherLoss
}

// traced reports whether both ways of an echo are certain.
func (e *echo) traced() bool { return e.path.certain() && e.back.certain() }

// and returns what two traces of one way tell together: what both leave open, or where one tells nothing the other. It is false where they contradict each other.
func (w way) and(x way) (way, bool) {
	switch {
	case w.is(x) || !x.known():
		return w, true
	case !w.known():
		return x, true
	}
	both := way{slices.DeleteFunc(slices.Clone(w.alternatives), func(arcs []graphs.ArcID) bool {
		return !slices.ContainsFunc(x.alternatives, func(o []graphs.ArcID) bool { return slices.Equal(arcs, o) })
	})}
	return both, both.known()
}
