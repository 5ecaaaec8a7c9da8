package cli

import (
	"fmt"
	"slices"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
	"whichlink/pathfind/delay"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/next"
)

// split says which new flows tell the members of a class of a trace apart. Its flows have no ports, so that none can be sent again.
func (n flockNames) split(s *localize.Suspect) diagnose.Step {
	why := fmt.Sprintf("tell the %d apart: ", len(s.Class))
	r, ok := n.planner().Split(s, nil, next.Config{})
	if !ok {
		return diagnose.Step{Why: why + "no flow between hosts does", Do: "compare the counters of their ports"}
	}
	flows := map[graphs.NodeID]int{}
	var to []graphs.NodeID
	for _, c := range r.Choices {
		if flows[c.Dst]++; flows[c.Dst] == 1 {
			to = append(to, c.Dst)
		}
	}
	slices.SortStableFunc(to, func(a, b graphs.NodeID) int { return flows[b] - flows[a] })
	do := fmt.Sprintf("trace %s from %s to %s", plural(flows[to[0]], "new flow"), n.f.NodeName(r.Src), n.f.NodeName(to[0]))
	for _, dst := range to[1:] {
		do += fmt.Sprintf(", %d to %s", flows[dst], n.f.NodeName(dst))
	}
	return diagnose.Step{Why: why + "flows whose way is known do", Do: do + fmt.Sprintf(", then send %d packets along each", r.Enough)}
}

// splitSlow is split for what is slow: a packet that crosses it is late or not, as one is lost or not; every second one, say.
func (n flockNames) splitSlow(s *delay.Suspect) diagnose.Step {
	x := localize.Suspect{Probability: s.Probability, Loss: 0.5, Low: 0.2, High: 0.9}
	for _, c := range s.Class {
		x.Class = append(x.Class, localize.Cause{Kind: localize.Kind(c.Kind), ID: c.ID})
	}
	return n.split(&x)
}
