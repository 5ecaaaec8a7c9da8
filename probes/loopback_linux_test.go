package probes

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichlink/internal/evidence"
)

// newReflector opens a reflector on a port of its own choice and returns the port.
func newReflector(t *testing.T, cfg ReflectorConfig) (*Reflector, uint16) {
	t.Helper()
	for port := uint16(20862); ; port++ {
		cfg.Ports = []uint16{port}
		r, err := NewReflector(cfg)
		if err == nil {
			return r, port
		}
		if port >= 20900 {
			t.Fatal(err)
		}
	}
}

// reflectorOn runs a reflector on a port of its own choice and returns the port.
func reflectorOn(t *testing.T, cfg ReflectorConfig) (*Reflector, uint16) {
	t.Helper()
	r, port := newReflector(t, cfg)
	run(t, r)
	return r, port
}

// run runs a reflector until the test ends.
func run(t testing.TB, r *Reflector) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("reflector: %v", err)
		}
	})
}

func newEngine(t *testing.T, cfg Config) *Engine {
	t.Helper()
	e, err := NewEngine(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

// within waits until f holds.
func within(t *testing.T, d time.Duration, f func() bool) bool {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if f() {
			return true
		}
	}
	return f()
}

func TestLoopbackEcho(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "::1"} {
		t.Run(addr, func(t *testing.T) {
			r, port := reflectorOn(t, ReflectorConfig{})
			e := newEngine(t, Config{})
			a := netip.MustParseAddr(addr)
			s, err := e.Add(evidence.Flow{Src: a, Dst: a, Proto: "udp", SrcPort: 21017, DstPort: port, DSCP: 46}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			const n = 500
			for range n / 10 {
				if got := s.Echo(10); got != 10 {
					t.Fatalf("sent %d of 10", got)
				}
				time.Sleep(200 * time.Microsecond)
			}
			var w Window
			total := 0
			if !within(t, time.Second, func() bool { w = s.Take(); total += w.Sent; return total == n }) {
				t.Fatalf("%d of %d decided; %+v %+v %+v", total, n, w, e.Stats(), r.Stats())
			}
			if w.Lost != 0 || w.ForwardLen != 1 || w.BackLen != 1 || w.Method != MethodSTAMP || !w.Split || w.Err != nil || w.Unknown != 0 || w.CorruptForward+w.CorruptBack != 0 {
				t.Errorf("window %+v", w)
			}
			if w.Ahead == nil || w.Ahead.Abs() > 50*time.Millisecond {
				t.Errorf("this host's clock is told to be %v ahead of itself", w.Ahead)
			}
			if w.RTT == nil || w.RTT.P50 <= 0 || w.RTT.P50 > 50000 {
				t.Errorf("RTT %+v", w.RTT)
			}
			if st := r.Stats(); st.Answered != n || st.Received != n {
				t.Errorf("reflector %+v", st)
			}
		})
	}
}

func TestLoopbackPortUnreachable(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "::1"} {
		t.Run(addr, func(t *testing.T) {
			e := newEngine(t, Config{})
			a := netip.MustParseAddr(addr)
			s, err := e.Add(evidence.Flow{Src: a, Dst: a, Proto: "udp", SrcPort: 21018, DstPort: 9}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			s.Echo(1)
			var w Window
			if !within(t, time.Second, func() bool { w = s.Take(); return w.Sent > 0 }) || w.Lost != 0 || w.Method != MethodPortUnreachable || w.Split {
				t.Errorf("window %+v stats %+v", w, e.Stats())
			}
		})
	}
}

// A reflector under garbage answers what is a request and nothing else, with as many bytes, and goes on.
func TestReflectorGarbage(t *testing.T) {
	r, port := reflectorOn(t, ReflectorConfig{Address: netip.MustParseAddr("127.0.0.1")})
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	sent := map[int]int{}
	buf := make([]byte, 65536)
	replies := 0
	for i := range 3000 {
		b := make([]byte, rng.IntN(300))
		switch rng.IntN(4) {
		case 0: // noise
			for j := range b {
				b[j] = byte(rng.Uint32())
			}
		case 1: // a request with noise behind it
			b = make([]byte, 400)
			b = b[:(&request{seq: uint32(i), ssid: 3, hops: rng.IntN(4), control: control{ops: uint8(rng.Uint32()), replyTTL: 64}}).put(b)]
			for range rng.IntN(3) {
				b[baseSize+rng.IntN(len(b)-baseSize)] ^= byte(rng.Uint32())
			}
		case 2: // too long
			b = make([]byte, maxPacket+1+rng.IntN(10))
		}
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		sent[len(b)]++
		if i%50 != 49 {
			continue
		}
		c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		for {
			n, err := c.Read(buf)
			if err != nil {
				break
			}
			replies++
			if sent[n]--; sent[n] < 0 {
				t.Errorf("an answer of %d bytes to no request of that length", n)
			}
		}
	}
	s := r.Stats()
	if int(s.Answered) != replies || s.Received+s.Truncated != 3000 || s.Answered == 0 || s.Short == 0 || s.Answers == 0 || s.Malformed == 0 || s.Truncated == 0 {
		t.Errorf("%d answers came; %+v", replies, s)
	}
}

// A reflector that is stopped answers what came until then, and what comes later is refused: nothing is lost in silence.
func TestReflectorRetires(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "::1"} {
		t.Run(addr, func(t *testing.T) {
			r, port := newReflector(t, ReflectorConfig{})
			c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), port)))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			const n = reflectorBatch + 1
			b := make([]byte, 200)
			b = b[:(&request{seq: 1, ssid: 3}).put(b)]
			for range n {
				if _, err := c.Write(b); err != nil {
					t.Fatal(err)
				}
			}
			ctx, stop := context.WithCancel(context.Background())
			stop()
			if err := r.Run(ctx); err != nil {
				t.Fatal(err)
			}
			c.SetReadDeadline(time.Now().Add(time.Second))
			for i := range n {
				if _, err := c.Read(b); err != nil {
					t.Fatalf("%d of %d answered: %v; %+v", i, n, err, r.Stats())
				}
			}
			if _, err := c.Write(b); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(b); !errors.Is(err, unix.ECONNREFUSED) {
				t.Errorf("one more: %v", err)
			}
		})
	}
}

