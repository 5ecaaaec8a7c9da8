package snmp

import (
	"math"
	"time"

	"whichlink/internal/evidence"
)

// A Delta is what a port counted between two readings.
type Delta struct {
	Index uint32
	Name  string
	// Elapsed is by the agent's own clock where it has one.
	Elapsed time.Duration
	// Reset tells that the port counts or is numbered anew: In and Out are empty then.
	Reset   bool
	In, Out evidence.Counters
	// PFC are the pause frames by priority and Drops the packets dropped by queues in the interval.
	PFC   []PFC
	Drops []QueueDrops

	// age is how old the later counters were when they were read, where the agent tells.
	age time.Duration
}

// oldestSample is how old an agent's counters may be: what claims to be older is of another clock.
const oldestSample = 5 * time.Minute

// age is how long before they were read a port's counters were taken from the hardware; 0 where that is not told.
func (q *Port) age() time.Duration {
	if q.sampled == 0 || ticks(q.at-q.sampled) > oldestSample {
		return 0
	}
	return ticks(q.at - q.sampled)
}

// Between returns what each port of the later reading counted since the earlier one, in its order. The rules:
//
//   - A counter of 64 bits that goes back, or a discontinuity that the agent reports, is a new beginning: the interval says nothing.
//   - One of 32 bits that goes back has wrapped if the port can have counted so much at its speed, else it began anew. Where it can wrap twice in the
//     interval it says nothing.
//   - A restart of the agent is not one of the counters: they may go on. If one of them went back all of them began anew.
//   - Counts that the port cannot have carried are what is found where an agent shows 0 for a while: they say nothing.
//   - A port that has another name than before is another port.
func Between(before, after *Reading) []Delta {
	restarted := after.Clock.restarted(&before.Clock, after.Time.Sub(before.Time))
	var out []Delta
	anew := after.Clock.rebooted(&before.Clock, after.Time.Sub(before.Time))
	for i := range after.Ports {
		q := &after.Ports[i]
		d := Delta{Index: q.Index, Name: q.Name, Elapsed: elapsed(before, after, q, restarted), age: q.age()}
		switch p := before.Port(q.Index); {
		case p == nil || p.Name != q.Name || d.Elapsed <= 0:
			d.Reset = true
		case p.discontinuity != q.discontinuity:
			d.Reset = true
			anew = anew || restarted && q.discontinuity != 0
		default:
			if !d.subtract(p, q, restarted) {
				d.Reset = true
				anew = anew || restarted
			}
		}
		out = append(out, d)
	}
	for i := range out {
		if out[i].Reset || anew {
			out[i] = Delta{Index: out[i].Index, Name: out[i].Name, Elapsed: max(0, out[i].Elapsed), Reset: true}
		}
	}
	return out
}

// ticks is a duration of sysUpTime.
func ticks(n uint32) time.Duration { return time.Duration(n) * 10 * time.Millisecond }

// elapsed is the time between the readings of a port: by the agent's clock, which does not count how long the answer travelled, unless it restarted or
// its clock is not one (it stands still, or is far from ours).
func elapsed(before, after *Reading, q *Port, restarted bool) time.Duration {
	wall := after.Time.Sub(before.Time)
	p := before.Port(q.Index)
	if p == nil || restarted || before.Clock.Uptime == nil || after.Clock.Uptime == nil {
		return wall
	}
	d := ticks(q.at - p.at) // modulo 2^32, as the clock
	if slack := max(wall/2, 2*time.Second); d == 0 || d < wall-slack || d > wall+slack {
		return wall
	}
	return d
}

// restarted reports whether sysUpTime began anew. It wraps after 497 days: then the engine's time goes on, or the clock is where it must be.
func (c *Clock) restarted(before *Clock, wall time.Duration) bool {
	if c.Boots != nil && before.Boots != nil && *c.Boots != *before.Boots {
		return true
	}
	if c.Uptime == nil || before.Uptime == nil || *c.Uptime >= *before.Uptime {
		return false
	}
	return !wrapped(*before.Uptime, *c.Uptime, wall)
}

// wrapped reports whether a clock of 32 bits went back because it wrapped.
func wrapped(before, after uint32, wall time.Duration) bool {
	d := ticks(after - before)
	slack := max(wall/2, 2*time.Minute)
	return d < wall+slack
}

