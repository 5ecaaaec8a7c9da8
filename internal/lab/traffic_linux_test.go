package lab

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

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
