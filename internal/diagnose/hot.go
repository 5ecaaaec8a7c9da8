package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/heat"
)

const (
	// oldLoad is how old a reading may be that says what a port carries.
	oldLoad = 10 * time.Minute
	// loadSpan is over how long a load is measured, and leastLoad over how long at least: agents show figures that are up to seven seconds old.
	loadSpan, leastLoad = 30 * time.Second, 8 * time.Second
	// staleLoad is for how long probes go on after a reading that is told to be old.
	staleLoad = time.Minute
	// warm is how full an arc must be for loads to be looked at.
	warm = 0.4
	// misscaled is by how much a measured matrix is greater or less than the loads for that to be told: it may be sampled, or lack much.
	misscaled = 1.25
	// mostHot is how many hot arcs are listed.
	mostHot = 10
	// noDrop is how likely a port that counts discards shows none though its queue is full at times: buffers take peaks in, and some agents leave out what queues
	// drop. noDelay is the same of probes, of which the slowest tenth is on time: a queue may be there more seldom than that. At least so many flows are to tell.
	noDrop, noDelay = 0.4, 0.7
	leastOnTime     = 3
)

// A heated is what the loads told when they were last looked at.
type heated struct {
	newest time.Time
	read   int
	result *heat.Result
	past   []pastHeat
}

// loads returns what each arc carries by the newest readings of its ports.
func (s *Store) loads(least time.Duration) (load, speed []float64, newest time.Time, read int) {
	return s.loadsBy(least, loadSpan, func(list []portReading) []portReading {
		if s.ports.read.Sub(list[len(list)-1].at) > oldLoad {
			return nil
		}
		return list
	})
}

// loadsBy returns what each arc carries by the last of some readings of its ports, in bit/s, and the speed of each link; NaN where that is not known. The sender's
// own word counts more than the receiver's. What was measured for less than the least time is left out.
func (s *Store) loadsBy(least, span time.Duration, some func([]portReading) []portReading) (load, speed []float64, newest time.Time, read int) {
	load, speed = make([]float64, s.fabric.NumArcs()), make([]float64, s.fabric.NumLinks())
	for a := range load {
		load[a] = math.NaN()
	}
	for l := range speed {
		speed[l] = float64(s.fabric.Link(graphs.LinkID(l)).Speed)
	}
	for _, p := range s.portsSaid() {
		list := s.ports.logs[p].readings
		if len(list) > 0 {
			list = some(list)
		}
		if len(list) == 0 {
			continue
		}
		r := &list[len(list)-1]
		if r.Reset || r.interval <= 0 {
			continue
		}
		carried := carriedBy(list, span)
		if carried.over < least {
			continue
		}
		read++
		newest = later(r.at, newest)
		out, in := s.fabric.ArcFrom(p), s.fabric.ArcInto(p)
		if r.Speed > 0 {
			speed[out.Link()] = float64(r.Speed)
		}
		if carried.out >= 0 {
			load[out] = carried.out
		}
		if carried.in >= 0 && math.IsNaN(load[in]) {
			load[in] = carried.in
		}
	}
	for a := range load {
		if most := speed[graphs.ArcID(a).Link()]; most == 0 || load[a] > 1.1*most {
			load[a] = math.NaN() // how full it is cannot be told, or more than fits was counted
		}
	}
	return load, speed, newest, read
}

// heat finds hot arcs by what ports count. It is asked again only when something new was read.
func (s *Store) heat() *heat.Result {
	if s.model == nil || len(s.ports.logs) == 0 {
		return nil
	}
	load, speed, newest, read := s.loads(leastLoad)
	if s.heated.result != nil && s.heated.newest.Equal(newest) && s.heated.read == read {
		return s.heated.result
	}
	s.heated = heated{newest: newest, read: read, result: &heat.Result{}, past: s.wasHot(load)}
	hottest := 0.0
	for a, x := range load {
		if !math.IsNaN(x) {
			hottest = max(hottest, x/speed[graphs.ArcID(a).Link()])
		}
	}
	if hottest < warm {
		return s.heated.result
	}
	s.heated.result = s.explainHeat(load, speed, s.readsDown)
	return s.heated.result
}

