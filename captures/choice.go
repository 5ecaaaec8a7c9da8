package captures

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"

	"whichlink/captures/files"
	"whichlink/captures/frames"
	"whichlink/internal/evidence"
)

// A Choice says which packets of captures belong to a finding or a flow: both directions, and what routers say of them, so that the
// packets by themselves show a program such as Wireshark what happened. The zero value chooses all.
type Choice struct {
	// From and To bound the time, in nanoseconds since 1970 UTC, if To is not 0.
	From, To int64
	ends     [2]frames.Addr // if hosts
	ports    [2]uint16      // of the ends, if proto is not 0
	proto    uint8
	hosts    bool
	mac      []byte // of a sender or receiver, else nil
}

// chooseFlow chooses one flow.
func chooseFlow(e evidence.Flow) Choice {
	c := choosePair(frames.Addr(e.Src.As16()), frames.Addr(e.Dst.As16()))
	c.ports = [2]uint16{e.SrcPort, e.DstPort}
	switch e.Proto {
	case "tcp":
		c.proto = frames.ProtoTCP
	case "udp":
		c.proto = frames.ProtoUDP
	}
	return c
}

// choosePair chooses all between two addresses.
func choosePair(a, b frames.Addr) Choice { return Choice{ends: [2]frames.Addr{a, b}, hosts: true} }

// chooseMAC chooses all from and to an Ethernet address.
func chooseMAC(mac []byte) Choice { return Choice{mac: bytes.Clone(mac)} }

// ParseFlow reads a flow as reports name it, "tcp 10.0.0.1:1000>10.0.0.2:2000" with tcp or udp in front, or two addresses
// "10.0.0.1>10.0.0.2" for all between them.
func ParseFlow(text string) (Choice, error) {
	fail := fmt.Errorf("%q is no flow such as \"tcp 10.0.0.1:1000>10.0.0.2:2000\" or \"10.0.0.1>10.0.0.2\"", text)
	proto, ends, named := strings.Cut(text, " ")
	if !named {
		ends = text
	}
	a, b, two := strings.Cut(ends, ">")
	if !two {
		return Choice{}, fail
	}
	if !named {
		src, err := netip.ParseAddr(a)
		dst, err2 := netip.ParseAddr(b)
		if err != nil || err2 != nil {
			return Choice{}, fail
		}
		return choosePair(frames.Addr(src.As16()), frames.Addr(dst.As16())), nil
	}
	src, err := netip.ParseAddrPort(a)
	dst, err2 := netip.ParseAddrPort(b)
	if err != nil || err2 != nil || proto != "tcp" && proto != "udp" {
		return Choice{}, fail
	}
	return chooseFlow(evidence.Flow{Src: src.Addr(), Dst: dst.Addr(), Proto: proto, SrcPort: src.Port(), DstPort: dst.Port()}), nil
}

// Has reports whether a packet belongs to the choice. F is what its headers say.
func (c *Choice) Has(p *files.Packet, f *frames.Frame) bool {
	if c.To != 0 && (p.Time < c.From || p.Time > c.To) {
		return false
	}
	if c.mac != nil {
		return f.MAC >= 0 && (bytes.Equal(f.SrcMAC(), c.mac) || bytes.Equal(f.DstMAC(), c.mac))
	}
	if !c.hosts {
		return true
	}
	for i := range f.NumIPs {
		ip := &f.IPs[i]
		if c.between(ip.Src, ip.Dst, ip.SrcPort, ip.DstPort, ip.Proto, !ip.Fragment) {
			return true
		}
	}
	q := &f.ICMP.Quoted
	return f.Kind == frames.ICMPPacket && f.ICMP.HasQuoted && c.between(q.Src, q.Dst, q.SrcPort, q.DstPort, q.Proto, q.HasPorts)
}

// between reports whether a header is of the chosen flow, in either direction. Ports count where the header has them.
func (c *Choice) between(src, dst frames.Addr, from, to uint16, proto uint8, hasPorts bool) bool {
	for i := range 2 {
		if src != c.ends[i] || dst != c.ends[1-i] {
			continue
		}
		if c.proto == 0 || proto == c.proto && (!hasPorts || from == c.ports[i] && to == c.ports[1-i]) {
			return true
		}
	}
	return false
}
