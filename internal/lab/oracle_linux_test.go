package lab

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/evidence"
)

// received reads the counter of packets that came in at a port.
func received(t *testing.T, l *Lab, p graphs.PortID) int {
	t.Helper()
	c, err := l.Counters(p)
	if err != nil {
		t.Fatal(err)
	}
	return int(c.InPackets)
}

func TestOracleIsWhatPacketsDo(t *testing.T) {
	needLab(t)
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 16, Degree: 4, Hosts: 1, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(context.Background(), Config{Fabric: f, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f = l.Fabric()
	hosts := f.Hosts()
	for i := range 40 {
		src, dst := hosts[i%len(hosts)], hosts[(i*7+3)%len(hosts)]
		if src == dst {
			continue
		}
		flow := evidence.Flow{Src: f.Address(src, false), Dst: f.Address(dst, false), Proto: "udp", SrcPort: uint16(50000 + i), DstPort: 862}
		arcs, err := l.Path(flow)
		if err != nil {
			t.Fatal(err)
		}
		before := make([]int, f.NumArcs())
		for a := range graphs.ArcID(f.NumArcs()) {
			before[a] = received(t, l, f.HeadPort(a))
		}
		if got := send(t, l, flow, 10, 100); got != 10 {
			t.Errorf("flow %v: %d of 10 packets arrived", flow, got)
		}
		on := map[graphs.ArcID]bool{}
		for _, a := range arcs {
			on[a] = true
		}
		for a := range graphs.ArcID(f.NumArcs()) {
			got := received(t, l, f.HeadPort(a)) - before[a]
			if on[a] != (got == 10) {
				t.Errorf("flow %v: arc %s: on path %v, packets %d", flow, f.ArcName(a), on[a], got)
			}
		}
	}
}

// send sends n packets of a flow to a socket at its destination, and returns how many arrived there.
func send(t *testing.T, l *Lab, flow evidence.Flow, n, size int) int {
	t.Helper()
	src, _ := l.Fabric().Owner(flow.Src)
	dst, _ := l.Fabric().Owner(flow.Dst)
	sink := listen(t, l, dst.Node, netip.AddrPortFrom(flow.Dst, flow.DstPort))
	defer sink.Close()
	c := listen(t, l, src.Node, netip.AddrPortFrom(flow.Src, flow.SrcPort))
	defer c.Close()
	raw, err := sink.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	arrived := 0
	drain := func() {
		raw.Read(func(fd uintptr) bool {
			for {
				if _, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_DONTWAIT); err != nil {
					return true
				}
				arrived++
			}
		})
	}
	payload := make([]byte, size)
	for i := range n {
		if _, err := c.WriteToUDPAddrPort(payload, netip.AddrPortFrom(flow.Dst, flow.DstPort)); err != nil {
			t.Fatal(err)
		}
		if i%20 == 0 {
			drain()
		}
	}
	// Mostly the kernel delivers before a write returns.
	for wait := time.Now().Add(10 * time.Millisecond); arrived < n && time.Now().Before(wait); time.Sleep(time.Millisecond) {
		drain()
	}
	drain()
	return arrived
}

func listen(t *testing.T, l *Lab, n graphs.NodeID, at netip.AddrPort) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	err := l.Do(n, func() (err error) {
		c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
