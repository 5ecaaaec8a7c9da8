package captures

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"whichlink/captures/frames"
)

const (
	protoOSPF = 89
	// maxNeighbours is how many routers of one network are followed by a router's hellos.
	maxNeighbours = 32
)

// A routerID names an OSPF router.
type routerID [4]byte

func (r routerID) String() string { return netip.AddrFrom4(r).String() }

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
	// A hello's neighbours stand behind the header of 24 or 16 bytes and 20 bytes of its own (RFC 2328 A.3.2, RFC 5340 A.3.2).
	length, dead, list := int(binary.BigEndian.Uint16(b[2:])), int64(0), 0
	switch {
	case b[0] == 2 && len(b) >= 44:
		dead, list = int64(binary.BigEndian.Uint32(b[32:])), 44
	case b[0] == 3 && len(b) >= 36:
		dead, list = int64(binary.BigEndian.Uint16(b[26:])), 36
	default:
		return
	}
	if length < list || length > len(b) {
		return // cut short: a neighbour that was not captured is not lost
	}
	k := ospfKey{s.IP.Src, routerID(b[4:8])}
	e, _ := f.ends.of(k)
	if e == nil {
		return
	}
	e.ospfKey = k
	e.take(s.Time, dead*1e9, b[list:length])
}

// take follows a hello and the neighbours that it lists.
func (e *ospfEnd) take(now, dead int64, list []byte) {
	e.hear(now, dead, true)
	e.neighbours = slices.DeleteFunc(e.neighbours, func(n routerID) bool {
		for at := 0; at+4 <= len(list); at += 4 {
			if routerID(list[at:at+4]) == n {
				return false
			}
		}
		if e.lost == 0 {
			e.firstLost = now
		}
		e.lost++
		e.who, e.atLost = n, now
		return true
	})
	for at := 0; at+4 <= len(list) && len(e.neighbours) < maxNeighbours; at += 4 {
		if n := routerID(list[at : at+4]); !slices.Contains(e.neighbours, n) {
			e.neighbours = append(e.neighbours, n)
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
			Finding: "ospf-neighbour-lost", Severity: Critical, Subject: e.name(), Filter: e.filter(),
			Text: fmt.Sprintf("this router lost a neighbour %s, last %s; its hellos do not say why", plural(e.lost, "time"), e.who),
			Rule: "a neighbour that a hello listed is missing in the next (RFC 2328 section 9.5)",
		}
	})
	silent.tell(r, func(c candidate) Finding {
		e := &f.ends.all[c.number]
		return Finding{
			Finding: "ospf-gap", Severity: Critical, Subject: e.name(), Filter: e.filter(),
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
