package frames

import "encoding/binary"

// An ICMP is an ICMP or ICMPv6 message.
type ICMP struct {
	Type, Code uint8
	// ID and Seq are those of an echo; MTU is that of "fragmentation needed" and "packet too big".
	ID, Seq uint16
	MTU     uint32
	// Quoted is the packet that an error message quotes.
	Quoted    Quoted
	HasQuoted bool
	// Labels is the MPLS stack in front of which the packet failed (RFC 4950), in Data.
	Labels []byte
	// Interface names the port where it failed (RFC 5837), if HasInterface.
	Interface    Interface
	HasInterface bool
}

// A Quoted is the beginning of a packet that an ICMP error quotes.
type Quoted struct {
	Src, Dst         Addr
	SrcPort, DstPort uint16
	Proto, TTL       uint8
	HasPorts         bool
}

// An Interface is the interface information object of RFC 5837.
type Interface struct {
	Role  uint8 // 0 incoming, 1 its sub-IP part, 2 outgoing, 3 next hop
	Index uint32
	Addr  Addr
	HasIP bool
	Name  []byte // in Data, as the switch wrote it
	MTU   uint32
}

// icmp reads an ICMP message of the family of its IP header.
func (f *Frame) icmp(ip *IP, at int) {
	if !f.has(at, 8) {
		return
	}
	f.Kind = ICMPPacket
	m := &f.ICMP
	*m = ICMP{Type: f.Data[at], Code: f.Data[at+1]}
	v6 := ip.Version == 6
	words := 0 // length of the quotation in 32-bit words, where RFC 4884 states it
	switch {
	case v6 && (m.Type == 128 || m.Type == 129), !v6 && (m.Type == 8 || m.Type == 0):
		m.ID, m.Seq = f.be16(at+4), f.be16(at+6)
		return
	case v6 && m.Type == 2:
		m.MTU = f.be32(at + 4)
	case v6 && (m.Type == 1 || m.Type == 3):
		words = 2 * int(f.Data[at+4])
	case v6 && m.Type == 4:
	case !v6 && (m.Type == 3 || m.Type == 11 || m.Type == 12):
		words = int(f.Data[at+5])
		if m.Type == 3 && m.Code == 4 {
			m.MTU = uint32(f.be16(at + 6))
		}
	case !v6 && (m.Type == 4 || m.Type == 5):
	default:
		return
	}
	end := min(f.End, len(f.Data))
	if at+8 >= end {
		return
	}
	m.quote(f.Data[at+8 : end])
	f.extended(at+8, words, end)
}

// quote reads the beginning of a quoted packet.
func (m *ICMP) quote(b []byte) {
	q := &m.Quoted
	header := 0
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		header = int(b[0]&15) * 4
		q.Src[10], q.Src[11], q.Dst[10], q.Dst[11] = 0xff, 0xff, 0xff, 0xff
		copy(q.Src[12:], b[12:16])
		copy(q.Dst[12:], b[16:20])
		q.TTL, q.Proto = b[8], b[9]
	case len(b) >= 40 && b[0]>>4 == 6:
		header = 40
		copy(q.Src[:], b[8:24])
		copy(q.Dst[:], b[24:40])
		q.TTL, q.Proto = b[7], b[6]
	default:
		return
	}
	m.HasQuoted = true
	if (q.Proto == ProtoTCP || q.Proto == ProtoUDP) && header >= 20 && len(b) >= header+4 {
		q.SrcPort, q.DstPort = binary.BigEndian.Uint16(b[header:]), binary.BigEndian.Uint16(b[header+2:])
		q.HasPorts = true
	}
}

// extended reads the extension objects behind the quotation (RFC 4884). Without a stated length they may stand behind 128 bytes,
// where old routers put them; a wrong version or a wrong checksum says that they do not.
func (f *Frame) extended(at, words, end int) {
	stated := words > 0
	if stated {
		at += 4 * words
	} else {
		at += 128
	}
	if at+4 > end || f.Data[at]>>4 != 2 {
		return
	}
	if sum := f.be16(at + 2); sum != 0 && end == f.End && checksum(f.Data[at:end]) != 0 || !stated && sum == 0 {
		return
	}
	for at += 4; at+4 <= end; {
		n := int(f.be16(at))
		if n < 4 || at+n > end {
			return
		}
		body := f.Data[at+4 : at+n]
		switch class, kind := f.Data[at+2], f.Data[at+3]; {
		case class == 1 && kind == 1:
			f.ICMP.Labels = body
		case class == 2 && !f.ICMP.HasInterface:
			f.ICMP.HasInterface = f.ICMP.Interface.read(kind, body)
		}
		at += n
	}
}

// read reads an interface information object: which fields there are stands in its class subtype.
func (i *Interface) read(kind uint8, b []byte) bool {
	*i = Interface{Role: kind >> 6}
	if kind&8 != 0 {
		if len(b) < 4 {
			return false
		}
		i.Index, b = binary.BigEndian.Uint32(b), b[4:]
	}
	if kind&4 != 0 {
		if len(b) < 4 {
			return false
		}
		switch family := binary.BigEndian.Uint16(b); {
		case family == 1 && len(b) >= 8:
			i.Addr[10], i.Addr[11] = 0xff, 0xff
			copy(i.Addr[12:], b[4:8])
			b = b[8:]
		case family == 2 && len(b) >= 20:
			copy(i.Addr[:], b[4:20])
			b = b[20:]
		default:
			return false
		}
		i.HasIP = true
	}
	if kind&2 != 0 {
		if len(b) < 1 || int(b[0]) > len(b) || b[0] < 1 {
			return false
		}
		i.Name = b[1:b[0]]
		for len(i.Name) > 0 && i.Name[len(i.Name)-1] == 0 { // padded to a multiple of 4
			i.Name = i.Name[:len(i.Name)-1]
		}
		b = b[b[0]:]
	}
	if kind&1 != 0 && len(b) >= 4 {
		i.MTU = binary.BigEndian.Uint32(b)
	}
	return true
}

// checksum is the Internet checksum (RFC 1071) of a whole message with its own checksum in it: 0 if it is right.
func checksum(b []byte) uint16 {
	var sum uint32
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
