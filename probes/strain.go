package probes

import (
	"sync"
	"sync/atomic"
	"time"

	"whichlink/internal/evidence"
)

// A strain is a stretch of time, by the clock of the prober, in which a host at either end was too busy, and what it did to probes then. That is
// no fault of any link.
type strain struct {
	what     evidence.Strain
	from, to int64 // when the first and the last of its probes were sent, or when the pause was; nanoseconds since 1970
	count    int   // of probes; 0 for a pause
}

// A strainLog collects strains until somebody takes them. The zero value is empty. It may be used from any goroutine.
type strainLog struct {
	mu   sync.Mutex // guards list
	list []strain
}

const (
	// maxStrains bounds a log that nobody takes; what comes then widens the last strain.
	maxStrains = 256
	// sameStrain is how long after one strain another of its kind belongs to it. Of what a host refuses only the number matters.
	sameStrain, sameRefusal = int64(20 * time.Millisecond), int64(time.Second)
)

// add notes a strain.
func (l *strainLog) add(x strain) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.list); n > 0 {
		last, apart := &l.list[n-1], sameStrain
		if x.what == evidence.Refused {
			apart = sameRefusal
		}
		near := last.what == x.what && x.from <= last.to+apart && x.to >= last.from-apart
		if near || n >= maxStrains {
			last.from, last.to = min(last.from, x.from), max(last.to, x.to)
			last.count += x.count
			return
		}
	}
	l.list = append(l.list, x)
}

// take returns what was added since it was last called.
func (l *strainLog) take() []strain {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list
	l.list = nil
	return list
}

// A farEnd is a reflector as an engine sees it: all streams to it share one.
type farEnd struct {
	crowded, unsent farCount

	mu      sync.Mutex // of who changes the counts
	strains strainLog
}

// A farCount is a count of a reflector, as it last told it, and 1<<16 once it did; sent is when the newest of the probes was sent with whose answer
// it told that.
type farCount struct {
	told atomic.Uint32
	sent atomic.Int64
}

// restarted is how much later than others a probe must be sent for a lower count to be that of a reflector which began anew.
const restarted = int64(100 * time.Millisecond)

// told takes in what a reflector tells of its host in the answer to a probe that was sent at some time. Older ones tell nothing.
func (f *farEnd) told(c *control, sent int64) {
	if c.flags&flagCrowded != 0 {
		f.count(&f.crowded, evidence.Overflow, c.crowded, sent)
	}
	if c.flags&flagRefusing != 0 && c.ops&opCount == 0 {
		f.count(&f.unsent, evidence.Refused, c.queryPort, sent)
	}
}

// count takes in a count as it was when a probe reached the reflector. Whatever it lost since the probe before was sent between those two, as far
// as queues on the way are alike.
func (f *farEnd) count(c *farCount, what evidence.Strain, count uint16, sent int64) {
	if t := c.told.Load(); t == 1<<16|uint32(count) {
		if sent > c.sent.Load() {
			c.sent.Store(sent)
		}
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	told, last := c.told.Load(), c.sent.Load()
	more := int16(count - uint16(told))
	if told != 0 && more < 0 && sent < last+restarted {
		return // overtaken by a newer answer
	}
	if told != 0 && more > 0 {
		f.strains.add(strain{what, min(last, sent), max(last, sent), int(more)})
	}
	c.told.Store(1<<16 | uint32(count))
	c.sent.Store(max(last, sent))
}

// A crowd tells, message by message, how many a socket lost since the one before as its reader was too slow. The kernel counts others with
// them, too: those with a wrong checksum, of which a link may be guilty. Where there was no room, the messages before had waited.
type crowd struct {
	dropped uint32 // as the kernel last told
	waited  int64  // the longest that a message waited since the reader last was in time, nanoseconds
	last    int64  // when the newest message came
	lost    uint32 // in all, for want of room
}

const (
	// crowdLate is the least that some message waited for a reader where others found no room, and crowdPrompt how long messages wait for one in time.
	crowdLate   = int64(time.Millisecond)
	crowdPrompt = int64(200 * time.Microsecond)
)

// next takes the next message, which is read now, and returns how many were lost between the one before and this one.
func (c *crowd) next(m *meta, now int64) (lost int) {
	at := m.stamp
	if at == 0 {
		at = now
	}
	wait := now - at
	c.waited = max(c.waited, wait)
	if m.dropped != 0 && m.dropped != c.dropped {
		if c.waited >= crowdLate {
			lost = int(m.dropped - c.dropped)
			c.lost += uint32(lost)
		}
		c.dropped = m.dropped
	}
	c.last = at
	if wait < crowdPrompt {
		c.waited = 0
	}
	return lost
}
