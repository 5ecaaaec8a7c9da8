// Package heat says why an arc is hot: what it carries is held against what it should carry.
//
// What it should carry follows from the forwarding model and a traffic matrix, which is measured, or estimated from the loads themselves ([Solve]). An arc
// is never held against its siblings: on a random graph arcs differ by up to 1.65 times under perfectly even demand, and that is no fault. The package
// is pure: no clock, no socket, no chance.
package heat

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
)

// A Verdict is why an arc is hot.
type Verdict string

// The verdicts.
const (
	// Demand: what is asked for comes together at the arc. The matrix explains it, or lacks some of it.
	Demand Verdict = "demand"
	// Collision: the matrix does not explain it; flows that could have gone elsewhere hash to the arc.
	Collision Verdict = "collision"
	// Polarisation: the same, at many switches at once: they hash alike, and leave paths unused.
	Polarisation Verdict = "polarisation"
	// SinglePath: most of it is of pairs that have no other path.
	SinglePath Verdict = "single path"
	// LostCapacity: it would carry much less if links that are down were up.
	LostCapacity Verdict = "lost capacity"
	// EverythingHigh: most links are about as full; none is the culprit.
	EverythingHigh Verdict = "everything high"
)

// A Pair is what one pair of nodes has on an arc.
type Pair struct {
	Src, Dst graphs.NodeID
	// Load is the part of its traffic that is expected on the arc, in bit/s, and Share that of all that is expected there.
	Load, Share float64
	// Alone says that the pair has no path around the arc.
	Alone bool
}

// A Hot is an arc that is too full.
type Hot struct {
	Arc graphs.ArcID
	// Load and Speed in bit/s; Expected by the matrix, Even by the same traffic spread evenly over all pairs, Planned by the matrix if all links
	// were up.
	Load, Speed, Expected, Even, Planned float64
	Verdict                              Verdict
	// Incast says that the demand comes from at least three senders, none of which has most of it, to one host or behind one switch.
	Incast bool
	// Lacks says that the matrix lacks demand: it does not explain what the arc carries, and nothing that crosses the arc has another way.
	Lacks bool
	// Raised says that the estimated matrix explains what the arc carries only because it was drawn toward it: what hosts send and receive in all would bring much less.
	Raised bool
	// Pairs have most on the arc by the matrix, the greatest first.
	Pairs []Pair
	// Causes are the links that are down and would relieve the arc, the greatest relief first.
	Causes []graphs.LinkID
	// Alike are the switches that hash alike.
	Alike []graphs.NodeID
	// Probability is that of the arc queueing or dropping at times. Of one that is full it follows from its mean load, and from what is assumed of
	// peaks, which nothing here measures; one that is not is hot only as far as its load is likelier to be more than the matrix
	// and the misfit of the matrix on other arcs explain.
	Probability float64
	// Unexplained is the probability that the arc carries more than that, however full it is.
	Unexplained float64
}

// Use is how full the arc is.
func (h *Hot) Use() float64 { return h.Load / h.Speed }

// A Result is what the loads say.
type Result struct {
	// Hot are the hot arcs, the fullest first.
	Hot []Hot
	// Estimated says that the matrix was estimated from the loads: it is known less well than where it was measured.
	Estimated bool
	// Scaled is what the measured matrix was multiplied by to be as great as the loads are; 1 where it was estimated.
	Scaled float64
	// High says that most links between switches are nearly as full as the fullest, in one direction at least; Median is how full one is in its fuller direction.
	High   bool
	Median float64
	// Known is the number of arcs whose load is known.
	Known int
}

// The limits of what is hot.
const (
	// full is how full an arc is that drops packets at times.
	full = 0.7
	// busy is how full it is at least to be hot at all, if it carries over times what it should.
	busy = 0.4
	over = 1.6
	// beyond is by how much more than the matrix explains an arc carries that the matrix does not explain.
	beyond = 1.35
	// unlike is by how much more than even demand gives it an arc carries whose demand is uneven.
	unlike = 1.3
	// lost is by how much more than with all links up an arc carries for the links that are down.
	lost = 1.25
	// slowed is the part of its planned speed below which a link has lost capacity itself.
	slowed = 0.7
	// mostOfOne is the share that one sender of an incast has at most: there are three at least.
	mostOfOne = 0.4
	// mostPairs are listed for each arc.
	mostPairs = 8
)

