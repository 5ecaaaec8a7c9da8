package diagnose

import (
	"fmt"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// An afar is how far from a host traces met somebody, by IPv4 or IPv6.
type afar struct {
	src  graphs.NodeID
	ttl  int
	ipv6 bool
}

// strangers are the addresses that answered and are not the fabric's, by place.
type strangers map[afar]map[string]bool

func (x strangers) meet(at afar, r *evidence.Record) {
	if at.src == graphs.None || r.Address == "" || *r.Answered == 0 {
		return
	}
	if x[at] == nil {
		x[at] = map[string]bool{}
	}
	x[at][r.Address] = true
}

// misfit says that the fabric file is of another fabric, "" if it may be of this one. It is where most flows that were traced met, at some place, more strangers
// than the file has switches there that may answer from addresses of which it does not know, or a switch that it has farther away.
func (s *Store) misfit() string {
	foreign := map[afar]bool{}
	for at, met := range s.strangers {
		foreign[at] = len(met) > max(1, s.unlisted(at))
	}
	traced, odd := 0, 0
	for _, l := range s.order {
		if l.src == graphs.None {
			continue
		}
		answered, elsewhere := 0, false
		for i := range l.hops {
			switch h := &l.hops[i]; {
			case h.answered == 0:
			case h.node == graphs.None:
				answered++
				elsewhere = elsewhere || foreign[afar{l.src, h.ttl, l.flow.Src.Is6()}]
			default:
				answered++
				elsewhere = elsewhere || s.ecmp.Distance(h.node, l.src) > h.ttl
			}
		}
		if answered > 0 {
			traced++
		}
		if elsewhere {
			odd++
		}
	}
	if 2*odd <= traced {
		return ""
	}
	return fmt.Sprintf("the fabric file does not fit: %s of %s flows that were traced pass switches where it has others, or none", thousands(odd), thousands(traced))
}

// unlisted counts the addresses that the fabric file may lack of the nodes at a place: those of ports that have none in it, and a loopback.
func (s *Store) unlisted(at afar) (n int) {
	for node := range graphs.NodeID(s.fabric.NumNodes()) {
		if s.ecmp.Distance(node, at.src) != at.ttl {
			continue
		}
		loopback := 1
		for _, a := range s.fabric.Node(node).Loopback {
			if a.Is6() == at.ipv6 {
				loopback = 0
			}
		}
		n += loopback
		for _, p := range s.fabric.Ports(node) {
			without := 1
			for _, a := range s.fabric.Port(p).Prefixes {
				if a.Addr().Is6() == at.ipv6 {
					without = 0
				}
			}
			n += without
		}
	}
	return n
}
