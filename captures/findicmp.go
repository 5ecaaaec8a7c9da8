package captures

import (
	"fmt"

	"whichlink/captures/frames"
	"whichlink/graphs"
)

// An icmpFinding is one kind of ICMP message that says what a network did to a packet.
type icmpFinding struct {
	name     string
	severity Severity
	v4, v6   [2]int // type and code, -1 for any code, a type of -1 for none
	text     string
}

// ttlRanOut is the finding of packets whose TTL ran out other than by a traceroute.
const ttlRanOut = "icmp-time-exceeded"

// icmpFindings lists them: of two that fit the first counts.
var icmpFindings = []icmpFinding{
	{"icmp-frag-needed", Critical, [2]int{3, 4}, [2]int{2, -1}, "too large for the next link"},
	{"icmp-port-unreachable", Warning, [2]int{3, 3}, [2]int{1, 4}, "for a port that nobody listens on: a host's answer, which shows that the path works"},
	{"icmp-protocol-unreachable", Warning, [2]int{3, 2}, [2]int{-1, 0}, "for a protocol that the host does not speak"},
	{"icmp-prohibited", Warning, [2]int{3, 13}, [2]int{1, 1}, "refused by a filter"},
	{"icmp-prohibited", Warning, [2]int{3, 10}, [2]int{1, 5}, "refused by a filter"},
	{"icmp-prohibited", Warning, [2]int{3, 9}, [2]int{1, 6}, "refused by a filter or a reject route"},
	{"icmp-unreachable", Critical, [2]int{3, -1}, [2]int{1, -1}, "dropped for want of a route or of a neighbour that answers"},
	{"icmp-reassembly", Critical, [2]int{11, 1}, [2]int{3, 1}, "of which fragments were lost on the way"},
	{ttlRanOut, Warning, [2]int{11, -1}, [2]int{3, -1}, "whose TTL ran out on the way: a forwarding loop, or a traceroute of few hops"},
	{"icmp-redirect", Warning, [2]int{5, -1}, [2]int{137, -1}, "that another router of the same network should have got: a wrong route or mask at the sender"},
}

// An icmpKey is who told of which packets. Ports are not in it: a scan or a traceroute changes them with each packet.
type icmpKey struct {
	from, src, dst    frames.Addr
	v6                bool
	kind, code, proto uint8
}

// An icmpTold sums up equal messages.
type icmpTold struct {
	icmpKey
	n, first, last int64
	finding        int
	srcPort        uint16 // of the first packet that was quoted
	dstPort        uint16
	mtu            uint32
	id             uint32
	gateway        frames.Addr
	port           string // the interface of RFC 5837
}

// An icmpFinder collects what routers and hosts say of packets that they did not forward or take.
type icmpFinder struct {
	a    *Analyzer
	told roll[icmpKey, icmpTold]
	over int64 // messages that found no room
}

func newICMPFinder(a *Analyzer) finder {
	return &icmpFinder{a: a, told: roll[icmpKey, icmpTold]{most: maxTold}}
}

func (f *icmpFinder) see(s *Sight) {
	m := &s.Frame.ICMP
	k := icmpKey{from: s.IP.Src, v6: s.IP.Version == 6, kind: m.Type, code: m.Code}
	which := icmpKind(&k)
	if which < 0 {
		return
	}
	if m.HasQuoted {
		k.src, k.dst, k.proto = m.Quoted.Src, m.Quoted.Dst, m.Quoted.Proto
	}
	t, fresh := f.told.of(k)
	if t == nil {
		f.over++
		return
	}
	if fresh {
		*t = icmpTold{icmpKey: k, finding: which, first: s.Time, mtu: m.MTU, srcPort: m.Quoted.SrcPort, dstPort: m.Quoted.DstPort}
		if at := s.Frame.L4 + 4; k.kind == 5 && at+4 <= len(s.Data) {
			t.gateway[10], t.gateway[11] = 0xff, 0xff
			copy(t.gateway[12:], s.Data[at:])
		}
		if m.HasInterface {
			t.port = interfaceName(&m.Interface)
		}
	}
	// A mirror of two ports shows a message twice.
	if t.n > 0 && s.IP.ID != 0 && s.IP.ID == t.id && s.Time-t.last <= copyWindow {
		return
	}
	t.n++
	t.last, t.id = s.Time, s.IP.ID
	if t.mtu == 0 || m.MTU > 0 && m.MTU < t.mtu {
		t.mtu = m.MTU
	}
}

