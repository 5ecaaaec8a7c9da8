package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// The block types of pcapng (draft-ietf-opsawg-pcapng).
const (
	blockSection    = 0x0a0d0d0a
	blockInterface  = 1
	blockPacket     = 2 // obsolete
	blockSimple     = 3
	blockStatistics = 5
	blockEnhanced   = 6
)

// pcapng is a chain of sections, each with its own byte order and interfaces, of blocks that state their length twice.
type pcapng struct {
	in         *input
	stats      *Stats
	order      binary.ByteOrder
	interfaces []captureInterface
	last       int64 // time of the packet before
	at         int64 // offset of the block that is being read
}

// captureInterface is what an Interface Description Block says.
type captureInterface struct {
	link    LinkType
	snap    uint32
	binary  bool  // the unit is 2^-exponent of a second, not 10^-exponent
	exp     uint8 // exponent
	scale   uint64
	offset  int64  // seconds to add
	speed   uint64 // bits per second, 0 where it is not stated
	dropped uint64
}

func (f *pcapng) fail(format string, args ...any) error {
	return &FormatError{f.at, fmt.Errorf(format, args...)}
}

// cut says that a block ends before its end. At the beginning of a block the end of the stream is the end of the file.
func (f *pcapng) cut(err error, beginning bool) error {
	switch {
	case err == io.EOF && beginning:
		return io.EOF
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return f.fail("cut short in a block: %w", io.ErrUnexpectedEOF)
	}
	return &FormatError{f.at, err}
}

// section reads a Section Header Block, which begins the file and each further section.
func (f *pcapng) section() error {
	f.at = f.in.offset()
	h, err := f.in.peek(16)
	if err != nil {
		return f.cut(err, false)
	}
	switch {
	case binary.LittleEndian.Uint32(h[8:]) == 0x1a2b3c4d:
		f.order = binary.LittleEndian
	case binary.BigEndian.Uint32(h[8:]) == 0x1a2b3c4d:
		f.order = binary.BigEndian
	default:
		return f.fail("a section header with byte-order magic % x", h[8:12])
	}
	if major := f.order.Uint16(h[12:]); major != 1 {
		return f.fail("pcapng of version %d.%d, expected 1.x", major, f.order.Uint16(h[14:]))
	}
	f.interfaces = f.interfaces[:0]
	length := f.order.Uint32(h[4:])
	if length < 28 {
		return f.fail("a section header of %d bytes", length)
	}
	return f.pass(length)
}

// pass consumes a block of which nothing more is wanted.
func (f *pcapng) pass(length uint32) error {
	if length%4 != 0 {
		return f.fail("a block of %d bytes, not a multiple of 4", length)
	}
	if err := f.in.discard(int64(length) - 4); err != nil {
		return f.cut(err, false)
	}
	tail, err := f.in.peek(4)
	if err != nil {
		return f.cut(err, false)
	}
	if again := f.order.Uint32(tail); again != length {
		return f.fail("a block of %d bytes that says %d at its end", length, again)
	}
	f.in.skip(4)
	return nil
}

func (f *pcapng) next(p *Packet) error {
	for {
		f.at = f.in.offset()
		h, err := f.in.peek(8)
		if err != nil {
			return f.cut(err, true)
		}
		kind, length := f.order.Uint32(h), f.order.Uint32(h[4:])
		if kind == blockSection {
			if err := f.section(); err != nil {
				return err
			}
			continue
		}
		if length < 12 {
			return f.fail("a block of %d bytes", length)
		}
		switch kind {
		case blockEnhanced, blockPacket, blockSimple, blockInterface, blockStatistics:
		default:
			if err := f.pass(length); err != nil {
				return err
			}
			continue
		}
		if length%4 != 0 || length > MaxPacket+maxOptions {
			return f.fail("a block of %d bytes, more than the limit of %d or not a multiple of 4", length, MaxPacket+maxOptions)
		}
		block, err := f.in.peek(int(length))
		if err != nil {
			return f.cut(err, false)
		}
		if again := f.order.Uint32(block[length-4:]); again != length {
			return f.fail("a block of %d bytes that says %d at its end", length, again)
		}
		f.in.skip(int(length))
		body := block[8 : length-4]
		yields := false
		switch kind {
		case blockInterface:
			err = f.readInterface(body)
		case blockStatistics:
			f.readStatistics(body)
		case blockSimple:
			err, yields = f.readSimple(body, p), true
		default:
			err, yields = f.readPacket(body, kind == blockEnhanced, p), true
		}
		if err != nil || yields {
			return err
		}
	}
}

