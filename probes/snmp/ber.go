package snmp

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"

	"github.com/gosnmp/gosnmp"
)

// Types of BER (X.690) and of PDUs (RFC 3416, 3) besides those of values.
const (
	berInteger    = 0x02
	berOctets     = 0x04
	berNull       = 0x05
	berIdentifier = 0x06
	berSequence   = 0x30

	pduGet      = 0xa0
	pduGetNext  = 0xa1
	pduResponse = 0xa2
	pduGetBulk  = 0xa5

	versionTwoC = 1
)

// A query is one request.
type query struct {
	kind  byte // of the PDU
	names []OID
	// nonRepeaters and repetitions are those of GETBULK.
	nonRepeaters, repetitions int
}

// A reply is what an agent answers. It is good until the next query.
type reply struct {
	status gosnmp.SNMPError
	vars   []binding
}

// A binding is a variable of a reply. There is false for what is not there (noSuchObject, noSuchInstance, endOfMibView) or not understood.
type binding struct {
	name  OID
	value Value
	there bool
	// ended is endOfMibView.
	ended bool
}

// appendHead appends a type and a length.
func appendHead(b []byte, tag byte, length int) []byte {
	switch {
	case length < 0x80:
		return append(b, tag, byte(length))
	case length < 0x100:
		return append(b, tag, 0x81, byte(length))
	}
	return append(b, tag, 0x82, byte(length>>8), byte(length))
}

// appendInteger appends a number that is not negative.
func appendInteger(b []byte, n uint32) []byte {
	size := 1
	for size < 4 && n>>(8*size-1) != 0 {
		size++
	}
	if n>>31 != 0 {
		size = 5
	}
	b = append(b, berInteger, byte(size))
	for i := size - 1; i >= 0; i-- {
		b = append(b, byte(uint64(n)>>(8*i)))
	}
	return b
}

