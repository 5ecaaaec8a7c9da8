package frames

import (
	"encoding/binary"

	"whichlink/captures/files"
)

// The EtherTypes that are looked behind.
const (
	typeIPv4       = 0x0800
	typeIPv6       = 0x86dd
	typeVLAN       = 0x8100
	typeQinQ       = 0x88a8
	typeQinQOld    = 0x9100
	typeMPLS       = 0x8847
	typeMPLSUp     = 0x8848
	typePPPoE      = 0x8864
	typeControl    = 0x8808
	typeRoCE       = 0x8915
	typeFabricPath = 0x8903
	typeVNTag      = 0x8926
	typeArista     = 0xd28b
	typeBridging   = 0x6558 // transparent Ethernet bridging
	typeERSPAN     = 0x88be // type I and II
	typeERSPAN3    = 0x22eb
)

// linkLayer reads the header of a link type other than Ethernet.
func (f *Frame) linkLayer(link files.LinkType) {
	switch link {
	case files.Null, files.Loop:
		f.loopback()
	case files.PPP, files.PPPHDLC:
		f.ppp(0)
	case files.PPPWay:
		f.ppp(1)
	case files.PPPoE:
		f.network(typePPPoE, 0)
	case files.MPLS:
		f.network(typeMPLS, 0)
	case files.WiFi:
		f.wireless(0, false)
	case files.Radiotap:
		f.radiotap()
	case files.PPI:
		f.perPacket()
	case files.NFLog:
		f.nflog()
	case files.Raw, files.RawBSD, files.RawOpenBSD, files.IPv4, files.IPv6:
		f.ipByNibble(0)
	case files.CiscoHDLC:
		if f.has(0, 4) {
			f.etherType(f.be16(2), 4)
		}
	case files.LinuxSLL:
		if f.has(0, 16) {
			f.cooked(f.be16(14), f.be16(2), 16)
		}
	case files.LinuxSLL2:
		if f.has(0, 20) {
			f.cooked(f.be16(0), f.be16(8), 20)
		}
	case files.ERF:
		f.erf()
	case files.IPoIB:
		if f.has(0, 44) {
			f.etherType(f.be16(40), 44)
		}
	case files.InfiniBand:
		f.infiniband(0)
	}
}

// cooked reads behind a Linux cooked header, whose protocol is an EtherType unless the device is of another kind.
func (f *Frame) cooked(protocol, device uint16, at int) {
	const netlink, radiotap = 824, 803
	if device == netlink || device == radiotap || protocol < 0x0600 {
		return
	}
	f.etherType(protocol, at)
}

// loopback reads the address family, in whichever byte order it makes sense.
func (f *Frame) loopback() {
	if !f.has(0, 4) {
		return
	}
	family := binary.LittleEndian.Uint32(f.Data)
	if family > 0xffff {
		family = binary.BigEndian.Uint32(f.Data)
	}
	// The numbers of families differ from system to system, and some writers put none there: what is no ISO is tried as IP.
	if family != 7 {
		f.ipByNibble(4)
	}
}

func (f *Frame) ppp(at int) {
	if f.has(at, 2) && f.Data[at] == 0xff && f.Data[at+1] == 0x03 {
		at += 2
	}
	f.pppProtocol(at)
}

func (f *Frame) pppProtocol(at int) {
	if !f.has(at, 2) {
		return
	}
	protocol, n := f.be16(at), 2
	if protocol&0x0100 != 0 { // compressed to one byte
		protocol, n = protocol>>8, 1
	}
	switch protocol {
	case 0x21:
		f.etherType(typeIPv4, at+n)
	case 0x57:
		f.etherType(typeIPv6, at+n)
	case 0x281:
		f.etherType(typeMPLS, at+n)
	}
}

// erf reads an Endace record: 16 bytes, extension headers, and for Ethernet two bytes of padding.
func (f *Frame) erf() {
	if !f.has(0, 16) {
		return
	}
	at, more := 16, f.Data[8]&0x80 != 0
	for more {
		if !f.has(at, 8) || !f.peel() {
			return
		}
		more = f.Data[at]&0x80 != 0
		at += 8
	}
	switch f.Data[8] & 0x7f {
	case 2, 11, 16, 20: // Ethernet
		f.ethernet(at + 2)
	case 21:
		f.infiniband(at)
	case 22, 23:
		f.ipByNibble(at)
	}
}

