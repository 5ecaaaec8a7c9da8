package probes

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/plan"
)

const (
	// verifyAfter is how long a path counts as known before it is looked at again, if the budget allows.
	verifyAfter = 2 * time.Second
	// retraceAfter is how soon a flow that loses packets may be traced again.
	retraceAfter = 300 * time.Millisecond
	// answerWithin is how long a switch may take to answer: its CPU has other work.
	answerWithin = 80 * time.Millisecond
	// patienceWithNew is how long a new flow that nobody answers is taken to be still on its way, before the model is believed.
	patienceWithNew = 1500 * time.Millisecond
	// budgetWithin is how long a trace waits for its budget before it does without the answer.
	budgetWithin = 5 * time.Second
	// asksPerHop is how often a hop that does not answer is asked in one trace.
	asksPerHop = 2
	// tracesAtOnce bounds the flows of a host that are traced at the same time.
	tracesAtOnce = 16
	// reachEvery is how often it is looked whether arcs are left to reach.
	reachEvery = 200 * time.Millisecond
	// maxPaths is how many paths may be told apart by a trace; a pair with more is traced hop by hop.
	maxPaths = 512
)

// A route is what is known of one way of a flow: nothing, its arcs, or several lists of arcs of which one is right.
type route struct{ alternatives [][]graphs.ArcID }

func (r route) certain() bool { return len(r.alternatives) == 1 }

// routeOf makes a route of the paths that a trace left open.
func routeOf(paths []pathfind.Path) route {
	var r route
	if len(paths) > evidence.MaxCandidates {
		return r
	}
	for _, p := range paths {
		r.alternatives = append(r.alternatives, p.Arcs)
	}
	return r
}

func (r route) has(arcs []graphs.ArcID) bool {
	return slices.ContainsFunc(r.alternatives, func(a []graphs.ArcID) bool { return slices.Equal(a, arcs) })
}

// learn keeps the paths of all flows known: new flows first, then those that lose packets, then the one longest not looked at.
func (s *Session) learn(ctx context.Context) {
	var tracing sync.WaitGroup
	defer tracing.Wait()
	// Traces that share few packets among them would all wait for answers for long.
	busy := make(chan struct{}, int(min(max(1, s.cfg.Rate/tracesAtOnce), tracesAtOnce)))
	tick := time.NewTicker(s.tick())
	defer tick.Stop()
	var reached time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for len(busy) < cap(busy) {
			fl := s.nextDue(time.Now())
			if fl == nil {
				break
			}
			busy <- struct{}{}
			tracing.Go(func() {
				defer func() { <-busy }()
				s.trace(ctx, fl)
			})
		}
		if now := time.Now(); now.Sub(reached) > reachEvery {
			reached = now
			s.reachFurther(now)
		}
	}
}

// nextDue chooses the flow to trace next and marks it, or returns nil.
func (s *Session) nextDue(now time.Time) *sessionFlow {
	s.mu.Lock()
	defer s.mu.Unlock()
	var best *sessionFlow
	for _, fl := range s.flows {
		if fl.tracing || fl.due.After(now) || s.lacksAgent(fl, now) || fl.idle() {
			continue
		}
		if best == nil || fl.before(best) {
			best = fl
		}
	}
	if best != nil {
		best.tracing = true
	}
	return best
}

func (fl *sessionFlow) before(o *sessionFlow) bool {
	if fl.confirmed.IsZero() != o.confirmed.IsZero() {
		return fl.confirmed.IsZero()
	}
	if a, b := fl.lastLoss.After(fl.confirmed), o.lastLoss.After(o.confirmed); a != b {
		return a
	}
	return fl.due.Before(o.due)
}