// appendName appends the content of an OBJECT IDENTIFIER (X.690, 8.19): seven bits an octet, and the first two parts in one number.
func appendName(b []byte, o OID) []byte {
	if len(o) < 2 {
		return append(b, 0)
	}
	b = appendPart(b, 40*uint64(o[0])+uint64(o[1]))
	for _, part := range o[2:] {
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

// appendBindings appends the variables of a request, each a sequence of its name and NULL.
func appendBindings(b []byte, names []OID) []byte {
	var space [5 * mostParts]byte
	var head [4]byte
	for _, o := range names {
		name := appendName(space[:0], o)
		identifier := appendHead(head[:0], berIdentifier, len(name))
		b = appendHead(b, berSequence, len(identifier)+len(name)+2)
		b = append(append(b, identifier...), name...)
		b = append(b, berNull, 0)
	}
	return b
}

// appendMessage appends a message of SNMPv2c (RFC 3417, 8; RFC 1901) whose variables are encoded already.
func appendMessage(b []byte, community string, id uint32, q *query, bindings []byte) []byte {
	var first, second [8]byte
	one, two := appendInteger(first[:0], uint32(q.nonRepeaters)), appendInteger(second[:0], uint32(q.repetitions))
	var third, list [8]byte
	request, head := appendInteger(third[:0], id), appendHead(list[:0], berSequence, len(bindings))
	pdu := len(request) + len(one) + len(two) + len(head) + len(bindings)
	var pduHead, name [8]byte
	kind, secret := appendHead(pduHead[:0], q.kind, pdu), appendHead(name[:0], berOctets, len(community))
	b = appendHead(b, berSequence, 3+len(secret)+len(community)+len(kind)+pdu)
	b = append(b, berInteger, 1, versionTwoC)
	b = append(append(b, secret...), community...)
	b = append(append(b, kind...), request...)
	b = append(append(b, one...), two...)
	return append(append(b, head...), bindings...)
}

// What a datagram is that is no answer: one of something else, or ours and broken.
var (
	errForeign = errors.New("no answer to this request")
	errBroken  = fmt.Errorf("%w: its answer is no message of SNMP", ErrAgent)
)

// A cursor takes values from the front of a message. After the first that is not whole there are none.
type cursor struct {
	b []byte
	// cut tells that a value was said to be longer than what is there.
	cut, bad bool
}

// next returns the type and content of the next value.
func (c *cursor) next() (tag byte, content []byte) {
	if len(c.b) < 2 {
		c.bad = true
		return 0, nil
	}
	tag = c.b[0]
	n, head := int(c.b[1]), 2
	if n >= 0x80 {
		size := n & 0x7f
		if size == 0 || size > 4 || len(c.b) < 2+size {
			c.bad = true
			return 0, nil
		}
		n, head = 0, 2+size
		for _, x := range c.b[2:head] {
			n = n<<8 | int(x)
		}
	}
	if n > len(c.b)-head {
		c.cut, n = true, len(c.b)-head
	}
	content, c.b = c.b[head:head+n], c.b[head+n:]
	return tag, content
}

// in returns the content of the next value, which must be of a type.
func (c *cursor) in(tag byte) []byte {
	got, content := c.next()
	if got != tag {
		c.bad = true
	}
	return content
}

// number returns the next value, which must be an INTEGER.
func (c *cursor) number() int64 {
	content := c.in(berInteger)
	if len(content) == 0 || len(content) > 8 {
		c.bad = true
		return 0
	}
	return signed(content)
}

func signed(content []byte) int64 {
	n := int64(int8(content[0]))
	for _, x := range content[1:] {
		n = n<<8 | int64(x)
	}
	return n
}

// A parser reads answers. What it returns is good until it reads another one.
type parser struct {
	parts []uint32 // of all names
	vars  []binding
}

// parse reads an answer to one of some requests. It returns errForeign for what is none, and errBroken for what cannot be read.
func (p *parser) parse(packet []byte, isOurs func(id uint32) bool) (reply, error) {
	c := cursor{b: packet}
	c.b = c.in(berSequence)
	version := c.number()
	c.in(berOctets)
	kind, content := c.next()
	c.b = content
	id := c.number()
	if c.bad || version != versionTwoC || kind != pduResponse || id < 0 || id > math.MaxInt32 || !isOurs(uint32(id)) {
		return reply{}, errForeign
	}
	status := c.number()
	c.number() // which variable is in error says no more than what was asked
	c.b = c.in(berSequence)
	p.parts, p.vars = p.parts[:0], p.vars[:0]
	for len(c.b) > 0 && !c.bad {
		one := cursor{b: c.in(berSequence)}
		c.bad = c.bad || !p.binding(&one)
		c.cut = c.cut || one.cut
	}
	if c.bad || c.cut {
		return reply{}, errBroken
	}
	return reply{gosnmp.SNMPError(min(max(status, 0), math.MaxUint8)), p.vars}, nil
}

// binding reads one variable.
func (p *parser) binding(c *cursor) bool {
	name := c.in(berIdentifier)
	began := len(p.parts)
	if c.bad || !p.name(name) {
		return false
	}
	tag, content := c.next()
	if c.bad || len(c.b) > 0 {
		return false
	}
	// The names keep their place: parts that grow elsewhere leave what was read before as it is.
	v := binding{name: p.parts[began:len(p.parts):len(p.parts)], ended: tag == byte(gosnmp.EndOfMibView)}
	v.value, v.there = valueIn(tag, content)
	p.vars = append(p.vars, v)
	return true
}

// name appends the parts of an OBJECT IDENTIFIER.
func (p *parser) name(content []byte) bool {
	parts, began := p.parts, len(p.parts)
	n := uint64(0)
	for _, x := range content {
		n = n<<7 | uint64(x&0x7f)
		switch {
		case n > math.MaxUint32 || len(parts)-began >= mostParts:
			return false
		case x&0x80 != 0:
			continue
		case len(parts) == began:
			first := min(n/40, 2)
			parts = append(parts, uint32(first))
			n -= 40 * first
		}
		parts = append(parts, uint32(n))
		n = 0
	}
	p.parts = parts
	return len(parts) > began && content[len(content)-1]&0x80 == 0
}

// valueIn reads the content of a value. Agents write unsigned numbers with and without the leading zero that keeps them from being negative.
func valueIn(tag byte, content []byte) (Value, bool) {
	v := Value{Type: tag}
	switch gosnmp.Asn1BER(tag) {
	case gosnmp.Integer:
		if len(content) == 0 || len(content) > 8 {
			return Value{}, false
		}
		v.Number = uint64(signed(content))
	case gosnmp.Counter32, gosnmp.Gauge32, gosnmp.TimeTicks, gosnmp.Uinteger32, gosnmp.Counter64:
		if len(content) == 0 || len(content) > 9 || len(content) == 9 && content[0] != 0 {
			return Value{}, false
		}
		for _, x := range content {
			v.Number = v.Number<<8 | uint64(x)
		}
	case gosnmp.OctetString:
		v.Text = string(content)
	case gosnmp.ObjectIdentifier:
		var p parser
		if !p.name(content) {
			return Value{}, false
		}
		v.Text = OID(p.parts).String()
	case gosnmp.IPAddress:
		a, ok := netip.AddrFromSlice(content)
		if !ok {
			return Value{}, false
		}
		v.Text = a.String()
	default:
		return Value{}, false
	}
	return v, true
}

// statusText names what an agent reports.
func statusText(s gosnmp.SNMPError) string {
	if s <= gosnmp.InconsistentName {
		return s.String()
	}
	return "error status " + strconv.Itoa(int(s))
}