// rebooted reports whether the box itself started anew.
func (c *Clock) rebooted(before *Clock, wall time.Duration) bool {
	return c.System != nil && before.System != nil && *c.System < *before.System && !wrapped(*before.System, *c.System, wall)
}

// subtract fills in what was counted. It returns false if a counter began anew.
func (d *Delta) subtract(p, q *Port, restarted bool) bool {
	octets, packets, events := ceilings(q, d.Elapsed)
	for k := range counters {
		n, ok := q.Counts.Get(k)
		m, was := p.Counts.Get(k)
		if !ok || !was || q.Counts.isWide(k) != p.Counts.isWide(k) {
			continue
		}
		most := events
		switch k {
		case InOctets, OutOctets:
			most = octets
		case InUnicast, OutUnicast:
			most = packets
		}
		counted, verdict := difference(m, n, q.Counts.isWide(k), most, restarted)
		switch verdict {
		case began:
			return false
		case known:
			*d.slot(k) = &counted
		}
	}
	d.extras(p, q)
	return true
}

// extras subtracts what is counted by priority and by queue. A counter that went back is left out: its own table began anew.
func (d *Delta) extras(p, q *Port) {
	for _, b := range q.PFC {
		for _, a := range p.PFC {
			if a.Priority != b.Priority {
				continue
			}
			if b.Sent < a.Sent || b.Received < a.Received {
				break
			}
			d.PFC = append(d.PFC, PFC{b.Priority, b.Sent - a.Sent, b.Received - a.Received})
		}
	}
	for _, b := range q.Drops {
		for _, a := range p.Drops {
			if a.Queue == b.Queue && b.Packets >= a.Packets {
				d.Drops = append(d.Drops, QueueDrops{b.Queue, b.Packets - a.Packets})
			}
		}
	}
}

// slot is where a counter goes.
func (d *Delta) slot(k Counter) **uint64 {
	c := &d.In
	if k >= OutOctets {
		c = &d.Out
	}
	switch k {
	case InOctets, OutOctets:
		return &c.Octets
	case InUnicast, OutUnicast:
		return &c.Unicast
	case InErrors, OutErrors:
		return &c.Errors
	case InDiscards, OutDiscards:
		return &c.Discards
	case InFCS:
		return &c.FCS
	default:
		return &c.Pause
	}
}

// A ceiling is what a counter can have counted in an interval.
type ceiling struct {
	// jump: more than this is no count but a figure that the agent had not shown before.
	jump float64
	// wrap: a counter of 32 bits that went back has counted no more than this if it wrapped.
	wrap float64
	// twice: it may have wrapped more often than once.
	twice bool
}

// An agent may hold its figures back for so long: net-snmp's of EtherLike are a minute old.
const heldBack = time.Minute

// ceilings bounds what a port can have counted: octets, packets, and events such as errors. Frames are no shorter than 84 bytes with preamble and gap
// (IEEE 802.3); of these one in ten may be in error in an interval in which a counter wraps. A port may be faster than it says, as virtual
// ones are, but is no faster than 200 Gbit/s for a jump unless it says so.
func ceilings(q *Port, elapsed time.Duration) (octets, packets, events ceiling) {
	s, seconds := float64(q.Speed)/8, elapsed.Seconds()
	most := max(2*s, 25e9) * (elapsed + heldBack).Seconds()
	line := 1.25 * s * seconds
	octets = ceiling{most, line, s == 0 || line > math.MaxUint32}
	packets = ceiling{most / 84, line / 84, s == 0 || line/84 > math.MaxUint32}
	events = ceiling{most / 84, max(1e6, min(line/840, math.MaxUint32/2)), false}
	return octets, packets, events
}

// What a difference is.
type verdict int

const (
	known   verdict = iota
	unknown         // it may be anything
	began           // the counter began anew
)

// difference is what a counter counted between two values.
func difference(before, after uint64, wide bool, c ceiling, restarted bool) (uint64, verdict) {
	switch n := after - before; {
	case !wide && c.twice:
		return 0, unknown
	case after >= before && float64(n) <= c.jump:
		return n, known
	case after >= before:
		return 0, began
	case restarted:
		return 0, began
	case wide && before > 1<<63 && float64(n) <= c.jump: // modulo 2^64
		return n, known
	case !wide && float64(n&math.MaxUint32) <= c.wrap:
		return n & math.MaxUint32, known
	}
	return 0, began
}
