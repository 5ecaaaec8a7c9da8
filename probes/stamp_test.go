package probes

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var testSender = netip.MustParseAddrPort("10.0.0.1:50000")

func newMirror() *mirror {
	return &mirror{sessions: newTable(64, time.Minute), count: &counters{}, expiring: &bucket{rate: 1000}, ports: []uint16{Port, 5000}}
}

// The bytes on the wire, field by field, as RFC 8762 and RFC 8972 draw them and control.go documents.
func TestRequestBytes(t *testing.T) {
	r := request{seq: 0x01020304, ssid: 0xabcd, at: 1_500_000_000, size: minRequest + tlvHeader + 8,
		control: control{ops: opReplyTTL, replyTTL: 3, round: 9, queryPort: 50001, querySSID: 0x1234, queryFrom: netip.MustParseAddr("10.1.2.3")}}
	b := make([]byte, 200)
	got := hex.EncodeToString(b[:r.put(b)])
	want := strings.Join([]string{
		"01020304",         // sequence number
		"83aa7e8180000000", // 1.5 s after 1970 in NTP format
		"0001", "abcd",     // error estimate, SSID
		strings.Repeat("00", 28), // MBZ
		"80010008",               // extra padding, 8 bytes
		hex.EncodeToString(pattern(8, 0xabcd, 0x01020304)),
		"80fc001c", "01", "03", "03", "00", "00", "09", "c351", "1234", "0000", // control
		strings.Repeat("00", 10), "ffff0a010203",
	}, "")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func pattern(n int, ssid uint16, seq uint32) []byte {
	b := make([]byte, n)
	putPattern(b, ssid, seq)
	return b
}

func TestReflect(t *testing.T) {
	for _, c := range []struct {
		name string
		r    request
		hurt func(b []byte)
		want func(t *testing.T, a answer, ttl uint8)
	}{
		{"plain", request{seq: 7, ssid: 5, size: 200}, nil, func(t *testing.T, a answer, ttl uint8) {
			want := control{ops: opVerify, initialTTL: initialTTL, flags: flagAnswer | flagStateful, cookie: a.control.cookie}
			if !a.ok || a.control != want || a.senderSeq != 7 || a.ssid != 5 || a.seq != 0 || a.senderTTL != 61 || ttl != initialTTL || a.corrupt ||
				a.residence < 900*time.Nanosecond || a.residence > 1100*time.Nanosecond {
				t.Errorf("%+v ttl %d", a, ttl)
			}
		}},
		{"no padding", request{seq: 7, ssid: 5}, nil, func(t *testing.T, a answer, ttl uint8) {
			if !a.ok || a.corrupt || a.control.ops != 0 {
				t.Errorf("%+v", a)
			}
		}},
		{"payload changed", request{seq: 7, ssid: 5, size: 200}, func(b []byte) { b[60] ^= 1 }, func(t *testing.T, a answer, ttl uint8) {
			if a.control.flags&flagCorrupt == 0 {
				t.Errorf("%+v", a)
			}
		}},
		{"sequence number changed", request{seq: 7, ssid: 5, size: 200}, func(b []byte) { b[2] ^= 1 }, func(t *testing.T, a answer, ttl uint8) {
			if a.control.flags&flagCorrupt == 0 {
				t.Errorf("%+v", a)
			}
		}},
		{"control changed", request{seq: 7, ssid: 5}, func(b []byte) { b[baseSize+tlvHeader] ^= 1 }, func(t *testing.T, a answer, ttl uint8) {
			if a.ok || !a.refused {
				t.Errorf("%+v", a)
			}
		}},
		{"reply TTL", request{seq: 7, ssid: 5, control: control{ops: opReplyTTL, replyTTL: 3}}, nil, func(t *testing.T, a answer, ttl uint8) {
			if ttl != 3 || a.control.initialTTL != 3 || a.control.flags&flagRefused != 0 {
				t.Errorf("%+v ttl %d", a, ttl)
			}
		}},
		{"hops unknown", request{seq: 7, ssid: 5, hops: 4, control: control{ops: opHops}}, nil, func(t *testing.T, a answer, ttl uint8) {
			if len(a.hops) != hopsSize(4) || a.hops[0] != 0 {
				t.Errorf("%+v", a)
			}
		}},
		{"count of nobody", request{seq: 7, ssid: 5, control: control{ops: opCount, queryPort: 1}}, nil, func(t *testing.T, a answer, ttl uint8) {
			if a.control.flags&flagCount != 0 {
				t.Errorf("%+v", a)
			}
		}},
		{"count of itself", request{seq: 7, ssid: 5, control: control{ops: opCount, queryPort: 50000, querySSID: 5}}, nil, func(t *testing.T, a answer, ttl uint8) {
			if a.control.flags&flagCount == 0 || a.control.highest != 7 || a.control.queryCookie != a.control.cookie {
				t.Errorf("%+v", a)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := make([]byte, 1000)
			b = b[:c.r.put(b)]
			if c.hurt != nil {
				c.hurt(b)
			}
			before := len(b)
			ttl, ok := newMirror().reflect(b, arrival{from: testSender, ttl: 61, received: 5_000_000_000}, 5_000_001_000)
			if !ok || len(b) != before {
				t.Fatalf("no answer, or one of another length")
			}
			a, err := parseAnswer(b)
			if err != nil {
				t.Fatal(err)
			}
			c.want(t, a, ttl)
		})
	}
}

// TestAhead: an answer tells by how much the reflector's clock is ahead or behind, whatever it takes to answer; of several, the one that took the least time.
func TestAhead(t *testing.T) {
	const way, held = 40 * time.Microsecond, 2 * time.Millisecond
	for _, off := range []time.Duration{0, 1400 * time.Millisecond, -90 * time.Second, 56 * 365 * 24 * time.Hour} {
		sent := time.Date(2026, 11, 20, 3, 0, 0, 123456789, time.UTC)
		in := sent.Add(off + way)
		b := make([]byte, 200)
		b = b[:(&request{seq: 7, ssid: 5, at: sent.UnixNano()}).put(b)]
		if _, ok := newMirror().reflect(b, arrival{from: testSender, ttl: 61, received: in.UnixNano()}, in.Add(held).UnixNano()); !ok {
			t.Fatal("no answer")
		}
		a, err := parseAnswer(b)
		if err != nil {
			t.Fatal(err)
		}
		got := a.ahead(sent.UnixNano(), sent.Add(held+2*way).UnixNano())
		if d := (got - off).Abs(); d > time.Microsecond {
			t.Errorf("%v is told for a clock that is %v ahead", got, off)
		}
	}
	var c clockSample
	for _, x := range []clockSample{{int64(slowestClock), 9}, {0, 9}, {3000, 1}, {2000, 2}, {2500, 3}} {
		c.add(x.rtt, x.ahead)
	}
	if c.ahead != 2 {
		t.Errorf("told is %v", c.ahead)
	}
}

// What must not be answered, and why.
func TestReflectRefuses(t *testing.T) {
	good := func() []byte {
		b := make([]byte, 200)
		return b[:(&request{seq: 1, ssid: 5}).put(b)]
	}
	answered := good()
	newMirror().reflect(answered, arrival{from: testSender, ttl: 61, received: 5e9}, 5e9)
	m := newMirror()
	m.allow = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}
	for _, c := range []struct {
		name string
		b    []byte
		from string
		got  func() uint64
	}{
		{"short", good()[:43], "10.0.0.1:50000", m.count.short.Load},
		{"empty", nil, "10.0.0.1:50000", m.count.short.Load},
		{"an answer", answered, "10.0.0.1:50000", m.count.answers.Load},
		{"an answer cut to the base", answered[:baseSize], "10.0.0.1:50001", m.count.answers.Load},
		{"from a port of ours", good(), "10.0.0.1:5000", m.count.fromReflector.Load},
		{"from the well-known port", good(), "10.0.0.1:862", m.count.fromReflector.Load},
		{"not allowed", good(), "10.0.1.1:50000", m.count.notAllowed.Load},
	} {
		before := c.got()
		if _, ok := m.reflect(c.b, arrival{from: netip.MustParseAddrPort(c.from), received: 1}, 1); ok || c.got() != before+1 {
			t.Errorf("%s: answered %v, counted %d", c.name, ok, c.got()-before)
		}
	}
	if len(m.sessions.byKey) != 0 {
		t.Error("refused packets made sessions")
	}
}

// TLVs that are not known come back marked and whole, broken ones marked.
func TestReflectTLVs(t *testing.T) {
	b := make([]byte, 200)
	n := (&request{seq: 1, ssid: 5}).put(b)
	copy(putTLV(b[n:], 4, 4), "cos!")
	n += tlvHeader + 4
	b[n], b[n+1], b[n+2], b[n+3] = tlvUnrecognized, 1, 0xff, 0xff // longer than the packet
	n += tlvHeader
	b = b[:n]
	if _, ok := newMirror().reflect(b, arrival{from: testSender, received: 1}, 1); !ok {
		t.Fatal("no answer")
	}
	got := []byte{b[baseSize], b[minRequest], b[minRequest+8]}
	if d := cmp.Diff([]byte{0, tlvUnrecognized, tlvMalformed}, got); d != "" {
		t.Error(d)
	}
	if string(b[minRequest+4:minRequest+8]) != "cos!" {
		t.Error("an unknown TLV was changed")
	}
}

func TestCountAndHops(t *testing.T) {
	m := newMirror()
	sendFrom := func(addr netip.Addr, port uint16, r request) answer {
		b := make([]byte, 1000)
		b = b[:r.put(b)]
		if _, ok := m.reflect(b, arrival{from: netip.AddrPortFrom(addr, port), ttl: 60, received: 1}, 1); !ok {
			t.Fatal("no answer")
		}
		a, err := parseAnswer(b)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	send := func(port uint16, r request) answer { return sendFrom(testSender.Addr(), port, r) }
	for seq := range uint32(5) {
		if a := send(50000, request{seq: 2 * seq, ssid: 6}); a.seq != seq {
			t.Errorf("reflector's number %d of packet %d", a.seq, seq)
		}
	}
	if a := send(50001, request{ssid: 8, control: control{ops: opCount, queryPort: 50000, querySSID: 6}}); a.control.count != 5 || a.control.highest != 8 {
		t.Errorf("count %+v", a.control)
	}
	// A host of several addresses asks from one about what it sent from another.
	about := control{ops: opCount, queryPort: 50000, querySSID: 6, queryFrom: testSender.Addr()}
	if a := sendFrom(testSender.Addr().Next(), 50001, request{ssid: 8, control: about}); a.control.count != 5 || a.control.highest != 8 {
		t.Errorf("count of another address %+v", a.control)
	}
	// Of four replies that expire, one error is quoted in full, one with eight bytes of payload, one with none.
	from := netip.MustParseAddr("10.9.9.9")
	to := netip.AddrPortFrom(testSender.Addr(), 50000)
	var quotes [5][]byte
	for ttl := uint8(1); ttl <= 4; ttl++ {
		b := make([]byte, 200)
		b = b[:(&request{seq: uint32(ttl), ssid: 7, control: control{ops: opReplyTTL, replyTTL: ttl, round: 1}}).put(b)]
		m.reflect(b, arrival{from: to, received: 1}, 1)
		quotes[ttl] = b
	}
	m.icmp(to, quotes[1], 11, 0, from, 2)
	m.icmp(to, quotes[2], 11, 0, from.Next(), 2)
	m.icmp(to, nil, 11, 0, from, 2) // two are outstanding: it may mean either
	m.icmp(to, quotes[4], 11, 0, from.Next().Next(), 2)
	m.icmp(to, nil, 11, 0, from, 3) // now it means the third
	m.icmp(to, quotes[1], 11, 0, from, 2)
	m.icmp(netip.MustParseAddrPort("1.2.3.4:5"), quotes[1], 11, 0, from, 2)
	a := send(50000, request{seq: 9, ssid: 7, hops: 8, control: control{ops: opHops, round: 1}})
	hops, round := decodeHops(a.hops)
	want := []backHop{{1, 11, 0, 1, 1, from}, {2, 11, 0, 1, 1, from.Next()}, {3, 11, 0, 1, 1, from}, {4, 11, 0, 1, 1, from.Next().Next()}}
	if d := cmp.Diff(want, hops, cmp.AllowUnexported(backHop{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" || round != 1 {
		t.Errorf("round %d: %s", round, d)
	}
	if a := send(50000, request{seq: 9, ssid: 7, hops: 2, control: control{ops: opHops, round: 1}}); a.control.flags&flagMore == 0 {
		t.Error("a list without room for all does not say so")
	}
	send(50000, request{seq: 10, ssid: 7, control: control{ops: opReplyTTL, replyTTL: 1, round: 2}})
	a = send(50000, request{seq: 11, ssid: 7, hops: 8, control: control{ops: opHops, round: 2}})
	if hops, round := decodeHops(a.hops); round != 2 || len(hops) != 1 || hops[0].addr.IsValid() {
		t.Errorf("a new round remembers %v", hops)
	}
}

func TestReplyBudget(t *testing.T) {
	m := newMirror()
	m.expiring.rate = 2
	for i := range 3 {
		b := make([]byte, 200)
		b = b[:(&request{seq: uint32(i), ssid: 7, control: control{ops: opReplyTTL, replyTTL: 1}}).put(b)]
		ttl, _ := m.reflect(b, arrival{from: testSender, received: 1}, 1)
		a, _ := parseAnswer(b)
		if refused := a.control.flags&flagRefused != 0; refused != (i == 2) || refused != (ttl == initialTTL) {
			t.Errorf("reply %d: TTL %d, refused %v", i, ttl, refused)
		}
	}
}

func TestTable(t *testing.T) {
	tab := newTable(3, time.Minute)
	at := func(n int) sessionKey { return keyOf(testSender, uint16(n)) }
	cookies := map[int]uint32{}
	for n := range 3 {
		cookies[n] = tab.touch(at(n), int64(n)).cookie
	}
	tab.touch(at(0), 3)
	tab.touch(at(3), 4) // 1 was idle for longest
	for n, want := range map[int]bool{0: true, 1: false, 2: true, 3: true} {
		if got := tab.find(at(n)) != nil; got != want {
			t.Errorf("session %d there: %v", n, got)
		}
	}
	if tab.evicted != 1 {
		t.Errorf("evicted %d", tab.evicted)
	}
	if tab.touch(at(0), 5).cookie != cookies[0] {
		t.Error("the cookie of a session changed")
	}
	if s := tab.touch(at(0), 5+2*int64(time.Minute)); s.cookie == cookies[0] || s.count != 0 {
		t.Error("a session lived longer than its time")
	}
	for n := range 1000 {
		tab.touch(at(n), int64(n)*int64(time.Second))
	}
	if len(tab.byKey) > 3 || len(tab.entries) > 4 {
		t.Errorf("%d sessions of 3, %d entries", len(tab.byKey), len(tab.entries))
	}
}

// Whatever comes in, an answer is as long as its request, is read without panic, and is itself never answered.
func FuzzReflect(f *testing.F) {
	for _, r := range []request{{seq: 1, ssid: 2, size: 120}, {hops: 3, control: control{ops: opHops | opCount}}, {control: control{ops: opReplyTTL, replyTTL: 200}}} {
		b := make([]byte, 1000)
		f.Add(b[:r.put(b)], uint16(50000))
	}
	f.Add(bytes.Repeat([]byte{0}, baseSize), uint16(1))
	f.Add(append(make([]byte, baseSize), 0x80, 253, 0, 2, 1, 1, 0x80), uint16(5000))
	m := newMirror()
	f.Fuzz(func(t *testing.T, b []byte, port uint16) {
		from := netip.AddrPortFrom(testSender.Addr(), port)
		length := len(b)
		ttl, ok := m.reflect(b, arrival{from: from, ttl: 9, received: 10}, 20)
		if len(b) != length {
			t.Fatal("length changed")
		}
		if a, err := parseAnswer(b); err == nil {
			decodeHops(a.hops)
		}
		if !ok {
			return
		}
		if ttl == 0 {
			t.Error("answer with TTL 0")
		}
		if port == Port || port == 5000 || length < baseSize {
			t.Error("answered what must not be answered")
		}
		quote := b[:min(len(b), int(binary.BigEndian.Uint32(b))%len(b))]
		m.icmp(from, quote, 11, 0, from.Addr(), 30)
		if _, again := m.reflect(b, arrival{from: netip.MustParseAddrPort("10.0.0.9:40000"), ttl: 9, received: 10}, 20); again {
			t.Error("answered an answer")
		}
		if len(m.sessions.byKey) > 64 {
			t.Error("too many sessions")
		}
	})
}
