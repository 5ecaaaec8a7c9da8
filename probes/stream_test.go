//go:build linux

package probes

import (
	"net/netip"
	"testing"
	"time"
)

func testStream() *Stream {
	s := &Stream{dst: netip.MustParseAddrPort("10.0.0.9:862"), e: &Engine{cfg: Config{}.withDefaults()}, ssid: 4, echoes: newLedger(16)}
	s.asks.next, s.asks.tail = firstAsk, firstAsk
	return s
}

// ICMP errors that quote less than whole packets (RFC 792 demands 8 bytes after the IP header, which leaves none of the payload).
func TestShortQuotes(t *testing.T) {
	router := netip.MustParseAddr("10.0.0.1")
	m := &meta{origin: originICMP, icmpType: icmp4TimeExceeded, offender: router}
	for _, c := range []struct {
		name  string
		quote int
		ttls  []uint8
		hops  int
	}{
		{"whole", 200, []uint8{1, 2}, 1},
		{"eight bytes of payload", 8, []uint8{1, 2}, 1},
		{"none, one outstanding", 0, []uint8{2}, 1},
		{"none, two outstanding", 0, []uint8{1, 2}, 0},
		{"three bytes, one outstanding", 3, []uint8{2}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := testStream()
			now := time.Now().UnixNano()
			var b []byte
			for _, ttl := range c.ttls {
				seq := s.asks.enter(ask{sent: now, ttl: ttl, kind: askExpire})
				b = make([]byte, 300)
				b = b[:(&request{seq: seq, ssid: s.ssidAsk(), size: 200}).put(b)]
			}
			s.failed(b[:min(c.quote, len(b))], m, now+1000)
			s.asks.settle(now)
			answered := 0
			for _, h := range s.asks.take() {
				answered += h.Answered
				if h.Answered > 0 && (h.TTL != 2 || h.Address() != router) {
					t.Errorf("%+v", h)
				}
			}
			if answered != c.hops {
				t.Errorf("%d hops answered, wanted %d", answered, c.hops)
			}
		})
	}
}

// Errors of routers on the way are no answers of the destination; an echo that expires tells of a loop.
func TestEchoErrors(t *testing.T) {
	s := testStream()
	now := time.Now().UnixNano()
	seq, _ := s.echoes.send(now)
	b := make([]byte, 300)
	b = b[:(&request{seq: seq, ssid: s.ssid, size: 200}).put(b)]
	s.failed(b, &meta{origin: originICMP, icmpType: icmp4TimeExceeded, offender: netip.MustParseAddr("10.0.0.1")}, now)
	s.failed(b, &meta{origin: originICMP, icmpType: icmp4Unreachable, icmpCode: icmp4PortUnreachable, offender: netip.MustParseAddr("10.0.0.1")}, now)
	if w := s.Take(); w.Sent != 0 || w.Expired != 1 || w.Method != "" {
		t.Errorf("%+v", w)
	}
	s.failed(b, &meta{origin: originICMP, icmpType: icmp4Unreachable, icmpCode: icmp4PortUnreachable, offender: s.dst.Addr()}, now+5000)
	if w := s.Take(); w.Sent != 1 || w.Lost != 0 || w.Method != MethodPortUnreachable || w.Split || w.RTT == nil {
		t.Errorf("%+v", w)
	}
}

// A foreign reflector: it knows no TLVs (U flag stays) and counts, or copies, or leaves the SSID out.
func TestForeignReflector(t *testing.T) {
	for _, c := range []struct {
		name  string
		ssid  bool
		count bool
		split bool
	}{{"copies", true, false, false}, {"counts", true, true, true}, {"counts, without SSID", false, true, false}} {
		t.Run(c.name, func(t *testing.T) {
			s := testStream()
			now := time.Now().UnixNano() - int64(5*time.Second)
			r := uint32(0)
			for i := range 8 {
				seq, _ := s.echoes.send(now)
				if i == 2 || i == 5 {
					continue // lost forward
				}
				m := newMirror()
				b := make([]byte, 300)
				b = b[:(&request{seq: seq, ssid: s.ssid, size: 200}).put(b)]
				m.reflect(b, arrival{from: testSender, ttl: 60, received: now}, now)
				copy(b[baseSize:], make([]byte, len(b)-baseSize)) // as a reflector that cuts what it does not know
				b = b[:baseSize]
				b[3] = byte(seq)
				if c.count {
					b[3] = byte(r)
				}
				if !c.ssid {
					b[offSSID], b[offSSID+1] = 0, 0
				}
				r++
				s.answered(b, &meta{stamp: now + 1000, ttl: 61}, now+1000)
			}
			w := s.Take()
			if w.Sent != 8 || w.Lost != 2 || w.Split != c.split || w.ForwardLen != 5 || w.BackLen != 0 || w.Method != MethodSTAMP {
				t.Errorf("%+v", w)
			}
			if c.split && (w.LostForward != 1 || w.LostBack != 0) {
				t.Errorf("the loss after the first other number: %+v", w)
			}
		})
	}
}

// Garbage from the network does not disturb a stream.
func FuzzAnswer(f *testing.F) {
	b := make([]byte, 300)
	b = b[:(&request{seq: 0, ssid: 4, size: 200}).put(b)]
	newMirror().reflect(b, arrival{from: testSender, ttl: 60, received: 1}, 2)
	f.Add(b, false)
	f.Add(b[:20], true)
	s := testStream()
	f.Fuzz(func(t *testing.T, b []byte, isError bool) {
		now := time.Now().UnixNano()
		s.echoes.send(now)
		s.asks.enter(ask{sent: now, ttl: 3, kind: askExpire})
		s.asks.enter(ask{sent: now, kind: askHops})
		m := &meta{origin: originICMP, icmpType: icmp4TimeExceeded, offender: s.dst.Addr(), ttl: 60}
		if isError {
			s.failed(b, m, now)
		} else {
			s.answered(b, m, now)
		}
		if w := s.Take(); w.Lost > w.Sent || w.LostForward+w.LostBack > w.Lost || w.LostForward < 0 || w.LostBack < 0 {
			t.Errorf("%+v", w)
		}
	})
}
