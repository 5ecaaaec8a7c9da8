package frames

import "encoding/binary"

// The IP protocols that are looked into.
const (
	ProtoICMP   = 1
	ProtoTCP    = 6
	ProtoUDP    = 17
	ProtoICMPv6 = 58

	protoHopByHop = 0
	protoIPIP     = 4
	protoIPv6     = 41
	protoRouting  = 43
	protoFragment = 44
	protoGRE      = 47
	protoAH       = 51
	protoOptions  = 60
	protoMobility = 135
	protoMPLS     = 137
)

// ipv4 reads an IPv4 header (RFC 791) and its payload.
func (f *Frame) ipv4(at int) {
	if uint(f.NumIPs) >= MaxDepth || !f.peel() {
		f.Malformed = true
		return
	}
	if !f.has(at, 20) {
		return
	}
	h := (*[20]byte)(f.Data[at:])
	header := int(h[0]&15) * 4
	if h[0]>>4 != 4 || header < 20 {
		f.Malformed = true
		return
	}
	// Each field is set by itself, and addresses in words: a processor that reads as a whole what was just written in parts waits.
	ip := &f.IPs[f.NumIPs]
	ip.Src.map4(binary.LittleEndian.Uint32(h[12:]))
	ip.Dst.map4(binary.LittleEndian.Uint32(h[16:]))
	ip.SrcPort, ip.DstPort, ip.Label = 0, 0, 0
	ip.Off, ip.HeaderLen = at, header
	ip.Version, ip.TOS, ip.TTL, ip.Proto = 4, h[1], h[8], h[9]
	ip.ID = uint32(binary.BigEndian.Uint16(h[4:]))
	total := int(binary.BigEndian.Uint16(h[2:]))
	rest := f.Orig - at
	if total < header {
		// Segmentation is left to the network card, or it is BIG TCP: the length does not fit.
		if total == 0 {
			total = rest
		} else {
			f.Malformed = true
			total = header
		}
	}
	ip.Len = max(0, min(total, rest)-header)
	flags := binary.BigEndian.Uint16(h[6:])
	ip.More, ip.Fragment = flags&0x2000 != 0, flags&0x1fff != 0
	f.NumIPs++
	f.Tunnels[f.NumIPs] = NoTunnel
	f.payload(ip, at+header)
}

// ipv6 reads an IPv6 header (RFC 8200), its extension headers and its payload.
func (f *Frame) ipv6(at int) {
	if f.NumIPs == MaxDepth || !f.peel() {
		f.Malformed = true
		return
	}
	if !f.has(at, 40) {
		return
	}
	h := f.Data[at : at+40]
	if h[0]>>4 != 6 {
		f.Malformed = true
		return
	}
	ip := &f.IPs[f.NumIPs]
	*ip = IP{Off: at, HeaderLen: 40, Version: 6, TOS: h[0]<<4 | h[1]>>4, TTL: h[7], Proto: h[6], Label: f.be32(at) & 0xfffff}
	copy(ip.Src[:], h[8:24])
	copy(ip.Dst[:], h[24:40])
	length, rest := int(f.be16(at+4)), f.Orig-at-40
	if length == 0 { // a jumbogram (RFC 2675), or left to the network card
		length = rest
	}
	ip.Len = max(0, min(length, rest))
	f.NumIPs++
	f.Tunnels[f.NumIPs] = NoTunnel
	if next, ok := f.extensions(ip, at+40); ok {
		f.payload(ip, next)
	}
}

// map4 makes an IPv4 address, of which the bytes are given as they stand in memory, an IPv6 one.
func (a *Addr) map4(v4 uint32) {
	binary.LittleEndian.PutUint64(a[:], 0)
	binary.LittleEndian.PutUint64(a[8:], uint64(v4)<<32|0xffff0000)
}

// extensions walks the extension headers of IPv6 and returns where the payload begins.
func (f *Frame) extensions(ip *IP, at int) (int, bool) {
	for {
		n := 0
		switch ip.Proto {
		case protoHopByHop, protoRouting, protoOptions, protoMobility:
			if !f.has(at, 8) {
				return 0, false
			}
			n = 8 + 8*int(f.Data[at+1])
		case protoAH:
			if !f.has(at, 8) {
				return 0, false
			}
			n = 8 + 4*int(f.Data[at+1])
		case protoFragment:
			if !f.has(at, 8) {
				return 0, false
			}
			n = 8
			ip.More = f.Data[at+3]&1 != 0
			ip.Fragment = f.be16(at+2)&^7 != 0
			ip.ID = f.be32(at + 4)
		default:
			return at, true
		}
		if n > ip.Len || !f.peel() {
			f.Malformed = true
			return 0, false
		}
		ip.Proto = f.Data[at]
		ip.HeaderLen += n
		ip.Len -= n
		at += n
		if ip.Fragment {
			return at, true
		}
	}
}

// payload reads what an IP header carries.
func (f *Frame) payload(ip *IP, at int) {
	f.L4, f.End = at, at+ip.Len
	if ip.Fragment {
		f.Kind = Fragment
		return
	}
	switch ip.Proto {
	case ProtoTCP:
		f.tcp(ip, at)
		return
	case ProtoUDP:
		f.udp(ip, at)
		return
	}
	f.Kind = IPOther
	switch ip.Proto {
	case ProtoICMP:
		if ip.Version == 4 {
			f.icmp(ip, at)
		}
	case ProtoICMPv6:
		if ip.Version == 6 {
			f.icmp(ip, at)
		}
	case protoIPIP:
		f.tunnel(IPIP)
		f.ipv4(at)
	case protoIPv6:
		f.tunnel(IPIP)
		f.ipv6(at)
	case protoGRE:
		f.gre(at)
	case protoMPLS:
		f.mpls(at)
	case protoAH:
		if ip.Version == 4 && f.has(at, 8) && f.peel() {
			n := 8 + 4*int(f.Data[at+1])
			if n > ip.Len {
				f.Malformed = true
				return
			}
			ip.Proto = f.Data[at]
			ip.HeaderLen += n
			ip.Len -= n
			f.payload(ip, at+n)
		}
	}
}

// udp reads a UDP header (RFC 768) and looks into the payload by the destination port: RoCE first, because its source ports are
// arbitrary and may be another protocol's.
func (f *Frame) udp(ip *IP, at int) {
	if !f.has(at, 8) {
		f.Kind = IPOther
		return
	}
	f.Kind = UDPPacket
	ip.SrcPort, ip.DstPort = f.be16(at), f.be16(at+2)
	if length := int(f.be16(at + 4)); length >= 8 && length < ip.Len {
		f.End = at + length
	}
	if ip.DstPort >= 4754 && ip.DstPort <= 8472 {
		f.udpPort(ip.DstPort, at+8)
	}
}
