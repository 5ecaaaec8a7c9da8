package frames

import (
	"encoding/binary"
	"hash/crc32"
)

// The transports of InfiniBand: the upper three bits of an opcode.
const (
	RC  = 0
	UC  = 1
	RD  = 2
	UD  = 3
	CNP = 4 // congestion notification: opcode 0x81 on the wire
	XRC = 5
)

// The operations: the lower five bits of an opcode (InfiniBand Architecture volume 1, 9.2.1).
const (
	SendFirst = iota
	SendMiddle
	SendLast
	SendLastImm
	SendOnly
	SendOnlyImm
	WriteFirst
	WriteMiddle
	WriteLast
	WriteLastImm
	WriteOnly
	WriteOnlyImm
	ReadRequest
	ReadFirst
	ReadMiddle
	ReadLast
	ReadOnly
	Acknowledge
	AtomicAcknowledge
	CompareSwap
	FetchAdd
	_
	SendLastInv
	SendOnlyInv
	Flush       = 0x1c
	AtomicWrite = 0x1d
)

// A BTH is an InfiniBand base transport header and what of its extensions counts.
type BTH struct {
	Off    int // offset in Data
	Opcode uint8
	// V2 says that UDP carries it, else Ethernet (RoCEv1) or InfiniBand itself.
	V2, Native         bool
	AckReq, FECN, BECN bool
	Pad                uint8
	DestQP, PSN        uint32
	// Syndrome and MSN are those of the ACK extended header, if HasAETH.
	Syndrome uint8
	HasAETH  bool
	MSN      uint32
	// DMALen is the length that an RDMA request asks for, if HasRETH.
	DMALen  uint32
	HasRETH bool
	SrcQP   uint32 // of a datagram
	// Payload is its length on the wire, without padding and iCRC.
	Payload int
}

// Transport returns the upper three bits of the opcode.
func (b *BTH) Transport() uint8 { return b.Opcode >> 5 }

// Operation returns the lower five bits of the opcode.
func (b *BTH) Operation() uint8 { return b.Opcode & 0x1f }

// roceV2 reads a base transport header behind UDP; what cannot be one stays UDP.
func (f *Frame) roceV2(at int) {
	if at+12 <= len(f.Data) && f.bth(at, f.End) {
		f.BTH.V2 = true
	}
}

// roceV1 reads a global route header, which has the form of IPv6, and the base transport header behind it.
func (f *Frame) roceV1(at int) {
	if f.NumIPs == MaxDepth || !f.has(at, 52) || f.Data[at]>>4 != 6 || f.Data[at+6] != 0x1b {
		return
	}
	f.globalRoute(at)
	f.bth(at+40, min(f.Orig, at+40+int(f.be16(at+4))))
}

func (f *Frame) globalRoute(at int) {
	ip := &f.IPs[f.NumIPs]
	*ip = IP{Off: at, HeaderLen: 40, Version: 6, Proto: 0x1b, TTL: f.Data[at+7], Len: int(f.be16(at + 4))}
	copy(ip.Src[:], f.Data[at+8:])
	copy(ip.Dst[:], f.Data[at+24:])
	f.NumIPs++
	f.Tunnels[f.NumIPs] = NoTunnel
}

// infiniband reads native InfiniBand: a local route header, a global one where it says so, and the base transport header.
func (f *Frame) infiniband(at int) {
	if !f.has(at, 20) {
		return
	}
	end := min(f.Orig, at+4*int(f.be16(at+4)&0x7ff)+2)
	switch f.Data[at+1] & 3 {
	case 2:
		at += 8
	case 3:
		if !f.has(at, 60) {
			return
		}
		f.globalRoute(at + 8)
		at += 48
	default:
		return
	}
	// Behind the iCRC stands the variant CRC of two bytes.
	if !f.bth(at, max(at, end-2)) {
		return
	}
	f.BTH.Native = true
	// IP over InfiniBand: a datagram to a queue pair that is not management's, with an EtherType and two zero bytes.
	body := at + 20
	if f.BTH.Transport() == UD && f.BTH.DestQP > 1 && body+4 <= len(f.Data) && f.be16(body+2) == 0 && f.be16(body) >= 0x0600 {
		f.Kind = Other
		f.etherType(f.be16(body), body+4)
	}
}

