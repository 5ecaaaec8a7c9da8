package diagnose

import (
	"fmt"
	"math"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/next"
	"whichlink/pathfind/plan"
	"whichlink/probes"
)

// choose returns the flows that tell most of what the newest diagnosis left open; none where nothing is open, or no flow tells anything.
func (s *Store) choose(cfg next.Config) []next.Choice {
	if s.solved == nil || s.model == nil || next.Decided(s.solved, surest) {
		return nil
	}
	cfg.Background = s.solved.Background
	return s.planner().Choose(next.Ask(s.solved), cfg)
}

func (s *Store) planner() *next.Planner {
	if s.chooser == nil {
		s.chooser = next.NewPlanner(s.model)
	}
	return s.chooser
}

// known lists the flows of the evidence whose path was traced.
func (s *Store) known() []next.Known {
	var list []next.Known
	for _, l := range s.order {
		path, back := l.now()
		if l.src == graphs.None || l.dst == graphs.None || l.flow.Proto != "udp" || !path.certain() {
			continue
		}
		k := next.Known{Flow: plan.Flow{Src: l.src, Dst: l.dst, SrcPort: l.flow.SrcPort}, Path: path.alternatives[0]}
		if back.certain() {
			k.Back = back.alternatives[0]
		}
		list = append(list, k)
	}
	return list
}

// splitCommand writes the command that sends what tells most about a suspect: along flows of one host, whose ports are known to lead where they
// should, and along new ones.
func (s *Store) splitCommand(sus *localize.Suspect, background float64) (string, bool) {
	if s.model == nil {
		return "", false
	}
	one := next.Ask(&localize.Result{Suspects: []localize.Suspect{*sus}})
	least := 0.0
	if len(sus.Class) > 1 {
		// What tells whether it is any of them tells nothing of which.
		least = leastSplit
		for i := range one[0] {
			one[0][i].Weight /= sus.Probability
		}
	}
	chosen := s.planner().Choose(one, next.Config{Known: s.known(), Packets: max(worthTheRun, int(20/max(sus.Loss, 1e-3))), Background: background})
	worth := map[graphs.NodeID]float64{}
	src := graphs.NodeID(graphs.None)
	for _, c := range chosen {
		if worth[c.Src] += c.Nats; src == graphs.None || worth[c.Src] > worth[src] {
			src = c.Src
		}
	}
	if src == graphs.None || worth[src] < least {
		return "", false
	}
	packets := 0
	var flags []string
	told := map[string]bool{}
	for _, c := range chosen {
		to := "--to " + s.fabric.NodeName(c.Dst)
		if c.SrcPort != 0 {
			to = fmt.Sprintf("%s:%d", to, c.SrcPort)
		}
		if c.Src != src || told[to] {
			continue
		}
		told[to] = true
		flags = append(flags, to)
		packets += max(c.Packets, NewFlows*newFlowPackets)
	}
	seconds := max(5, int(math.Ceil(float64(packets)/probes.DefaultRate)))
	return fmt.Sprintf("on %s: whichlink probe --fabric FILE %s --for %ds --out next.jsonl", s.fabric.NodeName(src), strings.Join(flags, " "), seconds), true
}

// leastSplit is what flows must be expected to tell, in nats, to be said to split a class: more than the thousandth that package next leaves for none of its
// members being true is worth.
const leastSplit = 0.02

// worthTheRun is the least number of packets for which somebody is sent to another host.
const worthTheRun = 3000

// NewFlows is how many flows whichlink probe --to HOST makes, where no port is given.
const NewFlows = 8

// newFlowPackets is how many packets a flow whose path is not known yet is worth.
const newFlowPackets = 100

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
			cfg.Known = append(cfg.Known, next.Known(t))
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
	cfg.Packets = int(math.Ceil(probes.PursuitShare * perSecond * max(w.cfg.Every, FollowEvery).Seconds()))
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
