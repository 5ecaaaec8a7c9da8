package snmp

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"

	"github.com/gosnmp/gosnmp"

	"whichlink/probes/snmp/ber"
)

// Types of PDUs (RFC 3416, 3).
const (
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

// appendInteger appends a number that is not negative.
func appendInteger(b []byte, n uint32) []byte {
	size := 1
	for size < 4 && n>>(8*size-1) != 0 {
		size++
	}
	if n>>31 != 0 {
		size = 5
	}
	b = append(b, ber.Integer, byte(size))
	for i := size - 1; i >= 0; i-- {
		b = append(b, byte(uint64(n)>>(8*i)))
	}
	return b
}

// appendBindings appends the variables of a request, each a sequence of its name and NULL.
func appendBindings(b []byte, names []OID) []byte {
	var space [5 * ber.MostParts]byte
	var head [4]byte
	for _, o := range names {
		name := ber.AppendName(space[:0], o)
		identifier := ber.AppendHead(head[:0], ber.ObjectIdentifier, len(name))
		b = ber.AppendHead(b, ber.Sequence, len(identifier)+len(name)+2)
		b = append(append(b, identifier...), name...)
		b = append(b, ber.Null, 0)
	}
	return b
}

// appendMessage appends a message of SNMPv2c (RFC 3417, 8; RFC 1901) whose variables are encoded already.
func appendMessage(b []byte, community string, id uint32, q *query, bindings []byte) []byte {
	var first, second [8]byte
	one, two := appendInteger(first[:0], uint32(q.nonRepeaters)), appendInteger(second[:0], uint32(q.repetitions))
	var third, list [8]byte
	request, head := appendInteger(third[:0], id), ber.AppendHead(list[:0], ber.Sequence, len(bindings))
	pdu := len(request) + len(one) + len(two) + len(head) + len(bindings)
	var pduHead, name [8]byte
	kind, secret := ber.AppendHead(pduHead[:0], q.kind, pdu), ber.AppendHead(name[:0], ber.OctetString, len(community))
	b = ber.AppendHead(b, ber.Sequence, 3+len(secret)+len(community)+len(kind)+pdu)
	b = append(b, ber.Integer, 1, versionTwoC)
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

// A parser reads answers. What it returns is good until it reads another one.
type parser struct {
	parts []uint32 // of all names
	vars  []binding
}

// parse reads an answer to one of some requests. It returns errForeign for what is none, and errBroken for what cannot be read.
func (p *parser) parse(packet []byte, isOurs func(id uint32) bool) (reply, error) {
	c := ber.Cursor{Rest: packet}
	c.Rest = c.In(ber.Sequence)
	version := c.Number()
	c.In(ber.OctetString)
	kind, content := c.Next()
	c.Rest = content
	id := c.Number()
	if c.Bad || version != versionTwoC || kind != pduResponse || id < 0 || id > math.MaxInt32 || !isOurs(uint32(id)) {
		return reply{}, errForeign
	}
	status := c.Number()
	c.Number() // which variable is in error says no more than what was asked
	c.Rest = c.In(ber.Sequence)
	p.parts, p.vars = p.parts[:0], p.vars[:0]
	for len(c.Rest) > 0 && !c.Bad {
		one := ber.Cursor{Rest: c.In(ber.Sequence)}
		c.Bad = c.Bad || !p.binding(&one)
		c.Cut = c.Cut || one.Cut
	}
	if c.Bad || c.Cut {
		return reply{}, errBroken
	}
	return reply{gosnmp.SNMPError(min(max(status, 0), math.MaxUint8)), p.vars}, nil
}

// binding reads one variable.
func (p *parser) binding(c *ber.Cursor) bool {
	name := c.In(ber.ObjectIdentifier)
	began := len(p.parts)
	var ok bool
	if p.parts, ok = ber.Name(p.parts, name); !ok || c.Bad {
		return false
	}
	tag, content := c.Next()
	if c.Bad || len(c.Rest) > 0 {
		return false
	}
	// The names keep their place: parts that grow elsewhere leave what was read before as it is.
	v := binding{name: p.parts[began:len(p.parts):len(p.parts)], ended: tag == byte(gosnmp.EndOfMibView)}
	v.value, v.there = valueIn(tag, content)
	p.vars = append(p.vars, v)
	return true
}

// valueIn reads the content of a value. Agents write unsigned numbers with and without the leading zero that keeps them from being negative.
func valueIn(tag byte, content []byte) (Value, bool) {
	v := Value{Type: tag}
	switch gosnmp.Asn1BER(tag) {
	case gosnmp.Integer:
		if len(content) == 0 || len(content) > 8 {
			return Value{}, false
		}
		v.Number = uint64(ber.Signed(content))
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
		parts, ok := ber.Name(nil, content)
		if !ok {
			return Value{}, false
		}
		v.Text = OID(parts).String()
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