// trace finds the two ways of a flow.
func (s *Session) trace(ctx context.Context, fl *sessionFlow) {
	fl.stream.beginTrace()
	s.mu.Lock()
	heard := time.Since(fl.lastAnswer) < 2*s.cfg.Window
	fl.traces++
	turn := fl.traces + int(fl.flow.SrcPort)
	s.mu.Unlock()
	if !heard {
		// One answer tells how long both ways are. If there is none, the model must do.
		s.pace.asked(1)
		fl.stream.Reach()
		await(ctx, answerWithin, fl.stream.reached)
		heard = fl.stream.reached()
	}
	forwardLen, backLen := fl.stream.pathLengths()
	var path, back route
	var answered bool
	var legs sync.WaitGroup
	legs.Go(func() {
		l := leg{s: s, fl: fl, src: fl.src, dst: fl.dst, ask: s.askForward, turn: turn}
		path, answered = l.find(ctx, forwardLen)
	})
	if backLen > 0 {
		legs.Go(func() {
			l := leg{s: s, fl: fl, src: fl.dst, dst: fl.src, ask: s.askBack, turn: turn}
			back, _ = l.find(ctx, backLen)
		})
	}
	legs.Wait()
	// Before apply lets the flow be traced again: on a busy machine the next trace may begin at any moment.
	fl.stream.endTrace()
	if ctx.Err() != nil {
		return
	}
	s.apply(fl, path, back, heard || answered)
}

// A leg is one way of a flow that is being found.
type leg struct {
	s        *Session
	fl       *sessionFlow
	src, dst graphs.NodeID
	ask      func(ctx context.Context, fl *sessionFlow, ttl int) (netip.Addr, bool)
	turn     int // chooses among equally good questions
}

// find asks, of the hops of a way of a given length (0: the model's), those whose answer tells most, until the way is known or
// there is nobody left to ask. It also reports whether anyone answered.
func (l *leg) find(ctx context.Context, length int) (route, bool) {
	s := l.s
	if length == 0 {
		length = s.cfg.ECMP.Distance(l.src, l.dst)
	}
	if length < 1 || length > MaxTTL {
		return route{}, false
	}
	hops := make([]pathfind.Hop, length)
	for i := range hops {
		hops[i] = pathfind.Hop{Node: graphs.None, Port: graphs.None}
	}
	hops[length-1] = pathfind.Hop{Answered: true, Node: l.dst, Port: graphs.None}
	asked := make([]int, length+1)
	paths := pathfind.Resolve(s.cfg.ECMP, l.src, l.dst, hops, maxPaths)
	heard := false
	for len(paths) > 1 && ctx.Err() == nil {
		ttl := question(s.fabric, paths, func(t int) bool { return asked[t] >= asksPerHop || hops[t-1].Answered }, s.answering, l.turn)
		if ttl == 0 {
			break
		}
		likely := likelyAt(s.fabric, paths, ttl)
		if !s.await(ctx, likely) {
			break
		}
		asked[ttl]++
		addr, ok := l.ask(ctx, l.fl, ttl)
		if !ok {
			s.remember(likely, false)
			continue
		}
		heard = true
		hops[ttl-1].Answered = true
		if o, known := s.fabric.Owner(addr); known {
			hops[ttl-1].Node, hops[ttl-1].Port = o.Node, o.Port
			s.remember(map[graphs.NodeID]float64{o.Node: 1}, true)
		}
		paths = pathfind.Resolve(s.cfg.ECMP, l.src, l.dst, hops, maxPaths)
	}
	return routeOf(paths), heard
}

// await waits until rate and budget allow a TTL-limited probe; false if they do not for long, or the session ends first.
func (s *Session) await(ctx context.Context, likely map[graphs.NodeID]float64) bool {
	for end := time.Now().Add(budgetWithin); !s.mayExpire(likely, 0); {
		if time.Now().After(end) {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(s.tick()):
		}
	}
	return true
}

