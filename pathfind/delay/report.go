package delay

import (
	"cmp"
	"math"
	"slices"
)

// leastReported is the probability below which a suspect is left out.
const leastReported = 0.01

// alike is by how much two causes may differ in likelihood, as a factor, to be of one class.
const alike = 12

// report writes down what the search found.
func (s *search) report(r *Result) {
	for _, c := range s.base.classes {
		r.Baselines = append(r.Baselines, Baseline{c.length, c.flows, Microseconds(c.at), Microseconds(s.base.spread)})
	}
	for _, c := range s.named() {
		x := s.take(c)
		r.add(s.suspect(c, append(s.candidates(), c)))
		s.put(x)
	}
	if rest := s.candidates(); len(rest) > 0 {
		r.add(s.suspect(-1, rest))
	}
	slices.SortStableFunc(r.Suspects, func(a, b Suspect) int { return -cmp.Compare(a.Probability, b.Probability) })
}

func (r *Result) add(x Suspect) {
	if x.Probability >= leastReported {
		r.Suspects = append(r.Suspects, x)
	}
}

// suspect describes the best of some components, or the one that is given, beside the faults of the hypothesis.
func (s *search) suspect(c int32, among []int32) Suspect {
	slices.Sort(among)
	trials := s.best(slices.Compact(among))
	if i := slices.IndexFunc(trials, func(t trial) bool { return t.comp == c }); i > 0 {
		given := trials[i]
		trials = slices.Insert(slices.Delete(trials, i, i+1), 0, given)
	}
	top := &trials[0]
	apart := s.apart(trials)
	highest := 0.0
	for _, t := range trials {
		highest = max(highest, t.score)
	}
	total, in, other := math.Exp(-highest), 0.0, math.Inf(-1)
	x := Suspect{Cause: s.ev.cause(top.comp), Excess: Microseconds(top.mean), Low: Microseconds(top.low), High: Microseconds(top.high)}
	for i, t := range trials {
		p := math.Exp(t.score - highest)
		total += p
		if t.score >= top.score-math.Log(alike) || apart[i] {
			in += p
			x.Class = append(x.Class, s.ev.cause(t.comp))
		} else if t.score > other {
			other, x.RunnerUp = t.score, s.ev.cause(t.comp)
		}
	}
	x.Probability = in / total
	if x.Nats = top.score - other; other < 0 {
		x.RunnerUp, x.Nats = Cause{}, top.score
	}
	s.count(&x, top.comp)
	return x
}

// apart reports which of some trials are as good as the first when no fault is taken for granted that lies on the same sets of paths. Where paths are
// not known, the choice of one fault among its equals may hang on an earlier choice of another among its own: neither is then known.
func (s *search) apart(trials []trial) []bool {
	out := make([]bool, len(trials))
	mine := map[int32]bool{}
	for _, m := range s.ev.members[trials[0].comp] {
		mine[m.set] = true
	}
	var away []fault
	for _, x := range slices.Clone(s.faults) {
		if slices.ContainsFunc(s.ev.members[x.comp], func(m member) bool { return mine[m.set] }) {
			away = append(away, s.take(x.comp))
		}
	}
	if len(away) == 0 {
		return out
	}
	first := s.try(trials[0].comp).score
	for i := range trials {
		out[i] = s.try(trials[i].comp).score >= first-math.Log(alike)
	}
	for _, x := range away {
		s.put(x)
	}
	return out
}

// count says how late the flows are that cross a suspect.
func (s *search) count(x *Suspect, c int32) {
	var took, expected []float64
	for _, i := range s.ev.through(c) {
		w := &s.ev.flows[i]
		k := &s.base.classes[w.class]
		x.Flows++
		if w.delay > k.at+s.base.shapes[k.shape][points*95/100] {
			x.Late++
		}
		took = append(took, w.delay)
		expected = append(expected, k.at)
	}
	x.Took, x.Expected = Microseconds(median(took)), Microseconds(median(expected))
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[len(x)/2]
}
