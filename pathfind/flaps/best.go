package flaps

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/rhythm"
)

// batch is how many candidates that differ are timed before it is asked again whether the others can matter.
const batch = 4

// best takes candidates as long as one of them, or of a few that are alike, is likelier than not, and returns at most some suspects.
func (s *search) best(candidates []candidate, most int) []flap {
	var found []flap
	done := make([]bool, len(candidates))
	for len(found) < most {
		best := s.lead(candidates, done)
		if best < 0 || together(candidates, done, candidates[best].proof) < s.prior {
			break
		}
		done[best] = true
		x := candidates[best]
		if s.steadier(&x, candidates) {
			continue
		}
		before := slices.Clone(candidates)
		took := s.take(&x)
		s.again(&x, candidates, took)
		y := s.suspect(&x, candidates, before)
		if y.Probability >= named {
			found = append(found, flap{y, x, took})
			continue
		}
		s.leave(took)
		copy(candidates, before)
	}
	return found
}

// hope returns more than a candidate can prove.
func (s *search) hope(c *candidate) float64 { return c.bound + s.own.fewer(c.odd) }

// lead times candidates, those first that can prove most, until no other can prove nearly as much as the best, which it returns; -1 if there is none. Of what is next best
// it is told how far it is behind, so a few more are timed where none is that comes and goes.
func (s *search) lead(candidates []candidate, done []bool) int {
	for more := true; ; {
		best := -1
		for i := range candidates {
			if c := &candidates[i]; !done[i] && c.timed && c.times.Kind != rhythm.Steady && (best < 0 || c.proof > candidates[best].proof) {
				best = i
			}
		}
		least := s.prior - alike
		if best >= 0 {
			least = max(least, candidates[best].proof)
		}
		open := s.open(candidates, done, least-alike)
		if len(open) == 0 && best >= 0 && more {
			more = false
			if !slices.ContainsFunc(candidates, func(c candidate) bool {
				return c.timed && c.times.Kind != rhythm.Steady && c.proof <= candidates[best].proof-alike
			}) {
				open = s.open(candidates, done, s.prior)
			}
		}
		if len(open) == 0 {
			return best
		}
		s.timeAll(open)
	}
}

// open returns those candidates that can prove most of what is not timed and can prove more than some least: as many as are timed at a time.
func (s *search) open(candidates []candidate, done []bool, least float64) (list []*candidate) {
	for i := range candidates {
		if c := &candidates[i]; !c.timed && !done[i] && s.hope(c) > least {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *candidate) int { return -cmp.Compare(s.hope(a), s.hope(b)) })
	n := 0
	for i := range list {
		if i > 0 && s.hope(list[i]) < s.hope(list[i-1])-1e-9 {
			if n++; n == batch {
				return list[:i]
			}
		}
	}
	return list
}

// again times anew what may be alike one candidate, or next to it, now that it is known what that explains. The others are timed when they matter; what did not come and go is
// looked at again in the next round.
func (s *search) again(x *candidate, candidates []candidate, took map[int32]bool) {
	s.rebound(candidates)
	var class, others []*candidate
	for i := range candidates {
		c := &candidates[i]
		switch {
		case !c.timed || c.times.Kind == rhythm.Steady || !slices.ContainsFunc(c.obs, func(o int32) bool { return took[o] }):
		case c.proof > x.proof-alike:
			class = append(class, c)
		default:
			others = append(others, c)
			c.timed = false
		}
	}
	s.timeAll(class)
	slices.SortStableFunc(others, func(a, b *candidate) int { return -cmp.Compare(a.proof, b.proof) })
	for len(others) > 0 {
		n := 1
		for n < len(others) && others[n].proof >= others[0].proof-1e-9 {
			n++
		}
		s.timeAll(others[:n])
		if slices.ContainsFunc(others[:n], func(c *candidate) bool { return c.proof <= s.prior }) {
			return
		}
		others = others[n:]
	}
}

// rebound tells anew what candidates can prove, of what nothing explains yet.
func (s *search) rebound(candidates []candidate) {
	bound, odd := s.bounds()
	for i := range candidates {
		c := &candidates[i]
		c.bound, c.odd = bound[c.arc], odd[c.arc]
	}
}

// bounds returns, by arc, what the losses can prove at most that nothing explains yet, and how many flows with troubles of their own an arc can explain.
func (s *search) bounds() (bound, odd []float64) {
	bound, odd = make([]float64, s.fabric.NumArcs()), make([]float64, s.fabric.NumArcs())
	for j, i := range s.lossy {
		if s.taken[i] {
			continue
		}
		troubled := s.fates[j].troubled(s.own.rate)
		s.provable(j, func(a graphs.ArcID, nats float64) {
			bound[a] += nats
			odd[a] += troubled
		})
	}
	return bound, odd
}

// steadier reports whether one candidate that loses packets all the time explains what the episodes of another do, and is worth more.
func (s *search) steadier(x *candidate, candidates []candidate) bool {
	var lossy []int32
	for i := range candidates {
		y := &candidates[i]
		if !y.timed || y.always <= x.proof {
			continue
		}
		if lossy == nil {
			for _, o := range x.obs {
				if !s.taken[o] && s.obs[o].Lost > 0 && s.within(o, x.times.Episodes) {
					lossy = append(lossy, o)
				}
			}
		}
		if !slices.ContainsFunc(lossy, func(o int32) bool { return !slices.Contains(y.obs, o) }) {
			return true
		}
	}
	return false
}

// together returns what candidates prove together that are worth about as much as the best one: more than those that are alike do.
func together(candidates []candidate, done []bool, best float64) float64 {
	sum := 0.0
	for i := range candidates {
		if !done[i] && candidates[i].timed && candidates[i].times.Kind != rhythm.Steady && candidates[i].proof > best-alike {
			sum += math.Exp(candidates[i].proof - best)
		}
	}
	return best + math.Log(sum)
}