func (f *pcapng) more(packets []Packet) (int, error) {
	for n := range packets {
		h := f.in.rest()
		if len(h) < 8 {
			return n, nil
		}
		switch f.order.Uint32(h) {
		case blockEnhanced, blockPacket, blockSimple:
		default:
			return n, nil
		}
		if uint64(f.order.Uint32(h[4:])) > uint64(len(h)) {
			return n, nil
		}
		if err := f.next(&packets[n]); err != nil {
			return n, err
		}
	}
	return len(packets), nil
}

// readPacket reads an Enhanced Packet Block, or the obsolete Packet Block, which differs in its first four bytes.
func (f *pcapng) readPacket(b []byte, enhanced bool, p *Packet) error {
	if len(b) < 20 {
		return f.fail("a packet block of %d bytes", len(b)+12)
	}
	id := f.order.Uint32(b)
	if !enhanced {
		id = uint32(f.order.Uint16(b))
		if drops := f.order.Uint16(b[2:]); drops != 0xffff {
			f.drops(uint64(drops), drops > 0)
		}
	}
	if int64(id) >= int64(len(f.interfaces)) {
		return f.fail("a packet of interface %d, but %d are described", id, len(f.interfaces))
	}
	captured, orig := f.order.Uint32(b[12:]), f.order.Uint32(b[16:])
	if int64(captured) > int64(len(b)-20) {
		return f.fail("a packet of %d bytes in a block that holds %d", captured, len(b)-20)
	}
	if captured > MaxPacket {
		return f.fail("a packet of %d bytes, more than the limit of %d", captured, MaxPacket)
	}
	iface := &f.interfaces[id]
	f.last = iface.time(uint64(f.order.Uint32(b[4:]))<<32 | uint64(f.order.Uint32(b[8:])))
	p.Time, p.Link, p.File, p.Interface, p.Speed = f.last, iface.link, 0, int(id), iface.speed
	p.Data = b[20 : 20+captured]
	p.Orig = originalLength(orig, captured)
	if options := 20 + (int(captured)+3)&^3; enhanced && options+4 <= len(b) {
		f.options(b[options:], func(code uint16, value []byte) {
			if code == 4 && len(value) == 8 { // epb_dropcount
				f.drops(f.order.Uint64(value), true)
			}
		})
	}
	return nil
}

// readSimple reads a Simple Packet Block: of the first interface, without a time, for which that of the packet before stands.
func (f *pcapng) readSimple(b []byte, p *Packet) error {
	if len(b) < 4 || len(f.interfaces) == 0 {
		return f.fail("a simple packet block without length or interface")
	}
	orig := f.order.Uint32(b)
	captured := min(orig, uint32(len(b)-4))
	if snap := f.interfaces[0].snap; snap > 0 {
		captured = min(captured, snap)
	}
	if captured > MaxPacket {
		return f.fail("a packet of %d bytes, more than the limit of %d", captured, MaxPacket)
	}
	p.Time, p.Link, p.File, p.Interface, p.Speed = f.last, f.interfaces[0].link, 0, 0, f.interfaces[0].speed
	p.Data = b[4 : 4+captured]
	p.Orig = originalLength(orig, captured)
	return nil
}

