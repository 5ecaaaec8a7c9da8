package probes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"whichlink/internal/evidence"
)

// A Trace is the path of one flow, as it was seen.
type Trace struct {
	Flow evidence.Flow
	// Reached tells that the destination answered, Method how.
	Reached bool
	Method  string
	// ForwardLen is the length of the path in links, 0 if unknown: the TTL that reaches the destination.
	ForwardLen int
	// Hops are those from TTL 1 on, without gaps; the last is the destination if it was reached. One without responders was
	// asked and did not answer.
	Hops []Hop
	// Back are the hops of the way back from TTL 1 on, seen from the destination, without the source. They are known only if the
	// destination runs a [Reflector], and BackKnown tells that it did and named them, as far as they answered it.
	Back      []Hop
	BackLen   int
	BackKnown bool
	// Sent counts the packets sent for this trace, Expiring those of them, or of the answers to them, that expired at a switch.
	Sent, Expiring int
}

// Complete tells whether every hop of the way there is known, and answered with one address.
func (t *Trace) Complete() bool { return t.Reached && complete(t.Hops) }

// BackComplete tells the same of the way back.
func (t *Trace) BackComplete() bool { return t.BackKnown && complete(t.Back) }

func complete(hops []Hop) bool {
	for i := range hops {
		if len(hops[i].Responders) != 1 {
			return false
		}
	}
	return true
}

// TraceOptions say how to trace. The zero value is ready for use, but for Allow, which politeness demands.
type TraceOptions struct {
	// MaxTTL is where to stop if the destination does not answer (default 30).
	MaxTTL int
	// Tries is how often a hop that does not answer is asked (default 3).
	Tries int
	// Repeat is how many probes are sent for each TTL (default 1). More show whether one flow is spread over several paths.
	Repeat int
	// NoBack leaves out the way back.
	NoBack bool
	// Allow is asked before every packet. TTL is 0 for one that does not expire; otherwise the packet, or with back the answer to it,
	// expires that many links from its sender. It returns 0 to send it now, more to be asked again after that time, less
	// to leave it out. Nil allows all.
	Allow func(s *Stream, ttl int, back bool) time.Duration
}

const (
	defaultMaxTTL = 30
	defaultTries  = 3
	// silentRun is after how many hops in a row without an answer the end of a path is given up, if the destination is silent, too.
	silentRun = 5
	// block is how many TTLs are asked at once where the length of the path is not known.
	block = 8
)

// grace is how long after the expected round trip an answer is waited for, by the number of the try. Switches take their time.
func grace(try int) time.Duration {
	switch try {
	case 0, 1:
		return 15 * time.Millisecond
	case 2:
		return 60 * time.Millisecond
	}
	return 200 * time.Millisecond
}

// Trace finds the paths of flows, all at once: first whether and at what distance their destinations answer, then all hops of
// that distance, there and back. What does not answer is asked again. Where everything answers it takes three round trips.
// An error is only ctx's, or that a stream is being traced already; the traces then hold what was found until then.
func (e *Engine) Trace(ctx context.Context, streams []*Stream, o TraceOptions) ([]Trace, error) {
	if o.MaxTTL <= 0 {
		o.MaxTTL = defaultMaxTTL
	}
	o.MaxTTL = min(o.MaxTTL, MaxTTL)
	if o.Tries <= 0 {
		o.Tries = defaultTries
	}
	o.Repeat = max(o.Repeat, 1)
	if o.Allow == nil {
		o.Allow = func(*Stream, int, bool) time.Duration { return 0 }
	}
	var err error
	runs := make([]*tracer, 0, len(streams))
	for _, s := range streams {
		t := &tracer{s: s, o: &o}
		if !t.begin() {
			err = fmt.Errorf("trace %s: it is being traced already", s.dst)
			break
		}
		runs = append(runs, t)
	}
	if err == nil {
		err = runTraces(ctx, runs)
	}
	traces := make([]Trace, len(runs))
	for i, t := range runs {
		traces[i] = t.end()
	}
	return traces, err
}

// poll is how often the state of traces is looked at.
const poll = 500 * time.Microsecond

// runTraces drives tracers until all are done.
func runTraces(ctx context.Context, runs []*tracer) error {
	order := make([]int, len(runs))
	for i := range order {
		order[i] = i
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		// A random order of flows, and within them of TTLs, so that no rhythm of the probes meets one of the network.
		shuffle(order)
		wait, done := time.Duration(0), true
		for _, i := range order {
			w, d := runs[i].step(time.Now())
			done = done && d
			wait = sooner(wait, w)
		}
		if done {
			return nil
		}
		timer.Reset(max(poll, wait))
		select {
		case <-ctx.Done():
			return fmt.Errorf("trace: %w", context.Cause(ctx))
		case <-timer.C:
		}
	}
}

func shuffle(x []int) {
	rand.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
}

// A try counts how often something was asked, and when last.
type try struct {
	n     int
	at    time.Time
	never bool // not allowed
}

