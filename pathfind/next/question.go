package next

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// A Question is causes of which at most one is true, in any order. What their weights lack to 1 is the probability that none is.
type Question []Cause

// A Cause may be true with a probability, Weight, and loses a share of the packets that cross it: Loss, between Low and High.
type Cause struct {
	localize.Cause
	Weight          float64
	Loss, Low, High float64
}

// rounding is by how much a sum of probabilities may exceed 1.
const rounding = 1e-9

// mostCauses bounds the causes of a question; those of least weight are left out.
const mostCauses = 160

// Ask turns suspects into questions. The members of a class exclude each other, and so do suspects whose probabilities sum to about 1
// or less, as far as anyone can tell; others are questions of their own. Of no result nothing is asked.
func Ask(r *localize.Result) []Question {
	if r == nil {
		return nil
	}
	var questions []Question
	var sums []float64
	for i := range r.Suspects {
		s := &r.Suspects[i]
		at := slices.IndexFunc(sums, func(sum float64) bool { return exclusive(sum, s.Probability) })
		if at < 0 {
			at = len(sums)
			questions, sums = append(questions, nil), append(sums, 0)
		}
		sums[at] += s.Probability
		questions[at] = append(questions[at], causesOf(s)...)
	}
	return questions
}

// chance is by how much the probabilities of suspects that exclude each other may exceed 1: a chain of chance finds them, each by itself.
const chance = 0.02

// exclusive reports whether a suspect may exclude others, of which one is true with a probability of sum.
func exclusive(sum, probability float64) bool { return sum+probability <= 1+chance }

// causesOf lists the members of a suspect's class with what each is likely to be of its probability.
func causesOf(s *localize.Suspect) []Cause {
	if len(s.Class) == 0 {
		return []Cause{{s.Cause, s.Probability, s.Loss, s.Low, s.High}}
	}
	causes := make([]Cause, len(s.Class))
	for i, c := range s.Class {
		w := s.Probability / float64(len(s.Class))
		if len(s.Weights) == len(s.Class) {
			w = s.Weights[i]
		}
		causes[i] = Cause{c, w, s.Loss, s.Low, s.High}
	}
	return causes
}

const (
	// certain is the probability from which a cause, or that it is one of several, is taken as known: what lacks to 1 are the model's own faults.
	certain = 0.99
	// leastOpen is the probability up to which nobody asks for more: no diagnosis lists it.
	leastOpen = 0.05
)

// Decided reports whether nothing is open: each question has a cause that is as good as certain, or all of its causes are as good as ruled out.
func Decided(r *localize.Result, sure float64) bool {
	return !slices.ContainsFunc(Ask(r), func(q Question) bool { return !q.decided(sure) })
}

// decided reports whether nothing of a question is open. A probability that is no number is.
func (q Question) decided(sure float64) bool {
	sum, most := 0.0, 0.0
	for i := range q {
		sum += q[i].Weight
		most = max(most, q[i].Weight)
	}
	return most >= sure || sum <= max(1-sure, leastOpen)
}

// A state is what would be known of a question after the flows chosen so far: for what each combination of outcomes would leave, its
// probability, and those of the causes.
type state struct {
	causes    []Cause
	scenarios []scenario
	updates   int
}

// A scenario is one combination of outcomes. weights are by cause, and last that of none being true.
type scenario struct {
	chance  float64
	weights []float64
}

// mostScenarios bounds the scenarios that are told apart; the rarest are forgotten.
const mostScenarios = 16

// newState sorts out a question, and whether it is asked: causes that the fabric does not have, or that lose nothing, are left out.
func newState(f *graphs.Fabric, q Question, asked bool) *state {
	s := &state{}
	for _, c := range q {
		if c.Weight > 0 && c.Weight <= 1+rounding && c.Loss > 0 && exists(f, c.Cause) {
			c.Weight, c.Loss = min(c.Weight, 1), min(c.Loss, 1)
			c.Low, c.High = min(max(c.Low, c.Loss/20, 1e-6), c.Loss), min(max(c.High, c.Loss), 1)
			s.causes = append(s.causes, c)
		}
	}
	slices.SortFunc(s.causes, Cause.compare)
	if len(s.causes) > mostCauses {
		s.causes = s.causes[:mostCauses]
	}
	s.scenarios = []scenario{{1, s.weights(asked)}}
	return s
}

