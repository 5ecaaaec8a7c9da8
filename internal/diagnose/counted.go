package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

// A tally is what a port counted in one direction, all intervals together.
type tally struct {
	packets, errors, fcs, discards uint64
	// counts tells which of them the device has.
	hasPackets, hasErrors, hasDiscards bool
	span                               time.Duration
	// before are the packets that were counted before the first interval with errors, which began at since, and clean those after the last, which ended at until.
	before, clean uint64
	since, until  time.Time
	// looks are the intervals in which packets were counted, bad those of them with errors, and last is when the newest of them ended.
	looks, bad int
	last       time.Time
}

// broken is how many packets were lost to errors. Frames with a wrong checksum mostly are among the errors.
func (t *tally) broken() uint64 { return max(t.errors, t.fcs) }

// A counted is what all ports counted, as evidence of arcs, switches and hosts.
type counted struct {
	in, out map[graphs.PortID]*tally
	ports   int
	notes   []string // what could not be used
}

// counted adds up the readings of each port. Readings in which counters began anew say nothing, nor do those that cannot be.
func (s *Store) counted() *counted {
	c := &counted{in: map[graphs.PortID]*tally{}, out: map[graphs.PortID]*tally{}}
	resets, wrong := 0, 0
	for _, p := range s.portsSaid() {
		var until time.Time
		said := false
		for i := range s.ports.logs[p].readings {
			r := &s.ports.logs[p].readings[i]
			switch {
			case r.In == nil && r.Out == nil:
				continue
			case r.Reset:
				resets++
				continue
			case !s.possible(p, r):
				wrong++
				continue
			case r.interval > 0 && until.Sub(r.at.Add(-r.interval)) > r.interval/2:
				continue // two pollers asked the same port
			}
			until = r.at
			said = true
			add(c.in, p, r.In, r)
			add(c.out, p, r.Out, r)
		}
		if said {
			c.ports++
		}
	}
	if resets > 0 {
		c.notes = append(c.notes, fmt.Sprintf("counter readings that tell nothing, as counters or their numbering began anew: %d", resets))
	}
	if wrong > 0 {
		c.notes = append(c.notes, fmt.Sprintf("counter readings left out, as a port cannot count what does not fit through it: %d", wrong))
	}
	return c
}

// possible reports whether a port of some speed can have counted what it did: half as much again is allowed for clocks.
func (s *Store) possible(p graphs.PortID, r *portReading) bool {
	const least = 84          // octets that a frame takes on the wire
	const wrapped = 1<<31 - 1 // what is more, on counters of 32 bits, went backwards
	speed := float64(r.Speed)
	if l := s.fabric.Port(p).Link; l != graphs.None {
		speed = max(speed, float64(s.fabric.Link(l).Speed))
	}
	most := math.Inf(1)
	if speed > 0 && r.interval > 0 {
		// Agents count by clocks of their own, which may be as slow as five seconds.
		most = 1.5 * speed / 8 * (r.interval + 5*time.Second).Seconds()
	}
	for _, c := range []*evidence.Counters{r.In, r.Out} {
		if c == nil {
			continue
		}
		if value(c.Octets) > most {
			return false
		}
		for _, n := range []*uint64{c.Unicast, c.Errors, c.FCS, c.Pause} {
			if value(n)*least > most {
				return false
			}
		}
		if value(c.Octets) > 1e18 || value(c.Unicast) > 1e16 || max(value(c.Errors), value(c.FCS), value(c.Discards), value(c.Pause)) > wrapped {
			return false
		}
	}
	return true
}

func value(n *uint64) float64 {
	if n == nil {
		return 0
	}
	return float64(*n)
}

// meanPacket turns octets into packets where a device does not count those, roughly.
const meanPacket = 700

