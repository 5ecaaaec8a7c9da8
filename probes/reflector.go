package probes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// ReflectorConfig is the configuration of a [Reflector]. The zero value answers everyone on UDP 862 of all addresses.
type ReflectorConfig struct {
	// Ports are the UDP ports to answer on; none means [Port].
	Ports []uint16
	// Address is the local address; invalid means all, IPv4 and IPv6.
	Address netip.Addr
	// Allow are the prefixes of senders that get answers; none means everyone.
	Allow []netip.Prefix
	// Open runs the function that opens the sockets, for instance inside a network namespace; nil means to call it.
	Open func(func() error) error
	// Sessions bounds the sessions remembered a socket (default 65536), each of about 100 bytes; the longest idle goes first.
	Sessions int
	// Idle is how long a session is remembered without packets (default 5 minutes).
	Idle time.Duration
	// Expiring bounds the replies a second that are sent with a TTL on demand, and so expire at some switch: 0 means 1000,
	// less than 0 none.
	Expiring int
	// NoChecksum sends answers without UDP checksum over IPv4, as Config.NoChecksum does.
	NoChecksum bool
	// Logger tells of what goes wrong; nil means nobody.
	Logger *slog.Logger
}

// A Reflector answers STAMP test packets (RFC 8762, stateful, with the TLVs of RFC 8972). It never answers with more bytes than
// it got, nor what looks like an answer, nor packets to broadcast or multicast addresses.
type Reflector struct {
	cfg     ReflectorConfig
	sockets []*reflectorSocket
	count   counters
}

// NewReflector opens the sockets of a reflector. It answers once [Reflector.Run] runs; before, packets wait in the sockets.
// An error of a port that this user may not bind is one for which errors.Is(err, fs.ErrPermission) holds.
func NewReflector(cfg ReflectorConfig) (*Reflector, error) {
	if len(cfg.Ports) == 0 {
		cfg.Ports = []uint16{Port}
	}
	if cfg.Sessions <= 0 {
		cfg.Sessions = defaultSessions
	}
	if cfg.Idle <= 0 {
		cfg.Idle = defaultIdle
	}
	if cfg.Expiring == 0 {
		cfg.Expiring = defaultExpiring
	}
	if cfg.Open == nil {
		cfg.Open = func(f func() error) error { return f() }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if slices.Contains(cfg.Ports, 0) {
		return nil, errors.New("a reflector cannot answer on port 0")
	}
	r := &Reflector{cfg: cfg}
	if err := cfg.Open(r.open); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// open opens one socket for each port and family.
func (r *Reflector) open() error {
	locals := []netip.Addr{r.cfg.Address}
	if !r.cfg.Address.IsValid() {
		locals = []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()}
	}
	shared := &bucket{rate: float64(max(r.cfg.Expiring, 0))}
	for _, port := range r.cfg.Ports {
		for _, local := range locals {
			m := &mirror{sessions: newTable(r.cfg.Sessions, r.cfg.Idle), count: &r.count, expiring: shared, allow: r.cfg.Allow, ports: r.cfg.Ports}
			s, err := newReflectorSocket(netip.AddrPortFrom(local, port), m, r.cfg.NoChecksum)
			if err != nil && local.IsUnspecified() && local.Is6() && isNoFamily(err) {
				r.cfg.Logger.Info("no IPv6 here", "port", port, "err", err)
				continue
			}
			if err != nil {
				return fmt.Errorf("reflector on %s: %w", netip.AddrPortFrom(local, port), err)
			}
			r.sockets = append(r.sockets, s)
		}
	}
	return nil
}

// Run answers until ctx is done, and what came until then; then it closes the sockets. It returns nil if ctx ended it.
func (r *Reflector) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		for _, s := range r.sockets {
			s.retire()
		}
	})
	defer stop()
	var wg sync.WaitGroup
	failed := make([]error, len(r.sockets))
	for i, s := range r.sockets {
		wg.Go(func() {
			if err := s.serve(); err != nil {
				failed[i] = fmt.Errorf("reflector on %s: %w", s.local(), err)
				r.Close()
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(failed...)
}

// Close closes the sockets and so ends Run. A reflector that runs is closed by the end of its context.
func (r *Reflector) Close() error {
	var errs []error
	for _, s := range r.sockets {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// Addrs returns the local addresses and ports, unspecified ones where all addresses of a family are served.
func (r *Reflector) Addrs() []netip.AddrPort {
	var all []netip.AddrPort
	for _, s := range r.sockets {
		all = append(all, s.local())
	}
	return all
}

// Stats returns what was counted since the beginning. It may be called while Run runs.
func (r *Reflector) Stats() ReflectorStats { return r.count.stats() }
