package lab

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
)

// expire sends n packets of a flow that expire at their second hop, and returns how many answers came and from whom.
func expire(t *testing.T, l *Lab, flow evidence.Flow, n int, pause time.Duration) map[netip.Addr]int {
	t.Helper()
	src, _ := l.Fabric().Owner(flow.Src)
	c := listen(t, l, src.Node, netip.AddrPortFrom(flow.Src, flow.SrcPort))
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(raw.Control(func(fd uintptr) {
		must(unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_TTL, 2))
		must(unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_RECVERR, 1))
	}))
	from := map[netip.Addr]int{}
	buf, oob := make([]byte, 512), make([]byte, 512)
	drain := func() {
		must(raw.Control(func(fd uintptr) {
			for {
				_, m, _, _, err := unix.Recvmsg(int(fd), buf, oob, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
				if err != nil {
					return
				}
				cs, err := unix.ParseSocketControlMessage(oob[:m])
				must(err)
				for _, c := range cs {
					// struct sock_extended_err (16 bytes), then the offender as struct sockaddr_in.
					if c.Header.Type == unix.IP_RECVERR && len(c.Data) >= 24 && c.Data[5] == 11 {
						from[netip.AddrFrom4([4]byte(c.Data[20:24]))]++
					}
				}
			}
		}))
	}
	for range n {
		_, err := c.WriteToUDPAddrPort(make([]byte, 50), netip.AddrPortFrom(flow.Dst, flow.DstPort))
		if err != nil && !errors.Is(err, unix.EHOSTUNREACH) { // an answer to an earlier packet
			t.Fatal(err)
		}
		drain()
		time.Sleep(pause)
	}
	time.Sleep(5 * time.Millisecond)
	drain()
	return from
}

func TestSwitchesAnswer(t *testing.T) {
	l := newLeafSpine(t, generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 1}, Config{})
	f := l.Fabric()
	flow, path := pair(t, l, 0, 1, 4)
	// Without a fault every packet is answered, from the address of the port at which it came in.
	inbound, _ := f.Port(f.HeadPort(path[1])).Prefix(false)
	if got := expire(t, l, flow, 500, 0); got[inbound.Addr()] != 500 || len(got) != 1 {
		t.Errorf("answers from %v, want 500 from %s", got, inbound.Addr())
	}
	spine := f.NodeName(f.Head(path[1]))
	id := mustBreak(t, l, "police", FaultOptions{Rate: "20"}, spine)
	start := time.Now()
	got := expire(t, l, flow, 250, 2*time.Millisecond)[inbound.Addr()]
	most := 20*time.Since(start).Seconds() + policeBurst
	if float64(got) > most+1 || float64(got) < most/2 {
		t.Errorf("a switch that is limited to 20 answers a second gave %d in %v", got, time.Since(start))
	}
	if hit := l.Truth()[0].Hit; hit != uint64(250-got) {
		t.Errorf("the limit counted %d, %d answers are missing", hit, 250-got)
	}
	if n := send(t, l, flow, 500, 100); n != 500 {
		t.Errorf("a limit of answers let %d of 500 packets pass", n)
	}
	mustHeal(t, l, id)
	mustBreak(t, l, "police", FaultOptions{Rate: "0"}, spine)
	if got := expire(t, l, flow, 50, 0); len(got) != 0 {
		t.Errorf("a silent switch answered: %v", got)
	}
	if got := l.Truth()[0]; got.Text != "police "+spine+" --rate 0" {
		t.Errorf("truth %q", got.Text)
	}
}

func TestUnnumberedSwitchesAnswerFromLoopback(t *testing.T) {
	needLab(t)
	f, err := Unnumbered(must(testFabric()))
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(context.Background(), Config{Fabric: f})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	flow, path := pair(t, l, 0, 1, 4)
	address, _ := loopback(l.Fabric(), l.Fabric().Head(path[1]), false)
	if got := expire(t, l, flow, 20, 0); got[address] != 20 {
		t.Errorf("answers from %v, want them from %s", got, address)
	}
}

// A flow of 20 Mbit/s through a port that carries 10 waits, and half of it is lost.
func TestLoadAndSlow(t *testing.T) {
	l := newLeafSpine(t, generate.LeafSpineConfig{Leaves: 2, Spines: 1, Hosts: 1}, Config{})
	f := l.Fabric()
	_, path := pair(t, l, 0, 1, 4)
	rate := func(a graphs.ArcID, d time.Duration) float64 {
		before, err := l.Counters(f.HeadPort(a))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		time.Sleep(d)
		after, err := l.Counters(f.HeadPort(a))
		if err != nil {
			t.Fatal(err)
		}
		return float64(after.InBytes-before.InBytes) * 8 / time.Since(start).Seconds() / 1e6
	}
	mustBreak(t, l, "load", FaultOptions{Rate: "20Mbit"}, "h1-1", "h2-1")
	if got := rate(path[1], time.Second); got < 15 || got > 24 {
		t.Errorf("a load of 20 Mbit/s is %.1f Mbit/s", got)
	}
	slow := mustBreak(t, l, "slow", FaultOptions{Rate: "10Mbit"}, f.ArcName(path[1]))
	time.Sleep(100 * time.Millisecond) // the queue fills
	if got := rate(path[1], time.Second); got < 8 || got > 11 {
		t.Errorf("a port of 10 Mbit/s carries %.1f Mbit/s", got)
	}
	truth := l.Truth()
	if truth[0].Hit < 1000 || truth[1].Hit < 200 {
		t.Errorf("the load sent %d packets, the queue dropped %d", truth[0].Hit, truth[1].Hit)
	}
	mustHeal(t, l, slow)
	if got := rate(path[1], 300*time.Millisecond); got < 15 {
		t.Errorf("healed, the port carries %.1f Mbit/s", got)
	}
}

func TestFlap(t *testing.T) {
	l := newLeafSpine(t, generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 1}, Config{Convergence: 20 * time.Millisecond})
	f := l.Fabric()
	flow, path := pair(t, l, 0, 1, 4)
	const period, most = 200 * time.Millisecond, 30 * time.Second
	id := mustBreak(t, l, "flap", FaultOptions{Period: period, Down: 80 * time.Millisecond}, f.LinkName(path[1].Link()))
	start := time.Now()
	changes, avoided := 0, false
	for changes < 8 && time.Since(start) < most {
		now, err := l.Path(flow)
		if err != nil {
			t.Fatal(err)
		}
		if other := now[1] != path[1]; other != avoided {
			changes++
			avoided = other
		}
		time.Sleep(time.Millisecond)
	}
	// Twice a period, and a busy machine shows less of it.
	if took := time.Since(start); changes < 8 || took < 3*period {
		t.Errorf("the path changed %d times in %s", changes, took)
	}
	mustHeal(t, l, id)
	time.Sleep(100 * time.Millisecond)
	if now, err := l.Path(flow); err != nil || now[1] != path[1] {
		t.Errorf("healed, the path is not the old one: %v", err)
	}
	if n := send(t, l, flow, 500, 100); n != 500 {
		t.Errorf("healed, yet %d of 500 packets arrived", n)
	}
}
