package captures

import (
	"encoding/binary"
	"net/netip"

	"whichlink/captures/frames"
	"whichlink/internal/evidence"
)

// An endpoint pair and a protocol name a flow. The end that sent first stands in a.
type flowKey struct {
	a, b         frames.Addr
	aPort, bPort uint16
	proto        uint8
}

// hash is the same for both directions.
func (k *flowKey) hash() uint64 { return pairHash(&k.a, &k.b, k.aPort, k.bPort, k.proto) }

// flowHash is the hash of the key of an IP header's flow.
func flowHash(ip *frames.IP) uint64 {
	return pairHash(&ip.Src, &ip.Dst, ip.SrcPort, ip.DstPort, ip.Proto)
}

func pairHash(a, b *frames.Addr, aPort, bPort uint16, proto uint8) uint64 {
	x, y := endHash(a, aPort), endHash(b, bPort)
	return mix(min(x, y), max(x, y)^uint64(proto)<<56)
}

// endHash of an IPv4 address and a port is just these, of an IPv6 address a hash.
func endHash(a *frames.Addr, port uint16) uint64 {
	high, low := binary.LittleEndian.Uint64(a[:]), binary.LittleEndian.Uint64(a[8:])
	if high == 0 && uint32(low) == 0xffff0000 {
		return low>>32<<16 | uint64(port)
	}
	return mix(high, low+uint64(port)<<16)
}

// matches says whether a packet is of the flow, and its direction: 0 from a to b. Which it is changes from packet to packet, so
// that a processor cannot foresee it: the words are compared without a branch.
func (k *flowKey) matches(ip *frames.IP) (dir int, ok bool) {
	src0, src1 := ip.Src.Words()
	dst0, dst1 := ip.Dst.Words()
	a0, a1 := k.a.Words()
	b0, b1 := k.b.Words()
	ports, reverse := uint32(ip.SrcPort)<<16|uint32(ip.DstPort), uint32(ip.DstPort)<<16|uint32(ip.SrcPort)
	own, proto := uint32(k.aPort)<<16|uint32(k.bPort), uint64(k.proto^ip.Proto)
	along := (a0 ^ src0) | (a1 ^ src1) | (b0 ^ dst0) | (b1 ^ dst1) | uint64(own^ports) | proto
	against := (a0 ^ dst0) | (a1 ^ dst1) | (b0 ^ src0) | (b1 ^ src1) | uint64(own^reverse) | proto
	if along != 0 {
		dir = 1
	}
	return dir, along == 0 || against == 0
}

// A flow is the packets of one connection or one pair of ports, of both directions. It is kept small: millions may stand in memory.
type flow struct {
	key         flowKey
	first, last int64
	synTime     int64
	irtt        uint32 // round trip of the handshake in ns, at most 4 s; 0 unknown
	rtt         uint32 // number of its histogram, 0 without
	halves      [2]half
	rttPairs    [2]uint16 // number of the series of round trips of each direction, and one; 0 before the first
	met         [2]uint16 // how many senders of pauses were met when a packet of each direction was last looked at for them
	state       uint8
}

// The bits of flow.state.
const (
	sawSyn = 1 << iota
	sawSynAck
	sawCopy
)

// A half is one direction of a flow.
type half struct {
	bytes    uint64 // on the wire from the IP header on
	nextTime int64  // when next was last advanced
	ackTime  int64  // when this side last acknowledged
	rttTime  int64  // when the segment that ends at rttSeq passed; 0 when none is timed
	packets  uint32
	ce       uint32
	base     uint32 // the number before that of the first byte
	next     uint32 // the highest sequence number seen, and one
	ack      uint32 // what this side last acknowledged
	rttSeq   uint32
	holes    uint32 // first of its holes
	trouble  uint32 // number of its troubles
	window   uint16
	dups     uint8 // duplicate acknowledgements that this side sent in a row
	burst    uint8 // segments since the last silence
	flags    uint8
	ttl      uint8
	tos      uint8
}

// The bits of half.flags.
const (
	hasNext   = 1 << iota // next counts
	hasAck                // ack counts
	alone                 // one segment came after a silence as long as a timeout, and nothing since
	pushed                // the last segment with payload carried PSH
	keepAlive             // the last segment was a keep-alive
	hasBase               // base counts
)