// explainHeat says which arcs are hot of what they carry, and why, where some links are down.
func (s *Store) explainHeat(load, speed []float64, down func(graphs.LinkID) bool) *heat.Result {
	in := heat.Input{Model: s.model, Load: load, Speed: speed, Matrix: s.cfg.Traffic}
	for l := range graphs.LinkID(s.fabric.NumLinks()) {
		if down(l) {
			in.Down = append(in.Down, l)
		}
	}
	if len(in.Down) > 0 {
		in.Planned = s.model
		in.Model = s.modelWithout(in.Down, graphs.None)
		in.With = func(l graphs.LinkID) pathfind.Model { return s.modelWithout(in.Down, l) }
	}
	return heat.Solve(in)
}

// modelWithout is the forwarding model while links are down, but for one.
func (s *Store) modelWithout(down []graphs.LinkID, but graphs.LinkID) pathfind.Model {
	gone := make([]bool, s.fabric.NumLinks())
	for _, l := range down {
		gone[l] = l != but
	}
	off := func(l graphs.LinkID) bool { return gone[l] }
	if spec, err := pathfind.SpecOf(s.fabric); err == nil {
		if m, err := pathfind.New(s.fabric, spec, pathfind.Options{Down: off}); err == nil {
			return m
		}
	}
	return pathfind.NewECMPWithout(s.fabric, off)
}

// addHot adds hot arcs to a diagnosis, and returns notes on the load as a whole. What probes suffer in the queue of a hot arc is told with it.
func (s *Store) addHot(d *Diagnosis, c *counted) (notes []string) {
	r := s.heat()
	if r == nil {
		return nil
	}
	listed, alike := 0, false
	for i := range r.Hot {
		h := &r.Hot[i]
		if h.Verdict == heat.EverythingHigh || listed == mostHot || h.Verdict == heat.Polarisation && alike {
			continue
		}
		listed++
		alike = alike || h.Verdict == heat.Polarisation
		hot := s.hotSuspect(h, r)
		dropped := c.out[s.fabric.TailPort(h.Arc)]
		if hot.Kind == "arc" {
			s.absorb(d, &hot, dropped)
		}
		hot.doubtPeaks(dropped, s.onTime(h.Arc))
		s.doubtOld(&hot, h.Arc)
		d.Suspects = append(d.Suspects, hot)
	}
	s.addPastHeat(d)
	if r.High {
		note := fmt.Sprintf("load is high everywhere: half of the measured links between switches are more than %.0f %% full", 100*r.Median)
		if listed == 0 {
			note += ", and none is the culprit"
		}
		notes = append(notes, note)
	}
	return notes
}

// absorb takes out of the suspects what is the effect of a hot arc's queue: the delay of the arc, and its loss if the port counts what the queue
// drops, also where what crosses it cannot tell it from others, as the way to a host from the host. What arrives broken, or is lost without being counted, is not the queue's.
func (s *Store) absorb(d *Diagnosis, hot *Suspect, t *tally) {
	drops := t != nil && t.discards > 0
	d.Suspects = slices.DeleteFunc(d.Suspects, func(x Suspect) bool {
		switch {
		case !slices.Contains(x.Class, hot.ID), hot.Until != nil && x.Until == nil:
			return false
		case x.Symptom == Loss && drops:
			hot.Loss, hot.LossLow, hot.LossHigh = x.Loss, x.LossLow, x.LossHigh
		case x.Symptom == Slow:
			hot.Delay, hot.DelayLow, hot.DelayHigh = x.Delay, x.DelayLow, x.DelayHigh
		default:
			return false
		}
		hot.Probability = max(hot.Probability, x.Probability)
		hot.For += "; " + x.For
		hot.Evidence = append(hot.Evidence, x.Evidence...)
		return true
	})
	if drops && hot.Loss == nil {
		words := fmt.Sprintf("%s packets discarded on the way out at %s%s", thousands(int(t.discards)), strings.SplitN(hot.ID, ">", 2)[0], t.of(t.discards))
		hot.For += "; " + words
		hot.Evidence = append(hot.Evidence, Evidence{"snmp", words})
	}
}

