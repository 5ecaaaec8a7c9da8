package probes

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"whichlink/internal/evidence"
)

// synTimeout is below the second after which the kernel sends a SYN again (RFC 6298 section 2), so that one call is one packet.
const synTimeout = 900 * time.Millisecond

// SYN sends one TCP SYN by connect() from the flow's source port, with a TTL, or the full one if that is 0, and waits for what comes:
// at most for wait, if that is more than 0 and less than 900 ms. The port must not be in use. An error is of the system.
func (e *Engine) SYN(ctx context.Context, flow evidence.Flow, ttl int, wait time.Duration) (SYNAnswer, error) {
	local, dst := netip.AddrPortFrom(flow.Src.Unmap(), flow.SrcPort), netip.AddrPortFrom(flow.Dst.Unmap(), flow.DstPort)
	if flow.Proto != "tcp" || !local.IsValid() || !dst.IsValid() || local.Addr().Is4() != dst.Addr().Is4() {
		return SYNAnswer{}, fmt.Errorf("TCP SYN from %s to %s: not a TCP flow of one family", local, dst)
	}
	if ttl <= 0 {
		ttl = initialTTL
	}
	if wait <= 0 || wait > synTimeout {
		wait = synTimeout
	}
	var fd int
	var start time.Time
	err := e.cfg.Open(func() (err error) {
		fd, err = openTCP(local, flow.DSCP, ttl)
		return err
	})
	if err != nil {
		return SYNAnswer{}, err
	}
	file := os.NewFile(uintptr(fd), "tcp "+local.String())
	defer file.Close()
	raw, err := file.SyscallConn()
	if err != nil {
		return SYNAnswer{}, fmt.Errorf("TCP socket %s: %w", local, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = file.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var failed error
	_ = raw.Control(func(fd uintptr) {
		start = time.Now()
		failed = unix.Connect(int(fd), sockaddr(dst))
	})
	e.sent.Add(1)
	if failed != nil && !errors.Is(failed, unix.EINPROGRESS) && !isAnswer(failed) {
		return SYNAnswer{}, fmt.Errorf("TCP SYN from %s to %s: %w", local, dst, failed)
	}
	if err := file.SetWriteDeadline(start.Add(wait)); err != nil {
		return SYNAnswer{}, fmt.Errorf("TCP socket %s: %w", local, err)
	}
	if ctx.Err() != nil {
		return SYNAnswer{}, fmt.Errorf("TCP SYN to %s: %w", dst, context.Cause(ctx))
	}
	var a SYNAnswer
	in := newBatch(1, 128, oobReceive)
	err = raw.Write(func(fd uintptr) bool {
		now := time.Now()
		if n, _ := in.receive(fd, unix.MSG_ERRQUEUE); n == 1 {
			var m meta
			m.parse(in.control(0))
			if m.isICMP() {
				a = SYNAnswer{Answered: true, From: m.offender, Reached: m.offender == dst.Addr(), Type: m.icmpType, Code: m.icmpCode, RTT: now.Sub(start)}
				return true
			}
		}
		if failed == nil || errors.Is(failed, unix.EINPROGRESS) {
			n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
			if err != nil {
				failed = err
				return true
			}
			if n == 0 {
				if _, err := unix.Getpeername(int(fd)); err != nil {
					return false // still on its way
				}
				a = SYNAnswer{Answered: true, From: dst.Addr(), Reached: true, Open: true, RTT: now.Sub(start)}
				return true
			}
			failed = syscall.Errno(n)
		}
		if errors.Is(failed, unix.ECONNREFUSED) {
			a = SYNAnswer{Answered: true, From: dst.Addr(), Reached: true, RTT: now.Sub(start)}
		}
		return true
	})
	if ctx.Err() != nil {
		return SYNAnswer{}, fmt.Errorf("TCP SYN to %s: %w", dst, context.Cause(ctx))
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return SYNAnswer{}, fmt.Errorf("TCP SYN from %s to %s: %w", local, dst, err)
	}
	return a, nil
}

// isAnswer tells errors of connect that come from the network.
func isAnswer(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.EHOSTUNREACH)
}

// openTCP opens and binds a TCP socket in the network namespace of the calling thread.
func openTCP(local netip.AddrPort, dscp uint8, ttl int) (int, error) {
	family := unix.AF_INET
	options := []option{
		{"IP_TTL", unix.SOL_IP, unix.IP_TTL, ttl, true},
		{"IP_TOS", unix.SOL_IP, unix.IP_TOS, int(dscp) << 2, true},
		{"IP_RECVERR", unix.SOL_IP, unix.IP_RECVERR, 1, true},
	}
	if local.Addr().Is6() {
		family = unix.AF_INET6
		options = []option{
			{"IPV6_V6ONLY", unix.SOL_IPV6, unix.IPV6_V6ONLY, 1, true},
			{"IPV6_UNICAST_HOPS", unix.SOL_IPV6, unix.IPV6_UNICAST_HOPS, ttl, true},
			{"IPV6_TCLASS", unix.SOL_IPV6, unix.IPV6_TCLASS, int(dscp) << 2, true},
			{"IPV6_RECVERR", unix.SOL_IPV6, unix.IPV6_RECVERR, 1, true},
			{"IPV6_AUTOFLOWLABEL", unix.SOL_IPV6, unix.IPV6_AUTOFLOWLABEL, 0, false},
		}
	}
	options = append(options, option{"SO_REUSEADDR", unix.SOL_SOCKET, unix.SO_REUSEADDR, 1, true})
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return 0, fmt.Errorf("open a TCP socket: %w", err)
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.option, o.value); err != nil && o.needed {
			unix.Close(fd)
			return 0, fmt.Errorf("set %s on a TCP socket: %w", o.name, err)
		}
	}
	// Closing resets: nothing of ours lingers here or there.
	if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("set SO_LINGER on a TCP socket: %w", err)
	}
	if err := unix.Bind(fd, sockaddr(local)); err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("bind TCP %s: %w", local, err)
	}
	return fd, nil
}
