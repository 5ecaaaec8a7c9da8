package agentsim

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The types of values (RFC 2578, RFC 3416).
const (
	Integer          byte = 0x02
	OctetString      byte = 0x04
	Null             byte = 0x05
	ObjectIdentifier byte = 0x06
	IPAddress        byte = 0x40
	Counter32        byte = 0x41
	Gauge32          byte = 0x42
	TimeTicks        byte = 0x43
	Opaque           byte = 0x44
	Counter64        byte = 0x46
)

const (
	sequence      byte = 0x30
	noSuchObject  byte = 0x80
	endOfMibView  byte = 0x82
	getRequest    byte = 0xa0
	getNext       byte = 0xa1
	getResponse   byte = 0xa2
	getBulk       byte = 0xa5
	versionTwoC        = 1
	errorTooBig        = 1
	errorGeneral       = 5
	mostIdentifer      = 128 // parts of an OID (RFC 2578, 3.5)
)

var errMalformed = errors.New("malformed message")

// An oid is an object identifier. Parts are 32 bits (RFC 2578, 3.5).
type oid []uint32

func (o oid) String() string {
	var b strings.Builder
	for i, n := range o {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strconv.FormatUint(uint64(n), 10))
	}
	return b.String()
}

// parseOID reads the dotted form, with or without a leading dot.
func parseOID(s string) (oid, error) {
	s = strings.TrimPrefix(s, ".")
	o := make(oid, 0, strings.Count(s, ".")+1)
	for part := range strings.SplitSeq(s, ".") {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil || len(o) == mostIdentifer {
			return nil, fmt.Errorf("%q is not an object identifier", clip(s))
		}
		o = append(o, uint32(n))
	}
	if len(o) < 2 || o[0] > 2 || o[0] < 2 && o[1] > 39 {
		return nil, fmt.Errorf("%q is not an object identifier", clip(s))
	}
	return o, nil
}

func clip(s string) string { return s[:min(len(s), 60)] }

// appendTLV appends a value with its type and length.
func appendTLV(b []byte, tag byte, content []byte) []byte {
	return append(appendHead(b, tag, len(content)), content...)
}

func appendHead(b []byte, tag byte, length int) []byte {
	switch {
	case length < 0x80:
		return append(b, tag, byte(length))
	case length < 0x100:
		return append(b, tag, 0x81, byte(length))
	default:
		return append(b, tag, 0x82, byte(length>>8), byte(length))
	}
}

// oidContent is the encoding of an OID without type and length (X.690, 8.19).
func oidContent(o oid) []byte {
	b := make([]byte, 0, len(o)+4)
	b = appendBase128(b, uint64(o[0])*40+uint64(o[1]))
	for _, n := range o[2:] {
		b = appendBase128(b, uint64(n))
	}
	return b
}

func appendBase128(b []byte, n uint64) []byte {
	for shift := 63; shift > 0; shift -= 7 {
		if n>>shift != 0 {
			b = append(b, byte(n>>shift)|0x80)
		}
	}
	return append(b, byte(n)&0x7f)
}

// signedContent and unsignedContent are the shortest encodings of integers (X.690, 8.3).
func signedContent(n int64) []byte {
	size := 1
	for size < 8 && (n > math.MaxInt64>>(64-8*size) || n < math.MinInt64>>(64-8*size)) {
		size++
	}
	b := make([]byte, 0, size)
	for i := size - 1; i >= 0; i-- {
		b = append(b, byte(n>>(8*i)))
	}
	return b
}

func unsignedContent(n uint64) []byte {
	if n > math.MaxInt64 {
		return append([]byte{0}, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return signedContent(int64(n))
}

// A decoder takes values from the front of a message.
type decoder struct {
	b   []byte
	err error
}

// next returns the type and content of the next value.
func (d *decoder) next() (tag byte, content []byte) {
	if d.err != nil || len(d.b) < 2 {
		d.err = errMalformed
		return 0, nil
	}
	tag, n, head := d.b[0], int(d.b[1]), 2
	if n >= 0x80 {
		size := n & 0x7f
		if size == 0 || size > 3 || len(d.b) < 2+size {
			d.err = errMalformed
			return 0, nil
		}
		n, head = 0, 2+size
		for _, c := range d.b[2:head] {
			n = n<<8 | int(c)
		}
	}
	if len(d.b)-head < n {
		d.err = errMalformed
		return 0, nil
	}
	content, d.b = d.b[head:head+n], d.b[head+n:]
	return tag, content
}

// in returns the content of the next value, which must be of the given type.
func (d *decoder) in(want byte) []byte {
	tag, content := d.next()
	if d.err == nil && tag != want {
		d.err = errMalformed
	}
	return content
}

func (d *decoder) integer() int64 {
	content := d.in(Integer)
	if d.err != nil || len(content) == 0 || len(content) > 8 {
		d.err = errMalformed
		return 0
	}
	n := int64(int8(content[0]))
	for _, c := range content[1:] {
		n = n<<8 | int64(c)
	}
	return n
}

func (d *decoder) oid(into oid) oid {
	content := d.in(ObjectIdentifier)
	into = into[:0]
	n := uint64(0)
	for i, c := range content {
		n = n<<7 | uint64(c&0x7f)
		if n > math.MaxUint32+80 || len(into) > mostIdentifer || i == len(content)-1 && c&0x80 != 0 {
			d.err = errMalformed
			return into
		}
		if c&0x80 != 0 {
			continue
		}
		if len(into) == 0 {
			first := min(n/40, 2)
			into = append(into, uint32(first))
			n -= first * 40
		}
		into = append(into, uint32(n))
		n = 0
	}
	if len(into) == 0 {
		d.err = errMalformed
	}
	return into
}