// onTime is how many flows cross an arc none of which is late.
func (s *Store) onTime(a graphs.ArcID) int {
	slow, name := s.slow(), s.fabric.ArcName(a)
	if slices.ContainsFunc(slow.suspects, func(x Suspect) bool { return slices.Contains(x.Class, name) }) {
		return 0
	}
	return slow.crossed[a]
}

// doubtPeaks tells what the probability of a hot arc rests on: on what its port dropped, if that is counted and there is any, or its probes suffer; else on what is
// taken for granted of peaks, held against a port that drops nothing and probes that are on time.
func (x *Suspect) doubtPeaks(t *tally, onTime int) {
	if t != nil && t.discards > 0 {
		x.Probability = surest
		return
	}
	odds := 1.0
	var doubts []string
	if t != nil && t.hasDiscards && t.span >= leastLoad {
		odds *= noDrop
		doubts = append(doubts, fmt.Sprintf("its port discarded nothing in %s: it may queue, and drops nothing", t.span.Round(time.Second)))
	}
	if onTime >= leastOnTime && x.Delay == nil {
		odds *= noDelay
		verb := "is"
		if x.Until != nil {
			verb = "was"
		}
		doubts = append(doubts, fmt.Sprintf("none of %d flows that cross it %s late", onTime, verb))
	}
	if x.Loss == nil && x.Delay == nil {
		x.Probability *= odds / (odds*x.Probability + 1 - x.Probability)
	}
	if len(doubts) > 0 {
		x.Against = strings.Join(doubts, "; ") + "; " + x.Against
	}
	doubts = append(doubts, "how far its peaks exceed its mean load is not measured: the probability takes traffic to vary by 10 to 60 % within a second")
	x.Doubts = append(x.Doubts, Evidence{"snmp", strings.Join(doubts, "; ")})
}

// doubtOld says of what time the load of an arc is known, if probes go on long after it was read.
func (s *Store) doubtOld(x *Suspect, a graphs.ArcID) {
	var read time.Time
	for _, p := range []graphs.PortID{s.fabric.HeadPort(a), s.fabric.TailPort(a)} { // of which the latter counts more
		if list := s.portLog(p).readings; len(list) > 0 {
			read = list[len(list)-1].at
		}
	}
	age := s.mostProbed().Sub(read)
	if age < staleLoad {
		return
	}
	text := fmt.Sprintf("its load was read last at %s, %s before probes ended: it may have changed since", s.dial().clock(read), age.Round(time.Second))
	x.Against = text + "; " + x.Against
	x.Doubts = append(x.Doubts, Evidence{"snmp", text})
}

// mostProbed is until when half of the probers measured, whatever the clock of one of them says.
func (s *Store) mostProbed() time.Time {
	var newest []time.Time
	for k, src := range s.sources {
		if k.source == string(evidence.SourceProbe) {
			newest = append(newest, src.Newest)
		}
	}
	if newest == nil {
		return time.Time{}
	}
	slices.SortFunc(newest, time.Time.Compare)
	return newest[len(newest)/2]
}

