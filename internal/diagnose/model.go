package diagnose

import (
	"whichlink/graphs"
	"whichlink/pathfind"
)

// takeModel takes the forwarding model from the fabric. Where it is another than shortest-path ECMP, less can be judged, and that is said.
func (s *Store) takeModel() {
	spec, err := pathfind.SpecOf(s.fabric)
	if err == nil && spec.Kind == "ecmp" {
		s.model = s.ecmp
		return
	}
	if err == nil && spec.File == "" {
		s.model, err = pathfind.New(s.fabric, spec, pathfind.Options{})
	}
	if err != nil || s.model == nil {
		s.words.add("", "the forwarding model of the fabric file cannot be used here: flows that were not traced are left out")
	}
	s.words.add("", "the fabric's switches forward by another model than shortest-path ECMP: a link that nothing crosses is not judged")
}

// paths lists the paths of a pair under the forwarding model; none where they are too many or the model is not known.
func (s *Store) paths(src, dst graphs.NodeID) []pathfind.Path {
	if s.model == nil {
		return nil
	}
	if s.model == pathfind.Model(s.ecmp) {
		paths, _ := s.ecmp.Paths(src, dst, maxAlternatives)
		return paths
	}
	paths, _ := s.model.Ways(src, dst).Paths(maxAlternatives)
	return paths
}
