package lab

import (
	"encoding/binary"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"whichlink/graphs"
)

// Counters are what a port counted since it was made: packets and bytes that left and that arrived. What a fault drops at a port
// has arrived there.
type Counters struct {
	InPackets, OutPackets uint64
	InBytes, OutBytes     uint64
}

// Counters reads the counters of a port of [Lab.Fabric] from the kernel.
func (l *Lab) Counters(p graphs.PortID) (Counters, error) {
	s := l.spaces[l.fabric.Port(p).Node]
	s.mu.Lock()
	defer s.mu.Unlock()
	m := nl.NewIfInfomsg(unix.AF_UNSPEC)
	m.Index = l.ifindex(p)
	if s.rtnl == nil {
		return Counters{}, ErrClosed
	}
	answer, err := s.rtnl.ask(unix.RTM_GETLINK, "read counters of "+l.fabric.PortName(p), m)
	if err != nil {
		return Counters{}, err
	}
	if len(answer) >= unix.SizeofIfInfomsg {
		attrs, err := nl.ParseRouteAttrAsMap(answer[unix.SizeofIfInfomsg:])
		if err != nil {
			return Counters{}, fmt.Errorf("read counters: %w", err)
		}
		// struct rtnl_link_stats64: rx_packets, tx_packets, rx_bytes, tx_bytes, ...
		if a, ok := attrs[unix.IFLA_STATS64]; ok && len(a.Value) >= 32 {
			at := func(i int) uint64 { return binary.NativeEndian.Uint64(a.Value[8*i:]) }
			return Counters{InPackets: at(0), OutPackets: at(1), InBytes: at(2), OutBytes: at(3)}, nil
		}
	}
	return Counters{}, fmt.Errorf("read counters of %s: the kernel gave none", l.fabric.PortName(p))
}