// hotSuspect puts a hot arc into words. Switches that hash alike are named themselves.
func (s *Store) hotSuspect(h *heat.Hot, r *heat.Result) Suspect {
	name := s.fabric.ArcName(h.Arc)
	out := Suspect{Kind: "arc", ID: name, Link: s.fabric.LinkName(h.Arc.Link()), Symptom: Hot, Probability: min(h.Probability, surest), Class: []string{name}}
	why, slow := string(h.Verdict), s.lostSpeed(h)
	switch {
	case slow != "":
		why = string(heat.LostCapacity)
	case h.Incast:
		why += ", incast"
	case h.Verdict == heat.SinglePath && h.Raised:
		why += " or " + string(heat.Collision)
	}
	full := func(load float64) string { return fmt.Sprintf("%.0f %%", 100*load/h.Speed) }
	out.For = fmt.Sprintf("%s: it is %s full; the traffic matrix puts %s there, as much traffic spread evenly %s", why, full(h.Load), full(h.Expected), full(h.Even)) + slow
	if h.Lacks {
		out.For += "; what crosses it has no other path, so the matrix lacks some of it"
	}
	out.Against = matrixWords(r)
	out.Evidence = []Evidence{{"snmp", out.For}}
	if h.Verdict == heat.Collision && h.Unexplained < Named {
		out.Doubts = append(out.Doubts, Evidence{"snmp", "many arcs carry as much more or less than the matrix expects: it may be the matrix that is wrong"})
	}
	if pairs := s.pairWords(h.Pairs); pairs != "" {
		out.Evidence = append(out.Evidence, Evidence{"snmp", pairs})
	}
	switch h.Verdict {
	case heat.Polarisation:
		out.Kind, out.Link, out.Class = "node", "", nil
		for _, n := range h.Alike {
			out.Class = append(out.Class, s.fabric.NodeName(n))
		}
		out.ID = out.Class[0]
		out.For = fmt.Sprintf("%s: %d switches pass traffic on by some of their equal paths and not by others, the same way over and over; the fullest arc is %s, %s full", why, len(h.Alike), name, full(h.Load))
		out.Next = []Step{{Why: "let switches hash differently", Do: "give each switch a hash seed of its own"}}
	case heat.LostCapacity:
		var down []string
		for _, l := range h.Causes {
			down = append(down, s.fabric.LinkName(l))
		}
		cause := "links that are down"
		if down != nil {
			cause = strings.Join(down[:min(len(down), 4)], ", ")
		}
		out.For += fmt.Sprintf("; with all links up it would be %s: capacity was lost with %s", full(h.Planned), cause)
		out.Next = []Step{{Why: "mend the cause, not the effect", Do: "bring back " + cause}}
	default:
		out.Next = []Step{s.seeSenders(h)}
	}
	if slow != "" {
		out.Next = []Step{{Why: "mend the cause, not the effect", Do: "bring back the speed of " + out.Link}}
	}
	return out
}

// matrixWords says what the matrix is that loads were held against.
func matrixWords(r *heat.Result) string {
	if r.Estimated {
		return "the traffic matrix is estimated from the loads themselves, which tell flows that collide from demand only where pairs have several paths"
	}
	if r.Scaled < 1/misscaled || r.Scaled > misscaled {
		return fmt.Sprintf("the traffic matrix is measured, and was multiplied by %.2g to be as great as the loads are", r.Scaled)
	}
	return "the traffic matrix is measured"
}

// seeSenders is the step that follows from a verdict on what is sent over an arc. Nothing is to be built for demand that is only guessed: a few large flows look the same.
func (s *Store) seeSenders(h *heat.Hot) Step {
	sample := "capture or sample (sFlow) at " + s.fabric.PortName(s.fabric.TailPort(h.Arc))
	switch {
	case h.Verdict == heat.Collision:
		return Step{Why: "name the flows", Do: sample + ", and look for the few that are large"}
	case h.Verdict == heat.SinglePath && h.Raised:
		return Step{Why: "tell demand that has no other path from a few large flows that have", Do: sample + ", before a link is added there"}
	case h.Verdict == heat.SinglePath:
		return Step{Why: "most of it has no other shortest path", Do: "add a link there, or forward by Shortest-Union or Spraypoint"}
	case h.Lacks:
		return Step{Why: "see who sends what the matrix lacks", Do: sample}
	}
	return Step{Why: "see who sends", Do: cmp.Or(s.pairWords(h.Pairs), "read the counters of the hosts' ports")}
}

// lostSpeed says so if a hot arc would not be warm at the speed that its link is planned to have.
func (s *Store) lostSpeed(h *heat.Hot) string {
	slow, use := s.slowerThanPlanned(h.Arc.Link()), h.Load/float64(s.fabric.Link(h.Arc.Link()).Speed)
	if slow == "" || use >= warm || h.Verdict == heat.Polarisation || h.Verdict == heat.LostCapacity {
		return ""
	}
	return fmt.Sprintf("; %s: at that it would be %.0f %% full", slow, 100*use)
}

// pairWords names the pairs that have most on an arc.
func (s *Store) pairWords(pairs []heat.Pair) string {
	var parts []string
	for i, p := range pairs {
		if i == 5 {
			break
		}
		part := fmt.Sprintf("%s to %s %.0f %%", s.fabric.NodeName(p.Src), s.fabric.NodeName(p.Dst), 100*p.Share)
		parts = append(parts, part)
	}
	if parts == nil {
		return ""
	}
	return "most of it, by the matrix: " + strings.Join(parts, ", ")
}