// mayExpire reports whether rate and budget allow a TTL-limited probe, and counts it. Where a part of the budget is to be kept back, so is one
// of the rate.
func (s *Session) mayExpire(likely map[graphs.NodeID]float64, keep float64) bool {
	now := time.Now()
	if !s.pace.mayAsk(keep > 0, now) || !s.budget.take(likely, keep, now) {
		return false
	}
	s.pace.asked(1)
	return true
}

// remember notes whether a TTL-limited probe was answered.
func (s *Session) remember(likely map[graphs.NodeID]float64, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, p := range likely {
		m := s.manners[n]
		if m == nil {
			m = &manner{}
			s.manners[n] = m
		}
		m.sent = 0.95*m.sent + p
		m.answered *= 0.95
		if answered {
			m.answered += p
		}
	}
}

// answering is how probable it is that a switch answers: high until it was seen not to.
func (s *Session) answering(n graphs.NodeID) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.manners[n]; m != nil {
		return (m.answered + 1) / (m.sent + 1)
	}
	return 1
}

// askForward asks the hop at a TTL of the way there.
func (s *Session) askForward(ctx context.Context, fl *sessionFlow, ttl int) (from netip.Addr, ok bool) {
	_, before := fl.stream.heard(ttl)
	if fl.stream.expire([]int{ttl}, true) == 0 {
		return netip.Addr{}, false
	}
	await(ctx, answerWithin, func() bool {
		addr, n := fl.stream.heard(ttl)
		from, ok = addr, n > before
		return ok
	})
	return from, ok
}

// askBack has the reflector ask the hop at a TTL of the way back, and asks the reflector who answered.
func (s *Session) askBack(ctx context.Context, fl *sessionFlow, ttl int) (from netip.Addr, ok bool) {
	if fl.stream.AskBack(ttl) == 0 {
		return netip.Addr{}, false
	}
	for _, pause := range []time.Duration{3 * time.Millisecond, 15 * time.Millisecond, 60 * time.Millisecond} {
		await(ctx, max(pause, 2*fl.stream.roundTrip()), func() bool { return false })
		before := fl.stream.lists()
		s.pace.asked(1)
		fl.stream.AskHops(maxBackHops / 4)
		await(ctx, answerWithin, func() bool { return fl.stream.lists() > before })
		if from, ok = fl.stream.backFrom(ttl); ok || ctx.Err() != nil {
			return from, ok
		}
	}
	return netip.Addr{}, false
}

// await waits until something is so, and not longer than a time.
func await(ctx context.Context, most time.Duration, so func() bool) {
	for end := time.Now().Add(most); ctx.Err() == nil; {
		if so() || time.Now().After(end) {
			return
		}
		time.Sleep(500 * time.Microsecond)
	}
}

// apply takes the outcome of a trace: the path is new, the same, or another.
func (s *Session) apply(fl *sessionFlow, path, back route, heard bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	fl.tracing = false
	fl.due = now.Add(verifyAfter)
	if fl.lastLoss.After(fl.confirmed) {
		fl.due = now.Add(2 * retraceAfter)
	}
	known := !fl.confirmed.IsZero()
	there, home := path, back
	path, news, moved := fl.path.then(there)
	back, newsBack, movedBack := fl.back.then(home)
	if moved && len(home.alternatives) == 0 || movedBack && len(there.alternatives) == 0 {
		path, back = there, home // what made one way another may have made the other one, too
	}
	if known && !news && !newsBack {
		if heard {
			s.emitPath(fl, false, now)
			fl.confirmed = now
		}
		return
	}
	if !known && (!heard || len(path.alternatives) == 0) && now.Sub(fl.first) < patienceWithNew {
		fl.due = now.Add(retraceAfter)
		return
	}
	// What was counted until now belongs to the old path, or to one that nobody knows.
	s.reportFlow(fl, now)
	if moved || movedBack { // a flow of which more is known than before is where it was
		s.epoch++
	}
	if !known {
		fl.confirmed = fl.first
	}
	fl.path, fl.back = path, back
	s.emitPath(fl, true, now)
	fl.confirmed = now
}

