package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind/delay"
	"whichlink/pathfind/localize"
)

const (
	// lately is how much of a flow's newest evidence says what it takes now; what is older is its own past.
	lately = 5 * time.Second
	// leastAnswers is how many probes of a flow must have come back for their median to count, leastTail for their slowest tenth.
	leastAnswers = 5
	leastTail    = 30
	// leastSpan is for how long it must have been measured: in less, a host that stands still once may make all its flows slow.
	leastSpan = time.Second
	// mostStill is the greatest share of a window that hosts may stand still for their part in the slowest tenth of its probes to be small; where half of all
	// windows have more, what those have.
	mostStill = 0.05
	// leastExcess is the least delay worth a name. Hosts wake up late by some tens of microseconds, and switches have no two alike.
	leastExcess delay.Microseconds = 50
	// leastOfHost is the least that a host must add, for sure: its own work makes it wake up later than others.
	leastOfHost delay.Microseconds = 100
	// overSpread is by how many standard deviations of healthy flows a fault must be late, at least.
	overSpread = 3
	// slowEvery is how much new evidence, in time, it takes to look at delays again.
	slowEvery = time.Second
)

// A slowness is what delays told when they were last looked at.
type slowness struct {
	at       time.Time
	records  int
	suspects []Suspect
	// crossed is how many flows that surely cross an arc told how late the slowest tenth of their probes is.
	crossed map[graphs.ArcID]int
	notes   []string
}

// slow looks for what adds delay now, and for what did before. Each flow is held against flows whose paths are as long, and, once it has a past, against that.
func (s *Store) slow() *slowness {
	if n := s.Records(); s.slowness != nil && (n == s.slowness.records || s.to.Sub(s.slowness.at).Abs() < slowEvery) {
		return s.slowness
	}
	out := &slowness{at: s.to, records: s.Records(), crossed: map[graphs.ArcID]int{}}
	s.slowness = out
	flows := s.delayedFlows()
	views := flows.views()
	var known []delay.Cause
	for _, v := range views {
		for i := range v.obs {
			for _, a := range v.of[i].path {
				if v.tail && !v.own {
					out.crossed[a]++
				}
			}
		}
		before := slices.Clone(out.suspects)
		for _, x := range s.solveDelays(v.obs, 1) {
			if x.Probability >= Named {
				known = append(known, x.Cause)
			}
			now := s.slowSuspect(&x, v)
			// What the evidence cannot tell from it is the same suspect, and each view tells as many as there are.
			i := slices.IndexFunc(before, func(y Suspect) bool { return slices.Contains(y.Class, now.ID) && slices.Contains(now.Class, y.ID) })
			switch {
			case i < 0:
				out.suspects = append(out.suspects, now)
				continue
			case before[i].Probability < Named && now.Probability > before[i].Probability:
				out.suspects[i] = now
			} // else a plainer view tells as much
			before[i] = Suspect{}
		}
	}
	out.notes = views[0].slowNotes(known, s.fabric)
	out.suspects = append(out.suspects, s.slowForSome(views, out.suspects)...)
	out.suspects = append(out.suspects, s.wasSlow(flows, out.suspects)...)
	slices.SortStableFunc(out.suspects, func(a, b Suspect) int { return -cmp.Compare(a.Probability, b.Probability) })
	return out
}

// solveDelays returns what is late beyond what hosts and switches are without a fault, in observations that were chosen among so many.
func (s *Store) solveDelays(obs []delay.Observation, choices float64) []delay.Suspect {
	if len(obs) == 0 {
		return nil
	}
	cfg := delay.Config{Least: leastExcess, LeastSpreads: overSpread, Choices: choices, Full: s.full}
	if s.spread != nil {
		cfg.Paths = s.spread
	}
	solved := delay.Solve(s.fabric, obs, cfg)
	return slices.DeleteFunc(solved.Suspects, func(x delay.Suspect) bool {
		// One late flow is that flow's own affair, and a part that a third of them cross in time is not slow.
		if x.Kind == delay.Host && x.Low < leastOfHost {
			return true
		}
		late := x.Late + x.UnsureLate
		return x.Probability < leastListed || late < 2 || 3*float64(late) < 2*(float64(x.Flows)+x.Crossing)
	})
}

// A view is one way to look at the delays of flows.
type view struct {
	// tail looks at the slowest tenth of a flow's probes in place of their median: a queue that is there only now and then.
	tail bool
	// own holds flows against their own past.
	own bool
	obs []delay.Observation
	of  []*delayedFlow // whose those are
}

// delayedFlows are flows of which it is known what they cross.
type delayedFlows struct {
	list []delayedFlow
	// still is the share of a window that hosts may stand still, for what is slow then to be small.
	still float64
}

// A delayedFlow is a flow on one of its ways, with the windows in which it crossed that.
type delayedFlow struct {
	obs     delay.Observation
	path    []graphs.ArcID // there and back; nil where one of the ways is not known
	dscp    uint8
	windows []delayedWindow
	isNow   bool // it went that way last
}

