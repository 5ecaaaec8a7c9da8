// Package ber holds what SNMP takes of the basic encoding rules (X.690): lengths, numbers and object identifiers of its messages, written and read
// without copies.
package ber

import "math"

// The types that messages are made of.
const (
	Integer          byte = 0x02
	OctetString      byte = 0x04
	Null             byte = 0x05
	ObjectIdentifier byte = 0x06
	Sequence         byte = 0x30
)

// MostParts is how many parts an object identifier has at most (RFC 2578, 3.5).
const MostParts = 128

// AppendHead appends a type and a length, which is below 65,536: no datagram is longer.
func AppendHead(b []byte, tag byte, length int) []byte {
	switch {
	case length < 0x80:
		return append(b, tag, byte(length))
	case length < 0x100:
		return append(b, tag, 0x81, byte(length))
	}
	return append(b, tag, 0x82, byte(length>>8), byte(length))
}

// AppendName appends the content of an object identifier (8.19): seven bits an octet, and the first two parts in one number.
func AppendName(b []byte, parts []uint32) []byte {
	if len(parts) < 2 {
		return append(b, 0)
	}
	b = appendPart(b, 40*uint64(parts[0])+uint64(parts[1]))
	for _, part := range parts[2:] {
		b = appendPart(b, uint64(part))
	}
	return b
}

func appendPart(b []byte, n uint64) []byte {
	for shift := 35; shift > 0; shift -= 7 {
		if n>>shift != 0 {
			b = append(b, byte(n>>shift)|0x80)
		}
	}
	return append(b, byte(n)&0x7f)
}

// Name appends the parts of an object identifier's content to others. It returns false, and what there was, if it is none.
func Name(parts []uint32, content []byte) ([]uint32, bool) {
	had := len(parts)
	n := uint64(0)
	for _, x := range content {
		n = n<<7 | uint64(x&0x7f)
		switch {
		case n > math.MaxUint32+80 || len(parts)-had >= MostParts:
			return parts[:had], false
		case x&0x80 != 0:
			continue
		case len(parts) == had:
			first := min(n/40, 2)
			parts = append(parts, uint32(first))
			n -= 40 * first
		}
		if n > math.MaxUint32 {
			return parts[:had], false
		}
		parts = append(parts, uint32(n))
		n = 0
	}
	if len(parts) == had || content[len(content)-1]&0x80 != 0 {
		return parts[:had], false
	}
	return parts, true
}

// Signed reads the content of an INTEGER of one to eight octets.
func Signed(content []byte) int64 {
	n := int64(int8(content[0]))
	for _, x := range content[1:] {
		n = n<<8 | int64(x)
	}
	return n
}

// A Cursor takes values from the front of a text. What is wrong with them is kept, so that it can be asked once, at the end.
type Cursor struct {
	Rest []byte
	// Cut tells that a value was said to be longer than what is there, Bad that one was none or of another type than expected.
	Cut, Bad bool
}

// Next returns the type and content of the next value.
func (c *Cursor) Next() (tag byte, content []byte) {
	if len(c.Rest) < 2 {
		c.Bad = true
		return 0, nil
	}
	tag = c.Rest[0]
	n, head := int(c.Rest[1]), 2
	if n >= 0x80 {
		size := n & 0x7f
		if size == 0 || size > 4 || len(c.Rest) < 2+size {
			c.Bad = true
			return 0, nil
		}
		n, head = 0, 2+size
		for _, x := range c.Rest[2:head] {
			n = n<<8 | int(x)
		}
	}
	if n > len(c.Rest)-head {
		c.Cut, n = true, len(c.Rest)-head
	}
	content, c.Rest = c.Rest[head:head+n], c.Rest[head+n:]
	return tag, content
}

// In returns the content of the next value, which must be of a type.
func (c *Cursor) In(tag byte) []byte {
	got, content := c.Next()
	if got != tag {
		c.Bad = true
	}
	return content
}

// Number returns the next value, which must be an INTEGER.
func (c *Cursor) Number() int64 {
	content := c.In(Integer)
	if len(content) == 0 || len(content) > 8 {
		c.Bad = true
		return 0
	}
	return Signed(content)
}