// icmpKind returns the finding that a message belongs to, -1 if it is no news of trouble.
func icmpKind(k *icmpKey) int {
	for i := range icmpFindings {
		want := icmpFindings[i].v4
		if k.v6 {
			want = icmpFindings[i].v6
		}
		if want[0] == int(k.kind) && (want[1] < 0 || want[1] == int(k.code)) {
			return i
		}
	}
	return -1
}

// interfaceName says which port a router named.
func interfaceName(i *frames.Interface) string {
	switch {
	case len(i.Name) > 0:
		return graphs.Clean(string(i.Name))
	case i.HasIP:
		return i.Addr.Netip().String()
	}
	return fmt.Sprintf("of index %d", i.Index)
}

func (f *icmpFinder) report(r *Report) {
	lists := make([]ranking, len(icmpFindings))
	for i := range lists {
		lists[i].most = f.a.cfg.MaxFindings
	}
	traces := f.traces()
	f.reportTraces(r, traces)
	for i := range f.told.all {
		t := &f.told.all[i]
		if j, known := traces.index[traceKey{t.src, t.dst, t.v6, t.proto}]; known && traces.all[j].made() && icmpFindings[t.finding].name == ttlRanOut {
			continue
		}
		lists[t.finding].add(candidate{t.n, t.first, t.last, uint32(i), 0})
	}
	for i := range lists {
		lists[i].tell(r, func(c candidate) Finding {
			t, kind := &f.told.all[c.number], &icmpFindings[i]
			about := Choice{}
			if t.proto != 0 {
				about = choosePair(t.src, t.dst)
			}
			return Finding{
				Finding: kind.name, Severity: kind.severity, Subject: t.protocol() + " from " + t.from.Netip().String(), Text: t.text(kind), about: about,
				Rule:   fmt.Sprintf("%s type %d code %d, and the packet that it quotes", t.protocol(), t.kind, t.code),
				Filter: t.filter(),
			}
		})
	}
	if f.over > 0 {
		r.Findings = append(r.Findings, Finding{
			Finding: "icmp-others", Severity: Warning, Subject: plural(f.over, "message"), Count: f.over, From: instant(f.a.first), To: instant(f.a.last),
			Text: fmt.Sprintf("more ICMP errors than the first %d of different flows, not told singly", maxTold), Rule: "ICMP errors",
			Filter: "icmp.type == 3 || icmp.type == 5 || icmp.type == 11 || icmpv6.type < 4",
		})
	}
}

func (t *icmpTold) text(kind *icmpFinding) string {
	text := "tells of packets " + kind.text
	if t.mtu > 0 {
		text += fmt.Sprintf(" of MTU %d", t.mtu)
	}
	if t.gateway != (frames.Addr{}) {
		text += ", router " + t.gateway.Netip().String()
	}
	if t.port != "" {
		text += ", at its interface " + t.port
	}
	if t.src == t.dst && t.src == (frames.Addr{}) {
		return text
	}
	text += fmt.Sprintf("; they went %s>%s", t.src.Netip(), t.dst.Netip())
	if t.srcPort|t.dstPort != 0 {
		return text + fmt.Sprintf(", the first from %s port %d to %d", protocolName(t.proto), t.srcPort, t.dstPort)
	}
	return text + ", " + protocolName(t.proto)
}

func (t *icmpTold) protocol() string {
	if t.v6 {
		return "icmpv6"
	}
	return "icmp"
}

func (t *icmpTold) filter() string {
	ip := "ip"
	if t.v6 {
		ip = "ipv6"
	}
	filter := fmt.Sprintf("%s.src == %s && %s.type == %d && %s.code == %d", ip, t.from.Netip(), t.protocol(), t.kind, t.protocol(), t.code)
	if t.dst != (frames.Addr{}) {
		// The field holds the addresses of the quoted header too.
		filter += fmt.Sprintf(" && %s.src == %s && %s.dst == %s", ip, t.src.Netip(), ip, t.dst.Netip())
	}
	return filter
}

// protocolName names an IP protocol.
func protocolName(p uint8) string {
	switch p {
	case frames.ProtoTCP:
		return "tcp"
	case frames.ProtoUDP:
		return "udp"
	case frames.ProtoICMP, frames.ProtoICMPv6:
		return "icmp"
	}
	return fmt.Sprintf("IP protocol %d", p)
}
