package probes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// record begins a record of a flow, with what is known of its path. The mutex is held.
func (s *Session) record(kind evidence.Kind, fl *sessionFlow, at time.Time) *evidence.Record {
	flow := fl.flow
	r := &evidence.Record{
		V: evidence.Version, Time: at.UTC(), Source: evidence.SourceProbe, By: s.fabric.NodeName(s.cfg.Host),
		Epoch: fmt.Sprint(s.epoch), Kind: kind, Flow: &flow,
	}
	if s.cfg.Size != DefaultSize {
		r.Size = s.cfg.Size
	}
	if kind == evidence.KindHop {
		return r
	}
	r.Path, r.Candidates = s.names(fl.path)
	r.Back, r.CandidatesBack = s.names(fl.back)
	return r
}

// names writes a route by the names of its arcs: as a path if it is certain, else as candidates.
func (s *Session) names(r route) (path []string, candidates [][]string) {
	for _, arcs := range r.alternatives {
		names := make([]string, len(arcs))
		for i, a := range arcs {
			names[i] = s.fabric.ArcName(a)
		}
		candidates = append(candidates, names)
	}
	if r.certain() {
		return candidates[0], nil
	}
	return nil, candidates
}

// report writes down what all flows counted since last time.
func (s *Session) report(last bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	windows := make([]Window, len(s.flows))
	for i, fl := range s.flows {
		// Until a flow's path is known its counts wait: they are worth more then. But not for ever.
		if fl.confirmed.IsZero() && now.Sub(fl.first) < 4*time.Second && !last {
			continue
		}
		windows[i] = s.take(fl, now) // all before any is written: who is refused tells of what others lost as well
	}
	for i, fl := range s.flows {
		s.reportWindow(fl, &windows[i], now)
	}
	s.emitStrains()
	s.fade()
	if len(s.noAgents) > 0 {
		s.activate() // some may be tried again
	}
}

// reportFlow writes down what a flow counted since last time. The mutex is held.
func (s *Session) reportFlow(fl *sessionFlow, now time.Time) {
	w := s.take(fl, now)
	s.reportWindow(fl, &w, now)
}

// take returns what a flow counted since last time. The mutex is held.
func (s *Session) take(fl *sessionFlow, now time.Time) Window {
	w := fl.stream.Take()
	if w.Method == MethodPortUnreachable {
		s.lackAgent(fl, now)
	}
	return w
}

// reportWindow writes down what a flow counted in a window, if it sent anything. The mutex is held.
func (s *Session) reportWindow(fl *sessionFlow, w *Window, now time.Time) {
	s.watchFor(fl, w, now)
	if w.Method == MethodPortUnreachable {
		return
	}
	if w.Sent > 0 && !s.lacksAgent(fl, now) {
		s.cfg.Emit(s.echoRecord(fl, w))
	}
	s.tellUnsent(fl, w, now)
	for _, h := range w.Hops {
		if h.Sent == 0 {
			continue
		}
		r := s.record(evidence.KindHop, fl, now)
		r.TTL, r.Sent, r.Answered, r.RTT = h.TTL, evidence.Int(h.Sent), evidence.Int(h.Answered), h.RTT
		r.WindowMS = int(s.cfg.Window.Milliseconds())
		if a := h.Address(); a.IsValid() {
			r.Address = a.String()
			if o, ok := s.fabric.Owner(a); ok {
				r.Node = s.fabric.NodeName(o.Node)
			}
		}
		s.cfg.Emit(r)
	}
}

func (s *Session) echoRecord(fl *sessionFlow, w *Window) *evidence.Record {
	// The window goes on until the next probe would have been sent.
	spacing := time.Millisecond
	if w.Sent > 1 {
		spacing = max(spacing, w.To.Sub(w.From)/time.Duration(w.Sent-1))
	}
	length := w.To.Sub(w.From) + spacing
	ms := int(math.Ceil(float64(length) / float64(time.Millisecond)))
	r := s.record(evidence.KindEcho, fl, w.From.Add(time.Duration(ms)*time.Millisecond))
	r.WindowMS = ms
	r.Sent, r.Lost, r.RTT = evidence.Int(w.Sent), evidence.Int(w.Lost), w.RTT
	if w.Split {
		r.LostForward, r.LostBack = evidence.Int(w.LostForward), evidence.Int(w.LostBack)
	}
	if w.CorruptForward > 0 || w.CorruptBack > 0 {
		r.CorruptForward, r.CorruptBack = evidence.Int(w.CorruptForward), evidence.Int(w.CorruptBack)
	}
	if w.Ahead != nil {
		r.AheadMS = evidence.Int(int(w.Ahead.Round(time.Millisecond).Milliseconds()))
	}
	for _, at := range w.LostAt {
		r.LostAtMS = append(r.LostAtMS, int(at.Sub(w.From).Milliseconds()))
	}
	return r
}

// watchFor notes what in a window calls for action. The mutex is held.
func (s *Session) watchFor(fl *sessionFlow, w *Window, now time.Time) {
	if w.Sent > w.Lost && w.Method != MethodPortUnreachable { // who says that the port is closed answers nothing
		fl.lastAnswer = now
	}
	moved := w.ForwardLen > 0 && (fl.forwardLen != w.ForwardLen || fl.backLen != w.BackLen)
	if moved {
		fl.forwardLen, fl.backLen = w.ForwardLen, w.BackLen
	}
	if !fl.confirmed.IsZero() && (wrongLength(fl.path, w.ForwardLen) || wrongLength(fl.back, w.BackLen)) {
		// The flow goes another way than was thought. Until it is traced again nothing is known of it.
		fl.path, fl.back = route{}, route{}
		s.epoch++
		s.emitPath(fl, true, now)
		fl.due = now
	}
	if w.Lost > 0 {
		fl.losses += float64(w.Lost)
		fl.lastLoss = now
	}
	// A path that became longer, or loses packets, may be another.
	if (moved || w.Lost > 0) && !fl.confirmed.IsZero() && now.Sub(fl.confirmed) > retraceAfter && fl.due.After(now) {
		fl.due = now
	}
	if w.Waiting > 0 || w.Lost > 0 && w.Lost == w.Sent {
		s.askCount(fl, now)
	}
}

