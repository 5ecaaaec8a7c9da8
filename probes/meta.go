package probes

import "net/netip"

// Origins of errors (linux/errqueue.h).
const (
	originICMP  = 2
	originICMP6 = 3
	originStamp = 4
)

// A meta is what the kernel tells about a received message beside its payload.
type meta struct {
	stamp int64 // time of reception, nanoseconds since 1970; 0 if the kernel gave none
	ttl   uint8 // TTL or hop limit with which it came; 0 if not told
	tos   uint8 // DSCP and ECN
	label uint32
	local netip.Addr // address to which it was sent,
	reply netip.Addr // and the one to answer from: differs where the first is no unicast address

	// Of the error queue:
	origin, icmpType, icmpCode uint8
	offender                   netip.Addr // who sent the ICMP error
	id                         uint32     // of the packet that was stamped
	// dropped is how many messages the socket lost so far for want of room, 0 if not told.
	dropped uint32
}

// isICMP tells whether the message is an ICMP error, not one of the kernel's own reports.
func (m *meta) isICMP() bool {
	return m.origin == originICMP || m.origin == originICMP6
}

// ICMP types and codes (RFC 792, RFC 4443).
const (
	icmp4Unreachable     = 3
	icmp4TimeExceeded    = 11
	icmp4PortUnreachable = 3
	icmp6Unreachable     = 1
	icmp6TimeExceeded    = 3
	icmp6PortUnreachable = 4
)

func (m *meta) timeExceeded() bool {
	return m.origin == originICMP && m.icmpType == icmp4TimeExceeded ||
		m.origin == originICMP6 && m.icmpType == icmp6TimeExceeded
}

func (m *meta) portUnreachable() bool {
	return m.origin == originICMP && m.icmpType == icmp4Unreachable && m.icmpCode == icmp4PortUnreachable ||
		m.origin == originICMP6 && m.icmpType == icmp6Unreachable && m.icmpCode == icmp6PortUnreachable
}
