package diagnose

import (
	"fmt"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// refusedTold is the least part of what a suspect right behind a host loses that the host must own up to for it, and not its link, to be the one that loses.
const refusedTold = 0.5

// refused returns how many packets hosts say that their own queues or filters dropped: probes by what their prober counts, answers by what a prober was told of
// most.
func (s *Store) refused() map[graphs.NodeID]int {
	type teller struct {
		by   string
		node graphs.NodeID
	}
	told := map[teller]int{}
	own, heard := map[graphs.NodeID]int{}, map[graphs.NodeID]int{}
	for i := range s.refusals {
		x := &s.refusals[i]
		if x.own {
			own[x.node] += x.count
			continue
		}
		t := teller{x.by, x.node}
		told[t] += x.count
		heard[x.node] = max(heard[x.node], told[t])
	}
	for n, count := range heard {
		own[n] += count
	}
	return own
}

// refuses reports whether a host says that its own queues or filters dropped packets.
func (o *observer) refuses(n graphs.NodeID) bool {
	if o.refused == nil {
		o.refused = o.s.refused()
	}
	return o.refused[n] > 0
}

// blameHost makes of a suspect that is the first arc behind a host the host itself, if that says that it dropped these packets before they came to the link.
func (s *Store) blameHost(out *Suspect, sus *localize.Suspect, refused map[graphs.NodeID]int) {
	var n graphs.NodeID
	switch sus.Kind {
	case localize.Arc:
		n = s.fabric.Tail(graphs.ArcID(sus.ID))
	case localize.Host:
		n = graphs.NodeID(sus.ID)
	default:
		return
	}
	count := refused[n]
	if count == 0 || sus.Kind == localize.Arc && float64(count) < refusedTold*sus.Loss*float64(sus.Sent) {
		return
	}
	name := s.fabric.NodeName(n)
	says := Evidence{s.instrument(), fmt.Sprintf("%s says that its own queues or filters dropped %s packets that it was to send", name, thousands(count))}
	if sus.Kind == localize.Arc {
		host := *sus
		host.Cause = localize.Cause{Kind: localize.Host, ID: int32(n)}
		out.Symptom = Loss
		out.Kind, out.ID, out.Link, out.Class = string(localize.Host), name, "", []string{name}
		out.Next = s.next(out, &host)
		out.For += "; " + says.Text
	}
	out.Evidence = append(out.Evidence, says)
}
