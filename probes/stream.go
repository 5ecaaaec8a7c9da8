package probes

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"time"

	"whichlink/internal/evidence"
)

// A Stream is one flow as an engine probes it. Its methods may be called from any goroutine.
type Stream struct {
	flow      evidence.Flow
	dst       netip.AddrPort
	e         *Engine
	out       *outlet
	end       *farEnd
	size      int // of the UDP payload
	traceSize int // likewise, of probes that find out where paths go
	ssid      uint16

	mu      sync.Mutex // guards all below
	echoes  *ledger
	asks    asks
	tally   tally
	rtt     delays
	longest int64 // the longest round trip of late, nanoseconds

	late, duplicate, unknown, corruptForward, corruptBack, unsent, expired int

	forwardLen, backLen int
	clock               clockSample
	method              string
	ours                bool // the destination is one of our reflectors
	err                 error

	round       uint8     // of the trace of the way back
	trace       *traceLog // what a trace that is under way learns, or nil
	shortQuotes int       // ICMP errors that quoted too little to tell their probe
}

// Flow returns the flow that is probed.
func (s *Stream) Flow() evidence.Flow { return s.flow }

// ssidAsk is the SSID of the second session of a flow.
func (s *Stream) ssidAsk() uint16 { return s.ssid + 1 }

// answered takes a packet of the destination, and returns when the echo was sent that it answers; 0 if it answers something else.
func (s *Stream) answered(b []byte, m *meta, now int64) (sent int64) {
	a, err := parseAnswer(b)
	at := m.stamp
	if at == 0 {
		at = now
	}
	s.mu.Lock()
	if err != nil {
		s.unknown++
		s.mu.Unlock()
		return 0
	}
	mine := a.ssid == s.ssid || a.ssid == 0 && a.senderSeq < firstAsk
	if !mine && a.ssid != s.ssidAsk() && a.ssid != 0 {
		s.unknown++
		s.mu.Unlock()
		return 0
	}
	var asked ask
	if mine {
		sent = s.echoed(&a, m, at, now)
	} else {
		asked = s.replied(&a, m, at)
	}
	s.mu.Unlock()
	if asked.about != nil {
		// Another stream's account: its lock is taken only after ours was let go.
		asked.about.counted(&a.control, asked.upto)
	}
	return sent
}

// echoed enters the answer to an echo, which came at a time and is read now, and returns when the echo was sent; 0 if that is not known.
func (s *Stream) echoed(a *answer, m *meta, at, now int64) (sent int64) {
	how := counting{r: a.seq, cookie: a.control.cookie, counted: a.ok && a.control.flags&flagStateful != 0}
	switch {
	case a.ssid == 0:
		how.r, how.cookie = a.senderSeq, 0 // it knows no sessions: its count would be of both of ours
	case s.ours && !a.ok:
		how.damaged = true
	}
	s.ours = s.ours || a.ok
	probe, what := s.echoes.answer(a.senderSeq, how)
	if a.ok && probe.sent != 0 {
		s.end.told(&a.control, probe.sent)
	}
	switch what {
	case answerLate:
		s.late++
		s.overdue(a, &probe, at, now)
		return probe.sent
	case answerDuplicate:
		s.duplicate++
		return probe.sent
	case answerUnknown:
		s.unknown++
		return probe.sent
	}
	s.method = MethodSTAMP
	switch {
	case how.damaged && a.refused, a.ok && a.control.flags&flagCorrupt != 0:
		s.corruptForward++
	case how.damaged, a.corrupt:
		s.corruptBack++
	}
	s.lengths(a, m)
	rtt := at - probe.sent - int64(a.residence)
	if a.ok {
		s.clock.add(rtt, a.ahead(probe.sent, at))
	}
	s.delay(rtt, int64(probe.held))
	return probe.sent
}

// A clockSample is by how much a reflector's clock is ahead, as the answer told that came soonest (RFC 5905 section 10): the sooner, the less it can be wrong. The zero
// value is none.
type clockSample struct {
	rtt   int64
	ahead time.Duration
}

// slowestClock is what a round trip may take, in nanoseconds, for it to tell of a clock.
const slowestClock = int64(20 * time.Millisecond)

func (c *clockSample) add(rtt int64, ahead time.Duration) {
	if rtt > 0 && rtt < slowestClock && (c.rtt == 0 || rtt < c.rtt) {
		*c = clockSample{rtt, ahead}
	}
}

// overdue notes an answer to a probe that had been given up: nobody lost it. It says who did that if it would have come in time but for the
// reflector, which kept the probe waiting, or for this process, which read the answer late. A reflector that does not run after it has stamped an answer
// and before it sends it does not know that itself.
func (s *Stream) overdue(a *answer, probe *entry, at, now int64) {
	there, here := max(0, int64(a.residence)), max(0, now-at)+int64(probe.held)
	x := strain{evidence.Overdue, probe.sent, probe.sent, 1}
	switch {
	case probe.sent == 0:
		return
	case at-probe.sent-int64(probe.held)-there > s.e.cfg.patience(s.longest).timeout:
		x.what = evidence.Late
		s.end.strains.add(x)
	case there > here:
		s.end.strains.add(x)
	default:
		s.e.own.add(x)
	}
}

