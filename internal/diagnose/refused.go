package diagnose

import (
	"fmt"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// refusedTold is the least part of what a suspect right behind a host loses, or most flows from and to it, that the host must own up to for it, and not its link, to be the one that loses.
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

// refusers returns the hosts that own up to a good part of what most of the flows from and to them lose: they lose probes that they are to send, and nothing of what comes to them.
func (s *Store) refusers() map[graphs.NodeID]bool {
	if s.strained.refusers != nil {
		return s.strained.refusers
	}
	hosts := map[graphs.NodeID]bool{}
	s.strained.refusers = hosts
	refused := s.refused()
	if len(refused) == 0 {
		return hosts
	}
	sent, shares := map[graphs.NodeID]int{}, map[graphs.NodeID][]float64{} // of each flow, the share that it lost
	for _, l := range s.order {
		n, lost := 0, 0
		for i := range l.echoes {
			n, lost = n+l.echoes[i].sent, lost+l.echoes[i].lost
		}
		for _, h := range [...]graphs.NodeID{l.src, l.dst} {
			if refused[h] > 0 && n > 0 {
				sent[h], shares[h] = sent[h]+n, append(shares[h], float64(lost)/float64(n))
			}
		}
	}
	for h, list := range shares {
		slices.Sort(list)
		hosts[h] = float64(refused[h]) >= refusedTold*list[len(list)/2]*float64(sent[h])
	}
	return hosts
}

// acquit has nothing said of a host that loses probes which it is to send by what came to it and went no further, nor by what is no probe: its own queues or filters need not drop that.
func (o *observer) acquit(obs *localize.Observation) {
	refuses := func(n graphs.NodeID) bool { return n != graphs.None && o.s.refusers()[n] }
	if obs.Carried && refuses(obs.Src) {
		obs.Src = graphs.None
	}
	if !refuses(obs.Dst) {
		return
	}
	arcs := obs.Path
	if len(obs.Alternatives) > 0 {
		arcs = obs.Alternatives[0].Arcs
	}
	if len(arcs) > 0 && o.s.fabric.Head(arcs[len(arcs)-1]) == obs.Dst {
		obs.Dst = graphs.None
	}
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
