package diagnose

import (
	"fmt"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// refusedTold is the least part of what a suspect right behind a host loses that the host must own up to for it, and not its link, to be the one that loses; and that captured flows of
// the host must lose of what it owns up to, if they suffer as well.
const refusedTold = 0.5

// A refusal is what a host says that its own queues or filters dropped of what it was to send.
type refusal struct {
	count  int
	spares bool // its captured flows do not lose as much: it dropped that before packets come to where they are captured, or drops probes alone
}

// refusing returns what hosts refused: probes by what their prober counts, answers by what a prober was told of most.
func (s *Store) refusing() map[graphs.NodeID]*refusal {
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
	hosts := map[graphs.NodeID]*refusal{}
	for i := range s.refusals {
		n := s.refusals[i].node
		hosts[n] = &refusal{count: own[n] + heard[n]}
	}
	if len(hosts) > 0 {
		s.spareCaptured(hosts)
	}
	return hosts
}

// spareCaptured finds the hosts whose captured flows do not suffer from what the hosts refuse. A flow that loses more than its part of that does so elsewhere, too.
func (s *Store) spareCaptured(hosts map[graphs.NodeID]*refusal) {
	probed := map[graphs.NodeID]int{}
	for _, l := range s.order {
		for i := range l.echoes {
			sent := l.echoes[i].measured().sent
			probed[l.src] += sent
			probed[l.dst] += sent
		}
	}
	expected, suffered := map[graphs.NodeID]float64{}, map[graphs.NodeID]float64{}
	for _, l := range s.order {
		x := hosts[l.src]
		if x == nil || probed[l.src] == 0 {
			continue
		}
		sent, lost := 0, 0
		for i := range l.captured {
			c := &l.captured[i]
			sent, lost = sent+c.packets+c.before, lost+c.before+c.after+c.between
		}
		part := float64(sent) * min(1, float64(x.count)/float64(probed[l.src]))
		expected[l.src] += part
		suffered[l.src] += min(float64(lost), max(1, part))
	}
	for n, x := range hosts {
		x.spares = expected[n] >= leastSpared && suffered[n] < refusedTold*expected[n]
	}
}

// blameHost makes of a suspect that is the first arc behind a host the host itself, if that says that it dropped these packets before they came to the link.
func (s *Store) blameHost(out *Suspect, sus *localize.Suspect) {
	var n graphs.NodeID
	switch sus.Kind {
	case localize.Arc:
		n = s.fabric.Tail(graphs.ArcID(sus.ID))
	case localize.Host:
		n = graphs.NodeID(sus.ID)
	default:
		return
	}
	told := s.refused[n]
	if told == nil || sus.Kind == localize.Arc && float64(told.count) < refusedTold*sus.Loss*float64(sus.Sent) {
		return
	}
	name := s.fabric.NodeName(n)
	says := Evidence{s.instrument(), fmt.Sprintf("%s says that its own queues or filters dropped %s packets that it was to send", name, thousands(told.count))}
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
