package probes

import (
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"whichlink/internal/evidence"
)

// ErrUnsupported is returned where the operating system has no error queue for ICMP: everywhere but on Linux.
var ErrUnsupported = errors.New("probing needs Linux: the error queue of its sockets (IP_RECVERR) brings ICMP answers without privilege")

// Config is the configuration of an [Engine]. The zero value is ready for use.
type Config struct {
	// Open runs the function that opens a socket, for instance inside a network namespace; nil means to call it.
	Open func(func() error) error
	// Timeout is how long a probe may take to be answered at most (default 1 s). What is waited in fact is ten times the
	// longest round trip seen of late, not less than MinTimeout (default 200 ms).
	Timeout, MinTimeout time.Duration
	// Reordering is by how much a probe may be overtaken (default 20 ms, and not less than four times the longest round trip):
	// one that is older is lost when two that were sent after it have been answered.
	Reordering time.Duration
	// NoChecksum sends without UDP checksum over IPv4, so that a payload which a switch changes arrives and is seen. Else, and over
	// IPv6, where a checksum must be, the receiver drops it, and it counts as lost on that way.
	NoChecksum bool
	// NoSendStamps leaves out to ask the kernel when each probe left. Delays then begin when this process sent, and hold its part and that
	// of the host's queues. The kernel's stamps cost a message a probe: they are for what asks for delays, not for the highest rates.
	NoSendStamps bool
	// Logger tells of what goes wrong; nil means nobody.
	Logger *slog.Logger
}

// Options of a stream. The zero value is ready for use.
type Options struct {
	// Size is the length of the probes in bytes from the IP header on; 0 means DefaultSize. It is raised to what is needed.
	Size int
	// TraceSize is likewise that of probes that find out where paths go; 0 means as Size.
	TraceSize int
	// Outstanding bounds the echoes that are neither answered nor given up (default 1024).
	Outstanding int
}

// DefaultSize is the length of a probe in bytes, from the IP header on.
const DefaultSize = 160

// The methods by which a destination answered.
const (
	MethodSTAMP           = "stamp"
	MethodPortUnreachable = "port-unreachable"
	MethodTCPSYN          = "tcp-syn"
)

// A Window is what a stream counted since it was last taken, of probes whose fate is decided.
type Window struct {
	Flow evidence.Flow
	// From and To are when the first and the last of the echoes counted here were sent; zero if there are none.
	From, To time.Time
	// Sent = answered + Lost.
	Sent, Lost int
	// Split tells that LostForward and LostBack are known, by the reflector's count. Together they are at most Lost; of the rest
	// the way could not be told.
	Split                 bool
	LostForward, LostBack int
	// Waiting counts lost echoes that are not in Lost yet, as no later one was answered that would tell the way of their loss.
	// They are counted without it when they have waited for the timeout again; [Stream.AskCount] of another stream settles them.
	Waiting int
	// Late answers came after their probe was counted as lost, Duplicate ones again; Unknown answers belong to no probe.
	Late, Duplicate, Unknown int
	// CorruptForward and CorruptBack count answered echoes of which the padding was changed on the way.
	CorruptForward, CorruptBack int
	// Unsent echoes were refused by the kernel and are not in Sent, Expired ones ran out of their full TTL: there is a loop.
	Unsent, Expired int
	// RTT is the delay of the network there and back, without the time in the reflector.
	RTT *evidence.Delay
	// Ahead is by how much the clock of our reflector is ahead of this host's; nil if not known.
	Ahead *time.Duration
	// LostAt are the times of sending of lost echoes, at most evidence.MaxLostAt.
	LostAt []time.Time
	// ForwardLen and BackLen are the lengths of the two paths in links, as the last answer told; 0 if unknown.
	ForwardLen, BackLen int
	// Method is how the destination answered; empty if it did not.
	Method string
	// Hops are the TTL-limited probes, by TTL.
	Hops []Hop
	// Err is the last error of sending, or nil.
	Err error
}

// withDefaults fills in what is not set.
func (c Config) withDefaults() Config {
	if c.Open == nil {
		c.Open = func(f func() error) error { return f() }
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Second
	}
	if c.MinTimeout <= 0 {
		c.MinTimeout = 200 * time.Millisecond
	}
	c.MinTimeout = min(c.MinTimeout, c.Timeout)
	if c.Reordering <= 0 {
		c.Reordering = 20 * time.Millisecond
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// patience says how long to wait when the longest round trip of late was longest nanoseconds; 0 if there was none.
func (c *Config) patience(longest int64) patience {
	t := int64(c.Timeout)
	if longest > 0 {
		t = min(max(10*longest, int64(c.MinTimeout)), t)
	}
	return patience{timeout: t, quick: min(max(int64(c.Reordering), 4*longest), t), hold: t}
}

// headers is the length of the headers before the UDP payload.
func headers(a netip.Addr) int {
	if a.Is4() {
		return 20 + 8
	}
	return 40 + 8
}

// packetSize is the length of the UDP payload of a probe so many bytes long, from the IP header on, or what is needed for it.
func packetSize(size int, dst netip.AddrPort) int {
	return min(max(size-headers(dst.Addr()), minRequest), maxPacket)
}

// EngineStats counts what an engine did since it began.
type EngineStats struct {
	// Sent are the packets that the kernel took, Received those that came, Errors the ICMP errors that came.
	Sent, Received, Errors uint64
	// Foreign are packets and errors that belong to no stream.
	Foreign uint64
	// Dropped are messages for which the kernel had no room as this process was too slow to read them.
	Dropped uint64
	// Stamped are probes of which the kernel told when they left.
	Stamped uint64
}