// Solve finds hot arcs and says why they are.
func Solve(in Input) *Result {
	r := &Result{Scaled: 1}
	if in.Model == nil {
		return r
	}
	in = in.sound()
	s := &solver{in: in, f: in.Model.Fabric(), speed: in.Speed, relieved: map[graphs.LinkID][]float64{}}
	for a, load := range in.Load {
		if !math.IsNaN(load) {
			r.Known++
			if load > 0 && s.fabricArc(graphs.ArcID(a)) {
				s.known = append(s.known, graphs.ArcID(a))
			}
		}
	}
	if r.Known == 0 {
		return r
	}
	s.traffic()
	r.Estimated, r.Scaled = in.Matrix == nil, s.scaled
	s.full(r)
	s.spread = s.deviation()
	for a := range graphs.ArcID(s.f.NumArcs()) {
		if h, hot := s.hot(a); hot {
			r.Hot = append(r.Hot, h)
		}
	}
	slices.SortStableFunc(r.Hot, func(a, b Hot) int { return -cmp.Compare(a.Use(), b.Use()) })
	if s.wide != nil {
		var arcs []graphs.ArcID
		for i := range r.Hot {
			if a := r.Hot[i].Arc; len(arcs) < mostExplained && (!r.Estimated || s.fabricArc(a)) {
				arcs = append(arcs, a)
			}
		}
		s.look(arcs)
	}
	for i := range r.Hot {
		h := &r.Hot[i]
		s.explain(h, r)
		h.Unexplained = s.unexplained(h.Arc)
		if h.Probability = queues(h.Use()); h.Use() < full {
			h.Probability *= h.Unexplained
		}
	}
	return r
}

// A solver holds the loads and what the matrix expects.
type solver struct {
	in    Input
	f     *graphs.Fabric
	speed []float64
	known []graphs.ArcID // between switches, with a load
	pairs []pair
	wide  *wide // in place of pairs between switches, where there would be too many
	// expected, even, planned and gravity are by arc. Planned is nil where nothing is down. Gravity is what the matrix put there before it was drawn toward the loads, nil where it was not.
	expected, even, planned []float64
	gravity                 []float64
	stray                   []bool                      // see astray
	spread                  float64                     // see deviation
	scaled                  float64                     // what a measured matrix was multiplied by
	relieved                map[graphs.LinkID][]float64 // what arcs would carry if a link were up, as far as that was asked for
	same                    []graphs.NodeID             // the switches that hash alike, once they are compared
	compared                bool
}

func (s *solver) fabricArc(a graphs.ArcID) bool { return !s.f.IsHostArc(a) }

// full sets how full the fabric is, by the fuller direction of each link: where all traffic goes one way, as up to the spines and out, half of the arcs are idle.
func (s *solver) full(r *Result) {
	var use []float64
	for l := range graphs.LinkID(s.f.NumLinks()) {
		if most := s.fuller(l.Forward()); s.fabricArc(l.Forward()) && !math.IsNaN(most) {
			use = append(use, most/s.speed[l])
		}
	}
	if len(use) == 0 {
		return
	}
	slices.Sort(use)
	r.Median = use[(len(use)-1)/2] // the lower one: where one of two links is full, it is a culprit
	// A tenth of the links may stay behind, such as those that lead away from the traffic.
	r.High = r.Median >= 0.6 && r.Median >= 0.75*use[len(use)-1]
}

// fuller is the greater of the loads of a link's arcs that are known, NaN where none is.
func (s *solver) fuller(a graphs.ArcID) float64 {
	x, y := s.in.Load[a], s.in.Load[a.Reverse()]
	if math.IsNaN(x) || y > x {
		return y
	}
	return x
}

// hot says whether an arc is. One that carries what its place in the fabric gives it under even demand is hot only if it is full.
func (s *solver) hot(a graphs.ArcID) (Hot, bool) {
	h := Hot{Arc: a, Load: s.in.Load[a], Speed: s.speed[a.Link()], Expected: s.expected[a], Even: s.even[a], Planned: math.NaN()}
	if math.IsNaN(h.Load) || s.f.Node(s.f.Tail(a)).IsHost() {
		return h, false // a host that sends as fast as it can is nobody's fault
	}
	if s.planned != nil {
		h.Planned = s.planned[a]
	}
	switch use := h.Use(); {
	case use >= full:
		// Its place alone explains it up to where it is nearly always full, at the speed that it is planned to have.
		byDesign := h.Load <= unlike*h.Even && !(h.Planned*lost < h.Load) && h.Speed >= slowed*float64(s.f.Link(a.Link()).Speed)
		return h, !byDesign || use >= 0.9
	case use >= busy:
		return h, s.fabricArc(a) && h.Load > over*h.Expected && !math.IsInf(s.spread, 1)
	}
	return h, false
}

// explain chooses the verdict.
func (s *solver) explain(h *Hot, r *Result) {
	h.Pairs = s.pairsOn(h.Arc)
	if r.Estimated && s.f.Node(s.f.Head(h.Arc)).IsHost() {
		h.Pairs = s.sendersTo(h)
	}
	alone := 0.0
	for _, x := range s.crossing(h.Arc) {
		if x.share > 0.99 {
			alone += x.rate
		}
	}
	explained := h.Load <= beyond*h.Expected
	h.Raised = s.gravity != nil && s.fabricArc(h.Arc) && h.Expected > over*s.gravity[h.Arc]
	switch {
	case explained && h.Planned*lost < h.Expected && h.Planned*lost < h.Load:
		h.Verdict = LostCapacity
		h.Causes = s.causes(h.Arc)
	case r.High && h.Load <= over*h.Expected:
		h.Verdict = EverythingHigh
	case explained && s.fabricArc(h.Arc) && alone > 0.5*h.Expected:
		h.Verdict = SinglePath
	case explained, s.onlyWay(h, alone):
		h.Verdict = Demand
		h.Lacks = !explained
		h.Incast = explained && s.incast(h, r.Estimated)
	default:
		h.Verdict = Collision
		if alike := s.alike(); alike != nil {
			h.Verdict, h.Alike = Polarisation, alike
		}
	}
}

