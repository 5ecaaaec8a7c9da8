package diagnose

import (
	"fmt"
	"maps"
	"slices"

	"whichlink/graphs"
)

// deafTo says to which hosts a switch answers no TTL-expired probe, if it answers nearly all of every other host: filters and missing routes back do that,
// and limits of its rate do not. It is empty where that is not so.
func (o *observer) deafTo(n graphs.NodeID) string {
	const fewest, nearly = 5, 0.9 // probes of a host that tell of it, and the share of them that is answered
	sent, lost := map[graphs.NodeID]int{}, map[graphs.NodeID]int{}
	for i := range o.list {
		if x := &o.list[i]; x.Responder == n && x.Src != graphs.None {
			sent[x.Src] += x.Sent
			lost[x.Src] += x.Lost
		}
	}
	var deaf []string
	heard := 0
	for _, h := range slices.Sorted(maps.Keys(sent)) {
		switch {
		case sent[h] < fewest:
		case lost[h] == sent[h]:
			deaf = append(deaf, o.s.fabric.NodeName(h))
		case float64(sent[h]-lost[h]) >= nearly*float64(sent[h]):
			heard++
		default:
			return ""
		}
	}
	if heard == 0 || len(deaf) == 0 {
		return ""
	}
	return fmt.Sprintf("none of %s, nearly all of the others: a filter, or no route back", firstOf(deaf, 3))
}
