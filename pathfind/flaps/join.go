package flaps

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/rhythm"
)

// join makes one of two finds as long as one cause explains what both of them do, and no worse: a fault that was seen twice, each time by other flows, has been
// paid for twice, with its episodes.
func (s *search) join(found []flap) []flap {
	for i := 0; i < len(found); i++ {
		for j := i + 1; j < len(found); j++ {
			pair := pairOf(&found[i], &found[j])
			if s.apart[pair] {
				continue
			}
			one, ok := s.one(&found[i], &found[j])
			if !ok {
				s.apart[pair] = true
				continue
			}
			found[i] = one
			found = slices.Delete(found, j, j+1)
			i, j = -1, len(found) // it may be one with what stands before it, too
		}
	}
	return found
}

// A pair is two finds with what they explain.
type pair struct {
	arcs [2]graphs.ArcID
	took [2]uint64
}

func pairOf(a, b *flap) pair {
	p := pair{arcs: [...]graphs.ArcID{a.arc, b.arc}}
	for i, x := range [...]*flap{a, b} {
		for o := range x.took {
			h := (uint64(o) + 1) * 0x9e3779b97f4a7c15
			p.took[i] += h ^ h>>29
		}
	}
	return p
}

// one returns the cause that explains what two finds do, if there is one which is no less likely than both of them. All of them are weighed at the same rate of
// flows with troubles of their own: how many of those are explained is the same for one and for two.
func (s *search) one(a, b *flap) (flap, bool) {
	least := a.worth() + b.worth() - s.prior
	s.leave(a.took)
	s.leave(b.took)
	candidates := s.shared(a, b, least-alike)
	s.gather(candidates)
	s.timeAll(those(candidates, every))
	best, sum := -1, 0.0
	for i := range candidates {
		c := &candidates[i]
		if c.times.Kind == rhythm.Steady {
			continue
		}
		sum += math.Exp(c.times.Proof - least)
		if best < 0 || c.proof > candidates[best].proof {
			best = i
		}
	}
	if sum >= 1 {
		x, before := candidates[best], slices.Clone(candidates)
		took := s.take(&x)
		s.timeAll(those(candidates, every))
		if y := s.suspect(&x, candidates, before); y.Probability >= named {
			return flap{y, x, took}, true
		}
		s.leave(took)
	}
	s.retake(a.took)
	s.retake(b.took)
	return flap{}, false
}

// worth is what the episodes of a find prove together with those that are alike.
func (x *flap) worth() float64 { return x.times.Proof + math.Log(x.Probability/x.Alone) }

// shared returns the arcs that losses which two finds explain may have crossed, of each of them some, if that could prove more than some least.
func (s *search) shared(a, b *flap, least float64) []candidate {
	bound := make(map[graphs.ArcID][2]float64)
	for j, i := range s.lossy {
		of := -1
		switch {
		case a.took[i]:
			of = 0
		case b.took[i]:
			of = 1
		default:
			continue
		}
		s.provable(j, func(arc graphs.ArcID, nats float64) {
			x := bound[arc]
			x[of] += nats
			bound[arc] = x
		})
	}
	var list []candidate
	for arc, x := range bound {
		if x[0] > 0 && x[1] > 0 && x[0]+x[1] > least {
			list = append(list, candidate{arc: arc, bound: math.Inf(1)})
		}
	}
	slices.SortFunc(list, func(x, y candidate) int { return cmp.Compare(x.arc, y.arc) })
	return list
}

// divide has finds part anew what several of them may explain: which was found first took all of that, and with it outages of others.
func (s *search) divide(found []flap) {
	for i := range found {
		for j := range found {
			if i != j {
				s.yield(&found[i], &found[j])
			}
		}
	}
}

// may reports whether an observation may have crossed an arc.
func (s *search) may(o *localize.Observation, a graphs.ArcID) bool {
	return slices.Contains(o.Path, a) || s.paths != nil && o.OnSet() && s.share(o, a) > 0
}

// yield leaves to one find what it lost in its episodes by its own word and another has taken, if both prove more so: an episode less is one less to be paid for.
func (s *search) yield(x, to *flap) {
	contested := map[int32]bool{}
	for o := range x.took {
		if s.obs[o].Lost > 0 && s.within(o, to.times.Episodes) && s.may(&s.obs[o], to.arc) {
			contested[o] = true
		}
	}
	if len(contested) == 0 {
		return
	}
	wasX, wasTo := *x, *to
	x.took, to.took = maps.Clone(x.took), maps.Clone(to.took)
	for o := range contested {
		delete(x.took, o)
		to.took[o] = true
	}
	s.anew(x)
	s.anew(to)
	if x.proof+to.proof > wasX.proof+wasTo.proof && x.proof != wasX.proof && to.proof != wasTo.proof {
		return
	}
	s.leave(x.took)
	s.leave(to.took)
	*x, *to = wasX, wasTo
	s.retake(x.took)
	s.retake(to.took)
}
