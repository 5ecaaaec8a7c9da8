package probes

import (
	"fmt"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// initialTTL is the TTL and hop limit with which echoes and answers leave. That it is known makes path lengths known.
const initialTTL = 64

// socketBuffer is what is asked for in either direction, in bytes; the kernel gives at most net.core.rmem_max and wmem_max.
const socketBuffer = 4 << 20

// Of linux/in6.h, missing from package unix.
const (
	ipv6Flowinfo     = 11
	ipv6FlowinfoSend = 33
)

const stamping = unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE

// A socket is a UDP socket that reports ICMP errors and kernel times.
type socket struct {
	file *os.File
	raw  syscall.RawConn
	v6   bool

	closed atomic.Bool
}

// option is one setsockopt call. What an old kernel does not know may be left out if it is not needed.
type option struct {
	name          string
	level, option int
	value         int
	needed        bool
}

// A role is what a UDP socket is for.
type role int

const (
	// A receiver gets what comes for a port of a prober: answers, and the ICMP errors for its probes.
	receiver role = iota
	// A sender sends from that port. It gets nothing: an ICMP error makes the next call on the socket it comes to fail, which would
	// cut most batches of TTL-limited probes short.
	sender
	// A reflector does both. It also tells to which of its addresses and in which class packets came.
	reflector
)

// A sender is bound to an address to which nobody sends (RFC 7600, RFC 6666), to the port from which it sends; every packet names
// its own source address. To connect it elsewhere would keep packets away, too, but the kernel gives a connected socket's packets a
// random hash, by which virtual devices and switches that are Linux then spread one flow as if it were another.
var (
	nowhere4 = netip.AddrFrom4([4]byte{192, 0, 0, 8})
	nowhere6 = netip.MustParseAddr("100::1")
)

// openUDP opens and binds a UDP socket in the network namespace of the calling thread.
func openUDP(local netip.AddrPort, role role, noChecksum bool) (*socket, error) {
	v6 := local.Addr().Is6()
	family := unix.AF_INET
	if v6 {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		return nil, fmt.Errorf("open a UDP socket: %w", err)
	}
	if err := prepareUDP(fd, local, role, noChecksum); err != nil {
		unix.Close(fd)
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "udp "+local.String())
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("UDP socket %s: %w", local, err)
	}
	return &socket{file: f, raw: raw, v6: v6}, nil
}