// A tracer drives the trace of one stream.
type tracer struct {
	s     *Stream
	o     *TraceOptions
	log   *traceLog
	reach try
	there [MaxTTL + 1]try
	back  [MaxTTL + 1]try
	list  try
	// lists is how many hop lists had come when the last was asked for; asked tells that TTLs of the way back were asked since.
	lists    int
	asked    bool
	sent     int
	expiring int
	gaveUp   bool
}

func (t *tracer) begin() bool {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trace != nil {
		return false
	}
	s.round++
	t.log = &traceLog{}
	s.trace = t.log
	s.shortQuotes = 0
	return true
}

// view is what the tracer reads of its stream at one moment.
type view struct {
	reached, reflector  bool
	forwardLen, backLen int
	serial              bool // errors quote so little that only one probe may be outstanding
	rtt                 time.Duration
	answered            [MaxTTL + 1]int
	backAnswered        [MaxTTL + 1]bool
	lists               int
	lastAnswered        int // the largest TTL that anybody answered
}

func (t *tracer) view() view {
	s, l := t.s, t.log
	s.mu.Lock()
	defer s.mu.Unlock()
	v := view{reached: l.reached, reflector: l.reflector, serial: s.shortQuotes > 0, rtt: time.Duration(l.rtt), lists: l.lists}
	if l.reached {
		v.forwardLen, v.backLen = s.forwardLen, s.backLen
		if s.method != MethodSTAMP {
			v.forwardLen = 0
		}
		if v.forwardLen == 0 {
			v.forwardLen = l.last
		}
	}
	for ttl := range min(len(l.hops), MaxTTL+1) {
		h := &l.hops[ttl]
		v.answered[ttl] = h.answered
		if h.answered > 0 {
			v.lastAnswered = ttl
			v.rtt = max(v.rtt, h.rtt.max)
		}
	}
	for _, h := range l.back {
		if h.ttl <= MaxTTL && h.addr.IsValid() {
			v.backAnswered[h.ttl] = true
		}
	}
	return v
}

// step sends what may be sent now. It returns how long there is nothing to do, 0 for not known, and whether the trace is done.
func (t *tracer) step(now time.Time) (wait time.Duration, done bool) {
	v := t.view()
	switch {
	case v.reached:
	case t.waiting(&t.reach, now, v.rtt):
		return 0, false
	case t.reach.n < t.o.Tries && !t.reach.never:
		if wait, ok := t.allow(&t.reach, 0, false); !ok {
			return wait, false
		}
		t.mark(&t.reach, now)
		t.s.Reach()
		return 0, false
	}
	wait, thereDone := t.stepThere(&v, now)
	w, backDone := t.stepBack(&v, now)
	return sooner(wait, w), thereDone && backDone
}

// sooner returns the shorter of two waits, of which 0 means that it is not known.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// allow asks for leave to send a packet. If there is none it returns how long to wait; what is never allowed is so marked.
func (t *tracer) allow(x *try, ttl int, back bool) (time.Duration, bool) {
	wait := t.o.Allow(t.s, ttl, back)
	if wait < 0 {
		x.never = true
	}
	return max(wait, 0), wait == 0
}

func (t *tracer) mark(x *try, now time.Time) {
	x.n++
	x.at = now
	t.sent++
}

// waiting tells whether an answer to the last try may still come.
func (t *tracer) waiting(x *try, now time.Time, rtt time.Duration) bool {
	return x.n > 0 && now.Sub(x.at) < 2*rtt+grace(x.n)
}

// stepThere asks the hops of the way there.
func (t *tracer) stepThere(v *view, now time.Time) (wait time.Duration, done bool) {
	last := v.forwardLen - 1
	if v.forwardLen == 0 {
		// The distance is not known: as far as somebody answers, and a block beyond.
		last = min(v.lastAnswered+block, t.o.MaxTTL)
		if t.silent(v, now) {
			last = v.lastAnswered
		}
	}
	var ttls []int
	done = true
	for ttl := 1; ttl <= last; ttl++ {
		x := &t.there[ttl]
		tries := t.o.Tries
		if v.answered[ttl] >= min(t.o.Repeat, max(x.n, 1)) && x.n >= t.o.Repeat || x.never {
			continue
		}
		missing := v.answered[ttl] == 0
		switch {
		case x.n < t.o.Repeat: // the first probes of a hop go without waiting
			done = false
			if v.serial && (x.n > 0 && t.waiting(x, now, v.rtt) || len(ttls) > 0) {
				continue
			}
		case missing && t.waiting(x, now, v.rtt):
			done = false
			if v.serial {
				return wait, false
			}
			continue
		case !missing && t.waiting(x, now, v.rtt) && v.answered[ttl] < x.n:
			done = false
			continue
		case missing && x.n < tries*t.o.Repeat:
			done = false
			if v.serial && len(ttls) > 0 {
				continue
			}
		default:
			continue
		}
		w, ok := t.allow(x, ttl, false)
		if !ok {
			wait = sooner(wait, w)
			continue
		}
		t.mark(x, now)
		t.expiring++
		ttls = append(ttls, ttl)
	}
	if len(ttls) > 0 {
		shuffle(ttls)
		t.s.expire(ttls, true)
	}
	return wait, done
}

