package probes

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"whichlink/internal/evidence"
)

// A SYNAnswer is what came for one TCP SYN.
type SYNAnswer struct {
	// Answered tells that anything came in time, From from whom.
	Answered bool
	From     netip.Addr
	// Reached tells that the destination answered, Open that it did with SYN-ACK, which was then reset, and not with RST.
	Reached, Open bool
	// Type and Code are of the ICMP message, 0 and 0 if it was none.
	Type, Code uint8
	// RTT is taken by this process's clock, not by the kernel's stamps, so it contains the process's own delays.
	RTT time.Duration
}

// SYNOptions say how to trace with TCP SYNs.
type SYNOptions struct {
	// MaxTTL is where to stop if the destination does not answer (default 30), Tries how often a hop is asked (default 3).
	MaxTTL, Tries int
	// Allow is as TraceOptions.Allow. TTL is 0 for a SYN that goes all the way.
	Allow func(ttl int) time.Duration
}

// TraceSYN finds the path of one TCP flow, for destinations without a reflector: the SYNs keep their ports, so the path is that of
// such a connection. The kernel permits one at a time for each flow, so it takes a round trip a hop. Nothing is ever accepted: an open
// port sees a handshake that is reset. An error is ctx's or of opening the socket.
func (e *Engine) TraceSYN(ctx context.Context, flow evidence.Flow, o SYNOptions) (Trace, error) {
	if o.MaxTTL <= 0 {
		o.MaxTTL = defaultMaxTTL
	}
	if o.Tries <= 0 {
		o.Tries = defaultTries
	}
	t := Trace{Flow: flow}
	var rtt time.Duration
	// ask sends up to Tries SYNs with a TTL, until one is answered.
	ask := func(ttl int) (h Hop, a SYNAnswer, err error) {
		h.TTL = ttl
		var d delays
		for try := 1; try <= o.Tries && h.Answered == 0; try++ {
			if ok, err := allowed(ctx, o.Allow, ttl); err != nil || !ok {
				return h, a, err
			}
			a, err = e.SYN(ctx, flow, ttl, 2*rtt+grace(try+1))
			if err != nil {
				return h, a, err
			}
			h.Sent++
			t.Sent++
			if ttl > 0 && !a.Reached {
				t.Expiring++
			}
			if a.Answered {
				h.Answered++
				h.Responders = []Responder{{Addr: a.From, Answered: 1, Type: a.Type, Code: a.Code}}
				rtt = max(rtt, a.RTT)
				d.add(a.RTT)
			}
		}
		h.RTT = d.delay()
		return h, a, nil
	}
	_, all, err := ask(0)
	if err != nil {
		return t, err
	}
	t.Reached = all.Reached
	silent := 0
	for ttl := 1; ttl <= min(o.MaxTTL, MaxTTL); ttl++ {
		h, a, err := ask(ttl)
		if err != nil {
			return t, err
		}
		t.Hops = append(t.Hops, h)
		if a.Reached {
			t.Reached, t.ForwardLen = true, ttl
			break
		}
		if silent++; h.Answered > 0 {
			silent = 0
		}
		if silent == silentRun && !t.Reached {
			t.Hops = t.Hops[:len(t.Hops)-silentRun]
			break
		}
	}
	if t.Reached {
		t.Method = MethodTCPSYN
	}
	return t, nil
}

// allowed waits until a packet may be sent. False if it never may.
func allowed(ctx context.Context, allow func(ttl int) time.Duration, ttl int) (bool, error) {
	for allow != nil {
		wait := allow(ttl)
		if wait <= 0 {
			return wait == 0, nil
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("trace: %w", context.Cause(ctx))
		case <-time.After(wait):
		}
	}
	return true, ctx.Err()
}