func prepareUDP(fd int, local netip.AddrPort, role role, noChecksum bool) error {
	options := []option{
		{"IP_RECVERR", unix.SOL_IP, unix.IP_RECVERR, 1, true},
		{"IP_RECVTTL", unix.SOL_IP, unix.IP_RECVTTL, 1, true},
		{"IP_TTL", unix.SOL_IP, unix.IP_TTL, initialTTL, true},
		// Probes are never fragmented, and their size never bends to a path MTU that somebody claims.
		{"IP_MTU_DISCOVER", unix.SOL_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE, true},
	}
	if local.Addr().Is6() {
		options = []option{
			{"IPV6_V6ONLY", unix.SOL_IPV6, unix.IPV6_V6ONLY, 1, true},
			{"IPV6_RECVERR", unix.SOL_IPV6, unix.IPV6_RECVERR, 1, true},
			{"IPV6_RECVHOPLIMIT", unix.SOL_IPV6, unix.IPV6_RECVHOPLIMIT, 1, true},
			{"IPV6_UNICAST_HOPS", unix.SOL_IPV6, unix.IPV6_UNICAST_HOPS, initialTTL, true},
			{"IPV6_MTU_DISCOVER", unix.SOL_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE, true},
			// The flow label is part of the flow: the one that is asked for, not one that the kernel draws.
			{"IPV6_AUTOFLOWLABEL", unix.SOL_IPV6, unix.IPV6_AUTOFLOWLABEL, 0, false},
			{"IPV6_FLOWINFO_SEND", unix.SOL_IPV6, ipv6FlowinfoSend, 1, false},
		}
	} else if noChecksum {
		// IPv4 only: hosts drop UDP over IPv6 without a checksum, and answer nothing (RFC 8200 section 8.1).
		options = append(options, option{"SO_NO_CHECK", unix.SOL_SOCKET, unix.SO_NO_CHECK, 1, true})
	}
	switch {
	case role == sender && local.Addr().Is6():
		options = append(options,
			option{"IPV6_FREEBIND", unix.SOL_IPV6, unix.IPV6_FREEBIND, 1, true},
			option{"SO_REUSEADDR", unix.SOL_SOCKET, unix.SO_REUSEADDR, 1, true})
		local = netip.AddrPortFrom(nowhere6, local.Port())
	case role == sender:
		options = append(options,
			option{"IP_FREEBIND", unix.SOL_IP, unix.IP_FREEBIND, 1, true},
			option{"SO_REUSEADDR", unix.SOL_SOCKET, unix.SO_REUSEADDR, 1, true})
		local = netip.AddrPortFrom(nowhere4, local.Port())
	case role == reflector && local.Addr().Is6():
		options = append(options,
			option{"IPV6_RECVTCLASS", unix.SOL_IPV6, unix.IPV6_RECVTCLASS, 1, false},
			option{"IPV6_RECVPKTINFO", unix.SOL_IPV6, unix.IPV6_RECVPKTINFO, 1, true},
			option{"IPV6_FLOWINFO", unix.SOL_IPV6, ipv6Flowinfo, 1, false})
	case role == reflector:
		options = append(options,
			option{"IP_RECVTOS", unix.SOL_IP, unix.IP_RECVTOS, 1, false},
			option{"IP_PKTINFO", unix.SOL_IP, unix.IP_PKTINFO, 1, true})
	}
	options = append(options,
		option{"SO_TIMESTAMPING", unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamping, false},
		option{"SO_RXQ_OVFL", unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1, false},
		option{"SO_RCVBUF", unix.SOL_SOCKET, unix.SO_RCVBUF, socketBuffer, false},
		option{"SO_SNDBUF", unix.SOL_SOCKET, unix.SO_SNDBUF, socketBuffer, false})
	if role == reflector {
		// All of a host comes through this one. Who may (CAP_NET_ADMIN) gets the room that it asks for.
		options = append(options, option{"SO_RCVBUFFORCE", unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBuffer, false})
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.option, o.value); err != nil && o.needed {
			return fmt.Errorf("set %s on a UDP socket: %w", o.name, err)
		}
	}
	if err := unix.Bind(fd, sockaddr(local)); err != nil {
		return fmt.Errorf("bind UDP %s: %w", local, err)
	}
	return nil
}

// sockaddr is an address in the form that package unix wants.
func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// drain calls each until the socket is closed, which it returns as [os.ErrClosed]: whenever either queue has something, with what came. One goroutine reads both
// queues inside one callback, as a second reader would wait for the first behind the lock of the file descriptor and starve.
func (s *socket) drain(take func() *batch, give func(*batch), each func(b *batch, n int, isError bool)) error {
	var broken error
	err := s.raw.Read(func(fd uintptr) bool {
		b := take()
		defer give(b)
		broken = s.empty(fd, b, each)
		return broken != nil
	})
	switch {
	case broken != nil:
		return broken
	case s.closed.Load():
		return os.ErrClosed // the runtime's own error is no other's
	}
	return err
}

// empty calls each with what is in either queue. It fails where reading does again and again.
func (s *socket) empty(fd uintptr, b *batch, each func(b *batch, n int, isError bool)) error {
	failures := 0
	for data, errors := true, true; data || errors; {
		if data {
			n, errno := b.receive(fd, 0)
			if n > 0 {
				each(b, n, false)
			}
			// A queue that did not fill the batch is empty: what comes later wakes the reader again. A read that fails with
			// the error of an ICMP message (EHOSTUNREACH, ECONNREFUSED) clears it and says nothing about the queue.
			data = errno != unix.EAGAIN && (errno != 0 || n == len(b.hdrs))
			if errno != 0 && errno != unix.EAGAIN {
				if failures++; failures > maxFailures {
					return errno
				}
			}
		}
		if errors {
			n, _ := b.receive(fd, unix.MSG_ERRQUEUE)
			if n > 0 {
				each(b, n, true)
			}
			errors = n == len(b.hdrs)
		}
	}
	return nil
}

// maxFailures is how often in a row reading may fail: ICMP errors come in floods, a broken socket fails for ever.
const maxFailures = 1 << 20

// close closes the socket, which ends drain.
func (s *socket) close() error {
	s.closed.Store(true)
	return s.file.Close()
}
