package next

import (
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

const (
	// leastSplit is what flows must be expected to tell, in nats, to be said to split a class: somebody has to type it.
	leastSplit = 0.02
	// One host traces as many new flows as a class has members, but no fewer than fewTraces and no more than mostTracedAtOnce: nobody waits longer for it than a minute.
	fewTraces, mostTracedAtOnce = 32, 64
	// fadedTrace is the part of what the first new flow tells down to which more are traced in one run.
	fadedTrace = 0.1
	// worthTheRun is the least number of packets for which somebody is sent to another host.
	worthTheRun = 3000
	// newFlowPackets is how many packets a flow whose path is not known yet is worth, at least.
	newFlowPackets = 100
)

// A Run is what one host is to send to learn more of a suspect.
type Run struct {
	Src     graphs.NodeID
	Choices []Choice
	// Enough is how many packets along a new flow are worth sending.
	Enough int
}

// Split chooses flows of the one host whose flows tell most about a suspect: which of its class it is, or, where it is alone, whether it is one at all. What
// the others of all suspects lose is no sign of it. It reports false where no flow tells anything. Config's Packets and Traces are chosen by it.
func (p *Planner) Split(s *localize.Suspect, all []localize.Suspect, cfg Config) (Run, bool) {
	question, beside := asking(s, all)
	least := 0.0
	if len(s.Class) > 1 {
		// What tells whether it is any of them tells nothing of which.
		least = leastSplit
		for i := range question {
			question[i].Weight /= s.Probability
		}
	}
	cfg.Packets, cfg.Traces = max(worthTheRun, int(20/max(s.Loss, 1e-3))), min(max(fewTraces, len(s.Class)), mostTracedAtOnce)
	src, choices, ok := p.fromOne(question, beside, cfg, least)
	return Run{src, choices, max(newFlowPackets, Enough(s.Loss))}, ok
}

// asking returns what is asked about a suspect, and what else there is: of a class which of it, of one that is alone whether it is that, or one of those that
// exclude it.
func asking(s *localize.Suspect, all []localize.Suspect) (question Question, beside []Question) {
	question = causesOf(s)
	sum := s.Probability
	for i := range all {
		x := &all[i]
		switch {
		case x.Cause == s.Cause:
		case len(s.Class) < 2 && exclusive(sum, x.Probability):
			sum += x.Probability
			question = append(question, causesOf(x)...)
		default:
			beside = append(beside, causesOf(x))
		}
	}
	return question, beside
}

// fromOne chooses flows of the host whose flows tell most: once among all, and once more for that one alone.
func (p *Planner) fromOne(q Question, beside []Question, cfg Config, least float64) (src graphs.NodeID, chosen []Choice, ok bool) {
	worth := map[graphs.NodeID]float64{}
	src = graphs.None
	for _, c := range p.choose([]Question{q}, beside, cfg) {
		if worth[c.Src] += c.Nats; src == graphs.None || worth[c.Src] > worth[src] {
			src = c.Src
		}
	}
	if src == graphs.None {
		return src, nil, false
	}
	cfg.Sources = []graphs.NodeID{src}
	chosen = p.choose([]Question{q}, beside, cfg)
	sum, first := 0.0, 0.0 // of all, and of the new flow that tells most
	for _, c := range chosen {
		sum += c.Nats
		if c.SrcPort == 0 {
			first = math.Max(first, c.Nats)
		}
	}
	if len(chosen) == 0 || sum < least {
		return src, nil, false
	}
	// The more flows of a pair are traced, the likelier one of them goes each way already.
	return src, slices.DeleteFunc(chosen, func(c Choice) bool { return c.SrcPort == 0 && c.Nats < fadedTrace*first }), true
}
