package diagnose

import (
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// presence is what is known of hosts: whether they sent probes or answered any, or were asked and never did.
type presence struct {
	f             *graphs.Fabric
	sent          map[graphs.NodeID]bool
	answered, not map[graphs.NodeID]bool
}

// presentHosts sums up which hosts were heard of.
func (s *Store) presentHosts() *presence {
	p := &presence{s.fabric, map[graphs.NodeID]bool{}, map[graphs.NodeID]bool{}, map[graphs.NodeID]bool{}}
	for _, l := range s.order {
		if !l.probed() {
			continue
		}
		p.sent[l.src] = true
		_, back := l.now()
		if back.known() || slices.ContainsFunc(l.echoes, func(e echo) bool { return e.sent > e.lost }) {
			p.answered[l.dst] = true
		} else {
			p.not[l.dst] = true
		}
	}
	return p
}

// sends reports whether a host took part: where probes are answered they can be sent, too.
func (p *presence) sends(n graphs.NodeID) bool {
	return (p.sent[n] || p.answered[n]) && p.maySend(n)
}

// answers reports whether a host took part, and does answer if it was ever asked.
func (p *presence) answers(n graphs.NodeID) bool { return p.sends(n) && p.mayAnswer(n) }

// mayAnswer reports whether a host may answer, as far as is known.
func (p *presence) mayAnswer(n graphs.NodeID) bool {
	return p.maySend(n) && (p.answered[n] || !p.not[n])
}

// maySend reports whether probes can be sent from a host: the fabric file has to have an address of it.
func (p *presence) maySend(n graphs.NodeID) bool {
	return p.f.Address(n, false).IsValid() || p.f.Address(n, true).IsValid()
}

// hosts lists those that are as is asked; nil if all are.
func (s *Store) hosts(are func(graphs.NodeID) bool) []graphs.NodeID {
	all := s.fabric.Hosts()
	some := slices.DeleteFunc(slices.Clone(all), func(n graphs.NodeID) bool { return !are(n) })
	if len(some) == len(all) {
		return nil
	}
	return some
}

const (
	// leastTried is how many flows must have been traced in vain for those of like pairs not to be traced any more, and triedFor for how long each: switches were
	// asked, and did not say enough.
	leastTried = 8
	triedFor   = 4 * time.Second
)

// A vision is of which pairs traces find the ways: by how many links lie between two hosts, how many flows were traced, and of how many the way there was
// found.
type vision struct {
	ecmp         *pathfind.ECMP
	tried, found map[int]int
}

// look sums up what came of traces.
func (s *Store) look() *vision {
	v := &vision{s.ecmp, map[int]int{}, map[int]int{}}
	for _, l := range s.order {
		if !l.probed() {
			continue
		}
		asked := slices.ContainsFunc(l.hops, func(h hop) bool { return h.sent > 0 })
		path, back := l.now()
		for _, leg := range [2]struct {
			way
			src, dst graphs.NodeID
		}{{path, l.src, l.dst}, {back, l.dst, l.src}} {
			far := s.ecmp.Distance(leg.src, leg.dst)
			if leg.certain() {
				v.found[far]++
			} else if n := len(l.echoes); asked && n > 0 && l.echoes[n-1].end.Sub(l.echoes[0].start) >= triedFor {
				v.tried[far]++
			}
		}
	}
	return v
}

// blind reports whether no trace finds the way between two hosts that lie as far from each other as these.
func (v *vision) blind(src, dst graphs.NodeID) bool {
	far := v.ecmp.Distance(src, dst)
	return v.tried[far] >= leastTried && v.found[far] == 0
}
