package diagnose

import (
	"slices"

	"whichlink/graphs"
)

// settledWays are the ways of a flow in an epoch, as all that was traced in it tells.
type settledWays struct {
	path, back way
	mixed      bool // it was seen on several, whatever the epoch says
}

// settleWays notes of which epochs the ways of all echoes are told by what was traced at some time of them, in which a flow keeps its path: what was sent until the first
// trace was finished went where that found it to go. Spread over all ways between its ends, what it lost would speak for what lies on all of them.
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
		path, both := x.path.and(e.path)
		back, home := x.back.and(e.back)
		x.path, x.back, x.mixed = path, back, x.mixed || !both || !home
	}
}

// settledWays returns the ways of an echo whose own are open, if its epoch tells of them; else nil.
func (l *flowLog) settledWays(e *echo) *settledWays {
	if x := l.settled[e.epoch]; x != nil && !x.mixed && e.epoch != "" && !e.traced() {
		return x
	}
	return nil
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
