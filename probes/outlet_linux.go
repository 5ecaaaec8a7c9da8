package probes

import (
	"errors"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
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
	dropped uint32 // as the kernel last told; the reader's
}

// open opens the sockets of an outlet.
func (e *Engine) open(local netip.AddrPort) (*outlet, error) {
	o := &outlet{e: e, local: local}
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
	now := time.Now().UnixNano()
	if o.left != nil {
		o.left.collect()
	}
	streams := *o.streams.Load()
	if isError {
		o.e.errors.Add(uint64(n))
	} else {
		o.e.received.Add(uint64(n))
	}
	var m meta
	for i := range n {
		m.parse(b.control(i))
		if m.dropped != 0 && m.dropped != o.dropped {
			o.e.dropped.Add(uint64(m.dropped - o.dropped))
			o.dropped = m.dropped
		}
		s := streams[b.peer(i)]
		switch {
		case s == nil:
			o.e.foreign.Add(1)
		case !isError:
			s.answered(b.data(i), &m, now)
		case m.isICMP():
			s.failed(b.data(i), &m, now)
		}
	}
}
