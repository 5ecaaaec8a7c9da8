package probes

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// ReflectorStats counts what a reflector did since it began.
type ReflectorStats struct {
	Received, Answered uint64
	// Short, Answers, Truncated, NotAllowed, NotUnicast and FromReflector are packets that were dropped: no STAMP packets,
	// answers that went astray, too long for the buffer, from outside the allowed prefixes, sent to a group or broadcast
	// address, from a source port on which reflectors answer.
	Short, Answers, Truncated, NotAllowed, NotUnicast, FromReflector uint64
	// Malformed are packets with TLVs that could not be read; they were answered, and told so.
	Malformed uint64
	// Corrupt are packets whose padding came in changed.
	Corrupt uint64
	// Expiring are replies with a TTL on demand, Refused those for which there was no budget, Errors the ICMP errors that
	// came for replies.
	Expiring, Refused, Errors uint64
	// Evicted are sessions that had to go for others before their time.
	Evicted uint64
	// Unsent are answers that the kernel did not take.
	Unsent uint64
	// Crowded are packets for which there was no room as this process was too slow to read; they are not in Received.
	Crowded uint64
}

// counters are ReflectorStats as they are counted.
type counters struct {
	received, answered, short, answers, truncated, notAllowed, notUnicast, fromReflector atomic.Uint64
	malformed, corrupt, expiring, refused, errors, evicted, unsent, crowded              atomic.Uint64
}

func (c *counters) stats() ReflectorStats {
	return ReflectorStats{
		Received: c.received.Load(), Answered: c.answered.Load(),
		Short: c.short.Load(), Answers: c.answers.Load(), Truncated: c.truncated.Load(), NotAllowed: c.notAllowed.Load(),
		NotUnicast: c.notUnicast.Load(), FromReflector: c.fromReflector.Load(), Malformed: c.malformed.Load(),
		Corrupt: c.corrupt.Load(), Expiring: c.expiring.Load(), Refused: c.refused.Load(), Errors: c.errors.Load(),
		Evicted: c.evicted.Load(), Unsent: c.unsent.Load(), Crowded: c.crowded.Load(),
	}
}

// A bucket is a token bucket.
type bucket struct {
	mu     sync.Mutex // guards tokens and filled
	tokens float64
	filled int64   // nanoseconds
	rate   float64 // a second; also the bucket's size
}

