package probes

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"whichlink/internal/evidence"
)

// The kernel tells of every probe when it left, before the answer is entered; the delay counts from then, and is positive.
// A packet that the kernel refuses does not shift the others' stamps.
func TestSendStamps(t *testing.T) {
	for _, addr := range []string{"127.0.0.1", "::1"} {
		for _, without := range []bool{false, true} {
			t.Run(addr+map[bool]string{true: " without"}[without], func(t *testing.T) {
				_, port := reflectorOn(t, ReflectorConfig{})
				e := newEngine(t, Config{NoSendStamps: without})
				a := netip.MustParseAddr(addr)
				f := evidence.Flow{Src: a, Dst: a, Proto: "udp", SrcPort: 21023, DstPort: port}
				s, err := e.Add(f, Options{})
				if err != nil {
					t.Fatal(err)
				}
				refused := s
				if f.Dst = netip.MustParseAddr("255.255.255.255"); a.Is4() {
					if refused, err = e.Add(f, Options{}); err != nil {
						t.Fatal(err)
					}
				}
				const n = 512
				for range n / 32 {
					s.Echo(32)
					if refused != s && refused.Echo(2) != 0 {
						t.Fatal("a broadcast was not refused")
					}
				}
				w := decided(t, s, n, time.Second)
				if w.Sent != n || w.Lost != 0 || w.RTT == nil || w.RTT.Min <= 0 {
					t.Errorf("window %+v", w)
				}
				stamped := 0
				for i := range n {
					if s.echoes.entries[i].held > 0 {
						stamped++
					}
				}
				if want := map[bool]int{false: n}[without]; stamped != want || e.Stats().Stamped != uint64(want) {
					t.Errorf("%d of %d stamped; %+v", stamped, n, e.Stats())
				}
			})
		}
	}
}

// Stamps that nobody fetches, as nothing answers, take no room from ICMP errors, and no probe off the account.
func TestSendStampsUnread(t *testing.T) {
	silent, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	e := newEngine(t, Config{Timeout: 300 * time.Millisecond})
	a := netip.MustParseAddr("127.0.0.1")
	add := func(port uint16) *Stream {
		s, err := e.Add(evidence.Flow{Src: a, Dst: a, Proto: "udp", SrcPort: 21024, DstPort: port}, Options{Outstanding: 1 << 14})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	black, closed := add(silent.LocalAddr().(*net.UDPAddr).AddrPort().Port()), add(9)
	const n = 10000
	black.Echo(n)
	if closed.Echo(1) != 1 {
		t.Fatal("not sent")
	}
	if w := decided(t, closed, 1, time.Second); w.Lost != 0 || w.Method != MethodPortUnreachable || w.RTT.Min <= 0 {
		t.Errorf("beside: %+v", w)
	}
	if w := decided(t, black, n, 2*time.Second); w.Sent != n || w.Lost != n {
		t.Errorf("unanswered: %+v", w)
	}
}

// BenchmarkDelay shows what the kernel's stamps of sending are worth: the delays of echoes that are sent many at once.
func BenchmarkDelay(b *testing.B) {
	for name, without := range map[string]bool{"stamped": false, "unstamped": true} {
		b.Run(name, func(b *testing.B) {
			x := newBench(b, leafSpine(b, 2, 4), 1, Config{NoSendStamps: without}, ReflectorConfig{})
			s := x.streams(x.hosts[1], 1, false, Options{})[0]
			for b.Loop() {
				s.Echo(32)
				time.Sleep(2 * time.Millisecond)
			}
			if w := s.Take(); w.RTT != nil {
				b.ReportMetric(w.RTT.Min, "µs-min")
				b.ReportMetric(w.RTT.P50, "µs-median")
				b.ReportMetric(w.RTT.P99, "µs-99")
			}
		})
	}
}