func add(to map[graphs.PortID]*tally, p graphs.PortID, c *evidence.Counters, r *portReading) {
	if c == nil {
		return
	}
	t := to[p]
	if t == nil {
		t = &tally{}
		to[p] = t
	}
	t.span += r.interval
	packets := t.packets
	switch {
	case c.Unicast != nil:
		t.packets, t.hasPackets = t.packets+*c.Unicast, true
	case c.Octets != nil:
		t.packets, t.hasPackets = t.packets+*c.Octets/meanPacket, true
	}
	for _, x := range []struct {
		from *uint64
		to   *uint64
		has  *bool
	}{{c.Errors, &t.errors, &t.hasErrors}, {c.FCS, &t.fcs, &t.hasErrors}, {c.Discards, &t.discards, &t.hasDiscards}} {
		if x.from != nil {
			*x.to += *x.from
			*x.has = true
		}
	}
	errors := value(c.Errors) + value(c.FCS)
	if t.packets > packets || errors > 0 {
		t.looks, t.last = t.looks+1, r.at
	}
	if errors == 0 {
		t.clean += t.packets - packets
		return
	}
	t.bad++
	if t.since.IsZero() {
		t.before, t.since = packets, r.at.Add(-r.interval)
	}
	t.clean, t.until = 0, r.at
}

// proves is how unlikely it must be, as the negative of its logarithm, that none of some errors came in a part of the time, for them to have begun after it, or ended before.
const proves = 7

// when says since when, or until when, errors were counted, and which share of the packets of that time they are; "" where they may have come all the time.
func (t *tally) when(n uint64, d dial) string {
	rest := t.packets - t.before - t.clean
	without := func(part uint64) bool { return float64(n)*math.Log1p(float64(part)/float64(rest+n)) >= proves }
	began, ended := without(t.before), without(t.clean)
	if !t.hasPackets || t.since.IsZero() || !began && !ended {
		return ""
	}
	text := fmt.Sprintf(": %s of those", Percent(float64(n)/float64(rest+n)))
	if began {
		text += " since " + d.clock(t.since)
	}
	if ended {
		text += " until " + d.clock(t.until)
	}
	return text + ", none at other times"
}

// meters says what the counters speak of: what comes in broken at a port of the arc that ends there, what is discarded on its way out
// of the arc that begins there. A host's own losses are the host's, and what a switch discards before it knows a way out is the switch's.
func (s *Store) meters(c *counted) []localize.Meter {
	var ms []localize.Meter
	meter := func(on localize.Cause, sort localize.Sort, count, packets uint64, looks localize.Looks) {
		if packets+count > 0 {
			ms = append(ms, localize.Meter{On: on, Sort: sort, Count: float64(count), Packets: float64(packets + count), Looks: looks})
		}
	}
	for a := range graphs.ArcID(s.fabric.NumArcs()) {
		on := localize.Cause{Kind: localize.Arc, ID: int32(a)}
		count, packets, fcs, has := s.broken(c, a)
		if has {
			sort := localize.Errors
			if 2*fcs > count {
				sort = localize.FCS
			}
			meter(on, sort, count, packets, s.looks(c, a))
		}
		if t := c.out[s.fabric.TailPort(a)]; t != nil && t.hasDiscards && t.hasPackets && !s.fabric.Node(s.fabric.Tail(a)).IsHost() {
			meter(on, localize.Discards, t.discards, t.packets, localize.Looks{})
		}
	}
	for n := range graphs.NodeID(s.fabric.NumNodes()) {
		on := localize.Cause{Kind: localize.Node, ID: int32(n)}
		if s.fabric.Node(n).IsHost() {
			on.Kind = localize.Host
		}
		if count, packets, has := s.dropped(c, n); has {
			meter(on, localize.Discards, count, packets, localize.Looks{})
		}
	}
	return ms
}

// broken returns what the ports of an arc count of packets that could not be read or sent, those of them with a wrong checksum, and how many other packets the one that counts most of
// them does: the other may have been read for longer.
func (s *Store) broken(c *counted, a graphs.ArcID) (count, packets, fcs uint64, has bool) {
	most := uint64(0)
	for _, t := range s.talliesOf(c, a) {
		n := t.broken()
		switch {
		case !has || n > most:
			most, packets = n, t.packets
		case n == most:
			packets = max(packets, t.packets)
		}
		has, count, fcs = true, count+n, fcs+t.fcs
	}
	return count, packets, fcs, has
}

// looks tells in how many intervals the ports of an arc counted what could not be read or sent.
func (s *Store) looks(c *counted, a graphs.ArcID) (x localize.Looks) {
	for _, t := range s.talliesOf(c, a) {
		x.All, x.Seconds = max(x.All, t.looks), max(x.Seconds, t.span.Seconds())
		x.Bad, x.Now = x.Bad+t.bad, x.Now || t.bad > 0 && t.until.Equal(t.last)
	}
	return x
}

