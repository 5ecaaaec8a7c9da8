package delay

import (
	"math"
	"slices"
)

// tails are the shares of all flows that a longer tail of the baselines may hold.
var tails = [...]float64{1. / 32, 1. / 16, 1. / 8, 1. / 4, 1. / 2}

// tailed is how likely one takes such a tail to be before any evidence: less than any one fault, or those that explain hardly more than a tail would be lost.
const tailed = 0.0003

// tailBeside is what a longer tail is worth in place of a component; nothing where the flows that cross that are known.
func (s *search) tailBeside(c int32) float64 {
	if len(s.ev.members[c]) == 0 {
		return math.Inf(-1)
	}
	return s.tail()
}

// tail weighs, as log odds, that what delays flows beside the faults of the hypothesis crosses all of them alike: a tail that is longer than the baselines take it to be. Where paths are
// not known, any component that a part of all flows cross would explain it.
func (s *search) tail() float64 {
	type kind struct{ own, bin int }
	plain := map[kind]float64{}
	var gains [len(tails)][]float64
	for k := range gains {
		gains[k] = make([]float64, shapes*len(s.t.levels))
	}
	each := func(use func(g int)) {
		for shape := range shapes {
			for l := s.least; l <= s.most; l += coarse {
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
		s.addGain(logs, int32(i), s.partsOf(x), []uint8{1}, 1)
		add(1, func(g int) float64 { return math.Exp(logs[g]) })
	}
	for x, flows := range plain {
		row := s.t.p[s.t.place(x.own, x.bin):]
		add(flows, func(g int) float64 { return row[g] / row[0] })
	}
	most, sum, n := math.Inf(-1), 0.0, 0.0
	for k := range gains {
		each(func(g int) { most = max(most, gains[k][g]) })
	}
	for k := range gains {
		each(func(g int) {
			sum += math.Exp(gains[k][g] - most)
			n++
		})
	}
	return most + math.Log(tailed*sum/n)
}

// A grown suspect is one that was added, with its score, and what a longer tail was worth then.
type grown struct {
	comp        int32
	score, tail float64
}

// cut takes away what was added in steps from which on a longer tail is worth more than all that was added: of one step alone that does not follow, since several faults look like a tail
// until the last of them is known. Of the rest it takes away each that a tail beside all others explains better.
func (s *search) cut(steps []grown) (cut bool) {
	sum := 0.0
	for _, x := range slices.Backward(steps) {
		if sum += x.score; sum < x.tail && s.has(x.comp) {
			s.take(x.comp)
			cut = true
		}
	}
	for _, x := range steps {
		if !s.has(x.comp) {
			continue
		}
		s.take(x.comp)
		if t := s.try(x.comp); t.score > max(0, s.tailBeside(x.comp)) {
			s.put(t.fault)
		} else {
			cut = true
		}
	}
	return cut
}
