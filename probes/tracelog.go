package probes

// A traceLog is what a stream learns while it is traced; the stream's lock guards it. Its methods may be called on nil.
type traceLog struct {
	hops      []hopCount // by TTL; sent is kept by the trace
	reached   bool
	last      int   // the smallest TTL with which a TTL-limited probe reached the destination; 0 if none did
	rtt       int64 // of the destination, nanoseconds
	reflector bool  // the destination is one of our reflectors
	back      []backHop
	lists     int // how many hop lists came
}

func (l *traceLog) hop(ttl int) *hopCount {
	for len(l.hops) <= ttl {
		l.hops = append(l.hops, hopCount{})
	}
	return &l.hops[ttl]
}

// reach notes an answer of the destination, to a probe with a TTL or, if it is 0, the full one.
func (l *traceLog) reach(ttl int, rtt int64) {
	if l == nil {
		return
	}
	l.reached = true
	l.rtt = max(l.rtt, rtt)
	if ttl > 0 && (l.last == 0 || ttl < l.last) {
		l.last = ttl
	}
}

// learn takes a hop list.
func (l *traceLog) learn(hops []backHop) {
	if l == nil {
		return
	}
	l.back = hops
	l.lists++
}
