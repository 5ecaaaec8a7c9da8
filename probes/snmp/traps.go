package snmp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// trapBuffer is what the kernel is asked to hold of traps that were not read yet: a burst of 20,000, at some 1,300 bytes each with its own overhead.
	trapBuffer = 32 << 20
	// longestTrap is the longest message that is read. Real ones are of some 200 bytes.
	longestTrap = 16 << 10
	// trapsWaiting and trapBytesWaiting bound what was read and not yet understood.
	trapsWaiting, trapBytesWaiting = 1 << 16, 32 << 20
	// strangers bounds how many unknown senders are told apart.
	strangers = 256
)

// TrapConfig says where to listen for traps and which ones to believe.
type TrapConfig struct {
	// Address is where to listen, as host:port; an empty host is all addresses.
	Address string
	// Credentials are what traps must bear: the community, or a user of SNMPv3 with at least its authentication.
	Credentials Credentials
	// Known reports whether an address is an agent's. Traps of others are counted, and not looked into. Nil knows all. It is called by one goroutine.
	Known func(netip.Addr) bool
}

// TrapStats count what came. All traps that reached this machine are in one of them, but for what kernels other than Linux drop.
type TrapStats struct {
	// Taken were understood. Unknown came from addresses that are no agent's, Denied bore other credentials, Malformed are no traps, and Replayed
	// are authentic but old (RFC 3414, 3.2.7), or informs that were sent again since their answer was lost.
	Taken, Unknown, Denied, Malformed, Replayed uint64
	// Dropped could not be read as fast as they came; DroppedByKernel did not fit into the socket's buffer.
	Dropped, DroppedByKernel uint64
}

// Lost is how many traps came and could not be read.
func (s TrapStats) Lost() uint64 { return s.Dropped + s.DroppedByKernel }

// Traps is a socket that hears traps (RFC 3416, 4.2.6) and informs (4.2.7), which it acknowledges. One goroutine does nothing but copy them out of the kernel's buffer, which is large, so that
// bursts are heard as a whole.
type Traps struct {
	conn   *net.UDPConn
	cfg    TrapConfig
	buffer int

	waiting chan trapMessage
	bytes   atomic.Int64 // of waiting

	taken, unknown, denied, malformed, replayed, dropped, kernel atomic.Uint64

	mu      sync.Mutex // guards senders
	senders map[netip.Addr]uint64
}

// A trapMessage is a trap as it came.
type trapMessage struct {
	at   time.Time
	from netip.AddrPort
	text []byte
}

// ListenTraps opens the socket. Traps wait in the kernel's buffer until Run reads them.
func ListenTraps(cfg TrapConfig) (*Traps, error) {
	at, err := net.ResolveUDPAddr("udp", cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for traps: %w", err)
	}
	conn, err := net.ListenUDP("udp", at)
	if err != nil {
		return nil, fmt.Errorf("listen for traps: %w", err)
	}
	t := &Traps{conn: conn, cfg: cfg, waiting: make(chan trapMessage, trapsWaiting), senders: map[netip.Addr]uint64{}}
	if t.buffer, err = growBuffer(conn, trapBuffer); err != nil {
		conn.Close()
		return nil, fmt.Errorf("listen for traps: %w", err)
	}
	return t, nil
}

// Addr is where the socket listens.
func (t *Traps) Addr() netip.AddrPort { return t.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

// Buffer is how many bytes the kernel holds, its own overhead included, and whether that is what was asked for.
func (t *Traps) Buffer() (bytes int, enough bool) { return t.buffer, t.buffer >= trapBuffer }

// Stats returns what was counted so far.
func (t *Traps) Stats() TrapStats {
	return TrapStats{t.taken.Load(), t.unknown.Load(), t.denied.Load(), t.malformed.Load(), t.replayed.Load(), t.dropped.Load(), t.kernel.Load()}
}

// Strangers returns how many traps came from which unknown addresses, of which only so many are told apart.
func (t *Traps) Strangers() map[netip.Addr]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[netip.Addr]uint64, len(t.senders))
	for a, n := range t.senders {
		out[a] = n
	}
	return out
}

// Run hands over traps as they come, by one goroutine, until ctx ends; then it closes the socket. It returns an error if the socket broke.
func (t *Traps) Run(ctx context.Context, take func(Trap)) error {
	stop := context.AfterFunc(ctx, func() { t.conn.Close() })
	defer stop()
	var understanding sync.WaitGroup
	understanding.Go(func() {
		d := newTrapDecoder(t.cfg.Credentials)
		for m := range t.waiting {
			t.bytes.Add(-int64(len(m.text)))
			t.understand(d, m, take)
		}
	})
	err := t.copy()
	close(t.waiting)
	understanding.Wait()
	if ctx.Err() != nil {
		return nil
	}
	t.conn.Close()
	return err
}

// copy moves messages from the kernel's buffer to our own until the socket is closed.
func (t *Traps) copy() error {
	message, control := make([]byte, longestTrap), make([]byte, 64)
	var room []byte // what is left of the newest piece of our own buffer
	for {
		n, c, flags, from, err := t.conn.ReadMsgUDPAddrPort(message, control)
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listen for traps: %w", err)
		}
		if lost, ok := overflow(control[:c]); ok {
			t.kernel.Store(uint64(lost))
		}
		source := from.Addr().Unmap().WithZone("")
		switch {
		case t.cfg.Known != nil && !t.cfg.Known(source):
			t.stranger(source)
			continue
		case flags&truncated != 0 || n == 0:
			t.malformed.Add(1)
			continue
		case t.bytes.Load()+int64(n) > trapBytesWaiting:
			t.dropped.Add(1)
			continue
		}
		if len(room) < n {
			room = make([]byte, 1<<20)
		}
		text := room[:n:n]
		room = room[copy(text, message):]
		select {
		case t.waiting <- trapMessage{time.Now(), from, text}:
			t.bytes.Add(int64(n))
		default:
			t.dropped.Add(1)
		}
	}
}

func (t *Traps) stranger(from netip.Addr) {
	t.unknown.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.senders[from]; ok || len(t.senders) < strangers {
		t.senders[from]++
	}
}

func (t *Traps) understand(d *trapDecoder, m trapMessage, take func(Trap)) {
	trap, reply, err := d.decode(m)
	if reply != nil {
		// One that gets lost is asked for again.
		_, _ = t.conn.WriteToUDPAddrPort(reply, m.from)
	}
	switch {
	case err == nil:
		t.taken.Add(1)
		take(trap)
	case errors.Is(err, errTrapClock): // what is to be heard comes next
	case errors.Is(err, errTrapDenied):
		t.denied.Add(1)
	case errors.Is(err, errTrapReplayed):
		t.replayed.Add(1)
	default:
		t.malformed.Add(1)
	}
}