// talliesOf returns what those ports of an arc counted that count errors and packets.
func (s *Store) talliesOf(c *counted, a graphs.ArcID) []*tally {
	return slices.DeleteFunc([]*tally{c.in[s.fabric.HeadPort(a)], c.out[s.fabric.TailPort(a)]}, func(t *tally) bool {
		return t == nil || !t.hasErrors || !t.hasPackets
	})
}

// dropped adds up what a node drops by itself: of what comes in, and at a host of what goes out too.
func (s *Store) dropped(c *counted, n graphs.NodeID) (count, packets uint64, has bool) {
	for _, p := range s.fabric.Ports(n) {
		sides := []*tally{c.in[p]}
		if s.fabric.Node(n).IsHost() {
			sides = append(sides, c.out[p])
		}
		for _, t := range sides {
			if t != nil && t.hasDiscards && t.hasPackets {
				count, packets, has = count+t.discards, packets+t.packets, true
			}
		}
	}
	return count, packets, has
}

// within writes a span of counting: "in 10 s".
func (t *tally) within() string {
	if t.span == 0 {
		return ""
	}
	return " in " + t.span.Round(100*time.Millisecond).String()
}

// of writes a count as a share of packets.
func (t *tally) of(n uint64) string {
	if !t.hasPackets || t.packets+n == 0 {
		return t.within()
	}
	return fmt.Sprintf(" of %s packets (%s)%s", thousands(int(t.packets+n)), Percent(float64(n)/float64(t.packets+n)), t.within())
}

// countersOf says what the counters tell of a cause: one sentence for each port that counts losses, and one for those that count none, if there are any. Those
// of a group or switch with many ports are told in part.
func (s *Store) countersOf(c *counted, cause localize.Cause) (loud []string, silent string) {
	quiet, packets := 0, uint64(0)
	say := func(t *tally, n uint64, has bool, what, port string) {
		switch {
		case !has:
		case n > 0:
			text := fmt.Sprintf("%s %s at %s%s", thousands(int(n)), what, port, t.of(n))
			if strings.HasSuffix(what, "errors") {
				text += t.when(n, s.dial())
			}
			loud = append(loud, text)
		default:
			quiet++
			packets = max(packets, t.packets)
		}
	}
	for _, a := range s.arcsOf(cause) {
		head, tail := s.fabric.HeadPort(a), s.fabric.TailPort(a)
		if t := c.in[head]; t != nil && t.fcs > 0 && 2*t.fcs >= t.broken() {
			say(t, t.fcs, true, "FCS errors", s.fabric.PortName(head))
		} else if t != nil {
			say(t, t.errors, t.hasErrors, "input errors", s.fabric.PortName(head))
		}
		if t := c.out[tail]; t != nil {
			if t.errors > 0 {
				say(t, t.errors, true, "output errors", s.fabric.PortName(tail))
			}
			say(t, t.discards, t.hasDiscards, "packets discarded on the way out", s.fabric.PortName(tail))
		}
	}
	if cause.Kind == localize.Host || cause.Kind == localize.Node {
		n := graphs.NodeID(cause.ID)
		if count, all, has := s.dropped(c, n); has {
			t := tally{packets: all, hasPackets: true, discards: count}
			say(&t, count, true, "packets discarded", s.fabric.NodeName(n))
		}
	}
	if quiet > 0 {
		silent = fmt.Sprintf("counters that would show it say nothing (up to %s packets): a gray fault shows in none", thousands(int(packets)))
	}
	const most = 4
	if len(loud) > most {
		loud = append(loud[:most], fmt.Sprintf("and %d more ports count losses", len(loud)-most))
	}
	return loud, silent
}

// arcsOf returns the arcs of a cause, without those at a node.
func (s *Store) arcsOf(c localize.Cause) []graphs.ArcID {
	switch c.Kind {
	case localize.Arc:
		return []graphs.ArcID{graphs.ArcID(c.ID)}
	case localize.Link, localize.Group:
		var arcs []graphs.ArcID
		for _, l := range linksOf(s.fabric, c) {
			arcs = append(arcs, l.Forward(), l.Backward())
		}
		return arcs
	}
	return nil
}
