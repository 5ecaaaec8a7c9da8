package probes

import (
	"errors"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"whichlink/internal/evidence"
)

// An outlet is a local address and port, from which streams go to different destinations.
type outlet struct {
	e     *Engine
	local netip.AddrPort
	in    *socket
	out   *socket
	left  *sendStamps // nil where there are none
	// streams is replaced, never changed, so that the reader needs no lock.
	streams atomic.Pointer[map[netip.AddrPort]*Stream]
	since   int64 // when it was opened, nanoseconds since 1970

	// The reader's: what the socket lost, and when the newest of the echoes was sent that were answered.
	crowd  crowd
	newest int64
}

// open opens the sockets of an outlet.
func (e *Engine) open(local netip.AddrPort) (*outlet, error) {
	o := &outlet{e: e, local: local, since: time.Now().UnixNano()}
	o.streams.Store(&map[netip.AddrPort]*Stream{})
	err := e.cfg.Open(func() (err error) {
		// The port must be ours before anything is sent from it.
		if o.in, err = openUDP(local, receiver, e.cfg.NoChecksum); err != nil {
			return err
		}
		if o.out, err = openUDP(local, sender, e.cfg.NoChecksum); err != nil {
			o.in.close()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !e.cfg.NoSendStamps {
		o.left = newSendStamps(o.out, &e.stamped)
	}
	return o, nil
}

func (o *outlet) close() error { return errors.Join(o.in.close(), o.out.close()) }

// read takes what comes until the socket is closed.
func (o *outlet) read() {
	take := func() *batch { return o.e.pool.Get().(*batch) }
	give := func(b *batch) { o.e.pool.Put(b) }
	if err := o.in.drain(take, give, o.arrived); err != nil && !errors.Is(err, os.ErrClosed) {
		o.e.cfg.Logger.Error("reading a probe socket", "local", o.local, "err", err)
	}
}

// arrived hands a batch of messages to their streams.
func (o *outlet) arrived(b *batch, n int, isError bool) {
	if o.left != nil {
		o.left.collect()
	}
	now := time.Now().UnixNano()
	streams := *o.streams.Load()
	if isError {
		o.e.errors.Add(uint64(n))
	} else {
		o.e.received.Add(uint64(n))
	}
	var m meta
	for i := range n {
		m.parse(b.control(i))
		lost, sent := 0, int64(0)
		if !isError {
			lost = o.crowd.next(&m, now)
		}
		switch s := streams[b.peer(i)]; {
		case s == nil:
			o.e.foreign.Add(1)
		case !isError:
			sent = s.answered(b.data(i), &m, now)
		case m.isICMP():
			s.failed(b.data(i), &m, now)
		}
		if lost > 0 {
			o.overflowed(lost, sent)
		}
		o.newest = max(o.newest, sent)
	}
}

// overflowed notes that answers were lost, for which there was no room, between the newest so far and one to a probe that was sent at some time; 0
// if that is not known.
func (o *outlet) overflowed(lost int, sent int64) {
	o.e.dropped.Add(uint64(lost))
	if sent == 0 {
		sent = o.crowd.last
	}
	from := o.newest
	if from == 0 {
		from = o.since
	}
	o.e.own.add(strain{evidence.Overflow, min(from, sent), sent, lost})
}
