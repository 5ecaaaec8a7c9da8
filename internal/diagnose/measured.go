package diagnose

import (
	"fmt"
	"slices"

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

// Detectable returns the least share of packets that nine in ten of some arcs could not lose without being told, of the packets that were sent over each; 0 if there are none. Least
// is what a fault loses at least: with less, an arc counts as good however much is sent.
func Detectable(sent []int, least float64) float64 {
	if len(sent) == 0 {
		return 0
	}
	slices.Sort(sent)
	return min(1, max(least, lossesTold/float64(max(1, sent[len(sent)/10]))))
}

// Unseen says how small a loss has to be not to be told where all seems well. Least is what a fault loses at least.
func (c *Coverage) Unseen(least float64) string {
	if c.Detectable >= 0.5 {
		return "few packets crossed some of the measured arcs: most losses there would not have been told: measure for longer"
	}
	rest := "measure for longer to see less"
	if c.Detectable <= least {
		rest = "less is no fault here"
	}
	return fmt.Sprintf("what loses %s of packets or more would have been told on nine in ten of the measured arcs: %s", Percent(c.Detectable), rest)
}
