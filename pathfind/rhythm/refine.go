package rhythm

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

const (
	// mostRefined is how many episodes are refined at most: of more, each is clear or none is.
	mostRefined = 16
	// mostTried is how many counts are tried at a time as the place of a change, those that are explained worst.
	mostTried = 12
	// leastMore is how much better, in nats, the counts have to be explained by more episodes than were found at first, for each time that more are tried.
	leastMore = 2
)

// refine looks for episodes nearby that are better, their price paid: with others added, with quiet in the midst of one, with two joined. The scan that found
// them parts the packets of counts that last between cells, of all at once, and ends where no cell by itself does better in the other state. Quiet, which takes
// longest to find, is looked for where episodes explain the counts better than that the suspect is good.
func (s *scan) refine(eps []episode, bad, value float64) ([]episode, float64, float64) {
	parted := func(eps []episode, bad float64) [][]episode {
		if value <= s.good {
			return nil
		}
		return s.parted(eps, bad)
	}
	s.spare = 2 * s.effort()
	changes := []func([]episode, float64) [][]episode{s.slid, s.added, parted, s.joined}
	for waiting, i := len(changes), 0; waiting > 0 && len(eps) <= mostRefined && s.spare > 0; i = (i + 1) % len(changes) {
		waiting--
		for _, next := range changes[i](eps, bad) {
			_, level := s.level(next)
			next, level = s.worth(next, level)
			least := 1e-3
			if len(next) > len(eps) {
				least = leastMore
			}
			if v := s.bayes(next, level); v > value+least {
				eps, bad, value, waiting = next, level, v, len(changes)
				break
			}
		}
	}
	return eps, bad, value
}

// A miss is a count that episodes explain badly: how much likelier it would be in the other state.
type miss struct {
	count *count
	nats  float64
}

// missed returns the counts that episodes explain worst of those that another state may explain better.
func (s *scan) missed(eps []episode, bad float64, better func(c *count, in float64) float64) []miss {
	var list []miss
	for i := range s.counts {
		c := &s.counts[i]
		in := s.part(c, eps)
		p := better(c, in)
		if p < 0 {
			continue
		}
		if nats := likelihood(c, p) - likelihood(c, in*bad+(1-in)*normal); nats > 1 {
			list = append(list, miss{c, nats})
		}
	}
	slices.SortStableFunc(list, func(a, b miss) int { return -cmp.Compare(a.nats, b.nats) })
	return list[:min(len(list), mostTried)]
}

// added returns the episodes, and more wherever counts outside of them lost packets.
func (s *scan) added(eps []episode, bad float64) [][]episode {
	out := slices.Clone(eps)
	for _, m := range s.missed(eps, bad, func(c *count, in float64) float64 {
		if c.Lost == 0 || in > 0 {
			return -1
		}
		return min(max(c.lost/(c.lost+c.passed), normal), bad)
	}) {
		if s.part(m.count, out) > 0 {
			continue // one that was just added explains it
		}
		j := firstAfter(out, m.count.From)
		more := slices.Insert(slices.Clone(out), j, episode{from: m.count.From, to: m.count.To})
		s.settleOne(more, j, bad)
		if s.gain(out, more, more[j].from, more[j].to, bad) > 0 {
			out = more
		}
	}
	if len(out) == len(eps) {
		return nil
	}
	return [][]episode{out}
}

// parted returns the episodes with quiet in the midst of some, where counts lost less than in an episode, and where none lost anything for the longest time.
func (s *scan) parted(eps []episode, bad float64) [][]episode {
	var holes []episode
	for _, m := range s.missed(eps, bad, func(c *count, in float64) float64 {
		if in == 0 {
			return -1
		}
		return min(max(c.lost/(c.lost+c.passed), normal), in*bad+(1-in)*normal)
	}) {
		holes = append(holes, episode{from: m.count.From, to: m.count.To})
	}
	out := s.quiet(eps, holes, bad)
	holes = holes[:0]
	for _, c := range s.cells {
		if j := firstAfter(eps, c.from); !c.lossy && j < len(eps) && eps[j].from < c.from && c.to < eps[j].to {
			holes = append(holes, episode{from: c.from, to: c.to})
		}
	}
	slices.SortStableFunc(holes, func(a, b episode) int { return -cmp.Compare(a.to-a.from, b.to-b.from) })
	holes = holes[:min(len(holes), mostTried)]
	list := [][]episode{out, s.quiet(out, holes, bad)}
	return slices.DeleteFunc(list, func(x []episode) bool { return len(x) == len(eps) })
}

