package probes

import (
	"net/netip"
	"time"
)

// beginTrace begins to log what a trace learns. The reflector forgets what it knew of the way back.
func (s *Stream) beginTrace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round++
	s.trace = &traceLog{}
}

// endTrace ends the log.
func (s *Stream) endTrace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = nil
}

// reached reports whether the destination answered since the trace began.
func (s *Stream) reached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trace.reached
}

// pathLengths returns the lengths of both ways in links, 0 where unknown.
func (s *Stream) pathLengths() (forward, back int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forwardLen, s.backLen
}

// heard returns who answered most at a TTL since the trace began, and how many answers there were in all.
func (s *Stream) heard(ttl int) (netip.Addr, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.trace.hop(ttl)
	if len(h.responders) == 0 {
		return netip.Addr{}, 0
	}
	return h.responders[len(h.responders)-1].Addr, h.answered
}

// lists returns how often the reflector told what it knows of the way back since the trace began.
func (s *Stream) lists() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trace.lists
}

// backFrom returns who was told to have answered at a TTL of the way back.
func (s *Stream) backFrom(ttl int) (netip.Addr, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.trace.back {
		if int(h.ttl) == ttl && h.addr.IsValid() {
			return h.addr, true
		}
	}
	return netip.Addr{}, false
}

// roundTrip returns the round-trip time of the trace's first answer, 0 if there was none.
func (s *Stream) roundTrip() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(s.trace.rtt)
}
