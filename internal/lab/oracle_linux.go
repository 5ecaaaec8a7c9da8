package lab

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// maxHops bounds a path; no TTL goes further.
const maxHops = 255

// attributes of linux/rtnetlink.h
const (
	rtaIPProto = 27
	rtaSport   = 28
	rtaDport   = 29
)

// Path asks the kernel which way a flow goes at this moment: it looks the flow up in the routes of every node along the way, with
// the hash that forwarding itself uses. The arcs are those of [Lab.Wired]. It is the truth for tests; nothing that measures may
// call it. A flow whose packets the routes lead nowhere is an error, a flow that a fault drops is not. For IPv6 there is no such
// oracle: looking up and forwarding hash with different functions there (rt6_multipath_hash in net/ipv6/route.c, with and without
// a packet); the error is [errors.ErrUnsupported].
func (l *Lab) Path(flow evidence.Flow) ([]graphs.ArcID, error) {
	if !flow.Dst.Is4() {
		return nil, fmt.Errorf("path of %s to %s: %w for IPv6", flow.Src, flow.Dst, errors.ErrUnsupported)
	}
	w := l.wired()
	src, ok := l.fabric.Owner(flow.Src)
	if !ok {
		return nil, fmt.Errorf("path of %s: the fabric has no such address", flow.Src)
	}
	dst, ok := l.fabric.Owner(flow.Dst)
	if !ok {
		return nil, fmt.Errorf("path to %s: the fabric has no such address", flow.Dst)
	}
	var arcs []graphs.ArcID
	at, in := src.Node, graphs.PortID(graphs.None)
	for at != dst.Node {
		if len(arcs) == maxHops {
			return arcs, fmt.Errorf("path of %s to %s: a loop", flow.Src, flow.Dst)
		}
		out, err := l.lookUp(at, in, flow)
		if err != nil {
			return arcs, fmt.Errorf("path of %s to %s at %s: %w", flow.Src, flow.Dst, l.fabric.NodeName(at), err)
		}
		p, _ := w.fabric.PortByName(l.fabric.PortName(out))
		arcs = append(arcs, w.fabric.ArcFrom(p))
		in = w.far[out]
		at = l.fabric.Port(in).Node
	}
	return arcs, nil
}

// lookUp returns the port by which a flow leaves a node which it entered by the port in, or at which it starts if that is None.
func (l *Lab) lookUp(at graphs.NodeID, in graphs.PortID, flow evidence.Flow) (graphs.PortID, error) {
	var proto uint8
	switch flow.Proto {
	case "udp":
		proto = unix.IPPROTO_UDP
	case "tcp":
		proto = unix.IPPROTO_TCP
	default:
		return graphs.None, fmt.Errorf("the kernel looks up udp and tcp only, not %q", flow.Proto)
	}
	m := nl.NewRtMsg()
	m.Family = family(flow.Dst)
	m.Dst_len, m.Src_len = uint8(flow.Dst.BitLen()), uint8(flow.Src.BitLen())
	m.Tos = flow.DSCP << 2
	m.Table, m.Protocol, m.Scope, m.Type = 0, 0, 0, 0
	parts := []nl.NetlinkRequestData{m,
		nl.NewRtAttr(unix.RTA_DST, flow.Dst.AsSlice()), nl.NewRtAttr(unix.RTA_SRC, flow.Src.AsSlice()),
		nl.NewRtAttr(rtaIPProto, []byte{proto}),
		nl.NewRtAttr(rtaSport, binary.BigEndian.AppendUint16(nil, flow.SrcPort)),
		nl.NewRtAttr(rtaDport, binary.BigEndian.AppendUint16(nil, flow.DstPort)),
	}
	if in != graphs.None {
		parts = append(parts, nl.NewRtAttr(unix.RTA_IIF, nl.Uint32Attr(uint32(l.ifindex(in)))))
	}
	s := l.spaces[at]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rtnl == nil {
		return graphs.None, ErrClosed
	}
	answer, err := s.rtnl.ask(unix.RTM_GETROUTE, "look up the route", parts...)
	if err != nil {
		return graphs.None, err
	}
	if len(answer) < unix.SizeofRtMsg {
		return graphs.None, fmt.Errorf("short answer from netlink")
	}
	attrs, err := nl.ParseRouteAttrAsMap(answer[unix.SizeofRtMsg:])
	if err != nil {
		return graphs.None, fmt.Errorf("look up the route: %w", err)
	}
	if oif, ok := attrs[unix.RTA_OIF]; ok && len(oif.Value) == 4 {
		slot := (int(binary.NativeEndian.Uint32(oif.Value)) - firstIndex) >> 1
		if ports := l.fabric.Ports(at); slot >= 0 && slot < len(ports) {
			return ports[slot], nil
		}
	}
	return graphs.None, fmt.Errorf("the packet goes to no port")
}