// troubles counts what went wrong in one direction. Most have none, so they stand apart.
type troubles struct {
	first, last                               int64
	retransmission, fast, spurious            uint32
	outOfOrder, reordered, lostSegment        uint32
	lostBefore, lostAfter, missed, zeroWindow uint32
	timeouts, unseen, duplicateAck            uint32
	unneeded                                  uint32 // sent again although they had arrived, by D-SACK; not in lostAfter
	again                                     [maxAgain]span
	agains                                    uint8
}

// A flowTable holds the flows.
type flowTable struct {
	flows arena[flow]
	index index
	tcp   int
	udp   int
	// renewed says that another flow took the place of one with the same key; whoever guesses numbers clears it.
	renewed bool
}

// find returns the flow of an IP header, whose flowHash is given and what its number is guessed to be, or 0, and the direction of its
// packet: 0 from a to b. A flow that is new is made.
func (t *flowTable) find(ip *frames.IP, hash uint64, guess uint32, now int64) (uint32, *flow, int) {
	if guess != 0 && !t.renewed {
		f := t.flows.at(guess)
		if dir, ok := f.key.matches(ip); ok {
			return guess, f, dir
		}
	}
	return t.search(ip, hash, now)
}

func (t *flowTable) search(ip *frames.IP, hash uint64, now int64) (uint32, *flow, int) {
	dir := 0
	n := t.index.find(hash, func(i uint32) (same bool) {
		dir, same = t.flows.at(i).key.matches(ip)
		return same
	})
	if n == 0 {
		n, f := t.add(&flowKey{ip.Src, ip.Dst, ip.SrcPort, ip.DstPort, ip.Proto}, hash, 0, now)
		return n, f, 0
	}
	return n, t.flows.at(n), dir
}

// touch fetches a flow into the processor's cache, where it takes four lines.
func (t *flowTable) touch(n uint32) uint64 {
	if n == 0 {
		return 0
	}
	f := t.flows.at(n)
	return uint64(f.first) + f.halves[0].bytes + uint64(f.halves[0].trouble) + f.halves[1].bytes + uint64(f.halves[1].trouble)
}

// add makes a flow, in the place of an older one of the same ports if old is not 0.
func (t *flowTable) add(k *flowKey, hash uint64, old uint32, now int64) (uint32, *flow) {
	n, f := t.flows.add()
	f.key, f.first, f.last = *k, now, now
	t.index.put(hash, n, old, func(i uint32) uint64 { return t.flows.at(i).key.hash() })
	if k.proto == frames.ProtoTCP {
		t.tcp++
	} else {
		t.udp++
	}
	return n, f
}

// renew begins a new flow of the same ports, for a connection that follows another. Its first packet goes in direction dir.
func (t *flowTable) renew(old uint32, dir int, now int64) (uint32, *flow) {
	t.renewed = true
	k := t.flows.at(old).key
	if dir == 1 {
		k.a, k.b, k.aPort, k.bPort = k.b, k.a, k.bPort, k.aPort
	}
	return t.add(&k, k.hash(), old, now)
}

// evidence names one direction of a flow as evidence does.
func (f *flow) evidence(dir int) evidence.Flow {
	e := f.key.evidence(dir)
	e.DSCP = f.halves[dir].tos >> 2
	return e
}

// evidence names one direction without its marks.
func (k *flowKey) evidence(dir int) evidence.Flow {
	e := evidence.Flow{Src: k.a.Netip(), Dst: k.b.Netip(), SrcPort: k.aPort, DstPort: k.bPort, Proto: "udp"}
	switch k.proto {
	case frames.ProtoTCP:
		e.Proto = "tcp"
	case protoICMP, protoICMPv6:
		e.Proto = "icmp"
	}
	if dir == 1 {
		e.Src, e.Dst, e.SrcPort, e.DstPort = e.Dst, e.Src, e.DstPort, e.SrcPort
	}
	return e
}

// The protocol numbers of ICMP, which has no ports.
const (
	protoICMP   = 1
	protoICMPv6 = 58
)

// name writes one direction of a flow for people.
func flowName(e evidence.Flow) string {
	return e.Proto + " " + netip.AddrPortFrom(e.Src, e.SrcPort).String() + ">" + netip.AddrPortFrom(e.Dst, e.DstPort).String()
}
