package flaps

import (
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// TestLead: where no way is known, hardly any arc is timed that flows may have crossed which lost packets: the one that goes down proves more than most of the others could at best,
// and explains what they have.
func TestLead(t *testing.T) {
	sum, of := 0, 0
	for seed := range uint64(4) {
		w := newWorld(t, 300+seed)
		down := w.switchArc()
		obs, spans := w.flows(4000, func(a graphs.ArcID, ms float64) float64 {
			if a == down && (ms >= 200 && ms < 240 || ms >= 500 && ms < 530) {
				return 1
			}
			return 5e-5
		})
		w.hidePaths(obs)
		cfg := localize.Config{OneWay: true, Paths: pathfind.NewEqualCost(w.f, pathfind.PerPath)}
		steady, touched := localize.SolveTouched(w.f, obs, cfg)
		s := newSearch(w.f, obs, spans, cfg)
		s.begin(steady, touched)
		s.own = s.troubles()
		candidates := s.candidates()
		s.gather(candidates)
		best := s.lead(candidates, make([]bool, len(candidates)))
		timed := len(slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool { return !c.timed }))
		all := slices.Clone(candidates)
		s.timeAll(those(all, every))
		for i := range all {
			if all[i].proof > candidates[best].proof {
				t.Errorf("seed %d: arc %d proves %g, the best of those that were timed %g", seed, all[i].arc, all[i].proof, candidates[best].proof)
			}
		}
		sum, of = sum+timed, of+len(candidates)
	}
	if t.Logf("%d of %d candidates are timed", sum, of); 2*sum > of {
		t.Error("want less than half of them")
	}
}
