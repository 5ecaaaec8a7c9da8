package probes

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"whichlink/internal/evidence"
)

// engineBatch is how many packets go to or come from the kernel at once.
const engineBatch = 32

// An Engine sends probes along flows and counts what becomes of them. Its methods may be called from any goroutine.
type Engine struct {
	cfg  Config
	pool sync.Pool // of *batch, for readers
	wg   sync.WaitGroup

	sent, received, errors, foreign, dropped, stamped atomic.Uint64

	own strainLog // of this host

	mu      sync.Mutex // guards outlets, ends and closed
	outlets map[netip.AddrPort]*outlet
	ends    map[netip.AddrPort]*farEnd // by destination
	closed  bool

	sending sync.Mutex // guards all below: one stream sends at a time, with the same buffers
	out     *batch
	queued  int
	seqs    [engineBatch]uint32
	fd      func(fd uintptr) bool // transmits out[done:queued]
	done    int
	errno   syscall.Errno
}

// NewEngine makes an engine. It opens no socket yet.
func NewEngine(cfg Config) (*Engine, error) {
	e := &Engine{cfg: cfg.withDefaults(), outlets: map[netip.AddrPort]*outlet{}, ends: map[netip.AddrPort]*farEnd{},
		out: newBatch(engineBatch, maxPacket, oobSend)}
	e.pool.New = func() any { return newBatch(engineBatch, maxPacket, oobReceive) }
	e.fd = e.transmit
	return e, nil
}

// Add begins to probe a flow: it opens the socket, and sends nothing. The flow's protocol is UDP, its source address one of this
// machine's and its source port not used by others. Errors are those of the system.
func (e *Engine) Add(flow evidence.Flow, o Options) (*Stream, error) {
	local, dst := netip.AddrPortFrom(flow.Src.Unmap(), flow.SrcPort), netip.AddrPortFrom(flow.Dst.Unmap(), flow.DstPort)
	switch {
	case flow.Proto != "udp":
		return nil, fmt.Errorf("probe flow of protocol %q: only udp is possible", flow.Proto)
	case !local.IsValid() || !dst.IsValid() || local.Addr().Is4() != dst.Addr().Is4():
		return nil, fmt.Errorf("probe flow from %s to %s: not two addresses of one family", local, dst)
	case local.Port() == 0 || dst.Port() == 0:
		return nil, fmt.Errorf("probe flow from %s to %s: port 0", local, dst)
	}
	size := cmp.Or(o.Size, DefaultSize)
	traceSize := packetSize(cmp.Or(o.TraceSize, size), dst)
	size = packetSize(size, dst)
	if o.Outstanding <= 0 {
		o.Outstanding = 1024
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, os.ErrClosed
	}
	out := e.outlets[local]
	if out == nil {
		var err error
		if out, err = e.open(local); err != nil {
			return nil, err
		}
		e.outlets[local] = out
		e.wg.Go(out.read)
	}
	old := *out.streams.Load()
	if old[dst] != nil {
		return nil, fmt.Errorf("flow from %s to %s is probed already", local, dst)
	}
	// SSIDs are in pairs, and 0 is none (RFC 8972 section 3).
	end := e.ends[dst]
	if end == nil {
		end = &farEnd{}
		e.ends[dst] = end
	}
	s := &Stream{flow: flow, dst: dst, e: e, out: out, end: end, size: size, traceSize: traceSize, ssid: uint16(rand.IntN(1<<15-1)+1) * 2, echoes: newLedger(o.Outstanding)}
	s.asks.next, s.asks.tail = firstAsk, firstAsk
	s.tally.lostAt = make([]int64, 0, evidence.MaxLostAt)
	streams := make(map[netip.AddrPort]*Stream, len(old)+1)
	for k, v := range old {
		streams[k] = v
	}
	streams[dst] = s
	out.streams.Store(&streams)
	return s, nil
}

// Remove ends the probing of a flow. Answers that are under way are dropped.
func (e *Engine) Remove(s *Stream) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := *s.out.streams.Load()
	if old[s.dst] != s {
		return nil
	}
	streams := make(map[netip.AddrPort]*Stream, len(old))
	for k, v := range old {
		if v != s {
			streams[k] = v
		}
	}
	s.out.streams.Store(&streams)
	if len(streams) > 0 {
		return nil
	}
	delete(e.outlets, s.out.local)
	return s.out.close()
}

// Close closes all sockets and waits for their readers.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	var errs []error
	for _, o := range e.outlets {
		errs = append(errs, o.close())
	}
	clear(e.outlets)
	e.mu.Unlock()
	e.wg.Wait()
	return errors.Join(errs...)
}