func (b *bucket) take(now int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.filled == 0 {
		b.tokens = b.rate
	} else if now > b.filled {
		b.tokens = min(b.rate, b.tokens+float64(now-b.filled)/1e9*b.rate)
	}
	b.filled = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// A mirror turns requests into answers: the reflector without its sockets. One serves one socket; what it shares with the
// others of its reflector is safe for that.
type mirror struct {
	sessions *table
	count    *counters
	expiring *bucket
	allow    []netip.Prefix
	ports    []uint16
}

// An arrival is what is known of a request beside its payload.
type arrival struct {
	from     netip.AddrPort
	to       netip.Addr // invalid if not known
	ttl      uint8      // 0 if not known
	received int64      // nanoseconds since 1970
	// crowded is how many messages found no room in the socket until this one came, unsent how many answers were not sent from it; counted tells that
	// this is known.
	crowded, unsent uint16
	counted         bool
}

// reflect turns the request in b into its answer, in place, and so of the same length. It returns the TTL with which to send the
// answer, or false if there is to be none. Now is the time of sending.
func (m *mirror) reflect(b []byte, a arrival, now int64) (ttl uint8, ok bool) {
	m.count.received.Add(1)
	switch {
	case len(b) < baseSize:
		m.count.short.Add(1)
		return 0, false
	case !m.allowed(a.from.Addr()):
		m.count.notAllowed.Add(1)
		return 0, false
	case m.fromReflector(a.from.Port()):
		m.count.fromReflector.Add(1)
		return 0, false
	case !zero(b[offMBZ:baseSize]):
		// RFC 8762 has receivers ignore these bytes. But in an answer they hold times and the sender's TTL, and two reflectors
		// of which each takes the other's answers for requests would never stop.
		m.count.answers.Add(1)
		return 0, false
	}
	seq, ssid := binary.BigEndian.Uint32(b[offSeq:]), binary.BigEndian.Uint16(b[offSSID:])
	var c control
	var controlValue, hopsValue, padding []byte
	for rest := b[baseSize:]; len(rest) > 0; {
		t, err := nextTLV(rest)
		if err != nil {
			m.count.malformed.Add(1)
			rest[0] = rest[0]&^tlvUnrecognized | tlvMalformed
			break
		}
		flags := uint8(0)
		switch t.kind {
		case tlvPadding:
			padding = t.value
		case tlvControl:
			if c.decode(t.value) == nil {
				controlValue = t.value
			} else {
				flags = tlvUnrecognized
			}
		case tlvHops:
			hopsValue = t.value
		default:
			flags = tlvUnrecognized
		}
		rest[0] = flags
		rest = rest[tlvHeader+len(t.value):]
	}
	if c.flags&flagAnswer != 0 {
		m.count.answers.Add(1)
		return 0, false
	}
	evicted := m.sessions.evicted
	s := m.sessions.touch(keyOf(a.from, ssid), a.received)
	m.count.evicted.Add(m.sessions.evicted - evicted)
	corrupt := c.ops&opVerify != 0 && !patternHolds(padding, ssid, seq)
	if corrupt {
		m.count.corrupt.Add(1)
		c.flags |= flagCorrupt
	} else if s.count == 0 || int32(seq-s.highest) > 0 {
		s.highest = seq
	}
	ttl = initialTTL
	if controlValue != nil {
		ttl = m.control(&c, s, a, hopsValue, now)
		c.encode(controlValue)
	}
	copy(b[offSenderSeq:offSenderError+2], b[offSeq:offSSID])
	b[offSenderError+2], b[offSenderError+3] = 0, 0
	b[offSenderTTL] = a.ttl
	binary.BigEndian.PutUint32(b[offSeq:], s.count)
	binary.BigEndian.PutUint64(b[offTime:], toNTP(now))
	binary.BigEndian.PutUint16(b[offError:], errorEstimate)
	binary.BigEndian.PutUint64(b[offReceived:], toNTP(a.received))
	s.count++
	m.count.answered.Add(1)
	return ttl, true
}

// control does what the control TLV asks and fills in the answer to it. It returns the TTL of the reply.
func (m *mirror) control(c *control, s *reflected, a arrival, hops []byte, now int64) uint8 {
	ttl := uint8(initialTTL)
	c.flags |= flagAnswer | flagStateful
	c.cookie = s.cookie
	if c.crowded = 0; a.counted {
		c.flags |= flagCrowded
		c.crowded = a.crowded
		if c.ops&opCount == 0 {
			c.flags |= flagRefusing
			c.queryPort = a.unsent
		}
	}
	if c.ops&opReplyTTL != 0 && c.replyTTL != 0 {
		if m.expiring.take(now) && m.sessions.askBack(s, c.round, c.replyTTL, now) {
			m.count.expiring.Add(1)
			ttl = c.replyTTL
		} else {
			m.count.refused.Add(1)
			c.flags |= flagRefused
		}
	}
	c.initialTTL = ttl
	if c.ops&opHops != 0 && !s.back.list(hops) {
		c.flags |= flagMore
	}
	if c.ops&opCount != 0 {
		from := cmp.Or(c.queryFrom, a.from.Addr())
		if q := m.sessions.find(keyOf(netip.AddrPortFrom(from, c.queryPort), c.querySSID)); q != nil {
			c.flags |= flagCount
			c.count, c.highest, c.queryCookie = q.count, q.highest, q.cookie
		}
	}
	return ttl
}

// icmp notes an ICMP error for an answer.
func (m *mirror) icmp(to netip.AddrPort, quote []byte, icmpType, icmpCode uint8, from netip.Addr, now int64) {
	m.count.errors.Add(1)
	m.sessions.backError(to, quote, icmpType, icmpCode, from, now)
}

func (m *mirror) allowed(a netip.Addr) bool {
	if len(m.allow) == 0 {
		return true
	}
	for _, p := range m.allow {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// fromReflector tells whether a source port is one on which reflectors answer: ours, or the well-known one.
func (m *mirror) fromReflector(port uint16) bool {
	if port == Port || port == 0 {
		return true
	}
	for _, p := range m.ports {
		if p == port {
			return true
		}
	}
	return false
}

func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// Defaults of a reflector.
const (
	defaultSessions = 65536
	defaultIdle     = 5 * time.Minute
	defaultExpiring = 1000
)
