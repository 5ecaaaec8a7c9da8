package localize

import (
	"slices"

	"whichlink/graphs"
)

// Of a flow that is not answered nobody knows which way its packets were lost. Then two arcs that are dead may as well both be dead the other way, though neither alone could
// be: how many flows meet both tells how they lie to each other.

// mirrored returns members with the j-th, and all arcs that share losses with it, or with one that does, the other way; nil where that is no arc, shares with none, or is a member both ways.
func (s *search) mirrored(comps []int32, j int) []int32 {
	image, turned := slices.Clone(comps), []int{j}
	for at := 0; at < len(turned); at++ {
		i := turned[at]
		if s.ix.kindOf(comps[i]) != 0 {
			return nil
		}
		image[i] = int32(graphs.ArcID(comps[i]).Reverse())
		s.near(comps[i])
		for k, d := range comps {
			if s.ix.kindOf(d) == 0 && s.shared[d] > 0 && !slices.Contains(turned, k) {
				turned = append(turned, k)
			}
		}
	}
	if len(turned) < 2 || repeats(image) {
		return nil
	}
	return image
}

// mirror looks at the hypotheses with some of the loaded one's arcs the other way.
func (s *search) mirror(h *hypothesis) {
	if s.single {
		return
	}
	base := s.sum
	for j := range h.comps {
		image := s.mirrored(h.comps, j)
		if _, known := s.by[keyOf(image)]; image == nil || known {
			continue
		}
		s.load(image, h.rates)
		s.remember(image, h.rates, h.score+s.sum-base)
	}
	s.load(h.comps, h.rates)
}
