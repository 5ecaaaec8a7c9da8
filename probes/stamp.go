package probes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Port is the UDP port of STAMP reflectors (RFC 8762 section 4.1, assigned to TWAMP by RFC 5357).
const Port = 862

// baseSize is the length of an unauthenticated STAMP test packet, the same in both directions (RFC 8762 sections 4.2.1 and 4.3.1).
const baseSize = 44

// Offsets in the packet of a sender (S) and of a reflector (R).
const (
	offSeq         = 0  // S, R: sequence number, in R the reflector's own if it keeps state
	offTime        = 4  // S, R: time of sending
	offError       = 12 // S, R: error estimate
	offSSID        = 14 // S, R: STAMP session identifier (RFC 8972 section 3)
	offMBZ         = 16 // S: 28 zero bytes
	offReceived    = 16 // R: time of reception
	offSenderSeq   = 24 // R: the sender's sequence number,
	offSenderTime  = 28 // time
	offSenderError = 36 // and error estimate
	offSenderTTL   = 40 // R: TTL or hop limit with which the sender's packet came in
)

// errorEstimate says: clock not known to be synchronised, NTP format, error multiplier 1 (RFC 4656 section 4.1.2 forbids 0).
const errorEstimate = 0x0001

// TLV types. Extra padding is RFC 8972 section 4.1, HMAC section 4.8; the others are ours, of the range for private use (section 5.1).
const (
	tlvPadding = 1
	tlvControl = 252
	tlvHops    = 253
)

// Flags of a TLV (RFC 8972 section 4). A sender sets U, so that a reflector which knows no TLV leaves it standing.
const (
	tlvUnrecognized = 0x80
	tlvMalformed    = 0x40
)

const tlvHeader = 4 // flags, type, length of the value in two bytes

// ntpEpoch is the seconds between the epochs of NTP (1900) and Unix (1970).
const ntpEpoch = 2208988800

// toNTP turns nanoseconds since 1970 into the NTP format of RFC 8762 section 4.2.1: 32 bits of seconds, 32 of fraction.
func toNTP(unixNano int64) uint64 {
	sec, ns := uint64(unixNano/1e9)+ntpEpoch, uint64(unixNano%1e9)
	return sec<<32 | (ns<<32)/1e9
}

// residence is the time from t2 to t3, both of one clock in NTP format. Unlike the times it is safe across era changes.
func residence(t2, t3 uint64) time.Duration {
	d := int64(t3 - t2)
	sec, frac := d>>32, d&0xffffffff
	return time.Duration(sec)*time.Second + time.Duration((frac*1e9)>>32)
}

// ahead is by how much the reflector's clock is ahead of this host's, by which the request was sent and the answer came: it is wrong by half of what the two ways
// differ (RFC 5905 section 8).
func (a *answer) ahead(sent, came int64) time.Duration {
	return residence(toNTP(sent), a.received)/2 + residence(toNTP(came), a.replied)/2
}

// Errors of a packet. They are counted, never printed a packet.
var (
	errShort     = errors.New("shorter than a STAMP packet")
	errMalformed = errors.New("malformed TLV")
)

// An answer is what a sender reads from a reflector's packet.
type answer struct {
	seq       uint32 // the reflector's own
	senderSeq uint32
	ssid      uint16
	senderTTL uint8
	residence time.Duration
	// received and replied are when the request came in and the answer went, by the reflector's clock in NTP format.
	received, replied uint64
	// control is what our reflector added; ok is false where there is none that can be read.
	control control
	ok      bool
	// refused tells, where ok is false, that the reflector did not understand the control TLV either.
	refused bool
	// hops is the value of the hop list, if there is one.
	hops []byte
	// corrupt is true if the padding did not come back as it was sent.
	corrupt bool
}

// parseAnswer reads the packet of a reflector. The hop list refers to b.
func parseAnswer(b []byte) (answer, error) {
	var a answer
	if len(b) < baseSize {
		return a, errShort
	}
	a.seq = binary.BigEndian.Uint32(b[offSeq:])
	a.ssid = binary.BigEndian.Uint16(b[offSSID:])
	a.senderSeq = binary.BigEndian.Uint32(b[offSenderSeq:])
	a.senderTTL = b[offSenderTTL]
	a.received, a.replied = binary.BigEndian.Uint64(b[offReceived:]), binary.BigEndian.Uint64(b[offTime:])
	a.residence = residence(a.received, a.replied)
	padding := []byte(nil)
	for rest := b[baseSize:]; len(rest) > 0; {
		t, err := nextTLV(rest)
		if err != nil {
			return a, err
		}
		rest = rest[tlvHeader+len(t.value):]
		understood := t.flags&(tlvUnrecognized|tlvMalformed) == 0
		switch t.kind {
		case tlvPadding:
			padding = t.value
		case tlvControl:
			a.refused = !understood
			a.ok = understood && a.control.decode(t.value) == nil && a.control.flags&flagAnswer != 0
		case tlvHops:
			if understood {
				a.hops = t.value
			}
		}
	}
	a.corrupt = a.ok && a.control.ops&opVerify != 0 && !patternHolds(padding, a.ssid, a.senderSeq)
	return a, nil
}

