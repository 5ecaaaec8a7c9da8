// Package frames decodes packets: link layers, VLAN and MPLS stacks, IPv4 and IPv6, tunnels, TCP, UDP, ICMP with the packet
// that it quotes, RoCE and MAC control.
//
// [Frame.Decode] fills in a Frame that is used again and again and allocates nothing, so that it can run on millions of packets
// a second. A packet may be cut short or lie about itself: what cannot be read is left out and Malformed is set, and no length
// that a packet states is followed beyond what was captured.
package frames

import (
	"encoding/binary"
	"net/netip"

	"whichlink/captures/files"
)

const (
	// MaxDepth is how many IP headers of one packet are kept: the outermost first, each in the payload of the one before.
	MaxDepth = 6
	// MaxTags is how many VLAN tags and how many MPLS labels are kept, over all depths.
	MaxTags = 6
	// maxPeel bounds the headers in front of the innermost one, so that a packet made of nothing but headers ends.
	maxPeel = 32
)

// A Kind says what the innermost header that was understood is.
type Kind uint8

// The kinds.
const (
	Other      Kind = iota // not IP; EtherType or LLC say what it is
	IPOther                // IP of a protocol that is not decoded; Proto of the innermost IP says which
	Fragment               // a fragment other than the first: it has no ports
	TCPSegment             // TCP is filled in
	UDPPacket              // SrcPort and DstPort are filled in
	ICMPPacket             // ICMP is filled in, of IPv4 or IPv6
	RoCEPacket             // BTH is filled in: RoCEv1, RoCEv2 or native InfiniBand
	MACControl             // Pause is filled in: 802.3x or 802.1Qbb
	NumKinds
)

// An Addr is an IP address; IPv4 ones are mapped into IPv6 (RFC 4291 section 2.5.5.2).
type Addr [16]byte

// Netip returns the address in the library's form, IPv4 ones unmapped.
func (a Addr) Netip() netip.Addr { return netip.AddrFrom16(a).Unmap() }

// Words returns an address as two words, in the order of memory.
func (a *Addr) Words() (first, second uint64) {
	return binary.LittleEndian.Uint64(a[:]), binary.LittleEndian.Uint64(a[8:])
}

// An IP is one IP header.
type IP struct {
	Src, Dst Addr
	// SrcPort and DstPort are those of the TCP or UDP header that follows, 0 where none does.
	SrcPort, DstPort uint16
	Off, HeaderLen   int // offset of the header in Data; its length with options and extension headers
	// Len is the length of the payload on the wire, as far as the header and the packet's own length agree.
	Len                      int
	ID                       uint32 // IPv4 identification; of an IPv6 fragment header, else 0
	Label                    uint32 // IPv6 flow label
	Version, Proto, TOS, TTL uint8
	Fragment                 bool // not the first fragment
	More                     bool // more fragments follow
}

// CE reports whether the header carries Congestion Experienced (RFC 3168).
func (ip *IP) CE() bool { return ip.TOS&3 == 3 }

// DSCP returns the differentiated services code point.
func (ip *IP) DSCP() uint8 { return ip.TOS >> 2 }

// A Tunnel says what a packet is carried in.
type Tunnel uint8

// The tunnels.
const (
	NoTunnel Tunnel = iota
	VXLAN
	VXLANGPE
	Geneve
	GRE
	NVGRE
	ERSPAN1
	ERSPAN2
	ERSPAN3
	IPIP
	MPLSUDP
)

// A Frame is what the headers of one packet say.
type Frame struct {
	Data []byte // the packet as captured
	Orig int    // its length on the wire
	Kind Kind
	// Malformed is set when a header was cut short or contradicts the packet.
	Malformed bool
	// MAC is the offset of the innermost Ethernet header, -1 without one.
	MAC int
	// EtherType is the innermost one; of an 802.3 frame with LLC it is 0.
	EtherType uint16
	// Link is the offset behind the innermost link header: of the LLC header where EtherType is 0.
	Link int

	VLANs [MaxTags]uint16 // VLAN identifiers, the outermost first
	// Tagged is the priority code point of the innermost VLAN tag, if there is one (NumVLANs).
	Tagged uint8
	Labels [MaxTags]uint32 // MPLS label stack entries, the topmost first
	IPs    [MaxDepth]IP
	// Tunnels[i] is what carries IPs[i]; of a mirrored frame also where it has no IP header.
	Tunnels                     [MaxDepth + 1]Tunnel
	NumVLANs, NumLabels, NumIPs int
	// Session and Network are the ERSPAN session and the virtual network identifier of the innermost tunnel that has one.
	Session, Network uint32

	// L4 is the offset of the transport header, End the end of its payload on the wire, which may lie beyond len(Data).
	L4, End int
	TCP     TCP
	ICMP    ICMP
	BTH     BTH
	Pause   Pause
	peeled  int
	masked  [128]byte // what the invariant CRC is computed over first; here so that it is not allocated
}

// IP returns the innermost IP header, nil without one.
func (f *Frame) IP() *IP {
	if f.NumIPs == 0 {
		return nil
	}
	return &f.IPs[f.NumIPs-1]
}

// CE reports whether any header of the packet carries Congestion Experienced.
func (f *Frame) CE() bool {
	for i := range f.NumIPs {
		if f.IPs[i].CE() {
			return true
		}
	}
	return false
}

// DstMAC and SrcMAC return the addresses of the innermost Ethernet header, nil without one.
func (f *Frame) DstMAC() []byte { return f.mac(0) }

// SrcMAC returns the sender's address.
func (f *Frame) SrcMAC() []byte { return f.mac(6) }

func (f *Frame) mac(at int) []byte {
	if f.MAC < 0 {
		return nil
	}
	return f.Data[f.MAC+at : f.MAC+at+6]
}

// any reads the headers of a packet of whatever kind.
func (f *Frame) any(link files.LinkType, orig int, data []byte) {
	f.Data, f.Orig = data, max(orig, len(data))
	f.Kind, f.Malformed, f.MAC, f.EtherType, f.Link = Other, false, -1, 0, 0
	f.NumVLANs, f.NumLabels, f.NumIPs = 0, 0, 0
	f.Tunnels[0] = NoTunnel
	f.Session, f.Network = 0, 0
	f.L4, f.End, f.peeled = 0, 0, 0
	if link == files.Ethernet {
		f.ethernet(0)
		return
	}
	f.linkLayer(link)
}

// has reports whether n bytes at an offset were captured, and marks the frame if not.
func (f *Frame) has(at, n int) bool {
	if at+n <= len(f.Data) {
		return true
	}
	f.Malformed = true
	return false
}

func (f *Frame) be16(at int) uint16 { return binary.BigEndian.Uint16(f.Data[at:]) }
func (f *Frame) be32(at int) uint32 { return binary.BigEndian.Uint32(f.Data[at:]) }

// peel counts a header that was taken off, and refuses more than any honest packet has.
func (f *Frame) peel() bool {
	f.peeled++
	if f.peeled > maxPeel {
		f.Malformed = true
	}
	return f.peeled <= maxPeel
}

// tunnel notes what carries the next IP header.
func (f *Frame) tunnel(t Tunnel) { f.Tunnels[f.NumIPs] = t }