// quiet returns the episodes without stretches of time in the midst of some that explain the counts better so.
func (s *scan) quiet(eps, holes []episode, bad float64) []episode {
	out := slices.Clone(eps)
	for _, h := range holes {
		j := firstAfter(out, h.from)
		if j == len(out) || out[j].from >= h.from || out[j].to <= h.to {
			continue // not within one
		}
		more := slices.Insert(slices.Clone(out), j, out[j])
		more[j].to, more[j].lasting = h.from, false
		more[j+1].from, more[j+1].begun = h.to, false
		s.settleOne(more, j, bad)
		s.settleOne(more, j+1, bad)
		if s.gain(out, more, out[j].from, out[j].to, bad) > s.penalty {
			out = more
		}
	}
	return out
}

// joined returns the episodes with two made one, for all that may be worth it.
func (s *scan) joined(eps []episode, bad float64) [][]episode {
	var list [][]episode
	for i := range len(eps) - 1 {
		one := slices.Delete(slices.Clone(eps), i, i+1)
		one[i].from, one[i].begun = eps[i].from, eps[i].begun
		s.settleOne(one, i, bad)
		if s.gain(eps, one, min(eps[i].from, one[i].from), max(eps[i+1].to, one[i].to), bad) > -2*s.penalty {
			list = append(list, one)
		}
	}
	return list
}

// slid returns the episodes with their edges where they explain the counts best, as many as are lost in them and if all is: edges that are a little off make
// it look as if something passed.
func (s *scan) slid(eps []episode, bad float64) [][]episode {
	var list [][]episode
	for _, level := range []float64{bad, -math.Expm1(-mostHazard)} {
		out := slices.Clone(eps)
		for range 3 {
			moved := false
			for i := range out {
				moved = s.settleOne(out, i, level) || moved
			}
			if !moved {
				break
			}
		}
		if !slices.Equal(out, eps) {
			list = append(list, out)
		}
	}
	return list
}

// gain returns how much better episodes explain the counts than others do that differ from them within a stretch of time only.
func (s *scan) gain(was, now []episode, from, to, bad float64) float64 {
	near := s.reach(from, to)
	return s.likelihoodNear(&near, now, bad) - s.likelihoodNear(&near, was, bad)
}

// settleOne slides the edges of an episode, one at a time and both together, to where they explain the counts best. It reports whether that moved them.
func (s *scan) settleOne(eps []episode, i int, bad float64) bool {
	const rounds = 4
	ways := [...]struct{ start, end bool }{{true, false}, {false, true}, {true, true}}
	moved := false
	for k, still := 0, 0; k < rounds*len(ways) && still < len(ways); k++ {
		way := ways[k%len(ways)]
		if still++; s.slide(eps, i, way.start, way.end, bad) {
			moved, still = true, 0
		}
	}
	return moved
}

// slide moves the beginning of an episode, its end or both by as many edges of cells as is best, of some numbers, near ones closer together. It reports whether
// another place was better.
func (s *scan) slide(eps []episode, i int, start, end bool, bad float64) bool {
	was, best := eps[i], eps[i]
	low, high := s.begin, s.end
	if i > 0 {
		low = eps[i-1].to
	}
	if i+1 < len(eps) {
		high = eps[i+1].from
	}
	from, to := sort.SearchFloat64s(s.edges, was.from), sort.SearchFloat64s(s.edges, was.to)
	most := 1e-9
	for _, sign := range []int{-1, 1} {
		eps[i] = was
		gain := 0.0
		for step := 1; ; step += 1 + step/4 {
			now := was
			a, b := from+sign*step, to+sign*step
			if start && (a < 0 || a >= len(s.edges)) || end && (b < 0 || b >= len(s.edges)) {
				break
			}
			if start {
				now.from, now.begun = s.edges[a], false
			}
			if end {
				now.to, now.lasting = s.edges[b], false
			}
			if now.from > now.to || now.from < low || now.to > high || i > 0 && now.from == low || i+1 < len(eps) && now.to == high {
				break
			}
			if gain += s.push(eps, i, now, bad); gain > most {
				best, most = now, gain
			} else if gain < -3*s.penalty {
				break
			}
		}
	}
	eps[i] = best
	return best != was
}
