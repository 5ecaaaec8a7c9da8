package diagnose

import (
	"fmt"

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

// A crowd is packets of which no path is known, and whose pairs have too many for that to tell anything.
type crowd struct {
	sent  int
	there int     // of these, on the way there
	paths float64 // of a pair, at most
}

// note says what is left out, and why.
func (c *crowd) note(s *Store) string {
	return fmt.Sprintf("%s packets left out: their paths are not known, and under %s a pair has up to %s, too many for a loss to accuse one of them",
		thousands(c.sent), s.model, thousands(int(c.paths)))
}

// trace is what to do about it.
const trace = "have paths traced: let switches answer TTL-expired probes, and whichlink probe learns which way each source port takes"