// onlyWay reports whether nothing that crosses an arc has another way, so that no flows collide there: it leads to a host that has no other link, or all pairs that the matrix
// has on it, if any, are alone.
func (s *solver) onlyWay(h *Hot, alone float64) bool {
	to := s.f.Head(h.Arc)
	return s.f.Node(to).IsHost() && s.f.Degree(to) == 1 || alone >= 0.99*h.Expected
}

// incast reports whether several senders, none of which has most of it, send to one place: a host, or what is behind one switch. How many there are and how little each
// of them sends does not matter.
func (s *solver) incast(h *Hot, estimated bool) bool {
	host := s.f.Node(s.f.Head(h.Arc)).IsHost()
	if !host && !(h.Load > over*h.Even) {
		return false // what arrives at a switch comes from many under even demand, too
	}
	if host && estimated {
		return len(h.Pairs) > 0 && h.Pairs[0].Share <= mostOfOne && h.Load > over*h.Even
	}
	sum, to := 0.0, map[graphs.NodeID]float64{}
	from := map[[2]graphs.NodeID]float64{}
	for _, x := range s.crossing(h.Arc) {
		src, dst := x.src, x.dst
		if !host { // between switches, what is behind one switch is one sender
			src, dst = s.switchOf(src), s.switchOf(dst)
		}
		sum += x.rate * x.share
		to[dst] += x.rate * x.share
		from[[2]graphs.NodeID{src, dst}] += x.rate * x.share
	}
	for place, load := range to {
		if load <= 0.6*sum {
			continue
		}
		most := 0.0
		for pair, x := range from {
			if pair[1] == place {
				most = max(most, x)
			}
		}
		return most <= mostOfOne*load
	}
	return false
}

// switchOf returns the switch that a host is behind; a switch is its own.
func (s *solver) switchOf(n graphs.NodeID) graphs.NodeID {
	if out := s.f.Out(n); s.f.Node(n).IsHost() && len(out) > 0 {
		return s.f.Head(out[0])
	}
	return n
}

// causes returns the links that are down and whose return would relieve an arc by a tenth and more.
func (s *solver) causes(a graphs.ArcID) []graphs.LinkID {
	type relief struct {
		link graphs.LinkID
		load float64
	}
	var list []relief
	for _, l := range s.in.Down {
		if s.in.With == nil {
			break
		}
		if s.relieved[l] == nil {
			s.relieved[l] = s.loads(s.in.With(l))
		}
		if load := s.relieved[l][a]; load < 0.9*s.expected[a] {
			list = append(list, relief{l, load})
		}
	}
	slices.SortStableFunc(list, func(a, b relief) int { return cmp.Compare(a.load, b.load) })
	var links []graphs.LinkID
	for _, x := range list {
		links = append(links, x.link)
	}
	return links
}

// sendersTo returns who sends most to the switch of a host whose arc is hot: by the estimated matrix, the host gets its part of that.
func (s *solver) sendersTo(h *Hot) []Pair {
	var list []Pair
	sum := 0.0
	add := func(src graphs.NodeID, rate float64) {
		if rate > 0 {
			list = append(list, Pair{Src: src, Dst: s.f.Head(h.Arc), Load: rate, Alone: true})
			sum += rate
		}
	}
	for i := range s.pairs {
		if p := &s.pairs[i]; p.dst == s.f.Tail(h.Arc) && !s.f.Node(p.src).IsHost() {
			add(p.src, p.rate)
		}
	}
	if s.wide != nil {
		if j, ok := s.wide.at[s.f.Tail(h.Arc)]; ok {
			for i, n := range s.wide.ends {
				add(n, s.wide.of(i, j))
			}
		}
	}
	slices.SortStableFunc(list, func(x, y Pair) int { return -cmp.Compare(x.Load, y.Load) })
	for i := range list {
		list[i].Share = list[i].Load / sum
		list[i].Load = list[i].Share * h.Load
	}
	return list[:min(len(list), mostPairs)]
}

// pairsOn returns the pairs that have most on an arc by the matrix.
func (s *solver) pairsOn(a graphs.ArcID) []Pair {
	var list []Pair
	for _, x := range s.crossing(a) {
		if x.rate > 0 {
			list = append(list, Pair{Src: x.src, Dst: x.dst, Load: x.rate * x.share, Alone: x.share > 0.99})
		}
	}
	slices.SortStableFunc(list, func(x, y Pair) int { return -cmp.Compare(x.Load, y.Load) })
	sum := 0.0
	for _, p := range list {
		sum += p.Load
	}
	list = list[:min(len(list), mostPairs)]
	for i := range list {
		list[i].Share = list[i].Load / sum
	}
	return list
}
