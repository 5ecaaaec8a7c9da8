package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

// A foreign sums up the echoes on paths with arcs that the fabric's file does not have. Nothing can be said of these arcs, and nothing that is lost there may count as health.
type foreign struct {
	all   passed
	byArc map[string]passed
	last  time.Time // of the newest of them
}

// add takes in a record of which arcs are not the fabric's.
func (x *foreign) add(s *Store, r *evidence.Record) {
	if r.Kind != evidence.KindEcho {
		return
	}
	more := func(p passed) passed { return passed{p.sent + *r.Sent, p.lost + *r.Lost} }
	x.all = more(x.all)
	if x.byArc == nil {
		x.byArc = map[string]passed{}
	}
	x.last = later(x.last, r.Time)
	names := map[string]bool{} // each once, however many paths it is on
	for _, path := range append(append([][]string{r.Path, r.Back}, r.Candidates...), r.CandidatesBack...) {
		for _, name := range path {
			if _, ours := s.arcs[name]; !ours {
				names[name] = true
			}
		}
	}
	for name := range names {
		x.byArc[name] = more(x.byArc[name])
	}
}

// ails reports whether more was lost there than chance and good arcs explain.
func (x *foreign) ails(solved *localize.Result) bool {
	return Unexplained(x.all.sent, x.all.lost, solved.Background)
}

func (x *foreign) summary() string {
	return fmt.Sprintf("%s of %s probes lost on paths with arcs that the fabric file does not have: nothing can be said of these", thousands(x.all.lost), thousands(x.all.sent))
}

// note names the arc over which most of that was lost.
func (x *foreign) note() string {
	worst := slices.MinFunc(slices.Collect(maps.Keys(x.byArc)), func(a, b string) int {
		return cmp.Or(cmp.Compare(x.byArc[b].lost, x.byArc[a].lost), cmp.Compare(a, b))
	})
	return fmt.Sprintf("the fabric file lacks %s: %s of the %s probes that may have crossed it were lost; give the file with which this was measured, or add what is new", graphs.Clean(worst),
		thousands(x.byArc[worst].lost), thousands(x.byArc[worst].sent))
}
