package cli

import (
	"cmp"
	"fmt"
	"slices"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/internal/flock"
	"whichlink/pathfind"
	"whichlink/pathfind/delay"
	"whichlink/pathfind/localize"
)

// addFlockDelays adds to the diagnosis of a trace what its delays tell.
func addFlockDelays(d *diagnose.Diagnosis, f *graphs.Fabric, seen *flock.Observed, delays *flock.Delays, spread pathfind.Spread) {
	r := delays.Solve(f, seen, spread)
	if r == nil {
		return
	}
	n := newFlockNames(f)
	const least = 0.05
	for i := range r.Suspects {
		if x := &r.Suspects[i]; x.Probability >= least {
			d.Suspects = append(d.Suspects, n.slow(x))
		}
	}
	slices.SortStableFunc(d.Suspects, func(a, b diagnose.Suspect) int { return -cmp.Compare(a.Probability, b.Probability) })
	for i := range d.Suspects {
		d.Suspects[i].Rank = i + 1
	}
	for _, b := range r.Baselines {
		if b.Flows >= 100 {
			d.Notes = append(d.Notes, fmt.Sprintf("flows over %d arcs take %s (median of %d, standard deviation %s)",
				b.Arcs, diagnose.Micros(float64(b.Median)), b.Flows, diagnose.Micros(float64(b.Spread))))
		}
	}
}

func (n flockNames) slow(s *delay.Suspect) diagnose.Suspect {
	x := diagnose.DelaySuspect(s, func(c delay.Cause) string {
		return n.cause(localize.Cause{Kind: localize.Kind(c.Kind), ID: c.ID})
	}, "trace")
	switch s.Kind {
	case delay.Arc:
		x.Link = n.link(graphs.ArcID(s.ID).Link())
	case delay.Link:
		x.Link = x.ID
	}
	if len(x.Class) > 1 {
		x.Next = append(x.Next, n.splitSlow(s))
	}
	return x
}