// Stats returns what was counted since the beginning.
func (e *Engine) Stats() EngineStats {
	return EngineStats{
		Sent: e.sent.Load(), Received: e.received.Load(), Errors: e.errors.Load(), Foreign: e.foreign.Load(), Dropped: e.dropped.Load(),
		Stamped: e.stamped.Load(),
	}
}

// Echo sends n echoes with the full TTL now, and returns how many: less if as many as may be outstanding are, or if the kernel
// refuses them, which is told in the next window.
func (s *Stream) Echo(n int) int {
	e := s.e
	e.sending.Lock()
	defer e.sending.Unlock()
	total := 0
	for n > 0 {
		k := min(n, engineBatch)
		now := time.Now().UnixNano()
		s.mu.Lock()
		for range k {
			seq, ok := s.echoes.send(now)
			if !ok {
				s.settle(now)
				if seq, ok = s.echoes.send(now); !ok {
					k, n = e.queued, 0
					break
				}
			}
			e.queue(s, &request{seq: seq, ssid: s.ssid, at: now, size: s.size}, 0)
		}
		s.mu.Unlock()
		total += e.flush(s, true)
		n -= k
	}
	return total
}

// send sends probes of the second session, which all ask the same but for their TTL, and returns how many the kernel took.
func (s *Stream) send(probes []ask, c control, hops int) int {
	e := s.e
	e.sending.Lock()
	defer e.sending.Unlock()
	total := 0
	for len(probes) > 0 {
		k := min(len(probes), engineBatch)
		now := time.Now().UnixNano()
		s.mu.Lock()
		c.round = s.round
		for i := range probes[:k] {
			x := probes[i]
			x.sent = now
			ttl := uint8(0)
			switch x.kind {
			case askExpire:
				ttl = x.ttl
			case askBack:
				c.replyTTL = x.ttl
			}
			e.queue(s, &request{seq: s.asks.enter(x), ssid: s.ssidAsk(), at: now, control: c, hops: hops, size: s.traceSize}, ttl)
		}
		s.mu.Unlock()
		total += e.flush(s, false)
		probes = probes[k:]
	}
	return total
}

// queue puts a packet behind those that wait for flush; sending is locked. TTL 0 is the socket's own.
func (e *Engine) queue(s *Stream, r *request, ttl uint8) {
	i := e.queued
	e.queued++
	e.seqs[i] = r.seq
	n := r.put(e.out.bufs[i])
	v6 := s.dst.Addr().Is6()
	w := cmsgWriter{b: e.out.oobs[i]}
	w.source(s.flow.Src.Unmap())
	if ttl != 0 {
		w.ttl(v6, ttl)
	}
	if s.flow.DSCP != 0 {
		w.tos(v6, s.flow.DSCP<<2)
	}
	e.out.set(i, n, putSockaddr(&e.out.names[i], s.dst, s.flow.Label), w.n)
}

// flush sends what is queued, all of one stream, and returns how many packets the kernel took; sending is locked.
func (e *Engine) flush(s *Stream, echo bool) int {
	e.done = 0
	refused, stamps := 0, s.out.left
	for e.done < e.queued {
		from := e.done
		if stamps != nil {
			stamps.expect(s, e.seqs[from:e.queued], echo)
		}
		if err := s.out.out.raw.Write(e.fd); err != nil {
			e.errno = unix.EBADF
		}
		if stamps != nil {
			stamps.took(e.done-from, e.queued-from)
		}
		switch {
		case e.done == e.queued || e.errno == 0: // sendmmsg(2) keeps to itself why it stopped; the next call will tell
			continue
		case !ownDrop(e.errno):
			s.refused(e.seqs[e.done], echo, e.errno)
			refused++
		case echo:
			now := time.Now().UnixNano()
			e.own.add(strain{evidence.Refused, now, now, 1})
		}
		e.done++
	}
	n := e.queued - refused
	e.queued = 0
	e.sent.Add(uint64(n))
	return n
}

// ownDrop reports whether this host dropped a packet after it had taken it: its queues or its filters did. To try again would hide
// that. The packet counts as sent, and as lost it tells of the host.
func ownDrop(errno syscall.Errno) bool {
	return errno == unix.ENOBUFS || errno == unix.ENOMEM || errno == unix.EPERM
}

// transmit is called with the file descriptor of a stream's socket. It waits while the socket's buffer is full.
func (e *Engine) transmit(fd uintptr) bool {
	n, errno := e.out.send(fd, e.done, e.queued)
	if errno == unix.EAGAIN {
		return false
	}
	e.done += n
	e.errno = errno
	return true
}

// refused notes that the kernel did not take a packet.
func (s *Stream) refused(seq uint32, echo bool, errno syscall.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = fmt.Errorf("send from %s to %s: %w", s.out.local, s.dst, errno)
	if echo {
		s.echoes.void(seq)
		s.unsent++
	} else if p := s.asks.find(seq); p != nil {
		p.fate = fateVoid
	}
}
