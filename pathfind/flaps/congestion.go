package flaps

import (
	"cmp"
	"math"
	"slices"

	"whichlink/pathfind/rhythm"
)

// Queues overflow here and there, for a moment each, without any fault: then many arcs come and go, all of them weakly. Of each by itself that proves that it does; but of what
// many arcs do none is at fault, only one that stands out. So two stories are weighed of all finds together: that each is a fault, or that all arcs come and go at times, each
// with the same chance, and lose about as much then, beside faults. The chance and what is lost are learnt from the finds themselves.

const (
	// crowded is the probability, before any evidence, that many arcs come and go without being at fault.
	crowded = 0.1
	// mildest and harshest bound the hazard, the negative logarithm of what passes, that is usual while a queue overflows: most packets pass, or all would be lost.
	mildest, harshest = 1e-3, 0.5
	// deadly is the hazard of what loses all there is.
	deadly = 7.0
)

// A sign is what one find tells of how arcs come and go.
type sign struct {
	level, blur float64 // logarithm of the hazard while it is bad, and its standard deviation
	fault       float64 // density of the level if it is a fault
}

func signOf(r *rhythm.Rhythm) sign {
	lost := 0.0
	for i := range r.Episodes {
		lost += r.Episodes[i].Lost
	}
	x := sign{level: math.Log(min(max(-math.Log1p(-r.Loss), mildest), deadly)), blur: 1 / math.Sqrt(max(lost, 1))}
	// As in pathfind/rhythm, half of what is bad loses anything, the other half all there is, and looks like no less than the harshest.
	x.fault = 0.5 / math.Log(deadly/mildest)
	if x.level > math.Log(harshest) {
		x.fault += 0.5 / math.Log(deadly/harshest)
	}
	return x
}

// usual is the density of the level of a sign where the levels of all are log-normal.
func (x *sign) usual(median, spread float64) float64 {
	v := spread*spread + x.blur*x.blur
	d := x.level - median
	return math.Exp(-d*d/(2*v)) / math.Sqrt(2*math.Pi*v)
}

// congest lowers the probabilities of suspects that come and go as many do, and returns how many it makes innocent.
func (s *search) congest(suspects []Suspect) (innocent int) {
	var some []*Suspect
	var signs []sign
	for i := range suspects {
		if x := &suspects[i]; x.Probability >= named && x.Rhythm.Kind != rhythm.Steady {
			some, signs = append(some, x), append(signs, signOf(&x.Rhythm))
		}
	}
	for i, share := range s.standOut(signs) {
		some[i].Suspect = some[i].Believed(some[i].Probability * share)
		if share < named {
			innocent++
		}
	}
	return innocent
}

// A story is that all arcs may come and go, each with some chance, and what they lose then. Where the chance is 0 each find is a fault.
type story struct {
	chance, median, spread float64
	evidence               float64 // a logarithm
}

// stories weighs what may be told of some signs.
func (s *search) stories(signs []sign) []story {
	const medians, chances = 25, 25
	spreads := [...]float64{0.4, 0.8}
	clear := float64(s.fabric.NumArcs() - len(signs))
	list := []story{{evidence: math.Log1p(-crowded)}}
	for i := range chances {
		chance := math.Exp(-s.prior * (1 - (float64(i)+0.5)/chances)) // from that of a fault to all, by its logarithm
		for j := range medians {
			median := math.Log(mildest) + math.Log(harshest/mildest)*(float64(j)+0.5)/medians
			for _, spread := range spreads {
				x := story{chance, median, spread, math.Log(crowded/(chances*medians*float64(len(spreads)))) + clear*math.Log1p(-chance)}
				for k := range signs {
					x.evidence += math.Log1p(s.harmless(&x, &signs[k]))
				}
				list = append(list, x)
			}
		}
	}
	return list
}

// harmless returns how much likelier a sign is by what all arcs may do than by a fault.
func (s *search) harmless(x *story, of *sign) float64 {
	if x.chance == 0 {
		return 0
	}
	return x.chance * math.Exp(s.prior) * of.usual(x.median, x.spread) / of.fault
}

// standOut returns of each sign how likely it is one of a fault.
func (s *search) standOut(signs []sign) []float64 {
	list := s.stories(signs)
	most := slices.MaxFunc(list, func(a, b story) int { return cmp.Compare(a.evidence, b.evidence) }).evidence
	all, out := 0.0, make([]float64, len(signs))
	for i := range list {
		x := &list[i]
		weight := math.Exp(x.evidence - most)
		all += weight
		for k := range signs {
			out[k] += weight / (1 + s.harmless(x, &signs[k]))
		}
	}
	for k := range out {
		out[k] /= all
	}
	return out
}
