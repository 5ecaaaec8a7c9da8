package probes

import (
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/plan"
)

// A Pursuit is a flow that a session is to spend packets on, beside its plan. One whose SrcPort is 0 is new: it gets some port and is traced,
// and carries no echoes until it is asked for by that port.
type Pursuit struct {
	plan.Flow
	// Weight is the flow's part in the packets of all pursuits, in any unit.
	Weight float64
}

// A Traced is a flow of a session with its ways as far as they are certain; nil where they are not.
type Traced struct {
	plan.Flow
	Path, Back []graphs.ArcID
}

const (
	// mostSpare bounds the flows that exist only to be pursued.
	mostSpare = 48
	// pursuitTurns is into how many turns the packets of all pursuits are shared out.
	pursuitTurns = 32
)

// PursuitShare is the part of a session's echoes that goes to what it pursues, at most.
const PursuitShare = 0.5

// Pursue has the session send up to [PursuitShare] of its echoes along some flows, until it is told otherwise; none means to keep to the plan. The rate
// stays what it is.
func (s *Session) Pursue(list []Pursuit) {
	now := time.Now()
	total := 0.0
	for _, p := range list {
		total += p.Weight
	}
	s.mu.Lock()
	for _, fl := range s.flows {
		fl.wanted = false
	}
	var turns []*sessionFlow
	fresh := 0
	for _, p := range list {
		if p.SrcPort == 0 {
			fresh++
			continue
		}
		fl := s.find(p.Flow)
		if fl == nil || s.lacksAgent(fl, now) || !(total > 0) {
			continue
		}
		fl.wanted = true
		for range max(1, int(pursuitTurns*p.Weight/total+0.5)) {
			turns = append(turns, fl)
		}
	}
	s.wanted.Store(&turns)
	old := s.worn(fresh)
	s.mu.Unlock()
	for _, fl := range old {
		s.drop(fl)
	}
	for _, p := range list {
		if p.SrcPort != 0 {
			continue
		}
		p.Flow.SrcPort = s.freePort()
		if _, err := s.add(p.Flow, false, true); err != nil {
			s.cfg.Logger.Warn("add a flow to pursue", "err", err)
		}
	}
}

// find returns the session's flow of a pair and port, or nil. The mutex is held.
func (s *Session) find(p plan.Flow) *sessionFlow {
	for _, fl := range s.flows {
		if fl.dst == p.Dst && fl.flow.SrcPort == p.SrcPort {
			return fl
		}
	}
	return nil
}

// worn returns the oldest spare flows that nobody wants, as many as have to go for some new ones. The mutex is held.
func (s *Session) worn(fresh int) []*sessionFlow {
	spare := 0
	for _, fl := range s.flows {
		if fl.spare {
			spare++
		}
	}
	var old []*sessionFlow
	for _, fl := range s.flows { // in the order of their beginnings
		if spare+fresh-len(old) > mostSpare && fl.spare && !fl.wanted && !fl.tracing {
			old = append(old, fl)
		}
	}
	return old
}

// freePort returns a source port that was not given to a flow of the session before, and is not the plan's.
func (s *Session) freePort() uint16 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ports++
	return s.cfg.Plan.Port(s.cfg.Host, len(s.cfg.Plan.Flows(s.cfg.Host))+2*maxExtra+s.ports)
}

// idle reports whether a flow need not be traced: its path was found and nobody wants it now.
func (fl *sessionFlow) idle() bool { return fl.spare && !fl.wanted && !fl.confirmed.IsZero() }

// withWanted adds to a round of echoes as many along pursued flows.
func (s *Session) withWanted(round []*sessionFlow) []*sessionFlow {
	wanted := *s.wanted.Load()
	if len(wanted) == 0 {
		return round
	}
	n := int(float64(len(round)) * PursuitShare / (1 - PursuitShare))
	for range n {
		round = append(round, wanted[s.rng.IntN(len(wanted))])
	}
	s.pursued.Add(int64(n))
	return round
}

// Pursued returns how many echoes were sent because of Pursue.
func (s *Session) Pursued() int { return int(s.pursued.Load()) }

// Waiting counts flows that wait for their first trace.
type Waiting struct {
	Planned int // that the session measures anyway
	Pursued int // that were added to be pursued
}

// Traced returns the session's flows that were traced, and how many wait for that.
func (s *Session) Traced() (flows []Traced, waiting Waiting) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fl := range s.flows {
		if s.lacksAgent(fl, now) {
			continue
		}
		if fl.confirmed.IsZero() {
			switch {
			case now.Sub(fl.first) >= 2*budgetWithin:
			case fl.spare:
				waiting.Pursued++
			case !fl.extra:
				waiting.Planned++
			}
			continue
		}
		t := Traced{Flow: plan.Flow{Src: fl.src, Dst: fl.dst, SrcPort: fl.flow.SrcPort}}
		if fl.path.certain() {
			t.Path = fl.path.alternatives[0]
		}
		if fl.back.certain() {
			t.Back = fl.back.alternatives[0]
		}
		flows = append(flows, t)
	}
	return flows, waiting
}
