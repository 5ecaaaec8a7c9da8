package captures

import (
	"whichlink/captures/files"
	"whichlink/captures/frames"
)

// A Sight is one packet as the finders see it. It lasts until the next packet.
type Sight struct {
	*files.Packet
	Frame *frames.Frame
	// IP is the innermost IP header, nil without one.
	IP *frames.IP
	// Dir is the packet's direction within its flow, 0 or 1.
	Dir int
	// Copy says that the packet was seen before, CopyGap nanoseconds ago with a TTL of CopyTTL. Finders do not see copies unless
	// they ask for them.
	Copy    bool
	CopyGap int64
	CopyTTL uint8

	before int64 // when a packet of the flow passed before, in either direction; Time of its first
	flow   *flow // of the innermost TCP or UDP header, nil without one
	number uint32
	kind   tcpKind // what the segment is, set by the TCP analysis before finders see it
}

// A finder looks for one kind of trouble. Each has a file of its own and stands in the list of finders below: it asks for the
// kinds of packets that it wants, sees each of them once, in the order of capture, and says at the end what it found.
type finder interface {
	// see looks at a packet. It must not allocate for packets that show nothing.
	see(s *Sight)
	// report adds what was found.
	report(r *Report)
}

// A mark is what few packets bear, so that finders that want only those need not look at all others.
type mark uint8

const (
	markCE     mark = 1 << iota // congestion was experienced
	markGroup                   // to a group of Ethernet stations, or ARP
	markBGP                     // of TCP port 179
	markLoss                    // by it more or less was found lost than before
	markAlone                   // nobody answered its flow up to now, or it is the first of its direction, or has none
	markPaused                  // it tells something of pauses

	markEvery = 1<<iota - 1
)

// A wish is a finder and the packets that it wants to see.
type wish struct {
	kinds  []frames.Kind // of packets that were not seen before
	marks  mark          // and of these also what bears any of these marks, whatever its kind
	copies []frames.Kind // of packets that were
	make   func(a *Analyzer) finder
}

var everyKind = []frames.Kind{frames.Other, frames.IPOther, frames.Fragment, frames.TCPSegment, frames.UDPPacket, frames.ICMPPacket,
	frames.RoCEPacket, frames.MACControl}

// portless are the kinds that belong to no flow.
var portless = []frames.Kind{frames.Other, frames.IPOther, frames.Fragment, frames.ICMPPacket}

// wishes lists the finders. What they report is sorted by how bad it is, so their order here does not matter.
var wishes = []wish{
	{copies: everyKind, make: newCopyFinder},
	{make: newDropFinder},
	{make: newTCPFinder},
	{make: newRoCEFinder},
	{marks: markCE, make: newECNFinder},
	{kinds: []frames.Kind{frames.MACControl}, marks: markPaused, make: newPauseFinder},
	{kinds: []frames.Kind{frames.ICMPPacket}, make: newICMPFinder},
	{make: newTTLFinder},
	{kinds: portless, copies: everyKind, make: newLoopFinder},
	{marks: markGroup, make: newStormFinder},
	{marks: markGroup | markAlone, make: newFloodFinder},
	{kinds: []frames.Kind{frames.UDPPacket}, make: newBFDFinder},
	{marks: markBGP, make: newBGPFinder},
	{kinds: []frames.Kind{frames.IPOther}, make: newOSPFFinder},
	{kinds: []frames.Kind{frames.IPOther}, make: newVRRPFinder},
	{kinds: []frames.Kind{frames.Other}, make: newSTPFinder},
	{kinds: []frames.Kind{frames.Other}, make: newLACPFinder},
	{kinds: []frames.Kind{frames.Other}, make: newPlaceFinder},
	{make: newBurstFinder},
	{make: newShareFinder},
	{make: newRTTFinder},
	{marks: markLoss, make: newPeriodFinder},
	{marks: markLoss, make: newLossFinder},
}
