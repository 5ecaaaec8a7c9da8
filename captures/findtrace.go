package captures

import (
	"fmt"

	"whichlink/captures/frames"
)

// traceRouters is from how many routers on a traceroute is told, of which none tells more than half of it: where packets go round
// in a loop, the same one or two see them run out.
const traceRouters = 3

// A traceKey is what a traceroute sends: its ports change.
type traceKey struct {
	src, dst frames.Addr
	v6       bool
	proto    uint8
}

// A trace sums up what routers told of packets whose TTL ran out.
type trace struct {
	traceKey
	routers              int
	n, most, first, last int64
}

// made reports whether it is a traceroute's.
func (t *trace) made() bool { return t.routers >= traceRouters && 2*t.most <= t.n }

// traces sums up the messages of packets whose TTL ran out by what the packets were, in the order in which these were met.
func (f *icmpFinder) traces() *roll[traceKey, trace] {
	all := &roll[traceKey, trace]{most: maxTold}
	for i := range f.told.all {
		told := &f.told.all[i]
		if icmpFindings[told.finding].name != ttlRanOut || told.proto == 0 {
			continue
		}
		k := traceKey{told.src, told.dst, told.v6, told.proto}
		t, fresh := all.of(k)
		if t == nil {
			continue
		}
		if fresh {
			*t = trace{traceKey: k, first: told.first}
		}
		t.routers++
		t.n += told.n
		t.most = max(t.most, told.n)
		t.first, t.last = min(t.first, told.first), max(t.last, told.last)
	}
	return all
}

// reportTraces tells of traceroutes.
func (f *icmpFinder) reportTraces(r *Report, all *roll[traceKey, trace]) {
	list := ranking{most: f.a.cfg.MaxFindings}
	for i := range all.all {
		if t := &all.all[i]; t.made() {
			list.add(candidate{t.n, t.first, t.last, uint32(i), 0})
		}
	}
	list.tell(r, func(c candidate) Finding {
		t := &all.all[c.number]
		ip, icmp, ranOut := "ip", "icmp", "icmp.type == 11"
		if t.v6 {
			ip, icmp, ranOut = "ipv6", "icmpv6", "icmpv6.type == 3"
		}
		return Finding{
			Finding: "icmp-traceroute", Severity: Info, Subject: fmt.Sprintf("%s %s>%s", protocolName(t.proto), t.src.Netip(), t.dst.Netip()), about: choosePair(t.src, t.dst),
			Text: fmt.Sprintf("the TTL ran out at %d routers, at none more often than at all others together: a traceroute", t.routers),
			Rule: fmt.Sprintf("%s of packets whose TTL ran out, from %d routers or more about packets of the same two ends", icmp, traceRouters),
			// The fields hold the addresses of the quoted header too.
			Filter: fmt.Sprintf("%s && %s.src == %s && %s.dst == %s", ranOut, ip, t.src.Netip(), ip, t.dst.Netip()), like: ranOut,
		}
	})
}