// wrongLength reports whether a way cannot be what it was taken for, by its length in links as an answer told it.
func wrongLength(r route, length int) bool {
	return length > 0 && len(r.alternatives) > 0 && len(r.alternatives[0]) != length
}

// askCount asks, along another flow to the same host that is answered, how many of a flow's probes arrived. The mutex is held.
func (s *Session) askCount(fl *sessionFlow, now time.Time) {
	for _, o := range s.flows {
		if o != fl && o.dst == fl.dst && now.Sub(o.lastAnswer) < 2*s.cfg.Window {
			s.pace.asked(1)
			o.stream.AskCount(fl.stream)
			return
		}
	}
}

// lackAgent notes that a host has nobody to answer: that is a gap in the coverage and no fault. The mutex is held.
func (s *Session) lackAgent(fl *sessionFlow, now time.Time) {
	if s.lacksAgent(fl, now) {
		return
	}
	_, told := s.noAgents[fl.flow.Dst]
	s.noAgents[fl.flow.Dst] = now.Add(agentAgain)
	s.activate()
	if told {
		return
	}
	text := "%s runs no agent on UDP port %d: what it does not answer is no loss"
	if slices.ContainsFunc(s.flows, func(o *sessionFlow) bool { return o.dst == fl.dst && !o.lastAnswer.IsZero() }) {
		text = "%s ran an agent on UDP port %d, which stopped or restarted: what it did not answer since is no loss"
	}
	s.note(fmt.Sprintf(text, s.fabric.NodeName(fl.dst), s.cfg.Port), now)
}

// tellUnsent says once that this host sends nothing, as where it has no route. Where only some are refused, it may be an ICMP error that the kernel handed to
// one of them. The mutex is held.
func (s *Session) tellUnsent(fl *sessionFlow, w *Window, now time.Time) {
	if w.Sent > 0 || w.Unsent == 0 || s.unsent {
		return
	}
	s.unsent = true
	s.note(fmt.Sprintf("%s cannot send to %s (%v): see its own routes and filters", s.fabric.NodeName(s.cfg.Host), fl.flow.Dst, errors.Unwrap(w.Err)), now)
}

// note says something in words. The mutex is held.
func (s *Session) note(text string, now time.Time) {
	s.cfg.Emit(&evidence.Record{
		V: evidence.Version, Time: now.UTC(), Source: evidence.SourceNote, By: s.fabric.NodeName(s.cfg.Host), Epoch: fmt.Sprint(s.epoch),
		Kind: evidence.KindNote, Text: text,
	})
}

// agentAgain is how long a host without an agent is left alone before it is tried again: agents are restarted.
const agentAgain = 3 * time.Second

// lacksAgent reports whether a flow's destination had nobody to answer just now. The mutex is held.
func (s *Session) lacksAgent(fl *sessionFlow, now time.Time) bool {
	again, ok := s.noAgents[fl.flow.Dst]
	return ok && now.Before(again)
}

// fade lets old losses count for less. The mutex is held.
func (s *Session) fade() {
	keep := math.Exp(-s.cfg.Window.Seconds() / 4)
	for _, fl := range s.flows {
		fl.losses *= keep
		fl.lossy.Store(fl.losses > worthMore)
	}
}

// worthMore is how many losses of late earn a flow more echoes: a single one, for a second or two.
const worthMore = 0.6

// suspicious is how many losses of late call for a closer look at a flow.
const suspicious = 1.5

// lookCloser sends TTL-limited probes along flows that lose packets, and along as many that do not, for comparison: what a
// switch leaves unanswered on all of them alike is its own manner and no loss. It takes what tracing leaves of the budget.
func (s *Session) lookCloser(ctx context.Context) {
	tick := time.NewTicker(2 * s.tick())
	defer tick.Stop()
	turn := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.mu.Lock()
		var lossy, clean []*sessionFlow
		for _, fl := range s.flows {
			switch {
			case !fl.path.certain() || len(fl.path.alternatives[0]) < 2: // no switch, or no way known
			case fl.losses >= suspicious:
				lossy = append(lossy, fl)
			case fl.losses < 0.1:
				clean = append(clean, fl)
			}
		}
		s.mu.Unlock()
		if len(lossy) == 0 {
			continue
		}
		for range closerAtOnce {
			turn++
			sent := s.closer(lossy[turn%len(lossy)])
			if len(clean) > 0 && s.closer(clean[turn%len(clean)]) {
				sent = true
			}
			if !sent {
				break
			}
		}
	}
}

// closerAtOnce bounds how many pairs of probes a closer look sends at once.
const closerAtOnce = 16

// closer sends one TTL-limited probe along a flow, if the budget has it to spare.
func (s *Session) closer(fl *sessionFlow) bool {
	s.mu.Lock()
	route := fl.path
	fl.nextTTL++
	ttl := fl.nextTTL
	s.mu.Unlock()
	if !route.certain() {
		return false
	}
	arcs := route.alternatives[0]
	ttl = 1 + ttl%(len(arcs)-1)
	at := map[graphs.NodeID]float64{s.fabric.Head(arcs[ttl-1]): 1}
	return s.mayExpire(at, 0.4) && fl.stream.Expire(ttl) > 0
}
