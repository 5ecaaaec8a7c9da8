package heat

import (
	"math"
	"slices"

	"whichlink/graphs"
)

// What is not measured about peaks: traffic within a second is taken to vary as a log-normal does, whose deviation lies anywhere between calm and
// bursty, each being as likely; and an arc is full at times if the fullest hundredth of its time is.
const (
	calm    = 0.1
	bursty  = 0.6
	highest = 2.326 // deviations above the mean of the logarithm: 99 %
)

// queues returns the probability that an arc queues or drops at times, by its mean load alone.
func queues(use float64) float64 {
	// use exp(highest s - s^2/2) is 1 at the least s from which on its peaks are as high as the arc can carry.
	under := highest*highest + 2*math.Log(use)
	if !(under > 0) {
		return 0
	}
	least := highest - math.Sqrt(under)
	return min(1, max(0, (bursty-least)/(bursty-calm)))
}

// fewHot is how many arcs one would bet on that carry what the matrix does not explain.
const fewHot = 3

const (
	// leastSpread is the least deviation of the logarithm of a load from what is expected: a matrix is never better than that.
	leastSpread = 0.05
	// chatter is the part of an arc's speed that it may carry without any demand, for routing and probes.
	chatter = 0.001
)

// off is the logarithm of what an arc carries over what is expected there, but for chatter.
func (s *solver) off(a graphs.ArcID) float64 {
	least := chatter * s.speed[a.Link()]
	return math.Log(max(s.in.Load[a], least) / max(s.expected[a], least))
}

// deviation is how far loads of arcs between switches lie from what is expected: the deviation of the logarithm, by its median, which hot arcs do not
// change; infinite where nothing is expected of any.
func (s *solver) deviation() float64 {
	if !slices.ContainsFunc(s.known, func(a graphs.ArcID) bool { return s.expected[a] > 0 }) {
		return math.Inf(1)
	}
	var off []float64
	for _, a := range s.known {
		off = append(off, math.Abs(s.off(a)))
	}
	slices.Sort(off)
	return max(leastSpread, 1.4826*off[len(off)/2])
}

// unexplained returns the probability that an arc carries more than the matrix and chance put there: what is expected is known as well as it fits the
// other arcs, and what else may have come is anything up to eight times that.
func (s *solver) unexplained(a graphs.ArcID) float64 {
	if !(s.in.Load[a] > s.expected[a]) || math.IsInf(s.spread, 1) {
		return 0
	}
	z := s.off(a) / s.spread
	expected := -z*z/2 - math.Log(s.spread*math.Sqrt(2*math.Pi))
	odds := math.Log(fewHot/float64(len(s.known)+fewHot)) - math.Log(math.Log(8)) - expected
	return 1 / (1 + math.Exp(-odds))
}