// Two reflectors do not keep a packet going between them, whatever source is forged.
func TestReflectorLoop(t *testing.T) {
	r, port := reflectorOn(t, ReflectorConfig{})
	b := make([]byte, 200)
	b = b[:(&request{seq: 1, ssid: 3}).put(b)]
	m := newMirror()
	m.ports = []uint16{40000}
	// The one answers a packet that seems to come from the other, on a port that it cannot know for a reflector's;
	other := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
	if _, ok := m.reflect(b, arrival{from: other, received: 1}, 1); !ok {
		t.Fatal("no answer")
	}
	// the other gets that answer.
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(other))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	if !within(t, time.Second, func() bool { return r.Stats().Received == 1 }) || r.Stats().Answered != 0 || r.Stats().Answers != 1 {
		t.Errorf("%+v", r.Stats())
	}
}

func TestReflectorAllow(t *testing.T) {
	r, port := reflectorOn(t, ReflectorConfig{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	e := newEngine(t, Config{})
	a := netip.MustParseAddr("127.0.0.1")
	s, err := e.Add(evidence.Flow{Src: a, Dst: a, Proto: "udp", SrcPort: 21019, DstPort: port}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Echo(3)
	if !within(t, time.Second, func() bool { return r.Stats().NotAllowed == 3 }) || r.Stats().Answered != 0 {
		t.Errorf("%+v", r.Stats())
	}
}

// An engine answers wrong use with errors, and many flows may share a port.
func TestEngineAdd(t *testing.T) {
	e := newEngine(t, Config{})
	a, six := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")
	good := evidence.Flow{Src: a, Dst: a, Proto: "udp", SrcPort: 21021, DstPort: 9}
	for name, f := range map[string]func(*evidence.Flow){
		"tcp":      func(f *evidence.Flow) { f.Proto = "tcp" },
		"no port":  func(f *evidence.Flow) { f.SrcPort = 0 },
		"families": func(f *evidence.Flow) { f.Dst = six },
		"no src":   func(f *evidence.Flow) { f.Src = netip.Addr{} },
		"not ours": func(f *evidence.Flow) { f.Src = netip.MustParseAddr("192.0.2.1") },
	} {
		f2 := good
		f(&f2)
		if _, err := e.Add(f2, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	s, err := e.Add(good, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Add(good, Options{}); err == nil {
		t.Error("the same flow twice: no error")
	}
	other := good
	other.Dst = netip.MustParseAddr("127.0.0.2")
	s2, err := e.Add(other, Options{})
	if err != nil {
		t.Fatalf("another destination from the same port: %v", err)
	}
	s2.Echo(1)
	if !within(t, time.Second, func() bool { return s2.Method() == MethodPortUnreachable }) || s.Method() != "" {
		t.Errorf("methods %q and %q", s2.Method(), s.Method())
	}
	for _, x := range []*Stream{s, s2, s} {
		if err := e.Remove(x); err != nil {
			t.Error(err)
		}
	}
	if _, err := e.Add(good, Options{}); err != nil {
		t.Errorf("again after it was removed: %v", err)
	}
}
