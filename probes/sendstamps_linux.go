package probes

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// sendStamping asks for the time at which the driver was given each packet, alone and with the packet's number. That needs no
// privilege anywhere; to get the packet back along with it may (net.core.tstamp_allow_data).
const sendStamping = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE |
	unix.SOF_TIMESTAMPING_OPT_ID | unix.SOF_TIMESTAMPING_OPT_TSONLY

// oobStamp is room for the control messages of a stamp.
const oobStamp = 192

// sendStamps matches the kernel's times of sending with the probes. They come through the error queue of the sender, which has
// nothing else in it: ICMP errors come to the receiver, and no stamp displaces one. A stamp for which there is no room is lost, and
// its probe keeps the time that this process saw, which is never later.
//
// The kernel numbers the packets of a socket, from 0. Whether it numbered one that it then refused depends on its version and on
// where it failed, so after a call that did not take all the numbering begins anew. A stamp of the old numbering, read later, is
// told from one of the new: it is older than the packet that it seems to belong to.
type sendStamps struct {
	sock    *socket
	matched *atomic.Uint64 // counts

	reading sync.Mutex // guards the next three; before mu
	in      *batch
	fd      func(fd uintptr)
	taken   int // by the last fd

	mu   sync.Mutex // guards all below
	next uint32
	ring [1024]stamped // by number
}

// stamped is a packet that was or is being given to the kernel.
type stamped struct {
	s    *Stream
	id   uint32
	seq  uint32
	echo bool
}

// newSendStamps asks for stamps. It returns nil where the kernel has none to give.
func newSendStamps(sock *socket, matched *atomic.Uint64) *sendStamps {
	t := &sendStamps{sock: sock, matched: matched, in: newBatch(engineBatch, 1, oobStamp)}
	t.fd = func(fd uintptr) { t.taken, _ = t.in.receive(fd, unix.MSG_ERRQUEUE) }
	if !t.renumber() {
		return nil
	}
	return t
}

// renumber has the kernel begin with 0 again, which it does when numbers are asked for that were not.
func (t *sendStamps) renumber() bool {
	var errno error
	err := t.sock.raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, 0)
		errno = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING, sendStamping)
	})
	t.next = 0
	return err == nil && errno == nil
}

// expect notes which packets come next. It must be called before they are sent: their stamps may be read before the call returns.
func (t *sendStamps) expect(s *Stream, seqs []uint32, echo bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, seq := range seqs {
		id := t.next + uint32(i)
		t.ring[id%uint32(len(t.ring))] = stamped{s, id, seq, echo}
	}
}

// took tells how many of those the kernel took.
func (t *sendStamps) took(n, of int) {
	if n < of {
		t.collect() // while the old numbers are known
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next += uint32(n); n < of {
		t.renumber()
	}
}

// collect reads the stamps that are there. The kernel makes a packet's stamp before the packet
// leaves: whoever has read an answer and then collects has its stamp, if there is one.
func (t *sendStamps) collect() {
	t.reading.Lock()
	defer t.reading.Unlock()
	var m meta
	for t.taken = len(t.in.hdrs); t.taken == len(t.in.hdrs); {
		if t.sock.raw.Control(t.fd) != nil {
			return
		}
		for i := range t.taken {
			m.parse(t.in.control(i))
			if m.origin != originStamp || m.stamp == 0 {
				continue
			}
			t.mu.Lock()
			x := t.ring[m.id%uint32(len(t.ring))]
			t.mu.Unlock()
			if x.s != nil && x.id == m.id && x.s.left(x.seq, x.echo, m.stamp) {
				t.matched.Add(1)
			}
		}
	}
}
