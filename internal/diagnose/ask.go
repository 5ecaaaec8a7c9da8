package diagnose

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/next"
	"whichlink/pathfind/plan"
	"whichlink/probes"
)

// An Ask is what somebody wants measured closer for a while: flows that cross arcs, or those of a pair of hosts. It spends up to
// [probes.PursuitShare] of the packets that are sent anyway, and not one more.
type Ask struct {
	// Arcs are what flows are to cross, any of them. If there are none, it is flows from Src to Dst.
	Arcs     []graphs.ArcID
	Src, Dst graphs.NodeID
	For      time.Duration
}

// An Answer is what came of an [Ask], so far. The verdict is in the diagnosis.
type Answer struct {
	Begun, Until time.Time
	// Flows are those that carried echoes, Lossy those of them that lost some, Paths the different ways there that were seen.
	Flows, Lossy, Paths int
	Sent, Lost          int // echoes
}

// ErrAsked says that another [Ask] is under way.
var ErrAsked = errors.New("something else is being measured closer")

// pursueEvery is how often an ask looks which of its flows were traced meanwhile.
const pursueEvery = 250 * time.Millisecond

// decided is how long after the last echo its fate is known and written down.
const decided = 1500 * time.Millisecond

// mostQuestions bounds the arcs for which new flows are chosen: those of a large switch are more than a few seconds can measure.
const mostQuestions = 16

// An asking is an ask that is under way. Its times and names are never changed.
type asking struct {
	Ask
	begun, until time.Time
	names        map[string]bool // of the arcs
	fresh        bool            // new flows were added; Ask's alone

	mu         sync.Mutex             // guards all below
	flows      map[evidence.Flow]bool // whether it lost something
	paths      map[string]bool
	sent, lost int
}

// Ask measures closer what is asked for, and returns when that is over or ctx ends. It needs Run to run. One ask is answered at a time.
func (w *Watch) Ask(ctx context.Context, ask Ask) (Answer, error) {
	now := time.Now()
	a := &asking{Ask: ask, begun: now, until: now.Add(ask.For), names: map[string]bool{}, flows: map[evidence.Flow]bool{}, paths: map[string]bool{}}
	for _, x := range ask.Arcs {
		a.names[w.cfg.Fabric.ArcName(x)] = true
	}
	if !w.asked.CompareAndSwap(nil, a) {
		return Answer{}, ErrAsked
	}
	defer w.asked.Store(nil)
	w.pursue(a)
	tick := time.NewTicker(pursueEvery)
	defer tick.Stop()
	for over := time.After(ask.For); over != nil && ctx.Err() == nil; {
		select {
		case <-tick.C:
			w.pursue(a)
		case <-over:
			over = nil
		case <-ctx.Done():
		}
	}
	for _, s := range w.sessions {
		s.Pursue(nil)
	}
	select {
	case <-time.After(decided):
	case <-ctx.Done():
	}
	return a.soFar(), ctx.Err()
}

// Asked returns what came of the ask that is under way so far, false if there is none.
func (w *Watch) Asked() (Answer, bool) {
	if a := w.asked.Load(); a != nil {
		return a.soFar(), true
	}
	return Answer{}, false
}

func (a *asking) soFar() Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := Answer{Begun: a.begun, Until: a.until, Flows: len(a.flows), Paths: len(a.paths), Sent: a.sent, Lost: a.lost}
	for _, lossy := range a.flows {
		if lossy {
			out.Lossy++
		}
	}
	return out
}

// count adds an echo of a flow that was asked for.
func (a *asking) count(r *evidence.Record, f *graphs.Fabric) {
	if r.Kind != evidence.KindEcho || r.Flow == nil || r.Sent == nil || r.Lost == nil || r.Start().Before(a.begun) {
		return
	}
	if len(a.Arcs) > 0 {
		crosses := func(name string) bool { return a.names[name] }
		if !slices.ContainsFunc(r.Path, crosses) && !slices.ContainsFunc(r.Back, crosses) {
			return
		}
	} else if src, ok := f.Owner(r.Flow.Src); !ok || src.Node != a.Src {
		return
	} else if dst, ok := f.Owner(r.Flow.Dst); !ok || dst.Node != a.Dst {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent += *r.Sent
	a.lost += *r.Lost
	a.flows[*r.Flow] = a.flows[*r.Flow] || *r.Lost > 0
	if r.Path != nil {
		a.paths[strings.Join(r.Path, " ")] = true
	}
}

// pursue sends along the flows of an ask: those that are known to be what it wants, and at first some new ones, of which the tracing tells.
func (w *Watch) pursue(a *asking) {
	lists := make([][]probes.Pursuit, len(w.sessions))
	var known []next.Known
	at := map[graphs.NodeID]int{}
	for i, s := range w.sessions {
		at[w.cfg.Hosts[i].Node] = i
		traced, _ := s.Traced()
		for _, t := range traced {
			if a.wants(&t) {
				lists[i] = append(lists[i], probes.Pursuit{Flow: t.Flow, Weight: 1})
				known = append(known, next.Known{Flow: t.Flow, Path: t.Path, Back: t.Back})
			}
		}
	}
	if !a.fresh {
		a.fresh = true
		for _, p := range w.freshFlows(a, known) {
			if i, ok := at[p.Src]; ok {
				lists[i] = append(lists[i], probes.Pursuit{Flow: p, Weight: 1})
			}
		}
	}
	for i, s := range w.sessions {
		s.Pursue(lists[i])
	}
}

// wants reports whether a flow is one of those that an ask is about.
func (a *asking) wants(t *probes.Traced) bool {
	if len(a.Arcs) == 0 {
		return t.Src == a.Src && t.Dst == a.Dst
	}
	return slices.ContainsFunc(a.Arcs, func(x graphs.ArcID) bool { return slices.Contains(t.Path, x) || slices.Contains(t.Back, x) })
}

// freshFlows returns new flows for an ask: of a pair as many as whichlink probe --to makes, across arcs those that most probably cross them.
func (w *Watch) freshFlows(a *asking, known []next.Known) []plan.Flow {
	var fresh []plan.Flow
	if len(a.Arcs) == 0 {
		for range NewFlows {
			fresh = append(fresh, plan.Flow{Src: a.Src, Dst: a.Dst})
		}
		return fresh
	}
	var questions []next.Question
	for _, x := range a.Arcs[:min(len(a.Arcs), mostQuestions)] {
		questions = append(questions, next.Question{{Cause: localize.Cause{Kind: localize.Arc, ID: int32(x)}, Weight: 0.5, Loss: 0.01, Low: 0.001, High: 0.1}})
	}
	cfg := next.Config{Known: known, Traces: NewFlows, Packets: 10_000}
	for _, h := range w.cfg.Hosts {
		cfg.Sources = append(cfg.Sources, h.Node)
	}
	for _, c := range next.NewPlanner(w.model).Choose(questions, cfg) {
		if c.SrcPort == 0 {
			fresh = append(fresh, c.Flow)
		}
	}
	return fresh
}