// silent tells, where the destination is silent, that so many hops in a row are, too, that there is no point in going on.
func (t *tracer) silent(v *view, now time.Time) bool {
	if t.gaveUp {
		return true
	}
	for ttl := v.lastAnswered + 1; ttl <= min(v.lastAnswered+silentRun, t.o.MaxTTL); ttl++ {
		if x := &t.there[ttl]; !x.never && (x.n < t.o.Tries || t.waiting(x, now, v.rtt)) {
			return false
		}
	}
	t.gaveUp = true
	return true
}

// stepBack asks the hops of the way back.
func (t *tracer) stepBack(v *view, now time.Time) (wait time.Duration, done bool) {
	if t.o.NoBack || !v.reflector || v.backLen == 0 {
		return 0, true
	}
	var ttls []int
	waiting, missing := false, false
	for ttl := 1; ttl < v.backLen && ttl <= MaxTTL; ttl++ {
		x := &t.back[ttl]
		if v.backAnswered[ttl] || x.never {
			continue
		}
		switch {
		case x.n > 0 && now.Sub(x.at) < v.rtt+backGrace(x.n):
			waiting = true
			continue
		case x.n > 0 && v.lists == t.lists && t.list.n > 0 && t.waiting(&t.list, now, v.rtt):
			waiting = true
			continue
		case x.n > 0 && t.asked: // the reflector must first be asked what it has learnt
			missing = true
			continue
		case x.n >= t.o.Tries*t.o.Repeat:
			continue
		}
		w, ok := t.allow(x, ttl, true)
		if !ok {
			missing = true
			wait = sooner(wait, w)
			continue
		}
		t.mark(x, now)
		t.expiring++
		ttls = append(ttls, ttl)
	}
	if len(ttls) > 0 {
		shuffle(ttls)
		t.s.AskBack(ttls...)
		t.asked = true
		t.list = try{}
		return wait, false
	}
	if waiting {
		return wait, false
	}
	if t.asked && v.lists > t.lists {
		t.asked, t.lists = false, v.lists
		return 0, false
	}
	if t.asked && !t.waiting(&t.list, now, v.rtt) {
		if t.list.n >= t.o.Tries || t.list.never {
			return 0, true
		}
		if w, ok := t.allow(&t.list, 0, false); !ok {
			return w, t.list.never
		}
		t.mark(&t.list, now)
		t.s.AskHops(2*v.backLen + 4)
		return 0, false
	}
	return wait, !t.asked && !missing
}

// backGrace is how long the reflector is given to hear from a switch before it is asked.
func backGrace(try int) time.Duration { return grace(try) / 3 }

// end takes the trace's log away from the stream and makes the result.
func (t *tracer) end() Trace {
	v := t.view()
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = nil
	r := Trace{Flow: s.flow, Reached: v.reached, ForwardLen: v.forwardLen, Sent: t.sent, Expiring: t.expiring}
	if v.reached {
		r.Method = s.method
	}
	last := v.forwardLen - 1
	if v.forwardLen == 0 {
		last = v.lastAnswered
	}
	for ttl := 1; ttl <= last; ttl++ {
		h := t.log.hop(ttl)
		x := h.take(ttl)
		x.Sent = max(t.there[ttl].n, x.Answered)
		r.Hops = append(r.Hops, x)
	}
	if v.reached && v.forwardLen > 0 {
		n := max(t.reach.n, 1)
		r.Hops = append(r.Hops, Hop{TTL: v.forwardLen, Sent: n, Answered: 1, Responders: []Responder{{Addr: s.dst.Addr(), Answered: 1}}})
	}
	if v.reflector && v.backLen > 0 && !t.o.NoBack {
		r.BackLen = v.backLen
		r.BackKnown = v.backLen == 1 || v.lists > 0
		r.Back = backHops(t.log.back, v.backLen)
	}
	return r
}

// backHops sorts the hop list of a reflector by TTL.
func backHops(list []backHop, length int) []Hop {
	hops := make([]Hop, max(length-1, 0))
	for i := range hops {
		hops[i].TTL = i + 1
	}
	for _, b := range list {
		if int(b.ttl) < 1 || int(b.ttl) >= length {
			continue
		}
		h := &hops[b.ttl-1]
		h.Sent = int(b.sent)
		if b.addr != (netip.Addr{}) {
			h.Answered += int(b.answered)
			h.Responders = append(h.Responders, Responder{b.addr, int(b.answered), b.icmpType, b.icmpCode})
		}
	}
	for i := range hops {
		sortResponders(hops[i].Responders)
	}
	return hops
}
