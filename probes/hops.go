package probes

import (
	"net/netip"
	"slices"
	"time"

	"whichlink/internal/evidence"
)

// MaxTTL is the largest TTL of a probe that is to expire.
const MaxTTL = 64

// A Responder is an address that answered at a hop.
type Responder struct {
	Addr     netip.Addr
	Answered int
	// Type and Code are those of its last ICMP message; 0 and 0 where it answered as the destination.
	Type, Code uint8
}

// A Hop counts the probes of one flow and one TTL.
type Hop struct {
	TTL int
	// Sent counts probes which were answered or whose time to be answered has passed, Answered the answers. Unanswered is not lost.
	Sent, Answered int
	// Responders are who answered, the most frequent first; at most maxResponders of them, the rest is counted in Answered alone.
	Responders []Responder
	// RTT is absent where it was not measured, as on the way back.
	RTT *evidence.Delay
}

// Address returns who answered most, or the zero Addr.
func (h *Hop) Address() netip.Addr {
	if len(h.Responders) == 0 {
		return netip.Addr{}
	}
	return h.Responders[0].Addr
}

const maxResponders = 8

// A hopCount is a Hop as it is counted.
type hopCount struct {
	sent, answered int
	responders     []Responder
	rtt            delays
}

func (h *hopCount) answer(from netip.Addr, icmpType, icmpCode uint8, rtt time.Duration) {
	h.sent++
	h.answered++
	if rtt > 0 {
		h.rtt.add(rtt)
	}
	for i := range h.responders {
		if r := &h.responders[i]; r.Addr == from {
			r.Answered++
			r.Type, r.Code = icmpType, icmpCode
			return
		}
	}
	if len(h.responders) < maxResponders {
		h.responders = append(h.responders, Responder{from, 1, icmpType, icmpCode})
	}
}

// take returns what was counted and begins anew.
func (h *hopCount) take(ttl int) Hop {
	x := Hop{TTL: ttl, Sent: h.sent, Answered: h.answered, Responders: slices.Clone(h.responders), RTT: h.rtt.delay()}
	sortResponders(x.Responders)
	h.sent, h.answered, h.responders = 0, 0, h.responders[:0]
	h.rtt.reset()
	return x
}

func sortResponders(r []Responder) {
	slices.SortStableFunc(r, func(a, b Responder) int { return b.Answered - a.Answered })
}

// The kinds of probes of the second session of a flow, which must not disturb the count of its echoes.
const (
	askExpire = iota // a TTL-limited probe
	askReach         // a probe with the full TTL, to learn the lengths of the paths
	askBack          // a reply with a TTL on demand
	askHops          // a question for the hops of the way back
	askCount         // a question for the count of another session
)

// An ask is one probe of the second session.
type ask struct {
	sent int64 // nanoseconds since 1970
	held int64 // for how long this host had it then, in nanoseconds; 0 where the kernel did not tell
	ttl  uint8
	kind uint8
	fate uint8
	// traced tells that a trace sent it.
	traced bool
	// Of a TTL-limited probe that was answered: by whom, with what, and when.
	from               netip.Addr
	icmpType, icmpCode uint8
	answered           int64
	// about is, for a question for a count, whom it is about, and upto what had been sent when it was asked.
	about *Stream
	upto  int64
}

// rtt is the round trip of a TTL-limited probe that was answered.
func (x *ask) rtt() time.Duration { return time.Duration(x.answered - x.sent - x.held) }

// firstAsk is the first sequence number of the second session of a flow. It is far from those of the first, so that the two are
// told apart where the SSID is not quoted or not sent back. RFC 8762 has sessions start at 0; no reflector needs that here.
const firstAsk = 1 << 31

// asks are the outstanding probes of the second session, in a ring. When it is full the oldest counts as unanswered.
type asks struct {
	ring [256]ask
	next uint32
	tail uint32
	hops []hopCount // by TTL; grows as needed
	// longest is the longest that a switch took to answer, in nanoseconds.
	longest int64
}

// enter notes a probe and returns its sequence number.
func (a *asks) enter(x ask) uint32 {
	if a.next-a.tail == uint32(len(a.ring)) {
		a.expire()
	}
	a.ring[a.next%uint32(len(a.ring))] = x
	a.next++
	return a.next - 1
}

// find returns an outstanding probe, or nil.
func (a *asks) find(seq uint32) *ask {
	if seq-a.tail >= a.next-a.tail {
		return nil
	}
	if x := &a.ring[seq%uint32(len(a.ring))]; x.fate == fateNone {
		return x
	}
	return nil
}

// only returns the TTL-limited probe that is outstanding, if it is the only one of its kind.
func (a *asks) only() *ask {
	var found *ask
	for s := a.tail; s != a.next; s++ {
		x := &a.ring[s%uint32(len(a.ring))]
		if x.fate == fateNone && x.kind == askExpire {
			if found != nil {
				return nil
			}
			found = x
		}
	}
	return found
}

// expire decides the oldest probe.
func (a *asks) expire() {
	x := &a.ring[a.tail%uint32(len(a.ring))]
	if x.kind == askExpire {
		switch h := a.hop(int(x.ttl)); x.fate {
		case fateNone:
			h.sent++
		case fateAnswered:
			h.answer(x.from, x.icmpType, x.icmpCode, x.rtt())
		}
	}
	x.about = nil
	a.tail++
}

// settle decides what was sent before a time. Answers wait for that time, too: if they counted at once, and silence later, a hop
// would look better than it is to whoever asks in between.
func (a *asks) settle(before int64) {
	for a.tail != a.next && a.ring[a.tail%uint32(len(a.ring))].sent <= before {
		a.expire()
	}
}

// hop returns the count of a TTL.
func (a *asks) hop(ttl int) *hopCount {
	for len(a.hops) <= ttl {
		a.hops = append(a.hops, hopCount{})
	}
	return &a.hops[ttl]
}

// take returns the hops with anything in them.
func (a *asks) take() []Hop {
	var all []Hop
	for ttl := range a.hops {
		if a.hops[ttl].sent > 0 {
			all = append(all, a.hops[ttl].take(ttl))
		}
	}
	return all
}