type delayedWindow struct {
	*echo
	isNew bool
	still float64 // the share of it in which a host at either end did not run
	// late is told by markLate, and explained if something is known that made it so.
	late, explained bool
}

// delayedFlows returns what flows took.
func (s *Store) delayedFlows() *delayedFlows {
	out := &delayedFlows{still: mostStill}
	var still []float64 // in recent windows
	o := s.observer()
	o.many = true
	for _, l := range s.order {
		if l.method != "" || l.size != 0 || len(l.echoes) == 0 {
			continue // what hosts answer by other means, or to larger probes, takes longer
		}
		for _, x := range o.delayedOn(l, s.strained.pauses.of(l)) {
			for _, w := range x.windows {
				if w.isNew && x.isNow {
					still = append(still, w.still)
				}
			}
			out.list = append(out.list, x)
		}
	}
	// Where all hosts stand still, flows are held against others that suffer alike.
	if slices.Sort(still); len(still) > 0 {
		out.still = max(out.still, still[len(still)/2])
	}
	return out
}

// delayedOn returns what a flow took on each of its ways.
func (o *observer) delayedOn(l *flowLog, cuts [][]*cut) (list []delayedFlow) {
	last := &l.echoes[len(l.echoes)-1]
	var ways []*echo
	for i := range l.echoes {
		e := &l.echoes[i]
		if e.rtt == nil || e.sent == e.lost {
			continue
		}
		k := slices.IndexFunc(ways, e.sameWays)
		if k < 0 {
			x := o.delayed(l, e)
			x.isNow = e.sameWays(last)
			k, ways, list = len(ways), append(ways, e), append(list, x)
		}
		list[k].windows = append(list[k].windows, delayedWindow{echo: e, isNew: e.end.After(last.end.Add(-lately)), still: stoodStill(e, cuts).Seconds() / e.length().Seconds()})
	}
	return slices.DeleteFunc(list, func(x delayedFlow) bool {
		return len(x.obs.Path)+len(x.obs.There.Alternatives)+len(x.obs.Back.Alternatives) == 0
	})
}

// views returns what flows take now, the plainest view first.
func (d *delayedFlows) views() []view {
	views := []view{{}, {own: true}, {tail: true}, {tail: true, own: true}}
	for i := range views {
		for j := range d.list {
			if d.list[j].isNow {
				views[i].add(&d.list[j], d.still)
			}
		}
	}
	return views
}

// add takes in what a flow took, where enough was measured; its tail from windows in which hosts stood still for no more than some share of them.
func (v *view) add(x *delayedFlow, mostStill float64) {
	var recent, past []*echo
	for _, w := range x.windows {
		switch {
		case v.tail && w.still > mostStill:
		case w.isNew:
			recent = append(recent, w.echo)
		default:
			past = append(past, w.echo)
		}
	}
	o := x.obs
	var enough bool
	if o.Delay, enough = typical(recent, v.tail); !enough {
		return
	}
	if v.own {
		if o.Own, enough = typical(past, v.tail); !enough || o.Own <= 0 {
			return
		}
	}
	v.obs, v.of = append(v.obs, o), append(v.of, x)
}

// delayed tells where a flow went there and back; nothing of both where it may have gone anywhere on one of them.
func (o *observer) delayed(l *flowLog, e *echo) delayedFlow {
	x := delayedFlow{obs: delay.Observation{Src: l.src, Dst: l.dst}, dscp: l.flow.DSCP}
	there, open, ok := o.delayedBy(l, e.path, l.there())
	home, openBack, okBack := o.delayedBy(l, e.back, l.home())
	if !ok || !okBack {
		return x
	}
	x.obs.Path, x.obs.There, x.obs.Back = slices.Concat(there, home), open, openBack
	if open.Certain() && openBack.Certain() {
		x.path = x.obs.Path
	}
	return x
}

// delayedBy returns what is certain of the way of a flow's packets and what is not, as it is known or as the forwarding model has it; ok is false where that is nothing.
func (o *observer) delayedBy(l *flowLog, known way, t trip) (arcs []graphs.ArcID, open delay.Ways, ok bool) {
	if !known.known() {
		if x, ok := o.spread(t); ok {
			return x.ends, delay.Ways{From: x.from, To: x.to}, true
		}
	}
	set := o.wayOf(l, known, t)
	if len(set) == 1 {
		return set[0].Arcs, open, true
	}
	for _, x := range set {
		open.Alternatives = append(open.Alternatives, delay.Alternative(x))
	}
	return nil, open, len(set) > 0
}

// typical returns what a flow's probes took: their median, or that of the slowest tenth of them, and whether there was enough of it. Windows count by how long
// they are: more probes are sent where packets are lost, and a machine that is busy then is so for all flows.
func typical(windows []*echo, tail bool) (delay.Microseconds, bool) {
	took, least := func(e *echo) float64 { return e.rtt.P50 }, leastAnswers
	if tail {
		took, least = func(e *echo) float64 { return e.rtt.P90 }, leastTail
	}
	slices.SortStableFunc(windows, func(a, b *echo) int { return cmp.Compare(took(a), took(b)) })
	n, whole := 0, time.Duration(0)
	for _, e := range windows {
		n, whole = n+e.sent-e.lost, whole+e.length()
	}
	var sum time.Duration
	for _, e := range windows {
		if sum += e.length(); 2*sum >= whole {
			return delay.Microseconds(took(e)), n >= least && whole >= leastSpan
		}
	}
	return 0, false
}

