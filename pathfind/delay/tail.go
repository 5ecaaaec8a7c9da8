package delay

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// tails are the shares of all flows that a longer tail of the baselines may hold.
var tails = [...]float64{1. / 32, 1. / 16, 1. / 8, 1. / 4, 1. / 2}

// longer is how likely one takes such a tail to be before any evidence: less than any one fault, or those that explain hardly more than a tail would be lost.
const longer = 0.0003

// near is within how many levels of what a fault adds a tail must lie to explain the same: four times as much, or as little. What else the baselines miss says nothing of it.
const near = 2 * doubling

// tailed is what a longer tail near what a fault adds is worth beside the hypothesis, which it may have or not; nothing where the flows that cross the fault are known.
func (s *search) tailed(x fault) float64 {
	if len(s.ev.members[x.comp]) == 0 {
		return 0
	}
	tail := s.tail(x.level)
	return max(0, tail) + math.Log1p(math.Exp(-math.Abs(tail)))
}

// without weighs, as log odds against a fault that is not in the hypothesis, that there is none in its place: a longer tail may explain what it does. What such a tail explains beside it is no matter.
func (s *search) without(x fault) float64 {
	without := s.tailed(x)
	if without == 0 {
		return 0
	}
	s.put(x)
	defer s.take(x.comp)
	return without - s.tailed(x)
}

// tail weighs, as log odds, that what delays flows beside the faults of the hypothesis, by about as much as a level says, crosses all of them alike: a tail that is longer than the baselines take it
// to be. Where paths are not known, any component that a part of all flows cross would explain it.
func (s *search) tail(level int) float64 {
	type kind struct{ own, bin int }
	plain := map[kind]float64{}
	var gains [len(tails)][]float64
	for k := range gains {
		gains[k] = make([]float64, shapes*len(s.t.levels))
	}
	least, most := max(s.least, level-near), min(s.most, level+near)
	each := func(use func(g int)) {
		for shape := range shapes {
			for l := least; l <= most; l++ {
				use(shape*len(s.t.levels) + l)
			}
		}
	}
	add := func(flows float64, ratio func(g int) float64) {
		each(func(g int) {
			r := ratio(g)
			for k, q := range tails {
				gains[k][g] += flows * math.Log(1-q+q*r)
			}
		})
	}
	logs := make([]float64, shapes*len(s.t.levels))
	for i := range s.ev.flows {
		x := &s.ev.flows[i]
		if s.sum[i] == 0 && (x.set < 0 || s.parts[x.set] == nil) {
			plain[kind{x.own, x.bin}]++
			continue
		}
		clear(logs)
		s.addGain(logs, int32(i), s.partsOf(x), []uint8{1}, least, 1)
		add(1, func(g int) float64 { return math.Exp(logs[g]) })
	}
	inOrder := func(a, b kind) int { return cmp.Or(cmp.Compare(a.own, b.own), cmp.Compare(a.bin, b.bin)) } // sums hang on it
	for _, x := range slices.SortedFunc(maps.Keys(plain), inOrder) {
		row := s.t.p[s.t.place(x.own, x.bin):]
		add(plain[x], func(g int) float64 { return row[g] / row[0] })
	}
	best, sum, n := math.Inf(-1), 0.0, 0.0
	for k := range gains {
		each(func(g int) { best = max(best, gains[k][g]) })
	}
	for k := range gains {
		each(func(g int) {
			sum += math.Exp(gains[k][g] - best)
			n++
		})
	}
	return best + math.Log(longer*sum/n)
}

// A grown suspect is one that was added, with its score, and what a longer tail was worth without it.
type grown struct {
	fault
	score, tail float64
}

// cut takes away what was added in steps from which on a longer tail is worth more than all that was added: of one step alone that does not follow, since several faults look like a tail
// until the last of them is known. Of the rest it takes away each that a tail beside all others explains better.
func (s *search) cut(steps []grown) (cut bool) {
	sum := 0.0
	for _, x := range slices.Backward(steps) {
		if sum += x.score; s.has(x.comp) && sum < x.tail-s.tailed(x.fault) {
			s.take(x.comp)
			cut = true
		}
	}
	for _, x := range steps {
		if !s.has(x.comp) {
			continue
		}
		s.take(x.comp)
		if t := s.try(x.comp); t.score > max(0, s.without(t.fault)) {
			s.put(t.fault)
		} else {
			cut = true
		}
	}
	return cut
}
