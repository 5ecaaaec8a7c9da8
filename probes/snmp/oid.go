package snmp

import (
	"slices"
	"strconv"
	"strings"

	"whichlink/probes/snmp/ber"
)

// An OID is an object identifier, or what follows another one: the instance of a column. Parts are numbers of 32 bits, at most 128 (RFC 2578, 3.5).
type OID []uint32

// parseOID reads the dotted form, without a leading dot.
func parseOID(dotted string) (OID, bool) {
	out := make(OID, 0, strings.Count(dotted, ".")+4) // room for an instance
	for part := range strings.SplitSeq(dotted, ".") {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil || len(out) == ber.MostParts {
			return nil, false
		}
		out = append(out, uint32(n))
	}
	return out, true
}

// mustOIDs reads OIDs of ours.
func mustOIDs(dotted []string) []OID {
	out := make([]OID, len(dotted))
	for i, d := range dotted {
		var ok bool
		if out[i], ok = parseOID(d); !ok {
			panic(d + " is no OID")
		}
	}
	return out
}

// String is the dotted form, without a leading dot.
func (o OID) String() string {
	out := make([]byte, 0, 4*len(o))
	for i, n := range o {
		if i > 0 {
			out = append(out, '.')
		}
		out = strconv.AppendUint(out, uint64(n), 10)
	}
	return string(out)
}

// in returns what follows a prefix, and whether there is something.
func (o OID) in(prefix OID) (OID, bool) {
	if len(o) <= len(prefix) || !slices.Equal(o[:len(prefix)], prefix) {
		return nil, false
	}
	return o[len(prefix):], true
}

// port reads an instance of one number, as those by ifIndex are.
func (o OID) port() (uint32, bool) {
	if len(o) != 1 || o[0] == 0 {
		return 0, false
	}
	return o[0], true
}