// weights returns the probabilities of the causes, and of none. What is as good as certain is taken as certain: it would else be asked for ever whether the
// cause that is known is none after all, by flows that all cross it.
func (s *state) weights(asked bool) []float64 {
	w := make([]float64, len(s.causes)+1)
	none := &w[len(s.causes)]
	if !asked || Question(s.causes).decided(certain) {
		*none = 1 // whatever it is, flows tell nothing of it
		return w
	}
	sum := 0.0
	for i := range s.causes {
		w[i] = s.causes[i].Weight
		sum += w[i]
	}
	if sum < certain {
		*none = 1 - sum
	}
	return normalized(w)
}

// compare orders causes, the likeliest first.
func (c Cause) compare(d Cause) int {
	return cmp.Or(cmp.Compare(d.Weight, c.Weight), cmp.Compare(c.Kind, d.Kind), cmp.Compare(c.ID, d.ID),
		cmp.Compare(c.Loss, d.Loss), cmp.Compare(c.Low, d.Low), cmp.Compare(c.High, d.High))
}

func exists(f *graphs.Fabric, c localize.Cause) bool {
	switch c.Kind {
	case localize.Arc:
		return c.ID >= 0 && int(c.ID) < f.NumArcs()
	case localize.Link:
		return c.ID >= 0 && int(c.ID) < f.NumLinks()
	case localize.Node, localize.Host:
		return c.ID >= 0 && int(c.ID) < f.NumNodes()
	case localize.Group:
		return c.ID >= 0 && int(c.ID) < f.NumGroups()
	}
	return false
}

// open is how much is open: the entropy of the question in nats.
func (s *state) open() float64 {
	h := 0.0
	for _, w := range s.scenarios[0].weights {
		h += bits(w)
	}
	return h
}

func normalized(w []float64) []float64 {
	sum := 0.0
	for _, x := range w {
		sum += x
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// information returns the expected mutual information, in nats, of a flow's outcome and the question. Causes that the flow does not cross all
// give the same outcomes, so only those that it crosses are looked at.
func (s *state) information(c *part) float64 {
	if len(c.causes) == 0 {
		return 0
	}
	sum := 0.0
	for i := range s.scenarios {
		x := &s.scenarios[i]
		outcome, known := c.base, c.entropy
		for j, cause := range c.causes {
			w := x.weights[cause]
			for o := range outcome {
				outcome[o] += w * (c.given[j][o] - c.base[o])
			}
			known += w * (c.entropies[j] - c.entropy)
		}
		sum += x.chance * max(0, entropyOf(outcome)-known)
	}
	return sum
}

// learn adds a flow's outcome to every scenario.
func (s *state) learn(c *part) {
	s.updates++
	if len(c.causes) == 0 {
		return
	}
	var all []scenario
	for _, x := range s.scenarios {
		for o := range c.base {
			if c.base[o] == 0 && !slices.ContainsFunc(c.given, func(g outcomes) bool { return g[o] > 0 }) {
				continue
			}
			w := make([]float64, len(x.weights))
			for i := range w {
				w[i] = x.weights[i] * c.base[o]
			}
			for j, cause := range c.causes {
				w[cause] = x.weights[cause] * c.given[j][o]
			}
			chance := 0.0
			for i := range w {
				chance += w[i]
			}
			if chance > 1e-6 {
				all = append(all, scenario{x.chance * chance, normalized(w)})
			}
		}
	}
	all = merged(all)
	slices.SortStableFunc(all, func(a, b scenario) int { return cmp.Compare(b.chance, a.chance) })
	if len(all) > mostScenarios {
		all = all[:mostScenarios]
	}
	sum := 0.0
	for i := range all {
		sum += all[i].chance
	}
	for i := range all {
		all[i].chance /= sum
	}
	s.scenarios = all
}

// merged makes one of scenarios that leave the same to know. Without it the likely ones, split at each step, would be forgotten before what is rare, which
// would then count for too much.
func merged(all []scenario) []scenario {
	const same = 1e-6
	slices.SortStableFunc(all, func(a, b scenario) int { return slices.Compare(a.weights, b.weights) })
	out := all[:0]
	for _, x := range all {
		if n := len(out); n > 0 && slices.EqualFunc(out[n-1].weights, x.weights, func(a, b float64) bool { return math.Abs(a-b) < same }) {
			out[n-1].chance += x.chance
			continue
		}
		out = append(out, x)
	}
	return out
}

func entropyOf(o outcomes) float64 {
	h := 0.0
	for _, p := range o {
		h += bits(p)
	}
	return h
}

// hazards are what packets meet at a cause: at the quantiles of its loss between Low, Loss and High.
func (c *Cause) hazards() (h [3]float64) {
	for i, r := range [...]float64{math.Sqrt(c.Low * c.Loss), c.Loss, math.Sqrt(c.Loss * c.High)} {
		h[i] = -math.Log1p(-min(r, 1-1e-12))
	}
	return h
}
