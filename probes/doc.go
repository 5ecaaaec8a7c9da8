// Package probes measures a fabric actively, from unprivileged sockets.
//
// An [Engine] owns one UDP socket a flow. Along a flow it sends echoes ([Engine.Echo]), which a [Reflector] on the other side
// answers in the form of STAMP (RFC 8762), and probes whose TTL ends on the way ([Engine.Expire]), which the switches answer
// with ICMP time exceeded. A flow keeps its addresses and ports for all of them, so all take the path that the fabric's
// hashes chose for it. [Engine.Trace] puts both together: the path of many flows, there and, by the reflector's help, back,
// in a few round trips. [Engine.Take] hands over what was counted since it was last asked.
//
// Nothing here needs root: ICMP errors come from the socket's error queue (IP_RECVERR), times from the kernel
// (SO_TIMESTAMPING). The engine sends only when it is told to; budgets are its caller's, who is asked before every packet
// that a switch's CPU will have to answer ([TraceOptions].Allow).
//
// Unanswered is not lost: counts of hops are of answers, and [Classify] says what they may mean. Lost are only echoes, and the
// reflector's own count tells on which of the two ways.
package probes
