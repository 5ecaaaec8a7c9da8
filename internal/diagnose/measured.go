package diagnose

import (
	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// measured says of each arc whether something was surely sent over it: of a flow whose path is one of several, over the arcs that these have in common, such
// as the links of its hosts. Exposure counts the packets of which the path is known.
func (o *observer) measured(exposure []int) []bool {
	out := make([]bool, len(exposure))
	for a, n := range exposure {
		out[a] = n > 0
	}
	times := map[graphs.ArcID]int{}
	done := map[*localize.Alternative]bool{} // flows of one pair share what is known of them
	for i := range o.list {
		x := &o.list[i]
		sent := x.Sent
		if x.Responder != graphs.None { // of which only what was answered counts
			sent -= x.Lost
		}
		if len(x.Alternatives) < 2 || sent <= 0 || done[&x.Alternatives[0]] {
			continue
		}
		done[&x.Alternatives[0]] = true
		clear(times)
		for _, alt := range x.Alternatives {
			for _, a := range alt.Arcs {
				times[a]++
			}
		}
		for a, n := range times {
			if n == len(x.Alternatives) {
				out[a] = true
			}
		}
	}
	return out
}