// lengths learns the lengths of both paths from the TTLs of an answer.
func (s *Stream) lengths(a *answer, m *meta) {
	if a.senderTTL > 0 && a.senderTTL <= initialTTL {
		s.forwardLen = initialTTL - int(a.senderTTL) + 1
	}
	if a.ok && m.ttl > 0 && m.ttl <= a.control.initialTTL {
		s.backLen = int(a.control.initialTTL-m.ttl) + 1
	}
}

// delay enters a round trip as this process saw it, of which this host held the probe for a while. The network's delay is without that;
// how long to wait for answers is not.
func (s *Stream) delay(rtt, held int64) {
	if rtt <= held {
		return
	}
	s.rtt.add(time.Duration(rtt - held))
	if rtt > s.longest {
		s.longest = rtt
	} else {
		s.longest -= s.longest >> 10
	}
}

// replied enters the answer to a probe of the second session, which it returns.
func (s *Stream) replied(a *answer, m *meta, at int64) ask {
	p := s.asks.find(a.senderSeq)
	if p == nil {
		s.late++
		return ask{}
	}
	p.fate = fateAnswered
	s.method = MethodSTAMP
	if a.ok {
		s.end.told(&a.control, p.sent)
	}
	rtt := at - p.sent - int64(a.residence)
	switch p.kind {
	case askExpire:
		s.hopAnswered(p, s.dst.Addr(), 0, 0, at)
		s.trace.reach(int(p.ttl), rtt)
		// Its TTL was not the full one, so only the length of the way back can be told.
		a.senderTTL = 0
	case askReach:
		s.trace.reach(0, rtt)
	case askHops:
		if hops, round := decodeHops(a.hops); a.hops != nil && round == s.round {
			s.trace.learn(hops)
		}
	}
	if s.trace != nil && a.ok {
		s.trace.reflector = true
	}
	s.lengths(a, m)
	s.longest = max(s.longest, rtt)
	return *p
}

// left notes when a probe left this host, as the kernel told, and reports whether it could be matched.
func (s *Stream) left(seq uint32, echo bool, at int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if echo {
		return s.echoes.left(seq, at)
	}
	p := s.asks.find(seq)
	if p == nil || at < p.sent || at-p.sent > maxHeld {
		return false
	}
	p.held = at - p.sent
	return true
}

// hopAnswered enters who answered a TTL-limited probe.
func (s *Stream) hopAnswered(p *ask, from netip.Addr, icmpType, icmpCode uint8, at int64) {
	p.from, p.icmpType, p.icmpCode, p.answered = from, icmpType, icmpCode, at
	s.asks.longest = max(s.asks.longest, at-p.sent)
	if p.traced && s.trace != nil {
		s.trace.hop(int(p.ttl)).answer(from, icmpType, icmpCode, p.rtt())
	}
}

// counted enters a reflector's count of the echoes of this stream, which another stream asked for.
func (s *Stream) counted(c *control, upto int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.flags&flagCount != 0 {
		s.echoes.count(c.queryCookie, c.count, upto)
	} else if c.flags&flagAnswer != 0 {
		s.echoes.count(0, 0, upto)
	}
}

