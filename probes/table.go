package probes

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"time"
)

// A sessionKey tells sessions of one reflector port apart: sender and SSID.
type sessionKey struct {
	addr [16]byte
	port uint16
	ssid uint16
}

func keyOf(a netip.AddrPort, ssid uint16) sessionKey {
	return sessionKey{a.Addr().As16(), a.Port(), ssid}
}

// A reflected is what a reflector knows of one session.
type reflected struct {
	key        sessionKey
	cookie     uint32
	count      uint32 // packets received
	highest    uint32 // highest sequence number received
	seen       int64  // nanoseconds
	back       *backTrace
	prev, next int32 // neighbours in order of use; -1 at the ends
}

// A table holds the sessions of a reflector port, at most limit of them. The one that was idle for longest goes first.
// It is not safe for concurrent use.
type table struct {
	limit      int
	idle       time.Duration
	byKey      map[sessionKey]int32
	backBy     map[sessionKey]int32 // by sender without SSID: who asked for the way back last
	backs      int
	entries    []reflected
	free       []int32
	head, tail int32 // most and least recently used
	evicted    uint64
}

// maxBacks bounds the sessions of a table that may ask for the way back at the same time: each takes about 3 kB.
const maxBacks = 8192

func newTable(limit int, idle time.Duration) *table {
	return &table{limit: limit, idle: idle, byKey: map[sessionKey]int32{}, backBy: map[sessionKey]int32{}, head: -1, tail: -1}
}

// find returns a session that is there, or nil.
func (t *table) find(k sessionKey) *reflected {
	if i, ok := t.byKey[k]; ok {
		return &t.entries[i]
	}
	return nil
}

// touch returns the session of a key, which it makes if need be, as the most recently used.
// The pointer is valid until the next call.
func (t *table) touch(k sessionKey, now int64) *reflected {
	i, ok := t.byKey[k]
	if ok && now-t.entries[i].seen > int64(t.idle) {
		// Too old to be the same session: it begins anew.
		t.remove(i)
		ok = false
	}
	if ok {
		t.unlink(i)
	} else {
		i = t.add(k, now)
	}
	t.link(i)
	s := &t.entries[i]
	s.seen = now
	return s
}

func (t *table) add(k sessionKey, now int64) int32 {
	// A session that ended makes room for two, so that the table shrinks again.
	for n := 0; t.tail >= 0 && (len(t.byKey) >= t.limit || n < 2 && now-t.entries[t.tail].seen > int64(t.idle)); n++ {
		if now-t.entries[t.tail].seen <= int64(t.idle) {
			t.evicted++
		}
		t.remove(t.tail)
	}
	var i int32
	if n := len(t.free); n > 0 {
		i, t.free = t.free[n-1], t.free[:n-1]
	} else {
		i = int32(len(t.entries))
		t.entries = append(t.entries, reflected{})
	}
	// A cookie is never 0, which stands for none.
	t.entries[i] = reflected{key: k, cookie: rand.Uint32() | 1, prev: -1, next: -1}
	t.byKey[k] = i
	return i
}

func (t *table) remove(i int32) {
	s := &t.entries[i]
	t.unlink(i)
	delete(t.byKey, s.key)
	if s.back != nil {
		t.backs--
		if short := s.key.short(); t.backBy[short] == i {
			delete(t.backBy, short)
		}
	}
	*s = reflected{}
	t.free = append(t.free, i)
}

func (t *table) unlink(i int32) {
	s := &t.entries[i]
	if s.prev >= 0 {
		t.entries[s.prev].next = s.next
	} else if t.head == i {
		t.head = s.next
	}
	if s.next >= 0 {
		t.entries[s.next].prev = s.prev
	} else if t.tail == i {
		t.tail = s.prev
	}
	s.prev, s.next = -1, -1
}

func (t *table) link(i int32) {
	s := &t.entries[i]
	s.prev, s.next = -1, t.head
	if t.head >= 0 {
		t.entries[t.head].prev = i
	}
	t.head = i
	if t.tail < 0 {
		t.tail = i
	}
}

// short is the key without the SSID, which the shortest quotes of ICMP errors do not hold.
func (k sessionKey) short() sessionKey {
	k.ssid = 0
	return k
}

