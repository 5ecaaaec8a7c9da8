package snmp

import (
	"errors"
	"strings"
	"syscall"

	"github.com/gosnmp/gosnmp"
)

// A Value is one instance of an object: a number, or text, which may be any bytes.
type Value struct {
	// Type is the ASN.1 tag (RFC 3416): INTEGER 0x02, OCTET STRING 0x04, OBJECT IDENTIFIER 0x06, IpAddress 0x40, Counter32 0x41, Gauge32 0x42,
	// TimeTicks 0x43, Counter64 0x46.
	Type byte
	// Number is the value of what is a number, negative ones as two's complement.
	Number uint64
	// Text is the octets of what is not a number; an OBJECT IDENTIFIER or IpAddress is in dotted form, without a leading dot.
	Text string
}

// IsNumber reports whether the value is a number.
func (v Value) IsNumber() bool {
	switch gosnmp.Asn1BER(v.Type) {
	case gosnmp.Integer, gosnmp.Counter32, gosnmp.Gauge32, gosnmp.TimeTicks, gosnmp.Counter64, gosnmp.Uinteger32:
		return true
	}
	return false
}

// size is what the value takes of the byte limit.
func (v Value) size() int { return 32 + len(v.Text) }

// valueOf converts what the library returns. It returns false for what is not there (noSuchObject, noSuchInstance, endOfMibView) or not understood.
func valueOf(p *gosnmp.SnmpPDU) (Value, bool) {
	v := Value{Type: byte(p.Type)}
	switch x := p.Value.(type) {
	case int:
		v.Number = uint64(int64(x))
	case uint:
		v.Number = uint64(x)
	case uint32:
		v.Number = uint64(x)
	case int64:
		v.Number = uint64(x)
	case uint64:
		v.Number = x
	case []byte:
		v.Text = string(x)
	case string:
		v.Text = trimDot(x)
	default:
		return Value{}, false
	}
	switch p.Type {
	case gosnmp.NoSuchObject, gosnmp.NoSuchInstance, gosnmp.EndOfMibView, gosnmp.Null, gosnmp.UnknownType:
		return Value{}, false
	}
	return v, true
}

func trimDot(oid string) string { return strings.TrimPrefix(oid, ".") }

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// isTimeout knows the library's words for no answer: it has no type for it.
func isTimeout(err error) bool {
	return errors.Is(err, gosnmp.ErrMaxRetriesExceeded) || strings.Contains(err.Error(), "timeout")
}

// isUnauthentic knows the library's words for a response that is not authenticated though it should be: a report that the user or the password is wrong
// (RFC 3414, 3.2), to which the agent has no key. It has no type for it.
func isUnauthentic(err error) bool { return strings.Contains(err.Error(), "not authentic") }

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s[:min(len(s), 120)]
}