// failed takes an ICMP error for a packet of this stream. Quote is as much of its payload as the error holds.
func (s *Stream) failed(quote []byte, m *meta, now int64) {
	at := m.stamp
	if at == 0 {
		at = now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// An error from the destination itself shows that the packet arrived.
	there := m.offender == s.dst.Addr() && m.portUnreachable()
	var p *ask
	if len(quote) >= offSeq+4 {
		seq := binary.BigEndian.Uint32(quote[offSeq:])
		if seq < firstAsk {
			s.echoFailed(seq, m, at, there)
			return
		}
		p = s.asks.find(seq)
	} else {
		s.shortQuotes++
		if m.timeExceeded() {
			p = s.asks.only()
		}
	}
	if p == nil {
		s.late++
		return
	}
	p.fate = fateAnswered
	if p.kind == askExpire {
		s.hopAnswered(p, m.offender, m.icmpType, m.icmpCode, at)
	}
	if there {
		s.method = MethodPortUnreachable
		s.trace.reach(int(p.ttl), at-p.sent)
	}
}

// echoFailed enters an ICMP error for an echo.
func (s *Stream) echoFailed(seq uint32, m *meta, at int64, there bool) {
	if !there {
		if m.timeExceeded() {
			s.expired++
		}
		return
	}
	switch probe, what := s.echoes.answer(seq, counting{r: seq}); what {
	case answerNew:
		s.method = MethodPortUnreachable
		s.delay(at-probe.sent, int64(probe.held))
	case answerLate:
		s.late++
	case answerDuplicate:
		s.duplicate++
	default:
		s.unknown++
	}
}

// hopPatience is how long a switch has to answer at least, once it is known how long such answers take.
const hopPatience = int64(250 * time.Millisecond)

// settle decides the fate of what can be decided.
func (s *Stream) settle(now int64) {
	p := s.e.cfg.patience(s.longest)
	s.echoes.settle(now, p, &s.tally)
	// Switches answer with their CPU, in their own time.
	wait := int64(s.e.cfg.Timeout)
	if s.asks.longest > 0 {
		wait = min(wait, max(hopPatience, 10*s.asks.longest))
	}
	s.asks.settle(now - wait)
}

// Take returns what was counted since it was last called, and begins anew.
func (s *Stream) Take() Window {
	now := time.Now().UnixNano()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(now)
	s.echoes.report(&s.tally)
	t := &s.tally
	w := Window{
		Flow: s.flow, Sent: t.sent, Lost: t.lost, Split: t.split, Waiting: t.waiting,
		Late: s.late, Duplicate: s.duplicate, Unknown: s.unknown, CorruptForward: s.corruptForward, CorruptBack: s.corruptBack,
		Unsent: s.unsent, Expired: s.expired, RTT: s.rtt.delay(), ForwardLen: s.forwardLen, BackLen: s.backLen,
		Method: s.method, Hops: s.asks.take(), Err: s.err,
	}
	if t.split {
		w.LostForward, w.LostBack = t.forward, t.back
	}
	if t.sent > 0 {
		w.From, w.To = time.Unix(0, t.first).UTC(), time.Unix(0, t.last).UTC()
	}
	for _, at := range t.lostAt {
		w.LostAt = append(w.LostAt, time.Unix(0, at).UTC())
	}
	if c := s.clock; c.rtt > 0 {
		w.Ahead = &c.ahead
	}
	s.clock = clockSample{}
	s.tally = tally{lostAt: t.lostAt[:0]}
	s.rtt.reset()
	s.late, s.duplicate, s.unknown, s.corruptForward, s.corruptBack, s.unsent, s.expired = 0, 0, 0, 0, 0, 0, 0
	s.err = nil
	return w
}

// Expire sends probes with TTLs of 1 to MaxTTL, which switches on the way will answer from their CPU. It returns how many the
// kernel took.
func (s *Stream) Expire(ttls ...int) int { return s.expire(ttls, false) }

func (s *Stream) expire(ttls []int, traced bool) int {
	var probes [MaxTTL]ask
	n := 0
	for len(ttls) > 0 {
		k := min(len(ttls), len(probes))
		for i, ttl := range ttls[:k] {
			probes[i] = ask{ttl: uint8(min(max(ttl, 1), MaxTTL)), kind: askExpire, traced: traced}
		}
		n += s.send(probes[:k], control{}, 0)
		ttls = ttls[k:]
	}
	return n
}

// Reach sends one probe with the full TTL that does not count as an echo, to learn whether and how the destination answers.
// It returns false if the kernel refuses.
func (s *Stream) Reach() bool { return s.send([]ask{{kind: askReach}}, control{}, 0) == 1 }

// AskBack asks the reflector to answer once for each of the TTLs with that TTL, so that a switch on the way back answers the
// reflector, which remembers it until AskHops. It returns how many the kernel took.
func (s *Stream) AskBack(ttls ...int) int {
	var probes [MaxTTL]ask
	n := 0
	for len(ttls) > 0 {
		k := min(len(ttls), len(probes))
		for i, ttl := range ttls[:k] {
			probes[i] = ask{ttl: uint8(min(max(ttl, 1), MaxTTL)), kind: askBack}
		}
		n += s.send(probes[:k], control{ops: opReplyTTL}, 0)
		ttls = ttls[k:]
	}
	return n
}

// AskHops asks the reflector for at most n hops of the way back that it remembers. It returns false if the kernel refuses.
func (s *Stream) AskHops(n int) bool {
	return s.send([]ask{{kind: askHops}}, control{ops: opHops}, min(max(n, 1), maxBackHops)) == 1
}

// AskCount asks, along this stream, for the reflector's count of another one to the same destination. The answer tells on which
// way the other's echoes were lost even if none comes back. It returns false if the kernel refuses.
func (s *Stream) AskCount(about *Stream) bool {
	about.mu.Lock()
	upto := time.Now().UnixNano() - s.e.cfg.patience(about.longest).quick
	about.mu.Unlock()
	c := control{ops: opCount, queryPort: about.flow.SrcPort, querySSID: about.ssid}
	if about.flow.Src != s.flow.Src { // else it is said by who sends, under whatever address that arrives
		c.queryFrom = about.flow.Src
	}
	return s.send([]ask{{kind: askCount, about: about, upto: upto}}, c, 0) == 1
}

// Lengths are the lengths of the two paths of a flow in links, as the last answer told; 0 where unknown.
type Lengths struct{ Forward, Back int }

// Lengths returns the lengths of the stream's paths.
func (s *Stream) Lengths() Lengths {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Lengths{s.forwardLen, s.backLen}
}

// Pending returns how many echoes are not decided yet, and how many of them are lost and wait for the way of their loss to be told.
func (s *Stream) Pending() (undecided, waiting int) {
	now := time.Now().UnixNano()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(now)
	return int(s.echoes.next - s.echoes.tail), s.tally.waiting
}

// Method returns how the destination answered so far; empty if it did not.
func (s *Stream) Method() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.method
}
