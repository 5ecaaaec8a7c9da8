package files

import "strconv"

// A LinkType says how a packet begins (https://www.tcpdump.org/linktypes.html). Its lower 16 bits count.
type LinkType uint16

// The link types that are decoded.
const (
	Null       LinkType = 0   // BSD loopback: address family in the byte order of the host
	Ethernet   LinkType = 1   // IEEE 802.3
	PPP        LinkType = 9   // RFC 1661, perhaps with HDLC framing
	RawBSD     LinkType = 12  // raw IP as some BSDs number it
	RawOpenBSD LinkType = 14  // raw IP as OpenBSD numbers it
	PPPHDLC    LinkType = 50  // RFC 1662
	PPPoE      LinkType = 51  // RFC 2516 session
	Raw        LinkType = 101 // IPv4 or IPv6
	CiscoHDLC  LinkType = 104
	WiFi       LinkType = 105 // IEEE 802.11
	Loop       LinkType = 108 // OpenBSD loopback: address family in network byte order
	LinuxSLL   LinkType = 113 // Linux cooked v1
	Radiotap   LinkType = 127 // IEEE 802.11 behind what the driver knows of it
	PPI        LinkType = 192 // per-packet information, which names the link type of what follows
	ERF        LinkType = 197 // Endace extensible record format
	PPPWay     LinkType = 204 // PPP behind a byte that says which way it went
	MPLS       LinkType = 219
	IPv4       LinkType = 228
	IPv6       LinkType = 229
	NFLog      LinkType = 239 // what Linux's packet filter logs
	IPoIB      LinkType = 242
	InfiniBand LinkType = 247
	LinuxSLL2  LinkType = 276 // Linux cooked v2
)

var linkNames = map[LinkType]string{
	Null: "null", Ethernet: "ether", PPP: "ppp", RawBSD: "rawip", RawOpenBSD: "rawip", PPPHDLC: "ppp-hdlc", Raw: "rawip", CiscoHDLC: "chdlc",
	Loop: "loop", LinuxSLL: "linux-sll", ERF: "erf", IPv4: "rawip4", IPv6: "rawip6", IPoIB: "ip-over-ib", InfiniBand: "infiniband",
	LinuxSLL2: "linux-sll2", PPPoE: "pppoes", WiFi: "ieee-802-11", Radiotap: "ieee-802-11-radiotap", PPPWay: "ppp-with-direction", PPI: "ppi", MPLS: "mpls", NFLog: "nflog",
}

// String names the link type as capture tools do; one that is not decoded is told by its number.
func (l LinkType) String() string {
	if name, known := linkNames[l]; known {
		return name
	}
	return "link type " + strconv.Itoa(int(l))
}

// Decoded reports whether packets of this link type are understood; others are only counted.
func (l LinkType) Decoded() bool {
	_, known := linkNames[l]
	return known
}
