package diagnose

import (
	"fmt"
	"maps"
	"slices"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
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
	x[at][graphs.Clean(r.Address)] = true
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

// unlisted counts the addresses that the fabric file may lack of the nodes at a place.
func (s *Store) unlisted(at afar) (n int) {
	for node := range graphs.NodeID(s.fabric.NumNodes()) {
		if s.ecmp.Distance(node, at.src) == at.ttl {
			n += s.unlistedOf(node, at.ipv6)
		}
	}
	return n
}

// unlistedOf counts the addresses that the fabric file may lack of a node: those of ports that have none in it, and a loopback.
func (s *Store) unlistedOf(node graphs.NodeID, ipv6 bool) int {
	n := 1
	for _, a := range s.fabric.Node(node).Loopback {
		if a.Is6() == ipv6 {
			n = 0
		}
	}
	for _, p := range s.fabric.Ports(node) {
		without := 1
		for _, a := range s.fabric.Port(p).Prefixes {
			if a.Addr().Is6() == ipv6 {
				without = 0
			}
		}
		n += without
	}
	return n
}

// A beyond is what became of flows that met an address which nothing in the fabric file can have.
type beyond struct {
	passed
	addresses map[string]bool
}

// leaveOutBeyond takes out of the evidence what flows lost of which the way is not known, and which met a stranger that is none of the switches of the fabric file: these took a link that it
// lacks, and not one of the ways that it allows.
func (s *Store) leaveOutBeyond() {
	s.beyond = beyond{addresses: map[string]bool{}}
	if len(s.strangers) == 0 || s.model != pathfind.Model(s.ecmp) {
		return // how far a switch is from a host is known of shortest paths only
	}
	none := map[afar]bool{}
	for at := range s.strangers {
		none[at] = s.allKnown(at)
	}
	for _, l := range s.order {
		if l.src == graphs.None || l.dst == graphs.None {
			continue
		}
		met := false
		for i := range l.hops {
			if h := &l.hops[i]; h.node == graphs.None && h.answered > 0 && h.ttl < s.ecmp.Distance(l.src, l.dst) { // the last is a host
				at := afar{l.src, h.ttl, l.flow.Src.Is6()}
				if met = met || none[at]; none[at] {
					maps.Copy(s.beyond.addresses, s.strangers[at])
				}
			}
		}
		for i := 0; met && i < len(l.echoes); i++ {
			if e := &l.echoes[i]; !e.path.known() {
				s.beyond.sent, s.beyond.lost = s.beyond.sent+e.sent, s.beyond.lost+e.lost
				e.leaveOut()
			}
		}
	}
}

// allKnown reports whether all switches at a place and nearer answered from addresses that the fabric file has, wherever that was seen, and it has those of all of their ports.
func (s *Store) allKnown(at afar) bool {
	for _, n := range s.fabric.Switches() {
		if d := s.ecmp.Distance(n, at.src); d >= 0 && d <= at.ttl && (!s.answering[n] || s.unlistedOf(n, at.ipv6) > 0) {
			return false
		}
	}
	return true
}

// ails reports whether more was lost there than chance and good arcs explain.
func (x *beyond) ails(background float64) bool { return Unexplained(x.sent, x.lost, background) }

// doubtBeyond lowers suspects of which nearly all losses are of flows whose way is not known, where a link that the fabric file lacks is known to lose packets: these flows may have
// crossed it.
func (s *Store) doubtBeyond(d *Diagnosis, seen *observer, background float64) {
	if !s.beyond.ails(background) {
		return
	}
	for i := range d.Suspects {
		x := &d.Suspects[i]
		if x.Symptom != Loss && x.Symptom != Flap {
			continue
		}
		on := map[graphs.ArcID]bool{}
		for _, a := range arcsNamed(s.fabric, x.ID) {
			on[a] = true
		}
		surely, perhaps := 0, 0
		for k := range seen.list {
			obs := &seen.list[k]
			switch {
			case slices.ContainsFunc(obs.Path, func(a graphs.ArcID) bool { return on[a] }):
				surely += obs.Lost
			case slices.ContainsFunc(obs.Alternatives, func(alt localize.Alternative) bool { return way{[][]graphs.ArcID{alt.Arcs}}.someOf(on) }):
				perhaps += obs.Lost
			}
		}
		if mostly(perhaps, surely+perhaps) {
			x.Probability = min(x.Probability, unmetProbability)
			x.Against = "the fabric file lacks a link that loses packets, and these may have crossed that; " + x.Against
		}
	}
}

// words name who was met there.
func (x *beyond) words() string {
	return firstOf(slices.Sorted(maps.Keys(x.addresses)), 3)
}

// note tells what is left out for that, or nothing.
func (x *beyond) note() []string {
	if x.sent == 0 {
		return nil
	}
	return []string{fmt.Sprintf("flows pass addresses that nothing in the fabric file has (%s), as over a link that it lacks: %s of their %s probes were lost, and they are left out", x.words(),
		thousands(x.lost), thousands(x.sent))}
}
