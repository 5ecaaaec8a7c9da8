package probes

import (
	"errors"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Sizes of the reflector's batches.
const (
	reflectorBatch = 64
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
	out    *batch           // borrows the payloads and addresses of in
	fd     func(fd uintptr) // transmit
	from   int              // the messages of out from..to-1 wait to be sent
	to     int
	// expiring tells that some of them have a TTL with which they will not arrive.
	expiring bool
}

func newReflectorSocket(at netip.AddrPort, m *mirror, noChecksum bool) (*reflectorSocket, error) {
	s, err := openUDP(at, reflector, noChecksum)
	if err != nil {
		return nil, err
	}
	r := &reflectorSocket{
		socket: s, at: at, mirror: m,
		in:  newBatch(reflectorBatch, maxPacket, oobReceive),
		out: newBatch(reflectorBatch, 1, oobSend),
	}
	r.fd = r.transmit
	return r, nil
}

func (r *reflectorSocket) local() netip.AddrPort { return r.at }

// isNoFamily tells the errors of a machine without IPv6.
func isNoFamily(err error) bool {
	return errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EADDRNOTAVAIL)
}

// serve answers until the socket is closed, and then returns nil.
func (r *reflectorSocket) serve() error {
	err := r.drain(func() *batch { return r.in }, func(*batch) {}, r.arrived)
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// arrived answers a batch of requests, or notes a batch of errors.
func (r *reflectorSocket) arrived(b *batch, n int, isError bool) {
	now := time.Now().UnixNano()
	var m meta
	r.from, r.to, r.expiring = 0, 0, false
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
		ttl, ok := r.mirror.reflect(b.data(i), a, now)
		if !ok {
			continue
		}
		r.queue(b, i, &m, ttl)
	}
	if r.to > 0 {
		r.flush()
	}
}

// queue makes message i of the received ones the next to be sent.
func (r *reflectorSocket) queue(b *batch, i int, m *meta, ttl uint8) {
	k := r.to
	r.to++
	in, out := &b.hdrs[i].hdr, &r.out.hdrs[k].hdr
	out.Name, out.Namelen = in.Name, in.Namelen
	r.out.iovs[k].Base = b.iovs[i].Base
	w := cmsgWriter{b: r.out.oobs[k]}
	if m.local.IsValid() {
		w.source(m.local)
	}
	if ttl != initialTTL {
		w.ttl(r.v6, ttl)
		r.expiring = true
	}
	// The way back is of the class of the way there. The ECN bits are the network's.
	if dscp := m.tos &^ 3; dscp != 0 {
		w.tos(r.v6, dscp)
	}
	if r.v6 {
		setLabel(&b.names[i], m.label)
	}
	r.out.set(k, len(b.data(i)), int(in.Namelen), w.n)
}

// flush sends what was queued. It is called inside the callback of the reader, which holds the file descriptor; so it goes by
// the descriptor itself. What the kernel does not take is dropped and counted, as a network would.
func (r *reflectorSocket) flush() {
	_ = r.raw.Control(r.fd)
}

// maxSendTries is how often sending one answer may fail.
const maxSendTries = 16

// transmit is called with the file descriptor of the socket.
func (r *reflectorSocket) transmit(fd uintptr) {
	tries := 0
	for r.from < r.to {
		// An error that an earlier ICMP message left behind would stop the batch. What then stops it is an answer's own.
		_, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		n, errno := r.out.send(fd, r.from, r.to)
		r.from += n
		switch {
		case r.from == r.to:
			return
		case n > 0 && !r.expiring:
			// sendmmsg(2) keeps to itself why it stopped. To try that answer again would hide that this host drops some. Only where
			// answers of the batch expire on the way may the ICMP error for one, which is quick, have stopped the next.
			errno = unix.ENOBUFS
		case errno == 0:
			continue
		}
		if tries++; tries < maxSendTries && errno != unix.EAGAIN && !ownDrop(errno) {
			continue
		}
		r.mirror.count.unsent.Add(1)
		r.unsent++
		r.from++
		tries = 0
	}
}