// then returns what is known of a way after a trace of it, whether that is news, and whether the flow has left the way that it was on. What was not told apart this
// time, but may be what it was, is what it was.
func (r route) then(now route) (is route, news, moved bool) {
	both := slices.ContainsFunc(r.alternatives, now.has)
	switch {
	case len(now.alternatives) == 0:
		return r, false, false
	case len(r.alternatives) == 0:
		return now, true, false
	case both && len(now.alternatives) >= len(r.alternatives): // from several to fewer is news, and so is another set
		return r, false, false
	}
	return now, true, !both
}

// emitPath writes down what is known of a flow's path. The mutex is held.
func (s *Session) emitPath(fl *sessionFlow, changed bool, now time.Time) {
	r := s.record(evidence.KindPath, fl, now)
	r.Changed = changed
	if !fl.confirmed.IsZero() {
		previous := fl.confirmed.UTC()
		r.PreviousTime = &previous
	}
	s.cfg.Emit(r)
}

// reachFurther asks the plan for more flows where the traced paths leave arcs uncovered that this host answers for.
func (s *Session) reachFurther(now time.Time) {
	crossed, ready := s.crossings(now)
	if !ready {
		return
	}
	s.settleExtras(crossed)
	covered := plan.Covered(s.fabric, crossed)
	var lacking []graphs.ArcID
	for a, n := range s.cfg.Plan.Quota(s.cfg.Host) {
		if covered[a] < n {
			lacking = append(lacking, a)
		}
	}
	s.mu.Lock()
	tried := s.tried
	if len(lacking) == 0 {
		s.tried = maxExtra
	}
	s.mu.Unlock()
	if len(lacking) == 0 || tried >= maxExtra {
		return
	}
	slices.Sort(lacking)
	more := s.cfg.Plan.More(s.cfg.Host, lacking, tried)
	s.mu.Lock()
	s.tried += max(1, len(more))
	s.mu.Unlock()
	for _, p := range more {
		if _, err := s.add(p, true, false); err != nil {
			s.cfg.Logger.Warn("add a flow", "err", err)
		}
	}
}

// crossings returns the ways of all flows that are known, if there is anything left to reach for and no flow waits for its first
// trace.
func (s *Session) crossings(now time.Time) (crossed [][]graphs.ArcID, ready bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried >= maxExtra && !slices.ContainsFunc(s.flows, func(fl *sessionFlow) bool { return fl.extra }) {
		return nil, false
	}
	for _, fl := range s.flows {
		switch {
		case s.lacksAgent(fl, now):
		case fl.confirmed.IsZero() || len(fl.path.alternatives) == 0 && now.Sub(fl.first) < 2*patienceWithNew:
			return nil, false
		default:
			for _, r := range []route{fl.path, fl.back} {
				if r.certain() {
					crossed = append(crossed, r.alternatives[0])
				}
			}
		}
	}
	return crossed, true
}

// maxExtra bounds the flows that a host tries beyond its plan.
const maxExtra = 32

// settleExtras keeps the extra flows that cross an arc which the host answers for and which too few others cross.
func (s *Session) settleExtras(crossed [][]graphs.ArcID) {
	covered := plan.Covered(s.fabric, crossed)
	quota := s.cfg.Plan.Quota(s.cfg.Host)
	s.mu.Lock()
	var useless []*sessionFlow
	for _, fl := range s.flows {
		if !fl.extra || fl.spare || fl.tracing {
			continue
		}
		useful := false
		for _, r := range []route{fl.path, fl.back} {
			if r.certain() {
				for _, a := range r.alternatives[0] {
					useful = useful || quota[a] > 0 && covered[a] <= quota[a]
				}
			}
		}
		if useful {
			fl.extra = false
		} else {
			useless = append(useless, fl)
		}
	}
	s.activate()
	s.mu.Unlock()
	for _, fl := range useless {
		s.drop(fl)
	}
}
