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
	if c >= 0 {
		trials = s.inPlaceOf(c, trials)
	}
	top := &trials[0]
	apart := s.apart(trials)
	highest := 0.0
	for _, t := range trials {
		highest = max(highest, t.score)
	}
	without := s.without(top.fault)
	highest = max(highest, without)
	total, in, other := math.Exp(without-highest), 0.0, math.Inf(-1)
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

// inPlaceOf returns a component that was a fault of the hypothesis and what of some trials may be in its place, with all that the evidence cannot tell from it by itself. What
// explains more, but leaves it a fault, is one more: there are such where as many were found as are looked for.
func (s *search) inPlaceOf(c int32, trials []trial) []trial {
	out := []trial{s.try(c)}
	for _, t := range trials {
		if t.comp != c && !(t.score > out[0].score && s.beside(t.fault, c)) {
			out = append(out, t)
		}
	}
	for _, y := range s.twins(c) {
		if !s.has(y) && !slices.ContainsFunc(out, func(t trial) bool { return t.comp == y }) {
			out = append(out, s.try(y))
		}
	}
	return out
}

// beside reports whether a component is a fault beside another one, too.
func (s *search) beside(x fault, c int32) bool {
	s.put(x)
	still := s.try(c).score > 0
	s.take(x.comp)
	return still
}

// twins returns the components that the same flows cross as a component, and the same shares of the same sets.
func (s *search) twins(c int32) []int32 {
	var list []int32
	for y := range s.ev.n {
		if y != c && slices.Equal(s.ev.members[y], s.ev.members[c]) && slices.Equal(s.ev.through(y), s.ev.through(c)) && slices.Equal(s.ev.timesThrough(y), s.ev.timesThrough(c)) {
			list = append(list, y)
		}
	}
	return list
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
		if slices.ContainsFunc(s.ev.members[x.comp], func(m member) bool { return mine[m.set] }) && len(s.twins(x.comp)) > 0 {
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

// count says how late the flows are that cross a suspect, and those that may.
func (s *search) count(x *Suspect, c int32) {
	var took, expected []float64
	for _, i := range s.ev.through(c) {
		w := &s.ev.flows[i]
		x.Flows++
		if s.late(w) {
			x.Late++
		}
		took = append(took, w.delay+w.ends)
		expected = append(expected, s.base.classes[w.class].at+w.ends)
	}
	x.Took, x.Expected = Microseconds(median(took)), Microseconds(median(expected))
	for _, m := range s.ev.members[c] {
		for _, i := range s.ev.sets[m.set].flows {
			x.Unsure++
			x.Crossing += m.share
			if s.late(&s.ev.flows[i]) {
				x.UnsureLate++
			}
		}
	}
}

// late reports whether a flow took longer than 95 in 100 flows of its length do.
func (s *search) late(x *flow) bool {
	k := &s.base.classes[x.class]
	return x.delay > k.at+s.base.shapes[k.shape][points*95/100]
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[len(x)/2]
}
