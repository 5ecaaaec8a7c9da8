package localize

import "math"

// Where ways are not known a hypothesis stands for all that the evidence cannot tell from it: each member may be any of those that look like it. A core switch that is bad
// as a whole may be any of a few dozen, and each of eight arcs in its place, too; so there are that many more hypotheses of eight arcs, which are as likely each. The search
// looks at a few of them only. It goes by what all of them come to, which priorOf tells, and in the end reckons with that some of these exclude each other.

// mostApart bounds by how much fewer places make a hypothesis likelier by itself, in logarithms.
const mostApart = 60

// crowding returns by how much fewer there are, in logarithms, that look like all of some components than if each could be any that looks like it: of several that look alike each is another,
// and in which order they come makes no difference.
func (m *model) crowding(comps []int32) (less float64) {
	for i, c := range comps {
		if m.twins[c] == 0 {
			continue
		}
		before := 0.0
		for _, x := range comps[:i] {
			if m.looks[x] == m.looks[c] {
				before++
			}
		}
		if before > 0 {
			n := math.Exp(m.twins[c])
			less += log(n * (before + 1) / max(n-before, 1))
		}
	}
	return less
}

// apart takes the weights of hypotheses that stand each for all that the evidence cannot tell from them, and returns what each has by itself. Of several that stand for
// each other it leaves as much as one has, and by how much, in logarithms, all have less.
func (s *search) apart(weights []float64) (single []float64, less float64) {
	single = make([]float64, len(weights))
	group, most := map[uint64]float64{}, map[uint64]float64{}
	keys, top := make([]uint64, len(weights)), 0
	for i, w := range weights {
		for _, c := range s.hyps[i].comps {
			single[i] += s.twins[c]
			keys[i] += scramble(uint64(s.looks[c]))
		}
		single[i] -= s.crowding(s.hyps[i].comps)
		group[keys[i]] += w
		most[keys[i]] = max(most[keys[i]], w)
		if w > weights[top] {
			top = i
		}
	}
	places := single[top] // only what they are beside each other counts, and those of dozens of faults are more than a number holds
	for i, w := range weights {
		single[i] = w * math.Exp(min(places-single[i], mostApart))
	}
	sum := 0.0
	for i := range weights {
		if w := group[keys[i]]; w > 0 {
			weights[i] *= most[keys[i]] / w
		}
		sum += weights[i]
	}
	for i := range weights {
		weights[i] /= sum
	}
	return single, math.Log(sum)
}