// length returns how long it was measured. Who does not say is taken to have done so for long enough.
func (e *echo) length() time.Duration {
	if e.end.After(e.start) {
		return e.end.Sub(e.start)
	}
	return leastSpan
}

// tellQueue is why to look at the port of an arc that adds delay.
const tellQueue = "tell a queue from a detour or a slow port"

func (s *Store) delayName(c delay.Cause) string { return s.name(lossCause(c)) }

// lossCause is the same part of the fabric as a cause of loss.
func lossCause(c delay.Cause) localize.Cause {
	return localize.Cause{Kind: localize.Kind(c.Kind), ID: c.ID}
}

// slowSuspect puts a suspect into words. Where flows were held against their own past, what they took is a difference.
func (s *Store) slowSuspect(x *delay.Suspect, v view) Suspect {
	out := DelaySuspect(x, s.delayName, s.instrument())
	probes, slower := "their probes", ""
	if v.tail {
		probes, slower = "the slowest tenth of their probes", "slower now and then than 95 in 100 flows of their length"
	}
	if v.own {
		slower = "slower than they were, as only 5 in 100 flows should be"
	}
	switch {
	case slower == "":
	case x.Flows == 0:
		out.For = unsureFlows(x, "are "+slower)
	case v.own:
		out.For = fmt.Sprintf("%d of %d flows that cross it are %s (%s take %s more, all flows' %s more)",
			x.Late, x.Flows, slower, probes, Micros(float64(x.Took)), Micros(float64(x.Expected)))
	default:
		out.For = fmt.Sprintf("%d of %d flows that cross it are %s (%s take %s, expected %s)",
			x.Late, x.Flows, slower, probes, Micros(float64(x.Took)), Micros(float64(x.Expected)))
	}
	out.Evidence[0].Text = out.For
	switch x.Kind {
	case delay.Arc:
		a := graphs.ArcID(x.ID)
		out.Link = s.fabric.LinkName(a.Link())
		out.Next = append(out.Next, Step{Why: tellQueue,
			Do: fmt.Sprintf("read the queue, the output rate and the speed of %s", s.fabric.PortName(s.fabric.TailPort(a)))})
	case delay.Link:
		out.Link = out.ID
		out.Next = append(out.Next, Step{Why: "both directions are slow: rather a detour or a transceiver than a queue", Do: fmt.Sprintf("read the speed, the FEC and the optical path of both ends of %s", out.ID)})
	case delay.Group:
		out.Next = append(out.Next, Step{Why: "all its links are slow: what they share is", Do: "inspect " + out.ID + ", and whether it takes a longer way"})
	case delay.Host:
		out.Next = append(out.Next, Step{Why: "tell its network card and CPU from its link", On: out.ID, Do: "ethtool -S, and the load of its CPUs"})
	case delay.Node:
		out.Next = append(out.Next, Step{Why: "the whole switch is slow", Do: fmt.Sprintf("look at the CPU, the buffers and the forwarding tables of %s", out.ID)})
	}
	if slices.ContainsFunc(x.Class, func(c delay.Cause) bool { return !s.atHost(c, x.Cause) }) {
		out.Next = append([]Step{{Why: fmt.Sprintf("tell the %d apart: flows of more hosts that cross only one of them do; then localize with %s, too", len(out.Class), runFiles), Do: s.probeFor(30)}}, out.Next...)
	}
	return out
}

// atHost reports whether a cause is another, or that is a host and it is on its link: every flow of the host crosses it, too.
func (s *Store) atHost(c, other delay.Cause) bool {
	if c == other {
		return true
	}
	if c.Kind != delay.Arc || other.Kind != delay.Host {
		return false
	}
	a, h := graphs.ArcID(c.ID), graphs.NodeID(other.ID)
	return len(s.fabric.Out(h)) == 1 && (s.fabric.Tail(a) == h || s.fabric.Head(a) == h)
}

// addSlow adds what is slow to a diagnosis.
func (s *Store) addSlow(d *Diagnosis) {
	for _, x := range s.slow().suspects {
		if !slices.ContainsFunc(d.Suspects, func(y Suspect) bool { return y.reroutes(&x) }) {
			d.Suspects = append(d.Suspects, x)
		}
	}
}

// reroutes reports whether a suspect is a link that is named for going down, and slow is that link or a node at its end: flows that have to go around it take longer there.
func (x *Suspect) reroutes(slow *Suspect) bool {
	return x.goesDown() && (x.Link == slow.Link || strings.HasPrefix(x.Link, slow.ID+":") || strings.Contains(x.Link, "--"+slow.ID+":"))
}
