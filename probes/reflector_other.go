//go:build !linux

package probes

import (
	"errors"
	"net"
	"net/netip"
	"time"
)

const maxPacket = 9216 // bytes of UDP payload: all of a jumbo frame

// initialTTL is what is supposed to be the TTL of answers.
const initialTTL = 64

// A reflectorSocket serves one port of one family, without what only Linux tells: times of the kernel, TTLs, ICMP errors.
type reflectorSocket struct {
	conn   *net.UDPConn
	at     netip.AddrPort
	mirror *mirror
}

func newReflectorSocket(at netip.AddrPort, m *mirror, _ bool) (*reflectorSocket, error) {
	network := "udp4"
	if at.Addr().Is6() {
		network = "udp6"
	}
	c, err := net.ListenUDP(network, net.UDPAddrFromAddrPort(at))
	if err != nil {
		return nil, err
	}
	return &reflectorSocket{conn: c, at: at, mirror: m}, nil
}

func isNoFamily(error) bool { return true }

func (r *reflectorSocket) local() netip.AddrPort { return r.at }

func (r *reflectorSocket) close() error { return r.conn.Close() }

func (r *reflectorSocket) retire() { r.close() }

func (r *reflectorSocket) serve() error {
	buf := make([]byte, maxPacket+1)
	for {
		n, from, err := r.conn.ReadFromUDPAddrPort(buf)
		now := time.Now().UnixNano()
		if errors.Is(err, net.ErrClosed) {
			return nil
		} else if err != nil {
			continue // an ICMP error for an earlier answer
		}
		if n > maxPacket {
			r.mirror.count.truncated.Add(1)
			continue
		}
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		a := arrival{from: from, received: now}
		if _, ok := r.mirror.reflect(buf[:n], a, time.Now().UnixNano()); ok {
			if _, err := r.conn.WriteToUDPAddrPort(buf[:n], from); err != nil {
				r.mirror.count.unsent.Add(1)
			}
		}
	}
}
