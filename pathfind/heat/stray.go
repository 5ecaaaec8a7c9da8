package heat

import (
	"math"

	"whichlink/graphs"
)

// passed is the part of what an arc carries beyond the first estimate that comes or goes on unevenly, from which on the arc tells nothing of demand.
const passed = 0.5

// astray finds the arcs whose load tells nothing of demand: what they carry beyond the first estimate comes or goes on over one of several equal paths, and the others do not
// carry as much. No demand is spread like that, but a few great flows are, and an estimate that is drawn toward them makes up demand between the ends of each arc that they cross.
func (s *solver) astray() []bool {
	out := make([]bool, s.f.NumArcs())
	for _, a := range s.known {
		if s.in.Load[a] >= busy*s.speed[a.Link()] && s.in.Load[a] > over*s.gravity[a] {
			out[a] = s.isAstray(a)
		}
	}
	return out
}

func (s *solver) isAstray(a graphs.ArcID) bool {
	from, to := s.f.Tail(a), s.f.Head(a)
	enough := passed * s.more(a)
	// A few flows part behind the arc, or meet before it.
	before, behind := 0.0, 0.0
	for _, b := range s.f.Out(to) {
		x, _ := s.uneven(a, b, from, s.f.Head(b))
		behind += x
	}
	for _, b := range s.f.Out(from) {
		x, _ := s.uneven(a, b.Reverse(), s.f.Head(b), to)
		before += x
	}
	if before > enough || behind > enough {
		return true
	}
	// One flow may have a choice only between ends that are farther apart: follow it, unless paths that are not the shortest lead back.
	for followed := map[[2]graphs.NodeID]bool{}; !followed[[2]graphs.NodeID{from, to}]; {
		followed[[2]graphs.NodeID{from, to}] = true
		var next [2]graphs.NodeID
		most := 0.0
		try := func(b graphs.ArcID, from, to graphs.NodeID) bool {
			x, inLine := s.uneven(a, b, from, to)
			if more := s.more(b); inLine && more > max(most, enough) {
				most, next = more, [2]graphs.NodeID{from, to}
			}
			return inLine && x > enough
		}
		for _, b := range s.f.Out(to) {
			if try(b, from, s.f.Head(b)) {
				return true
			}
		}
		for _, b := range s.f.Out(from) {
			if try(b.Reverse(), s.f.Head(b), to) {
				return true
			}
		}
		if most == 0 {
			return false
		}
		from, to = next[0], next[1]
	}
	return false
}

// more is what an arc carries beyond the first estimate.
func (s *solver) more(a graphs.ArcID) float64 {
	if x := s.in.Load[a] - s.gravity[a]; x > 0 { // never where the load is not known
		return x
	}
	return 0
}

// uneven is what two arcs carry more, both of them, than demand between two switches would put there, by what all paths between these carry. It reports whether the arcs are on such
// paths.
func (s *solver) uneven(a, b graphs.ArcID, from, to graphs.NodeID) (float64, bool) {
	if s.more(b) == 0 || from == to || s.f.IsHostArc(b) {
		return 0, false
	}
	demand := math.Inf(1)
	var onA, onB float64
	for _, x := range s.in.Model.Ways(from, to).Shares() {
		demand = min(demand, s.more(x.Arc)/x.Share)
		switch x.Arc {
		case a:
			onA = x.Share
		case b:
			onB = x.Share
		}
	}
	if onA == 0 || onB == 0 {
		return 0, false
	}
	return max(0, min(s.more(a), s.more(b))-demand*onB), true
}
