package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The magic numbers of pcap, in the byte order of the file (draft-ietf-opsawg-pcap).
const (
	magicMicro    = 0xa1b2c3d4
	magicNano     = 0xa1b23c4d
	magicModified = 0xa1b2cd34 // Kuznetsov's: records with 8 more bytes of header
)

// pcap is the classic format: one link type, one resolution, records of a 16-byte header and the packet.
type pcap struct {
	in             *input
	order          binary.ByteOrder
	big            bool
	scale          int64 // nanoseconds of a fraction's unit
	header         int
	link           LinkType
	magic, version uint32 // which the file began with
}

func openPcap(in *input) (*pcap, error) {
	h, err := in.peek(24)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		// Nothing can be said of less than a header but whether it began as one.
		if h, _ = in.peek(4); pcapOrder(h) != nil {
			return nil, &FormatError{0, errors.New("cut short in the file header")}
		}
		return nil, notCapture(h)
	}
	if err != nil {
		return nil, &FormatError{in.offset(), err}
	}
	order := pcapOrder(h)
	if order == nil {
		return nil, notCapture(h)
	}
	if major := order.Uint16(h[4:]); major != 2 {
		return nil, &FormatError{4, fmt.Errorf("pcap of version %d.%d, expected 2.x", major, order.Uint16(h[6:]))}
	}
	p := &pcap{in: in, order: order, big: order == binary.BigEndian, scale: 1000, header: 16, magic: order.Uint32(h), version: order.Uint32(h[4:])}
	switch order.Uint32(h) {
	case magicNano:
		p.scale = 1
	case magicModified:
		p.header = 24
	}
	// The upper bits say whether packets carry their frame check sequence; lengths inside the packet tell where it begins.
	p.link = LinkType(order.Uint32(h[20:]))
	in.skip(24)
	return p, nil
}

// others are the beginnings of compressed files that are not read, and what unpacks them to standard output.
var others = []struct{ magic, unpacked string }{
	{"\xfd7zXZ", "xz -dc"}, {"BZh", "bzip2 -dc"}, {"\x04\x22\x4d\x18", "lz4 -dc"}, {"PK\x03\x04", "unzip -p"},
}

// notCapture is the error of a file that begins with h.
func notCapture(h []byte) error {
	for _, o := range others {
		if strings.HasPrefix(string(h), o.magic[:min(4, len(o.magic))]) {
			return &FormatError{0, fmt.Errorf("compressed otherwise than with gzip or zstd: %s FILE | whichlink pcap -", o.unpacked)}
		}
	}
	return &FormatError{0, fmt.Errorf("not a capture: it begins with % x", h[:4])}
}

// pcapOrder tells the byte order by the magic number, nil if it is none.
func pcapOrder(h []byte) binary.ByteOrder {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		switch order.Uint32(h) {
		case magicMicro, magicNano, magicModified:
			return order
		}
	}
	return nil
}

func (f *pcap) next(p *Packet) error {
	h, err := f.in.peek(f.header)
	if err != nil {
		return f.cut(err, "record header")
	}
	sec, frac, captured, orig := f.record(h)
	if captured == 0 && f.header == 16 && sec == f.magic && frac == f.version {
		return &FormatError{f.in.offset(), errors.New("another capture begins here: files are not joined by cat but by naming them all, or by mergecap")}
	}
	if captured > MaxPacket {
		return &FormatError{f.in.offset(), fmt.Errorf("a packet of %d bytes, more than the limit of %d", captured, MaxPacket)}
	}
	all, err := f.in.peek(f.header + int(captured))
	if err != nil {
		return f.cut(err, "packet")
	}
	f.in.skip(len(all))
	f.set(p, sec, frac, orig, all[f.header:])
	return nil
}

// record reads a record's header.
func (f *pcap) record(h []byte) (sec, frac, captured, orig uint32) {
	h = h[:16]
	if f.big {
		return binary.BigEndian.Uint32(h), binary.BigEndian.Uint32(h[4:]), binary.BigEndian.Uint32(h[8:]), binary.BigEndian.Uint32(h[12:])
	}
	return binary.LittleEndian.Uint32(h), binary.LittleEndian.Uint32(h[4:]), binary.LittleEndian.Uint32(h[8:]), binary.LittleEndian.Uint32(h[12:])
}

func (f *pcap) set(p *Packet, sec, frac, orig uint32, data []byte) {
	p.Time = int64(sec)*1_000_000_000 + int64(frac)*f.scale
	p.Link, p.File, p.Interface, p.Speed = f.link, 0, 0, 0
	p.Orig, p.Data = originalLength(orig, uint32(len(data))), data
}

// originalLength takes a length on the wire that is less than what was captured for a fault of the writer.
func originalLength(orig, captured uint32) int { return int(max(min(orig, 1<<30), captured)) }

func (f *pcap) more(packets []Packet) (int, error) {
	b, header, n := f.in.rest(), f.header, 0
	for i := range packets {
		if len(b) < header {
			break
		}
		sec, frac, captured, orig := f.record(b)
		end := header + int(captured)
		if captured-1 >= MaxPacket || end > len(b) {
			break
		}
		f.set(&packets[i], sec, frac, orig, b[header:end:end])
		b = b[end:]
		n++
	}
	f.in.skip(len(f.in.rest()) - len(b))
	return n, nil
}

func (f *pcap) cut(err error, where string) error {
	switch {
	case err == io.EOF:
		return io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &FormatError{f.in.offset(), fmt.Errorf("cut short in a %s: %w", where, err)}
	}
	return &FormatError{f.in.offset(), err}
}
