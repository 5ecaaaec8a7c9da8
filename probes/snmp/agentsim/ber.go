package agentsim

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"whichlink/probes/snmp/ber"
)

// The types of values that are SNMP's own (RFC 2578, RFC 3416), beside those of package ber.
const (
	IPAddress byte = 0x40
	Counter32 byte = 0x41
	Gauge32   byte = 0x42
	TimeTicks byte = 0x43
	Opaque    byte = 0x44
	Counter64 byte = 0x46
)

const (
	noSuchObject byte = 0x80
	endOfMibView byte = 0x82
	getRequest   byte = 0xa0
	getNext      byte = 0xa1
	getResponse  byte = 0xa2
	getBulk      byte = 0xa5
	versionTwoC       = 1
	errorTooBig       = 1
	errorGeneral      = 5
)

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
		if err != nil || len(o) == ber.MostParts {
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
	return append(ber.AppendHead(b, tag, len(content)), content...)
}

// oidContent is the encoding of an OID without type and length.
func oidContent(o oid) []byte { return ber.AppendName(make([]byte, 0, len(o)+4), o) }

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