func (f *pcapng) readInterface(b []byte) error {
	if len(b) < 8 {
		return f.fail("an interface block of %d bytes", len(b)+12)
	}
	if len(f.interfaces) >= maxInterfaces {
		return f.fail("more than %d interfaces", maxInterfaces)
	}
	i := captureInterface{link: LinkType(f.order.Uint16(b)), snap: f.order.Uint32(b[4:]), exp: 6}
	f.options(b[8:], func(code uint16, value []byte) {
		switch {
		case code == 8 && len(value) == 8: // if_speed
			i.speed = f.order.Uint64(value)
		case code == 9 && len(value) >= 1: // if_tsresol
			i.binary, i.exp = value[0]&0x80 != 0, value[0]&0x7f
		case code == 14 && len(value) == 8: // if_tsoffset
			i.offset = int64(f.order.Uint64(value))
		}
	})
	if i.binary && i.exp > 63 || !i.binary && i.exp > 19 {
		return f.fail("an interface whose clock has a unit of %d^-%d s", map[bool]int{false: 10, true: 2}[i.binary], i.exp)
	}
	i.scale = 1
	for range max(int(i.exp)-9, 9-int(i.exp)) {
		if i.binary {
			break
		}
		i.scale *= 10
	}
	f.interfaces = append(f.interfaces, i)
	return nil
}

// time turns an interface's time stamp into nanoseconds since 1970 UTC.
func (i *captureInterface) time(units uint64) int64 {
	switch {
	case i.binary:
		// The fraction is below 2^exp, so its nanoseconds fit.
		hi, lo := bits.Mul64(units&(1<<i.exp-1), 1_000_000_000)
		fraction := lo
		if i.exp > 0 {
			fraction = hi<<(64-i.exp) | lo>>i.exp
		}
		return clampTime(units>>i.exp, fraction, i.offset)
	case i.exp > 9:
		nanos := units / i.scale
		return clampTime(nanos/1_000_000_000, nanos%1_000_000_000, i.offset)
	}
	perSecond := uint64(1_000_000_000) / i.scale
	return clampTime(units/perSecond, units%perSecond*i.scale, i.offset)
}

// clampTime adds an offset in seconds, which a file may choose at will.
func clampTime(sec, nanos uint64, offset int64) int64 {
	const far = 1 << 40
	return nanoseconds(int64(min(sec, far))+min(max(offset, -far), far), int64(nanos))
}

// readStatistics reads what the capture says that it dropped. An interface's counts only grow, so the last counts.
func (f *pcapng) readStatistics(b []byte) {
	if len(b) < 12 {
		return
	}
	id := f.order.Uint32(b)
	if int64(id) >= int64(len(f.interfaces)) {
		return
	}
	var dropped uint64
	f.options(b[12:], func(code uint16, value []byte) {
		if (code == 5 || code == 7) && len(value) == 8 { // isb_ifdrop, isb_osdrop
			f.stats.Known = true
			dropped += f.order.Uint64(value)
		}
	})
	if i := &f.interfaces[id]; dropped > i.dropped {
		f.drops(dropped-i.dropped, true)
		i.dropped = dropped
	}
}

// drops adds packets that the capture dropped.
func (f *pcapng) drops(n uint64, known bool) {
	f.stats.Known = f.stats.Known || known
	if f.stats.Dropped+n < f.stats.Dropped {
		n = 0 // a count that wraps is nonsense
	}
	f.stats.Dropped += n
}

// options walks the options of a block. What does not fit is left.
func (f *pcapng) options(b []byte, each func(code uint16, value []byte)) {
	for len(b) >= 4 {
		code, n := f.order.Uint16(b), int(f.order.Uint16(b[2:]))
		if code == 0 || n > len(b)-4 {
			return
		}
		each(code, b[4:4+n])
		b = b[min(len(b), 4+(n+3)&^3):]
	}
}