// bth reads a base transport header whose packet ends with the iCRC at end. It reports false for what cannot be one.
func (f *Frame) bth(at, end int) bool {
	h := f.Data[at : at+12]
	op, transport := h[0], h[0]>>5
	if h[1]&15 != 0 || transport > XRC || transport == CNP && op != 0x80 && op != 0x81 {
		return false
	}
	f.Kind = RoCEPacket
	f.L4, f.End = at, end
	b := &f.BTH
	*b = BTH{
		Off: at, Opcode: op, Pad: h[1] >> 4 & 3, FECN: h[4]&0x80 != 0, BECN: h[4]&0x40 != 0, DestQP: f.be32(at+4) & 0xffffff,
		AckReq: h[8]&0x80 != 0, PSN: f.be32(at+8) & 0xffffff,
	}
	ext := at + 12
	answers := op&0x1f >= ReadFirst && op&0x1f <= AtomicAcknowledge
	switch transport {
	case UD:
		if f.has(ext, 8) {
			b.SrcQP = f.be32(ext+4) & 0xffffff
		}
		ext += 8
	case RD:
		ext += 4
		if !answers {
			ext += 8
		}
	case XRC:
		if !answers {
			ext += 4
		}
	}
	f.extensionHeaders(transport, op&0x1f, ext)
	return true
}

// extensionHeaders reads those that an operation has and sets the payload's length.
func (f *Frame) extensionHeaders(transport, operation uint8, at int) {
	b := &f.BTH
	if transport == CNP {
		return
	}
	switch operation {
	case WriteFirst, WriteOnly, WriteOnlyImm, ReadRequest:
		if f.has(at, 16) {
			b.DMALen, b.HasRETH = f.be32(at+12), true
		}
		at += 16
		if operation == WriteOnlyImm {
			at += 4
		}
	case ReadFirst, ReadLast, ReadOnly, Acknowledge, AtomicAcknowledge:
		if f.has(at, 4) {
			v := f.be32(at)
			b.Syndrome, b.MSN, b.HasAETH = uint8(v>>24), v&0xffffff, true
		}
		at += 4
		if operation == AtomicAcknowledge {
			at += 8
		}
	case SendLastImm, SendOnlyImm, WriteLastImm, SendLastInv, SendOnlyInv:
		at += 4
	case CompareSwap, FetchAdd:
		at += 28
	}
	b.Payload = max(0, f.End-at-int(b.Pad)-4)
}

// A CRC says what the invariant CRC of a RoCE packet told.
type CRC uint8

// The verdicts.
const (
	CRCUnknown CRC = iota // not captured whole, or left to the network card and still zero
	CRCGood
	CRCBad
)

// ICRC checks the invariant CRC of a RoCE packet: CRC-32 over 8 bytes of ones, the IP or global route header, UDP and BTH with
// the fields that change on the way as ones, and all that follows (InfiniBand Architecture volume 1, 7.8.1 and annex A17).
// Ethernet's check sequence is made anew by each switch, so this is what tells of bits that turned inside one.
func (f *Frame) ICRC() CRC {
	if f.Kind != RoCEPacket || f.BTH.Native || f.NumIPs == 0 || f.End > len(f.Data) {
		return CRCUnknown
	}
	ip := f.IP()
	at := f.BTH.Off
	headers := at + 12 - ip.Off
	if f.End < at+16 || headers > 88 {
		return CRCUnknown
	}
	stored := binary.LittleEndian.Uint32(f.Data[f.End-4:])
	// Some bytes more than the headers, so that the fast path of CRC-32 takes them too.
	masked := &f.masked
	binary.LittleEndian.PutUint64(masked[:], ^uint64(0))
	n := min(len(masked)-8, (headers+8+15)&^15-8+16, f.End-4-ip.Off)
	n = max(n, headers)
	m := masked[8 : 8+n]
	copy(m, f.Data[ip.Off:])
	if ip.Version == 4 {
		m[1], m[8], m[10], m[11] = 0xff, 0xff, 0xff, 0xff
	} else {
		// Traffic class, flow label and hop limit.
		m[0] |= 0x0f
		m[1], m[2], m[3], m[7] = 0xff, 0xff, 0xff, 0xff
	}
	if f.BTH.V2 {
		udp := at - 8 - ip.Off
		m[udp+6], m[udp+7] = 0xff, 0xff
	}
	m[at-ip.Off+4] = 0xff
	sum := crc32.Update(crc32.ChecksumIEEE(masked[:8+n]), crc32.IEEETable, f.Data[ip.Off+n:f.End-4])
	switch {
	case sum == stored:
		return CRCGood
	case stored == 0:
		return CRCUnknown
	}
	return CRCBad
}
