package probes

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"whichlink/internal/evidence"
)

// reflectorOn runs a reflector on a port of its own choice and returns the port.
func reflectorOn(t *testing.T, cfg ReflectorConfig) (*Reflector, uint16) {
	t.Helper()
	for port := uint16(20862); ; port++ {
		cfg.Ports = []uint16{port}
		r, err := NewReflector(cfg)
		if err != nil {
			if port < 20900 {
				continue
			}
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			if err := <-done; err != nil {
				t.Errorf("reflector: %v", err)
			}
		})
		return r, port
	}
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
			s, err := e.Add(evidence.Flow{Src: a, Dst: a, Proto: "udp", SrcPort: 50017, DstPort: port, DSCP: 46}, Options{})
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
			s, err := e.Add(evidence.Flow{Src: a, Dst: a, Proto: "udp", SrcPort: 50018, DstPort: 9}, Options{})
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
