package frames

import "encoding/binary"

// The flags of TCP. AE is what was NS before (RFC 9768).
const (
	FIN = 1 << iota
	SYN
	RST
	PSH
	ACK
	URG
	ECE
	CWR
	AE
)

// A TCP is a TCP header (RFC 9293).
type TCP struct {
	Seq, Ack uint32
	Len      int // bytes of payload on the wire
	Flags    uint16
	Window   uint16
	Checksum uint16
	// Scale is the window scale option's shift, -1 where it is absent.
	Scale int8
	// Blocks counts the SACK blocks (RFC 2018), the first two of which are in SACK.
	Blocks uint8
	SACK   [2]struct{ Left, Right uint32 }
	// Stamp and Echo are the time stamp option's values (RFC 7323), if HasStamp.
	Stamp, Echo uint32
	HasStamp    bool
}

// tcp reads a TCP header.
func (f *Frame) tcp(ip *IP, at int) {
	if !f.has(at, 20) {
		// Ports are enough to name the flow, but not to follow it.
		f.Kind = IPOther
		return
	}
	h := (*[20]byte)(f.Data[at:])
	header := int(h[12]>>4) * 4
	if header < 20 || header > ip.Len {
		f.Malformed = true
		f.Kind = IPOther
		return
	}
	f.Kind = TCPSegment
	ip.SrcPort, ip.DstPort = binary.BigEndian.Uint16(h[:]), binary.BigEndian.Uint16(h[2:])
	f.TCP.fields(h, ip.Len-header)
	if header > 20 {
		f.tcpOptions(at, header)
	}
}

// fields reads what stands at the beginning of every header.
func (t *TCP) fields(h *[20]byte, payload int) {
	t.Seq, t.Ack = binary.BigEndian.Uint32(h[4:]), binary.BigEndian.Uint32(h[8:])
	t.Flags = binary.BigEndian.Uint16(h[12:]) & 0x1ff
	t.Window, t.Checksum = binary.BigEndian.Uint16(h[14:]), binary.BigEndian.Uint16(h[16:])
	t.Len = payload
	t.Scale, t.Blocks, t.HasStamp = -1, 0, false
}

// stamped reads a time stamp option that is aligned as RFC 7323 advises: most segments carry that and nothing else. It reports false for all else.
func (t *TCP) stamped(b *[12]byte) bool {
	if binary.BigEndian.Uint32(b[:]) != 0x0101080a {
		return false
	}
	t.Stamp, t.Echo, t.HasStamp = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]), true
	return true
}

// tcpOptions reads the options of a header at an offset.
func (f *Frame) tcpOptions(at, header int) {
	options := f.Data[at+20 : min(at+header, len(f.Data))]
	if len(options) >= 12 && f.TCP.stamped((*[12]byte)(options)) {
		options = options[12:]
	}
	f.TCP.options(options)
}

func (t *TCP) options(b []byte) {
	for len(b) > 0 {
		kind := b[0]
		if kind == 0 {
			return
		}
		if kind == 1 {
			b = b[1:]
			continue
		}
		if len(b) < 2 || b[1] < 2 || int(b[1]) > len(b) {
			return
		}
		value := b[2:b[1]]
		b = b[b[1]:]
		switch {
		case kind == 3 && len(value) == 1:
			t.Scale = int8(min(value[0], 14))
		case kind == 5:
			t.Blocks = uint8(len(value) / 8)
			for i := range min(int(t.Blocks), len(t.SACK)) {
				t.SACK[i].Left, t.SACK[i].Right = binary.BigEndian.Uint32(value[8*i:]), binary.BigEndian.Uint32(value[8*i+4:])
			}
		case kind == 8 && len(value) == 8:
			t.Stamp, t.Echo, t.HasStamp = binary.BigEndian.Uint32(value), binary.BigEndian.Uint32(value[4:]), true
		}
	}
}
