package captures

import (
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

// An ends is the hashes of both ends of a packet or a flow: address, port and protocol each. Of IPv4 they are as good as the ends themselves.
type ends struct{ a, b uint64 }

// hashed is the bit of the hash of an end that tells it from an end of IPv4.
const hashed = 1 << 63

func (k *flowKey) ends() ends {
	return ends{endHash(&k.a, k.aPort, k.proto), endHash(&k.b, k.bPort, k.proto)}
}

func endsOf(ip *frames.IP) ends {
	return ends{endHash(&ip.Src, ip.SrcPort, ip.Proto), endHash(&ip.Dst, ip.DstPort, ip.Proto)}
}

// hash is that of a flow: the same for both directions.
func (e ends) hash() uint64 { return mix(min(e.a, e.b), max(e.a, e.b)) }

// endHash of an IPv4 address, a port and a protocol is just these.
func endHash(a *frames.Addr, port uint16, proto uint8) uint64 {
	high, low := a.Words()
	if high == 0 && uint32(low) == 0xffff0000 {
		return uint64(proto)<<48 | low>>32<<16 | uint64(port)
	}
	return mix(high, low+uint64(port)<<16+uint64(proto)<<8) | hashed
}

// matches says whether a packet is of the flow of a key, and its direction: 0 from a to b.
func (k *flowKey) matches(ip *frames.IP) (dir int, ok bool) {
	if *k == (flowKey{ip.Src, ip.Dst, ip.SrcPort, ip.DstPort, ip.Proto}) {
		return 0, true
	}
	return 1, *k == flowKey{ip.Dst, ip.Src, ip.DstPort, ip.SrcPort, ip.Proto}
}

// A flow is the packets of one connection or one pair of ports, of both directions. It is kept small: millions may stand in memory. What
// every packet needs stands first, in three lines of the processor's cache, and the whole takes four, so that no flow begins within one.
type flow struct {
	ends     ends // of the key
	last     int64
	irtt     uint32    // round trip of the handshake in ns, at most 4 s; 0 unknown
	rtt      uint32    // number of its histogram, 0 without
	rttPairs [2]uint16 // number of the series of round trips of each direction, and one; 0 before the first
	met      [2]uint16 // how many senders of pauses were met when a packet of each direction was last looked at for them
	state    uint8
	halves   [2]half

	first   int64
	synTime int64
	key     flowKey
	_       [10]byte
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

// find returns the flow of an IP header, with its ends and their hash and what the number of the flow is guessed to be, or 0, and the
// direction of its packet: 0 from a to b. A flow that is new is made.
func (t *flowTable) find(ip *frames.IP, e ends, hash uint64, guess uint32, now int64) (uint32, *flow, int) {
	if guess != 0 && !t.renewed {
		f := t.flows.at(guess)
		if k := &f.ends; (e.a|e.b)&hashed == 0 {
			// Which direction it is changes from packet to packet, so that a processor cannot foresee it: the words are compared without a branch.
			along, dir := k.a^e.a|k.b^e.b, 0
			if along != 0 {
				dir = 1
			}
			if min(along, k.a^e.b|k.b^e.a) == 0 {
				return guess, f, dir
			}
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
		n, f := t.add(&flowKey{ip.Src, ip.Dst, ip.SrcPort, ip.DstPort, ip.Proto}, 0, now)
		return n, f, 0
	}
	return n, t.flows.at(n), dir
}

// lookUp is find where nothing is known of an IP header's flow.
func (t *flowTable) lookUp(ip *frames.IP, now int64) (uint32, *flow, int) {
	e := endsOf(ip)
	return t.find(ip, e, e.hash(), 0, now)
}

// touch fetches what every packet needs of a flow into the processor's cache.
func (t *flowTable) touch(n uint32) uint64 {
	if n == 0 {
		return 0
	}
	f := t.flows.at(n)
	return f.ends.a + uint64(f.halves[0].next) + uint64(f.halves[1].trouble)
}

// add makes a flow, in the place of an older one of the same ports if old is not 0.
func (t *flowTable) add(k *flowKey, old uint32, now int64) (uint32, *flow) {
	n, f := t.flows.add()
	f.key, f.ends, f.first, f.last = *k, k.ends(), now, now
	t.index.put(f.ends.hash(), n, old, func(i uint32) uint64 { return t.flows.at(i).ends.hash() })
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
	return t.add(&k, old, now)
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
