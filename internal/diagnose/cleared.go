package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// cleared names the switches that answer badly and yet pass traffic (trap T2), but for those that are named since they pass hardly any.
func (s *Store) cleared(solved *localize.Result, suspects []Suspect, seen *observer) []Cleared {
	var out []Cleared
	for _, r := range solved.Shy {
		if r.Probability < Named {
			continue
		}
		name := s.fabric.NodeName(r.Node)
		if slices.ContainsFunc(suspects, func(x Suspect) bool {
			return x.ID == name && x.Symptom == Loss && x.Probability >= Named && *x.Loss >= outageLoss
		}) {
			continue
		}
		how := fmt.Sprintf("answers none of %d TTL-expired probes (silent)", r.Sent)
		if r.Answered > 0 {
			how = fmt.Sprintf("answers only %d of %d TTL-expired probes (%s)", r.Answered, r.Sent, cmp.Or(seen.deafTo(r.Node), s.whyFew(&r, suspects)))
		}
		out = append(out, Cleared{ID: name, Why: how + ", yet traffic through it arrives"})
	}
	return out
}

// whyFew says why a switch answers few probes: it limits its answers, or these or the probes are lost on their way, where what is named loses as much.
func (s *Store) whyFew(r *localize.Responder, suspects []Suspect) string {
	probers := s.probers()
	held := 1 - float64(r.Answered)/float64(r.Sent)
	for i := range suspects {
		x := &suspects[i]
		if x.Symptom != Loss || x.Probability < Named || *x.Loss < held {
			continue
		}
		var arcs []graphs.ArcID
		if a, ok := s.fabric.ArcByName(x.ID); ok {
			arcs = append(arcs, a)
		} else if l, ok := s.fabric.LinkByName(x.ID); ok {
			arcs = append(arcs, l.Forward(), l.Backward())
		} else if n, ok := s.fabric.NodeByName(x.ID); ok {
			arcs = s.fabric.Out(n)
		}
		if slices.ContainsFunc(arcs, func(a graphs.ArcID) bool { return s.between(r.Node, a, probers) }) {
			return "a rate limit, or lost with " + x.ID
		}
	}
	return "rate limit"
}

// probers returns the hosts from which flows were measured.
func (s *Store) probers() []graphs.NodeID {
	var hosts []graphs.NodeID
	for _, l := range s.order {
		if l.src != graphs.None {
			hosts = append(hosts, l.src)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// between reports whether an arc is on a shortest path from a switch to one of some hosts, or from such a host to it.
func (s *Store) between(n graphs.NodeID, a graphs.ArcID, hosts []graphs.NodeID) bool {
	on := func(from, to graphs.NodeID) bool {
		before, after := s.ecmp.Distance(from, s.fabric.Tail(a)), s.ecmp.Distance(s.fabric.Head(a), to)
		return before >= 0 && after >= 0 && before+1+after == s.ecmp.Distance(from, to)
	}
	return slices.ContainsFunc(hosts, func(h graphs.NodeID) bool { return on(n, h) || on(h, n) })
}
