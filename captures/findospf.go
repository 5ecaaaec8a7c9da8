package captures

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/gopacket/layers"

	"whichlink/captures/frames"
)

const (
	protoOSPF = 89
	// maxNeighbours is how many routers of one network are followed by a router's hellos.
	maxNeighbours = 32
)

// A routerID names an OSPF router.
type routerID uint32

func (r routerID) String() string {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(r)))).String()
}

// An ospfKey is a router's interface, which sends hellos.
type ospfKey struct {
	src    frames.Addr
	router routerID
}

// An ospfEnd is what the hellos of one interface said.
type ospfEnd struct {
	ospfKey
	pulse
	neighbours              []routerID
	lost, firstLost, atLost int64
	who                     routerID // the neighbour lost last
}

// An ospfFinder follows the hellos of OSPF: a neighbour that is no longer listed was lost.
type ospfFinder struct {
	a    *Analyzer
	ends roll[ospfKey, ospfEnd]
}

func newOSPFFinder(a *Analyzer) finder {
	return &ospfFinder{a: a, ends: roll[ospfKey, ospfEnd]{most: maxTold}}
}

func (f *ospfFinder) see(s *Sight) {
	if s.IP.Proto != protoOSPF {
		return
	}
	end := min(s.Frame.End, len(s.Data))
	if s.Frame.L4 >= end {
		return
	}
	b := s.Data[s.Frame.L4:end]
	if len(b) < 16 || b[1] != 1 {
		return
	}
	if int(binary.BigEndian.Uint16(b[2:])) > len(b) {
		return // cut short: a neighbour that was not captured is not lost
	}
	router, hello := readHello(b)
	if hello == nil {
		return
	}
	k := ospfKey{s.IP.Src, router}
	e, _ := f.ends.of(k)
	if e == nil {
		return
	}
	e.ospfKey = k
	e.take(s.Time, int64(hello.RouterDeadInterval)*1e9, hello.NeighborID)
}

// readHello reads a hello of OSPF version 2 or 3 (RFC 2328 A.3.2, RFC 5340 A.3.2); nil if it is none.
func readHello(b []byte) (routerID, *layers.HelloPkg) {
	if v2 := cold[*layers.OSPFv2](layers.LayerTypeOSPF, b); v2 != nil {
		if hello, ok := v2.Content.(layers.HelloPkgV2); ok {
			return routerID(v2.RouterID), &hello.HelloPkg
		}
	}
	if v3 := cold[*layers.OSPFv3](layers.LayerTypeOSPF, b); v3 != nil {
		if hello, ok := v3.Content.(layers.HelloPkg); ok {
			return routerID(v3.RouterID), &hello
		}
	}
	return 0, nil
}

// take follows a hello and the neighbours that it lists.
func (e *ospfEnd) take(now, dead int64, list []uint32) {
	e.hear(now, dead, true)
	e.neighbours = slices.DeleteFunc(e.neighbours, func(n routerID) bool {
		if slices.Contains(list, uint32(n)) {
			return false
		}
		if e.lost == 0 {
			e.firstLost = now
		}
		e.lost++
		e.who, e.atLost = n, now
		return true
	})
	for _, n := range list {
		if len(e.neighbours) < maxNeighbours && !slices.Contains(e.neighbours, routerID(n)) {
			e.neighbours = append(e.neighbours, routerID(n))
		}
	}
}

func (f *ospfFinder) report(r *Report) {
	lost, silent := ranking{most: f.a.cfg.MaxFindings}, ranking{most: f.a.cfg.MaxFindings}
	for i := range f.ends.all {
		e := &f.ends.all[i]
		if e.lost > 0 {
			lost.add(candidate{e.lost, e.firstLost, e.atLost, uint32(i), 0})
		}
		e.silence(&silent, i)
	}
	lost.tell(r, func(c candidate) Finding {
		e := &f.ends.all[c.number]
		return Finding{
			Finding: "ospf-neighbour-lost", Severity: Critical, Subject: e.name(), Filter: e.filter(), like: "ospf",
			Text: fmt.Sprintf("this router lost a neighbour %s, last %s; its hellos do not say why", plural(e.lost, "time"), e.who),
			Rule: "a neighbour that a hello listed is missing in the next (RFC 2328 section 9.5)",
		}
	})
	silent.tell(r, func(c candidate) Finding {
		e := &f.ends.all[c.number]
		return Finding{
			Finding: "ospf-gap", Severity: Critical, Subject: e.name(), Filter: e.filter(), like: "ospf",
			Text: e.gap("hello", "its dead interval"),
			Rule: "a silence between two hellos longer than RouterDeadInterval",
		}
	})
}

func (e *ospfEnd) name() string { return fmt.Sprintf("ospf router %s at %s", e.router, e.src.Netip()) }

func (e *ospfEnd) filter() string {
	ip := "ip"
	if e.src.Netip().Is6() {
		ip = "ipv6"
	}
	return fmt.Sprintf("%s.src == %s && ospf.msg == 1", ip, e.src.Netip())
}