// A tlv is one extension of a STAMP packet (RFC 8972 section 4).
type tlv struct {
	flags, kind uint8
	value       []byte
}

// nextTLV reads the TLV at the beginning of b.
func nextTLV(b []byte) (tlv, error) {
	if len(b) < tlvHeader {
		return tlv{}, fmt.Errorf("%w: %d bytes left of a header of %d", errMalformed, len(b), tlvHeader)
	}
	n := int(binary.BigEndian.Uint16(b[2:]))
	if n > len(b)-tlvHeader {
		return tlv{}, fmt.Errorf("%w: length %d, %d bytes left", errMalformed, n, len(b)-tlvHeader)
	}
	return tlv{b[0], b[1], b[tlvHeader : tlvHeader+n]}, nil
}

// putTLV writes the header of a TLV as a sender does, and returns the place of its value of n bytes.
func putTLV(b []byte, kind uint8, n int) []byte {
	b[0], b[1] = tlvUnrecognized, kind
	binary.BigEndian.PutUint16(b[2:], uint16(n))
	return b[tlvHeader : tlvHeader+n]
}

// A request is what a sender writes.
type request struct {
	seq  uint32
	ssid uint16
	at   int64 // time of sending, nanoseconds since 1970
	// control is asked for by all probes of ours.
	control control
	// hops is the number of entries that are reserved for a hop list.
	hops int
	// size is the length of the whole UDP payload; what is left of it is padding. It is raised to what the rest needs.
	size int
}

// minRequest is the shortest request: the base packet and the control TLV.
const minRequest = baseSize + tlvHeader + controlSize

// put writes a request to b, which must be long enough, and returns its length.
func (r *request) put(b []byte) int {
	clear(b[offMBZ:baseSize])
	binary.BigEndian.PutUint32(b[offSeq:], r.seq)
	binary.BigEndian.PutUint64(b[offTime:], toNTP(r.at))
	binary.BigEndian.PutUint16(b[offError:], errorEstimate)
	binary.BigEndian.PutUint16(b[offSSID:], r.ssid)
	padding := r.size - minRequest - tlvHeader
	if r.hops > 0 {
		padding -= tlvHeader + hopsSize(r.hops)
	}
	c := r.control
	n := baseSize
	if padding > 0 {
		c.ops |= opVerify
		putPattern(putTLV(b[n:], tlvPadding, padding), r.ssid, r.seq)
		n += tlvHeader + padding
	}
	c.encode(putTLV(b[n:], tlvControl, controlSize))
	n += tlvHeader + controlSize
	if r.hops > 0 {
		clear(putTLV(b[n:], tlvHops, hopsSize(r.hops)))
		n += tlvHeader + hopsSize(r.hops)
	}
	return n
}

// patternSeed starts the pattern of a packet. That it depends on the sequence number makes the pattern guard that number too.
func patternSeed(ssid uint16, seq uint32) uint64 {
	return (uint64(ssid)<<32 | uint64(seq)) * 0x9e3779b97f4a7c15
}

// patternStep is one step of splitmix64 (Steele, Lea, Flood 2014): cheap, and all bits change.
func patternStep(x uint64) (next, word uint64) {
	x += 0x9e3779b97f4a7c15
	z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
	return x, z ^ z>>27
}

// putPattern fills padding with the pattern of a packet.
func putPattern(b []byte, ssid uint16, seq uint32) {
	x, w := patternSeed(ssid, seq), uint64(0)
	for len(b) >= 8 {
		x, w = patternStep(x)
		binary.LittleEndian.PutUint64(b, w)
		b = b[8:]
	}
	_, w = patternStep(x)
	for i := range b {
		b[i] = byte(w >> (8 * i))
	}
}

// patternHolds tells whether padding still is what putPattern wrote.
func patternHolds(b []byte, ssid uint16, seq uint32) bool {
	x, w := patternSeed(ssid, seq), uint64(0)
	for len(b) >= 8 {
		x, w = patternStep(x)
		if binary.LittleEndian.Uint64(b) != w {
			return false
		}
		b = b[8:]
	}
	_, w = patternStep(x)
	for i := range b {
		if b[i] != byte(w>>(8*i)) {
			return false
		}
	}
	return true
}