// ethernet reads an Ethernet header and what stands behind it.
func (f *Frame) ethernet(at int) {
	if !f.has(at, 14) {
		return
	}
	f.MAC = at
	f.etherType(f.be16(at+12), at+14)
}

// etherType follows an EtherType through tags to the network layer.
func (f *Frame) etherType(t uint16, at int) {
	for {
		if t == typeIPv4 {
			f.EtherType, f.Link = t, at
			f.ipv4(at)
			return
		}
		if !f.peel() {
			return
		}
		f.EtherType, f.Link = t, at
		switch t {
		case typeVLAN, typeQinQ, typeQinQOld:
			if !f.has(at, 4) {
				return
			}
			f.Tagged = f.Data[at] >> 5
			if f.NumVLANs < MaxTags {
				f.VLANs[f.NumVLANs] = f.be16(at) & 0x0fff
				f.NumVLANs++
			}
			t, at = f.be16(at+2), at+4
		case typeVNTag:
			if !f.has(at, 6) {
				return
			}
			t, at = f.be16(at+4), at+6
		case typeArista:
			n := f.aristaLen(at)
			if n == 0 || !f.has(at, n+2) {
				return
			}
			t, at = f.be16(at+n), at+n+2
		default:
			f.network(t, at)
			return
		}
	}
}

// aristaLen returns the length of Arista's time stamp header up to the next EtherType, 0 if it is of an unknown form.
func (f *Frame) aristaLen(at int) int {
	if !f.has(at, 4) || f.be16(at) != 1 {
		return 0
	}
	switch f.be16(at + 2) {
	case 0x0010, 0x0110: // 64 bits
		return 12
	case 0x0020, 0x0120: // 48 bits
		return 10
	}
	return 0
}

// network reads what an EtherType that is no tag announces.
func (f *Frame) network(t uint16, at int) {
	switch t {
	case typeIPv6:
		f.ipv6(at)
	case typeMPLS, typeMPLSUp:
		f.mpls(at)
	case typePPPoE:
		if f.has(at, 8) {
			f.pppProtocol(at + 6)
		}
	case typeRoCE:
		f.roceV1(at)
	case typeControl:
		f.macControl(at)
	case typeFabricPath:
		// The outer addresses stand in front, then the tree and its TTL; a whole Ethernet header follows.
		f.ethernet(at + 2)
	default:
		if t <= 1500 {
			f.llc(at)
		}
	}
}

// llc reads an IEEE 802.2 header; behind SNAP with the OUI of Ethernet stands an EtherType.
func (f *Frame) llc(at int) {
	f.EtherType = 0
	if at+8 <= len(f.Data) && f.be32(at) == 0xaaaa0300 && f.Data[at+4] == 0 && f.Data[at+5] == 0 {
		if t := f.be16(at + 6); t >= 0x0600 {
			f.etherType(t, at+8)
		}
	}
}

// mpls reads a label stack. Nothing says what follows its bottom but the first four bits.
func (f *Frame) mpls(at int) {
	for f.peel() && f.has(at, 4) {
		entry := f.be32(at)
		if f.NumLabels < MaxTags {
			f.Labels[f.NumLabels] = entry
			f.NumLabels++
		}
		at += 4
		if entry&0x100 == 0 {
			continue
		}
		if !f.has(at, 1) {
			return
		}
		switch f.Data[at] >> 4 {
		case 4, 6:
			f.ipByNibble(at)
		case 0: // a pseudowire's control word (RFC 4385), of which Ethernet is the common kind
			f.ethernet(at + 4)
		default:
			f.ethernet(at)
		}
		return
	}
}

// ipByNibble reads IPv4 or IPv6 by the version field.
func (f *Frame) ipByNibble(at int) {
	if !f.has(at, 1) {
		return
	}
	switch f.Data[at] >> 4 {
	case 4:
		f.EtherType, f.Link = typeIPv4, at
		f.ipv4(at)
	case 6:
		f.EtherType, f.Link = typeIPv6, at
		f.ipv6(at)
	}
}
