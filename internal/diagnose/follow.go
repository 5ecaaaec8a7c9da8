package diagnose

import (
	"math"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/next"
	"whichlink/probes"
)

// choose returns the flows that tell most of what the newest diagnosis left open; none where nothing is open, or no flow tells anything.
func (s *Store) choose(cfg next.Config) []next.Choice {
	if s.solved == nil || s.model == nil || next.Decided(s.solved, surest) {
		return nil
	}
	cfg.Background, cfg.Blind, cfg.Targets = s.solved.Background, s.vision.blind, s.hosts(s.presence.mayAnswer)
	s.recall(cfg.Known)
	return s.planner().Choose(next.Ask(s.solved), cfg)
}

func (s *Store) planner() *next.Planner {
	if s.chooser == nil {
		s.chooser = next.NewPlanner(s.model)
	}
	return s.chooser
}

// FollowEvery is how often what is followed is chosen anew, at most: some packets along each flow must have come back meanwhile.
const FollowEvery = time.Second

// A second's new flows are tracedShare of its packets, and no more than mostTraces: what tracing them costs is no more than what is left of the rate.
const (
	tracedShare = 0.01
	mostTraces  = 32
)

// follow has the sessions spend a part of their packets on the flows that tell most, once the paths of all planned flows were looked for: until
// then the plan itself may tell what is open.
func (w *Watch) follow(store *Store) {
	var cfg next.Config
	var planned, waiting int
	for i, s := range w.sessions {
		cfg.Sources = append(cfg.Sources, w.cfg.Hosts[i].Node)
		traced, wait := s.Traced()
		planned += wait.Planned
		waiting += wait.Pursued
		for _, t := range traced {
			cfg.Known = append(cfg.Known, next.Known{Flow: t.Flow, Path: t.Path, Back: t.Back})
		}
	}
	if planned > 0 {
		return
	}
	rate := w.cfg.Rate
	if rate == 0 {
		rate = probes.DefaultRate
	}
	perSecond := rate * float64(len(w.sessions))
	cfg.Packets = max(next.TraceCost, int(math.Ceil(probes.PursuitShare*perSecond*max(w.cfg.Every, FollowEvery).Seconds())))
	if cfg.Traces = int(math.Ceil(min(perSecond*tracedShare, mostTraces))); waiting > 0 {
		cfg.Traces = -1 // first see what the last ones cross
	}
	by := map[graphs.NodeID][]probes.Pursuit{}
	for _, c := range store.choose(cfg) {
		by[c.Src] = append(by[c.Src], probes.Pursuit{Flow: c.Flow, Weight: float64(c.Packets)})
	}
	for i, s := range w.sessions {
		s.Pursue(by[w.cfg.Hosts[i].Node])
	}
}

// Pursued returns how many echoes were sent along flows that the diagnosis asked for.
func (w *Watch) Pursued() int {
	n := 0
	for _, s := range w.sessions {
		n += s.Pursued()
	}
	return n
}
