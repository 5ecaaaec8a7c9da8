package captures

import (
	"fmt"

	"whichlink/captures/frames"
)

// A ttlChange is what was seen of the TTL of one direction of a flow that did not keep it.
type ttlChange struct {
	number      uint32
	dir         uint8
	low, high   uint8 // the least and the greatest
	from, to    uint8 // of the first change
	changes     int64
	first, last int64
}

// A ttlKey is one direction of a flow.
type ttlKey struct {
	number uint32
	dir    uint8
}

// maxTTLFlows bounds how many directions of flows are followed: where so many change, the first tell enough.
const maxTTLFlows = 1 << 14

// A ttlFinder tells when packets of a flow took a path of another length. It is called only when a TTL differs from the one before.
type ttlFinder struct {
	a     *Analyzer
	flows roll[ttlKey, ttlChange]
}

func newTTLFinder(a *Analyzer) finder {
	a.ttl = &ttlFinder{a: a, flows: roll[ttlKey, ttlChange]{most: maxTTLFlows}}
	return a.ttl
}

func (f *ttlFinder) see(*Sight) {}

// change notes that a flow's TTL was another one before.
func (f *ttlFinder) change(s *Sight, before uint8) {
	now := s.IP.TTL
	if s.Frame.Kind == frames.TCPSegment && s.Frame.TCP.Flags&frames.RST != 0 {
		// Resets are made by kernels and by boxes on the way, with a TTL of their own.
		s.flow.halves[s.Dir].ttl = before
		return
	}
	k := ttlKey{s.number, uint8(s.Dir)}
	c, fresh := f.flows.of(k)
	if c == nil {
		return
	}
	if fresh {
		*c = ttlChange{number: s.number, dir: k.dir, low: min(before, now), high: max(before, now), from: before, to: now, first: s.Time}
	}
	c.low, c.high = min(c.low, now), max(c.high, now)
	c.changes++
	c.last = s.Time
}

// ttlJump is the least difference that no change of path makes: senders begin with 64, 128 or 255, and fabrics are shallow.
const ttlJump = 30

// leastTTL is what a packet has at least that was sent to arrive. Whatever sets it lower is a traceroute and changes it on purpose.
const leastTTL = 32

// The kinds of change, in the order of ttlKinds.
const (
	rerouted = iota
	flapped
	sprayed
	answeredByAnother
)

var ttlKinds = []struct {
	name     string
	severity Severity
	text     func(c *ttlChange) string
	rule     string
}{
	{"ttl-reroute", Warning, func(c *ttlChange) string {
		return fmt.Sprintf("the TTL went from %d to %d and stayed: a path %s from then on", c.from, c.to, hops(int(c.from)-int(c.to)))
	}, "one change of TTL in one direction of a flow"},
	{"ttl-flap", Warning, func(c *ttlChange) string {
		return fmt.Sprintf("the TTL went to and fro between %d and %d, %s: paths of different length took turns", c.low, c.high, plural(c.changes, "change"))
	}, "several changes of TTL in one direction of a flow, fewer than one of four packets"},
	{"ttl-spray", Warning, func(c *ttlChange) string {
		return fmt.Sprintf("packets of TTL %d to %d follow each other, %s: sprayed over paths of different length, or mirrored before and behind a router",
			c.low, c.high, plural(c.changes, "change"))
	}, "the TTL differs from the packet before in one of four packets or more"},
	{"ttl-other-sender", Warning, func(c *ttlChange) string {
		return fmt.Sprintf("the TTL lay between %d and %d, %s: another host or a box on the way sends under this address", c.low, c.high, plural(c.changes, "change"))
	}, fmt.Sprintf("TTLs %d or more apart in one direction of a flow", ttlJump)},
}

func hops(n int) string {
	if n < 0 {
		return plural(int64(-n), "hop") + " shorter"
	}
	return plural(int64(n), "hop") + " longer"
}

// kind says what the changes of a flow look like.
func (c *ttlChange) kind(packets uint32) int {
	switch {
	case c.high-c.low >= ttlJump:
		return answeredByAnother
	case c.changes == 1:
		return rerouted
	case 4*c.changes >= int64(packets):
		return sprayed
	}
	return flapped
}

func (f *ttlFinder) report(r *Report) {
	lists := make([]ranking, len(ttlKinds))
	for i := range lists {
		lists[i].most = f.a.cfg.MaxFindings
	}
	for i := range f.flows.all {
		c := &f.flows.all[i]
		fl := f.a.flows.flows.at(c.number)
		// Mirrors before and behind routers, of which one missed a packet, show the hops between them.
		if c.low < leastTTL || fl.state&sawCopy != 0 && c.high-c.low < ttlJump {
			continue
		}
		lists[c.kind(fl.halves[c.dir].packets)].add(candidate{c.changes, c.first, c.last, uint32(i), 0})
	}
	for i, kind := range ttlKinds {
		lists[i].tell(r, func(k candidate) Finding {
			c := &f.flows.all[k.number]
			e := f.a.flows.flows.at(c.number).evidence(int(c.dir))
			ttl := "ip.ttl"
			if e.Src.Is6() {
				ttl = "ipv6.hlim"
			}
			return Finding{
				Finding: kind.name, Severity: kind.severity, Subject: flowName(e), about: chooseFlow(e), Text: kind.text(c), Rule: kind.rule,
				Filter: fmt.Sprintf("%s && %s >= %d && %s <= %d", flowFilter(e), ttl, c.low, ttl, c.high),
			}
		})
	}
}
