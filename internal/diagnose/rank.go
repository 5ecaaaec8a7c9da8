package diagnose

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// rank puts the most probable suspects first. Of those that lose packets and are equally probable, as all are that are as sure as anything is claimed to be,
// those come first that lose most of what the fabric carries. Others keep their places, whatever they lose: a link that is down stands before the queues that
// are full for want of it.
func (s *Store) rank(d *Diagnosis) {
	slices.SortStableFunc(d.Suspects, func(a, b Suspect) int { return -cmp.Compare(a.Probability, b.Probability) })
	for from, to := 0, 0; from < len(d.Suspects); from = to {
		var places []int
		for to = from; to < len(d.Suspects) && d.Suspects[to].Probability == d.Suspects[from].Probability; to++ {
			if x := &d.Suspects[to]; x.Loss != nil && (x.Symptom == Loss || x.Symptom == Flap) {
				places = append(places, to)
			}
		}
		if len(places) < 2 {
			continue
		}
		traffic, lossy := s.traffic(d.Suspects, places), make([]Suspect, len(places))
		for i, at := range places {
			lossy[i] = d.Suspects[at]
		}
		slices.SortStableFunc(lossy, func(a, b Suspect) int { return -cmp.Compare(s.harm(&a, traffic), s.harm(&b, traffic)) })
		for i, at := range places {
			d.Suspects[at] = lossy[i]
		}
	}
}

// harm is how much of some traffic a suspect loses: none any more, of one that has stopped.
func (s *Store) harm(x *Suspect, traffic []float64) float64 {
	if x.Until != nil {
		return 0
	}
	carried := 0.0
	for _, a := range arcsNamed(s.fabric, x.ID) {
		carried += traffic[a]
	}
	harm := *x.Loss * carried
	if n, ok := s.fabric.NodeByName(x.ID); ok && !s.fabric.Node(n).IsHost() {
		harm /= 2 // what passes a switch comes by one of its arcs and leaves by another
	}
	if x.then && x.Duty > 0 {
		harm *= x.Duty
	}
	return harm
}

// traffic is what each arc carries: as ports tell where they do of all that is compared, else as if all pairs of hosts had as much to say to each other, else
// the same everywhere.
func (s *Store) traffic(suspects []Suspect, places []int) []float64 {
	load, _, _, _ := s.loads(leastLoad)
	known := !slices.ContainsFunc(places, func(i int) bool {
		return slices.ContainsFunc(arcsNamed(s.fabric, suspects[i].ID), func(a graphs.ArcID) bool { return math.IsNaN(load[a]) })
	})
	if known {
		return load
	}
	if even := s.even(); even != nil {
		return even
	}
	for a := range load {
		load[a] = 1
	}
	return load
}

// mostExpected is the largest fabric, in switches times arcs, whose expected load is computed while somebody waits: that is some tens of
// milliseconds. It is made once.
const mostExpected = 20_000_000

// even is what each arc carries of one unit of traffic between any two switches with hosts, of which their hosts have equal parts; nil where the forwarding
// model is not known, or the fabric is too large.
func (s *Store) even() []float64 {
	if s.evenly != nil || s.model == nil || len(s.fabric.Switches())*s.fabric.NumArcs() > mostExpected {
		return s.evenly
	}
	demand := pathfind.Uniform(s.fabric)
	s.evenly = s.model.Loads(demand).Arcs
	for _, n := range demand.Ends {
		var hosts []graphs.ArcID
		for _, a := range s.fabric.Out(n) {
			if s.fabric.IsHostArc(a) {
				hosts = append(hosts, a)
			}
		}
		for _, a := range hosts {
			each := float64(len(demand.Ends)-1) / float64(len(hosts))
			s.evenly[a], s.evenly[a.Reverse()] = each, each
		}
	}
	return s.evenly
}
