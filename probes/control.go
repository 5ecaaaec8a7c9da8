package probes

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// The control TLV, type 252, is what our sender and our reflector say to each other beyond STAMP. Its value, in network order:
//
//	 0     version, 1
//	 1     operations, by the sender: what is asked (op... below)
//	 2     reply TTL, by the sender: the IP TTL or hop limit of the reply; 0 for the reflector's default
//	 3     initial TTL, by the reflector: with which the reply was sent
//	 4     flags, by the reflector (flag... below)
//	 5     round, by the sender: a new number makes the reflector forget what it learnt of the way back of this session
//	 6-7   query port, by the sender: source port of the session that is asked about. With flagRefusing, by the reflector: answers from its
//	       socket that its own host refused to send, modulo 2^16
//	 8-9   query SSID, by the sender
//	10-11  messages for which the reflector's socket had no room since it was opened, by the reflector, modulo 2^16; with flagCrowded, else zero
//	12-15  cookie, by the reflector: drawn when it began to count this session; another one means that the count began anew
//	16-19  count, by the reflector: packets received in the session that was asked about
//	20-23  highest sequence number of the sender that was received in that session
//	24-27  cookie of that session
//	12-27  address, by the sender: the one that the session which is asked about is sent from, IPv4 ones mapped into IPv6 (RFC 4291 section 2.5.5.2); zero if
//	       the question comes from it, too
//
// A reflector that does not know it sends it back with the U flag set, as RFC 8972 section 4 demands.
type control struct {
	ops         uint8
	replyTTL    uint8
	initialTTL  uint8
	flags       uint8
	round       uint8
	queryPort   uint16
	querySSID   uint16
	queryFrom   netip.Addr // of a question alone; not valid where it is the one that asks
	crowded     uint16
	cookie      uint32
	count       uint32
	highest     uint32
	queryCookie uint32
}

const (
	controlVersion = 1
	controlSize    = 28
)

// Operations.
const (
	opVerify   = 1 << iota // the padding carries the pattern; say whether it came in whole
	opReplyTTL             // answer with the reply TTL, and remember who lets the answer expire
	opHops                 // tell what was remembered, in the hop list TLV
	opCount                // tell the count of the session of the query port, SSID and address
)

// Flags.
const (
	flagAnswer   = 0x80 // a reflector wrote this. A request that has it is an answer that went astray
	flagStateful = 0x01 // the sequence number is the reflector's own count
	flagCorrupt  = 0x02 // the padding came in changed
	flagRefused  = 0x04 // the reply TTL was not used: no budget left. The answer has the default TTL
	flagCount    = 0x08 // the count is there
	flagMore     = 0x10 // not all hops found room
	flagCrowded  = 0x20 // the count of messages without room is there
	flagRefusing = 0x40 // the count of answers that were not sent is there; never with opCount
)

var errControl = errors.New("control TLV of another version or length")

func (c *control) encode(b []byte) {
	b[0] = controlVersion
	b[1], b[2], b[3], b[4], b[5] = c.ops, c.replyTTL, c.initialTTL, c.flags, c.round
	binary.BigEndian.PutUint16(b[6:], c.queryPort)
	binary.BigEndian.PutUint16(b[8:], c.querySSID)
	binary.BigEndian.PutUint16(b[10:], c.crowded)
	if c.flags&flagAnswer == 0 {
		putAddress(b[12:], c.queryFrom)
		return
	}
	binary.BigEndian.PutUint32(b[12:], c.cookie)
	binary.BigEndian.PutUint32(b[16:], c.count)
	binary.BigEndian.PutUint32(b[20:], c.highest)
	binary.BigEndian.PutUint32(b[24:], c.queryCookie)
}

// decode reads the value of a control TLV. Longer values of a later version 1 are read as far as this version knows them.
func (c *control) decode(b []byte) error {
	if len(b) < controlSize || b[0] != controlVersion {
		return errControl
	}
	c.ops, c.replyTTL, c.initialTTL, c.flags, c.round = b[1], b[2], b[3], b[4], b[5]
	c.queryPort = binary.BigEndian.Uint16(b[6:])
	c.querySSID = binary.BigEndian.Uint16(b[8:])
	c.crowded = binary.BigEndian.Uint16(b[10:])
	if c.flags&flagAnswer == 0 {
		c.queryFrom = addressAt(b[12:])
		return nil
	}
	c.cookie = binary.BigEndian.Uint32(b[12:])
	c.count = binary.BigEndian.Uint32(b[16:])
	c.highest = binary.BigEndian.Uint32(b[20:])
	c.queryCookie = binary.BigEndian.Uint32(b[24:])
	return nil
}

// The hop list TLV, type 253, tells who let TTL-limited replies expire. The sender reserves the room. Its value:
//
//	0      number of entries that follow
//	1      round, as in the control TLV
//	2-3    zero
//	4-...  entries of 24 bytes:
//	        0     TTL of the replies
//	        1-2   ICMP type and code of the last error
//	        3     zero
//	        4-5   replies sent with this TTL in this round, the same in all entries of a TTL
//	        6-7   errors received from this address
//	        8-23  address, IPv4 ones mapped into IPv6 (RFC 4291 section 2.5.5.2); zero where nobody answered
const (
	hopsHeader = 4
	hopSize    = 24
)

// hopsSize is the length of the value of a hop list.
func hopsSize(entries int) int { return hopsHeader + entries*hopSize }

// A backHop is one entry of a hop list.
type backHop struct {
	ttl, icmpType, icmpCode uint8
	sent, answered          uint16
	addr                    netip.Addr
}

func (h *backHop) encode(b []byte) {
	b[0], b[1], b[2], b[3] = h.ttl, h.icmpType, h.icmpCode, 0
	binary.BigEndian.PutUint16(b[4:], h.sent)
	binary.BigEndian.PutUint16(b[6:], h.answered)
	putAddress(b[8:], h.addr)
}

// putAddress writes an address in 16 bytes, zero if it is not valid; addressAt reads one.
func putAddress(b []byte, addr netip.Addr) {
	var a [16]byte
	if addr.IsValid() {
		a = addr.As16()
	}
	copy(b, a[:])
}

func addressAt(b []byte) netip.Addr {
	if a := netip.AddrFrom16([16]byte(b[:16])); !a.IsUnspecified() {
		return a.Unmap()
	}
	return netip.Addr{}
}

func (h *backHop) decode(b []byte) {
	h.ttl, h.icmpType, h.icmpCode = b[0], b[1], b[2]
	h.sent = binary.BigEndian.Uint16(b[4:])
	h.answered = binary.BigEndian.Uint16(b[6:])
	h.addr = addressAt(b[8:])
}

// decodeHops reads the value of a hop list, and the round to which it belongs.
func decodeHops(v []byte) (hops []backHop, round uint8) {
	if len(v) < hopsHeader {
		return nil, 0
	}
	n := min(int(v[0]), (len(v)-hopsHeader)/hopSize)
	hops = make([]backHop, n)
	for i := range hops {
		hops[i].decode(v[hopsHeader+i*hopSize:])
	}
	return hops, v[1]
}
