package diagnose

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// routings are the ways of a pair by the routing without the wrong cables and with them.
type routings [2][]localize.Alternative

// routings lists the ways of a trip without the wrong cables and with them, and counts them; none where it is not known where all cables lie, or they are too many.
func (s *Store) routings(x trip) (ways routings, count float64) {
	for _, a := range []graphs.ArcID{x.out, x.in} {
		if a != graphs.None && s.misplaced[a.Link()] {
			return routings{}, 0
		}
	}
	for i, e := range []*pathfind.ECMP{s.rewired.without, s.rewired.with} {
		paths, n := s.pathsBy(e, x)
		count = max(count, n)
		for _, p := range paths {
			p.Arcs = slices.DeleteFunc(p.Arcs, func(a graphs.ArcID) bool { return int(a) >= s.fabric.NumArcs() })
			ways[i] = append(ways[i], localize.Alternative(p))
		}
	}
	if !s.rewired.sure && !alike(s.rewired.without, s.rewired.with, [2]graphs.NodeID{x.src, x.dst}) || count > mostListed {
		return routings{}, count
	}
	return ways, count
}

// either mixes the ways of both routings, of which one is as likely as the other, and tells whether they differ.
func (x routings) either() (set []localize.Alternative, differ bool) {
	if len(x[0]) == 0 || len(x[1]) == 0 {
		return slices.Concat(x[0], x[1]), false
	}
	for _, ways := range x {
		for _, w := range ways {
			w.Share /= 2
			if i := slices.IndexFunc(set, func(v localize.Alternative) bool { return slices.Equal(v.Arcs, w.Arcs) }); i >= 0 {
				set[i].Share += w.Share
			} else {
				set = append(set, w)
			}
		}
	}
	return set, len(set) > len(x[0]) || len(set) > len(x[1])
}

// localize localizes what was seen. Where it is not known whether routing uses wrong cables it does so all the time or never: it is asked what is found either way, and each
// counts as much as it explains. Flow by flow, either would be likely however many flows speak for one.
func (s *Store) localize(seen *observer, cfg localize.Config) *localize.Result {
	if len(seen.either) == 0 {
		return localize.Solve(s.laid(), s.loosened(seen.list), cfg)
	}
	without, with := localize.Solve(s.laid(), s.loosened(seen.routed(0)), cfg), localize.Solve(s.laid(), s.loosened(seen.routed(1)), cfg)
	return mixed(without, with)
}

// routed is what was seen if one of the routings is so.
func (o *observer) routed(routing int) []localize.Observation {
	list := slices.Clone(o.list)
	for i := range list {
		if set := list[i].Alternatives; len(set) > 0 {
			if x, ok := o.either[&set[0]]; ok {
				list[i].Alternatives = x[routing]
			}
		}
	}
	return list
}

// mixed is what is found by two assumptions, of which one holds.
func mixed(a, b *localize.Result) *localize.Result {
	return mixedBy(a, b, 1/(1+math.Exp(b.Score-a.Score)))
}

// mixedBy is that where the first has a share of the probability.
func mixedBy(a, b *localize.Result, share float64) *localize.Result {
	if share < 0.5 {
		a, b, share = b, a, 1-share
	}
	out := *a
	out.Suspects = nil
	others := slices.Clone(b.Suspects)
	for _, x := range a.Suspects {
		i := slices.IndexFunc(others, func(y localize.Suspect) bool {
			return slices.ContainsFunc(y.Class, func(c localize.Cause) bool { return slices.Contains(x.Class, c) })
		})
		if i < 0 {
			out.Suspects = append(out.Suspects, mix(x, localize.Suspect{}, share))
			continue
		}
		out.Suspects = append(out.Suspects, mix(x, others[i], share))
		others = slices.Delete(others, i, i+1)
	}
	for _, y := range others {
		out.Suspects = append(out.Suspects, mix(localize.Suspect{}, y, share))
	}
	slices.SortStableFunc(out.Suspects, func(x, y localize.Suspect) int { return -cmp.Compare(x.Probability, y.Probability) })
	return &out
}

// mix is one suspect by two assumptions, of which the first has a share of the probability; the zero Suspect where one does not suspect it.
func mix(x, y localize.Suspect, share float64) localize.Suspect {
	weight := map[localize.Cause]float64{}
	var class []localize.Cause
	for i, s := range []localize.Suspect{x, y} {
		for j, c := range s.Class {
			if !slices.Contains(class, c) {
				class = append(class, c)
			}
			weight[c] += []float64{share, 1 - share}[i] * s.Weights[j]
		}
	}
	slices.SortStableFunc(class, func(a, b localize.Cause) int { return -cmp.Compare(weight[a], weight[b]) })
	out, other := x, y
	if len(x.Class) == 0 || x.Cause != class[0] && y.Cause == class[0] {
		out, other = y, x
	}
	if slices.Contains(class, out.Against.RunnerUp) {
		out.Against.RunnerUp, out.Against.Nats = other.Against.RunnerUp, other.Against.Nats
	}
	out.Probability = share*x.Probability + (1-share)*y.Probability
	out.Cause, out.Alone, out.Class, out.Weights = class[0], weight[class[0]], class, make([]float64, len(class))
	for i, c := range class {
		out.Weights[i] = weight[c]
	}
	return out
}
