package probes

import (
	"errors"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	reflectorBatch = 64   // requests read at once
	maxPacket      = 9216 // bytes of UDP payload: all of a jumbo frame
	oobReceive     = 320
	oobSend        = 128
)

// A reflectorSocket serves one port of one family.
type reflectorSocket struct {
	*socket
	at     netip.AddrPort
	mirror *mirror
	crowd  crowd
	unsent uint16 // answers, modulo 2^16
	in     *batch
	out    *batch           // one answer, which borrows payload and address of its request
	fd     func(fd uintptr) // transmit
}

func newReflectorSocket(at netip.AddrPort, m *mirror, noChecksum bool) (*reflectorSocket, error) {
	s, err := openUDP(at, reflector, noChecksum)
	if err != nil {
		return nil, err
	}
	r := &reflectorSocket{
		socket: s, at: at, mirror: m,
		in:  newBatch(reflectorBatch, maxPacket, oobReceive),
		out: newBatch(1, 1, oobSend),
	}
	r.fd = r.transmit
	return r, nil
}

func (r *reflectorSocket) local() netip.AddrPort { return r.at }

// isNoFamily tells the errors of a machine without IPv6.
func isNoFamily(err error) bool {
	return errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EADDRNOTAVAIL)
}

// serve answers until the socket is closed or retired, and then returns nil.
func (r *reflectorSocket) serve() error {
	err := r.drain(func() *batch { return r.in }, func(*batch) {}, r.arrived)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		var broken error
		err = r.raw.Control(func(fd uintptr) { broken = r.empty(fd, r.in, r.arrived) })
		return errors.Join(err, broken, r.close())
	case errors.Is(err, os.ErrClosed):
		return nil
	}
	return err
}

// retire has the kernel refuse what comes from now on, which tells senders that nobody is here any more, and serve answer what came before and then close the socket. What a socket holds
// when it is closed is lost in silence. One that is connected to itself gets nothing from others.
func (r *reflectorSocket) retire() {
	self := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if r.v6 {
		self = netip.IPv6Loopback()
	}
	_ = r.raw.Control(func(fd uintptr) {
		_ = unix.Connect(int(fd), sockaddr(netip.AddrPortFrom(self, r.at.Port()))) // without it, as much is lost as comes until the socket is closed
	})
	_ = r.file.SetReadDeadline(time.Unix(1, 0))
}

// arrived answers a batch of requests, or notes a batch of errors. Each answer has a time of its own and is sent before the next gets one: where the host is busy,
// others run between any two of a batch, and that is no delay of the network. What the host takes until then is subtracted (RFC 8762 section 4.3.1: Timestamp).
func (r *reflectorSocket) arrived(b *batch, n int, isError bool) {
	now := time.Now().UnixNano()
	var m meta
	for i := range n {
		m.parse(b.control(i))
		if isError {
			if m.isICMP() {
				r.mirror.icmp(b.peer(i), b.data(i), m.icmpType, m.icmpCode, m.offender, now)
			}
			continue
		}
		if lost := r.crowd.next(&m, now); lost > 0 {
			r.mirror.count.crowded.Add(uint64(lost))
		}
		if b.truncated(i) {
			r.mirror.count.truncated.Add(1)
			continue
		}
		if m.local != m.reply || m.local.IsMulticast() {
			r.mirror.count.notUnicast.Add(1)
			continue
		}
		if m.stamp == 0 {
			m.stamp = now
		}
		a := arrival{from: b.peer(i), to: m.local, ttl: m.ttl, received: m.stamp, crowded: uint16(r.crowd.lost), unsent: r.unsent, counted: true}
		if ttl, ok := r.mirror.reflect(b.data(i), a, time.Now().UnixNano()); ok {
			r.answer(b, i, &m, ttl)
		}
	}
}

// answer sends message i of the received ones back. It is called inside the callback of the reader, which holds the file descriptor; so it goes by
// the descriptor itself. What the kernel does not take is dropped and counted, as a network would.
func (r *reflectorSocket) answer(b *batch, i int, m *meta, ttl uint8) {
	in, out := &b.hdrs[i].hdr, &r.out.hdrs[0].hdr
	out.Name, out.Namelen = in.Name, in.Namelen
	r.out.iovs[0].Base = b.iovs[i].Base
	w := cmsgWriter{b: r.out.oobs[0]}
	if m.local.IsValid() {
		w.source(m.local)
	}
	if ttl != initialTTL {
		w.ttl(r.v6, ttl)
	}
	// The way back is of the class of the way there. The ECN bits are the network's.
	if dscp := m.tos &^ 3; dscp != 0 {
		w.tos(r.v6, dscp)
	}
	if r.v6 {
		setLabel(&b.names[i], m.label)
	}
	r.out.set(0, len(b.data(i)), int(in.Namelen), w.n)
	_ = r.raw.Control(r.fd)
}

// maxSendTries is how often sending one answer may fail: with the error of an ICMP message that came for an earlier one, which this clears, too.
const maxSendTries = 16

// transmit is called with the file descriptor of the socket.
func (r *reflectorSocket) transmit(fd uintptr) {
	for range maxSendTries {
		n, errno := r.out.send(fd, 0, 1)
		if n == 1 {
			return
		}
		if errno == unix.EAGAIN || ownDrop(errno) {
			break
		}
	}
	r.mirror.count.unsent.Add(1)
	r.unsent++
}