// A backTrace remembers who let the TTL-limited replies of one session expire.
type backTrace struct {
	round uint8
	sent  [maxBackTTL + 1]uint16
	hops  []backHop // at most maxBackHops
	asks  [64]backAsk
	next  int
}

// A backAsk is one TTL-limited reply whose error may still come.
type backAsk struct {
	seq  uint32 // the reflector's
	ttl  uint8  // 0: none, or its error has come
	sent int64  // nanoseconds
}

const (
	maxBackTTL  = 64
	maxBackHops = 96
)

// askBack notes a TTL-limited reply to a session. It tells whether there was room for it.
func (t *table) askBack(s *reflected, round, ttl uint8, now int64) bool {
	if ttl == 0 || ttl > maxBackTTL {
		return false
	}
	if s.back == nil {
		if t.backs >= maxBacks {
			return false
		}
		t.backs++
		s.back = &backTrace{round: round}
	}
	b := s.back
	t.backBy[s.key.short()] = t.byKey[s.key]
	if b.round != round {
		*b = backTrace{round: round, hops: b.hops[:0]}
	}
	if b.sent[ttl] < 1<<16-1 {
		b.sent[ttl]++
	}
	b.asks[b.next] = backAsk{s.count, ttl, now}
	b.next = (b.next + 1) % len(b.asks)
	return true
}

// shortQuoteTime is how long a TTL-limited reply may be answered by an error that quotes too little to say which it means.
const shortQuoteTime = int64(time.Second)

// backError notes an ICMP error for a reply that was sent to a sender. Quote is as much of the reply as the error holds.
// It tells whether the error belonged to a TTL-limited reply.
func (t *table) backError(to netip.AddrPort, quote []byte, icmpType, icmpCode uint8, from netip.Addr, now int64) bool {
	var s *reflected
	if len(quote) >= offSSID+2 {
		s = t.find(keyOf(to, binary.BigEndian.Uint16(quote[offSSID:])))
	} else if i, ok := t.backBy[keyOf(to, 0)]; ok {
		s = &t.entries[i]
	}
	if s == nil || s.back == nil {
		return false
	}
	b := s.back
	found := -1
	for i := range b.asks {
		switch a := &b.asks[i]; {
		case a.ttl == 0:
		case len(quote) >= offSeq+4:
			if a.seq == binary.BigEndian.Uint32(quote[offSeq:]) {
				found = i
			}
		case now-a.sent < shortQuoteTime:
			if found >= 0 {
				return false // more than one may be meant
			}
			found = i
		}
	}
	if found < 0 {
		return false
	}
	ttl := b.asks[found].ttl
	b.asks[found].ttl = 0
	for i := range b.hops {
		if h := &b.hops[i]; h.ttl == ttl && h.addr == from {
			h.icmpType, h.icmpCode = icmpType, icmpCode
			if h.answered < 1<<16-1 {
				h.answered++
			}
			return true
		}
	}
	if len(b.hops) < maxBackHops {
		b.hops = append(b.hops, backHop{ttl: ttl, icmpType: icmpType, icmpCode: icmpCode, answered: 1, addr: from})
	}
	return true
}

// list writes the hop list of a session into the value of a TLV and tells whether all found room. A TTL that nobody answered
// has one entry without an address.
func (b *backTrace) list(v []byte) bool {
	clear(v)
	if len(v) < hopsHeader {
		return false
	}
	room, n := (len(v)-hopsHeader)/hopSize, 0
	all := true
	put := func(h backHop) {
		if n == room || n == 255 {
			all = false
			return
		}
		h.encode(v[hopsHeader+n*hopSize:])
		n++
	}
	if b != nil {
		v[1] = b.round
		for ttl := range b.sent {
			if b.sent[ttl] == 0 {
				continue
			}
			some := false
			for _, h := range b.hops {
				if int(h.ttl) == ttl {
					h.sent = b.sent[ttl]
					put(h)
					some = true
				}
			}
			if !some {
				put(backHop{ttl: uint8(ttl), sent: b.sent[ttl]})
			}
		}
	}
	v[0] = uint8(n)
	return all
}
