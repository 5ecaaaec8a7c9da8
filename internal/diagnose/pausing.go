package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// A pause frame (IEEE 802.3 annex 31B, 802.1Qbb) tells who gets it to stop sending, as who sends it cannot take more. A switch that is stopped fills up and stops who sends to it,
// so pauses spread against the traffic, from one slow receiver to hosts that have nothing to do with it. Few of them are how lossless networks work.

const (
	// longestPause is for how long one frame stops a port at most, in bit times: 65535 quanta of 512, which is 336 us at 100 Gbit/s.
	longestPause = 65535 * 512
	// leastPaused is the share of the time for which a port may have been stopped that is told of a host that is late, too, and oftenPaused that which is told by itself.
	leastPaused, oftenPaused = 0.05, 0.5
	// pauseFault is how likely that is a fault if it may be all of the time, and nothing else is known. Where a switch may only pass on what ports stop it that nobody reads, or the frames are
	// less than what is taken for the longest, it is so much less.
	pauseFault, passesOn = 0.7, 0.6
	// leastSpread is the part of what one begins for which those are stopped at least to whom that spreads.
	leastSpread = 0.25
	// mostHeld is how many ports are told that are stopped.
	mostHeld = 4
	// pauseStorm is the finding of a capture that somebody was stopped without break.
	pauseStorm = "pfc-storm"
)

// A pausing is how often a port was told to stop, in the times in which that was often enough to matter.
type pausing struct {
	port        graphs.PortID // that counted it
	frames      float64
	share       float64 // of these times in which it was stopped, at most
	over        time.Duration
	from, until time.Time
	ended       bool // when the port was read last it was so no more
}

// add takes in what was counted next. Where it was often, times in which it was now and then do not count.
func (x *pausing) add(bin *pausing) {
	least := leastPaused
	if x.share >= oftenPaused {
		least = oftenPaused
	} else if bin.share >= oftenPaused {
		*x = pausing{port: x.port}
	}
	if x.ended = bin.share < least; x.ended {
		return
	}
	x.from, x.until = soonest(x.from, bin.from), bin.until
	x.share = (x.share*x.over.Seconds() + bin.share*bin.over.Seconds()) / (x.over + bin.over).Seconds()
	x.frames, x.over = x.frames+bin.frames, x.over+bin.over
}

func (x *pausing) rate() float64 { return x.frames / x.over.Seconds() }

// words says how often a port was told to stop, or told its far end to: "leaf1:swp5 got 50,000 pause frames a second in 10s, which can stop it for 100 % of the time".
func (x *pausing) words(s *Store, stopped graphs.PortID) string {
	verb, whom := "got", "it"
	if x.port != stopped {
		verb, whom = "sent", s.fabric.PortName(stopped)
	}
	return fmt.Sprintf("%s %s %s pause frames a second in %s, which can stop %s for %s of the time", s.fabric.PortName(x.port), verb, thousands(int(math.Round(x.rate()))),
		x.over.Round(time.Second), whom, Percent(x.share))
}

// pausesAt tells of the pause frames that a port counted. Agents show figures that are seconds old, so that it is not asked of less time than of loads.
func (s *Store) pausesAt(p graphs.PortID, count func(*portReading) *uint64) (x pausing, ok bool) {
	bin := pausing{port: p}
	x.port = p
	list := s.portLog(p).readings
	for i := range list {
		r := &list[i]
		n := count(r)
		speed := cmp.Or(float64(r.Speed), float64(s.fabric.Link(s.fabric.Port(p).Link).Speed))
		if n == nil || r.Reset || r.interval <= 0 || speed == 0 || !s.possible(p, r) {
			continue
		}
		if bin.over == 0 {
			bin.from = r.at.Add(-r.interval)
		}
		bin.frames, bin.until = bin.frames+float64(*n), r.at
		if bin.over += r.interval; bin.over < leastLoad {
			continue
		}
		bin.share = min(1, bin.rate()*longestPause/speed)
		x.add(&bin)
		bin = pausing{port: p}
	}
	return x, x.over > 0
}

// pauses returns the arcs whose sender was told to stop, by the pause frames that it got, or that the other end sent.
func (s *Store) pauses() map[graphs.ArcID]*pausing {
	held := map[graphs.ArcID]*pausing{}
	add := func(a graphs.ArcID, x pausing, ok bool) {
		if old := held[a]; ok && (old == nil || x.rate() > old.rate()) {
			held[a] = &x
		}
	}
	for _, p := range s.portsSaid() {
		x, ok := s.pausesAt(p, func(r *portReading) *uint64 { return pausesOf(r.In) })
		add(s.fabric.ArcFrom(p), x, ok)
		x, ok = s.pausesAt(p, func(r *portReading) *uint64 { return pausesOf(r.Out) })
		add(s.fabric.ArcInto(p), x, ok)
	}
	return held
}

func pausesOf(c *evidence.Counters) *uint64 {
	if c == nil {
		return nil
	}
	return c.Pause
}

// A pauseTree is who begins to stop others, and whom that stops: arcs whose senders it stops itself, and those that are stopped by the ones that are stopped.
type pauseTree struct {
	root          graphs.NodeID
	first, spread []graphs.ArcID
	held          map[graphs.ArcID]*pausing
}

// pauseTrees follows pauses to who begins them: a node that stops others and is not stopped itself meanwhile. Round are the ports that are stopped often and are in no tree.
func (s *Store) pauseTrees() (trees []*pauseTree, round []string) {
	held := s.pauses()
	at := map[graphs.NodeID]*pauseTree{}
	for a := range graphs.ArcID(s.fabric.NumArcs()) {
		n := s.fabric.Head(a)
		if held[a] == nil || s.stoppedBy(n, held[a], held) {
			continue
		}
		if at[n] == nil {
			at[n] = &pauseTree{root: n, held: held}
			trees = append(trees, at[n])
		}
		at[n].first = append(at[n].first, a)
	}
	in := map[graphs.ArcID]bool{}
	for _, t := range trees {
		t.grow(s)
		for _, a := range append(slices.Clone(t.first), t.spread...) {
			in[a] = true
		}
	}
	for a := range graphs.ArcID(s.fabric.NumArcs()) {
		if held[a] != nil && !in[a] && held[a].share >= oftenPaused {
			round = append(round, s.fabric.PortName(s.fabric.TailPort(a)))
		}
	}
	return trees, round
}

// stoppedBy reports whether a node is itself told to stop while it stops others.
func (s *Store) stoppedBy(n graphs.NodeID, x *pausing, held map[graphs.ArcID]*pausing) bool {
	return slices.ContainsFunc(s.fabric.Out(n), func(b graphs.ArcID) bool {
		return held[b] != nil && held[b].mayCause(x)
	})
}

// mayCause reports whether a port that is told to stop may be why its switch stops others: it is so at the same time, and not for much less of it.
func (x *pausing) mayCause(y *pausing) bool {
	return x.from.Before(y.until) && y.from.Before(x.until) && 2*x.share >= y.share
}

// grow finds whom the pauses of a tree spread to.
func (t *pauseTree) grow(s *Store) {
	slices.SortStableFunc(t.first, func(a, b graphs.ArcID) int { return -cmp.Compare(t.held[a].rate(), t.held[b].rate()) })
	least := leastSpread * t.held[t.first[0]].share // else it is what lossless networks do
	seen := map[graphs.NodeID]bool{t.root: true}
	for todo := slices.Clone(t.first); len(todo) > 0; todo = todo[1:] {
		n, cause := s.fabric.Tail(todo[0]), t.held[todo[0]]
		if seen[n] {
			continue
		}
		seen[n] = true
		for _, b := range s.fabric.Out(n) {
			if in := b.Reverse(); t.held[in] != nil && !seen[s.fabric.Tail(in)] && cause.mayCause(t.held[in]) && t.held[in].share >= least {
				t.spread = append(t.spread, in)
				todo = append(todo, in)
			}
		}
	}
}

// addPauses adds who begins to stop others by pause frames. What is late at it, or at whom it stops, is told with it. Where one of its own queues is full, that is the cause, and
// pauses are told as what follows. It returns notes on what was so and is over.
func (s *Store) addPauses(d *Diagnosis) (notes []string) {
	trees, round := s.pauseTrees()
	if len(round) > 0 {
		notes = append(notes, "pause frames go round, so that nobody begins them, as in a deadlock: "+firstOf(round, mostHeld)+" are told to stop")
	}
	for _, t := range trees {
		x, here := s.pauseSuspect(t), t.here(s)
		often := t.held[t.first[0]].share >= oftenPaused
		late := slices.ContainsFunc(d.Suspects, func(y Suspect) bool { return y.Probability >= Named && x.suffers(&y, here) })
		full := s.fullQueue(d, t.root)
		switch {
		case !often && !(late && x.Kind == "host"): // lossless networks do that
		case full >= 0 && x.Until == nil:
			y := d.Suspects[full]
			d.Suspects = slices.Delete(d.Suspects, full, full+1)
			y.For += "; for that " + x.For
			y.Evidence = append(y.Evidence, x.Evidence...)
			s.absorbHeld(d, &y, t)
			d.Suspects = append(d.Suspects, y)
		case !late && x.Until != nil:
			notes = append(notes, fmt.Sprintf("pause frames of %s, which are over: %s", x.ID, x.For))
		default:
			s.absorbPaused(d, &x, t)
			if often {
				s.absorbHeld(d, &x, t)
			}
			d.Suspects = append(d.Suspects, x)
		}
	}
	return append(notes, s.addPauseStorms(d, trees)...)
}

// pauseSuspect puts who begins pauses into words.
func (s *Store) pauseSuspect(t *pauseTree) Suspect {
	f, worst := s.fabric, t.held[t.first[0]]
	name := f.NodeName(t.root)
	x := Suspect{Kind: "node", ID: name, Symptom: Pause, Probability: pauseFault * worst.share, Class: []string{name}, dial: s.dial(),
		Against: "how long a frame stops a port is not counted: each is taken to do so for as long as one can"}
	port, stopped := f.PortName(f.HeadPort(t.first[0])), f.PortName(f.TailPort(t.first[0]))
	x.For = worst.words(s, f.TailPort(t.first[0]))
	if worst.ended {
		until := worst.until.UTC()
		x.Until = &until
		x.For += fmt.Sprintf(", from %s to %s", x.dial.clock(worst.from), x.dial.clock(until))
	}
	x.For += fmt.Sprintf("; %s begins it: nothing stops %s meanwhile", port, name)
	if n := len(t.first); n > 1 {
		x.For += fmt.Sprintf("; it stops %d ports", n)
	}
	x.Evidence = []Evidence{{string(evidence.SourceSNMP), x.For}}
	if len(t.spread) > 0 {
		var ports []string
		for _, a := range t.spread {
			ports = append(ports, f.PortName(f.TailPort(a)))
		}
		x.Evidence = append(x.Evidence, Evidence{string(evidence.SourceSNMP), "whom that stops stop others in turn: " + firstOf(ports, mostHeld)})
	}
	if f.Node(t.root).IsHost() {
		x.Kind = "host"
		_, nic, _ := strings.Cut(port, ":")
		x.Next = []Step{{Why: "a slow receiver: see what it waits for", On: name, Do: fmt.Sprintf("ethtool -S %s, the PCIe link of its network card, and the load of its CPUs", nic)},
			{Why: "keep it from stopping others meanwhile", Do: "see that the PFC watchdog of " + stopped + " is on, or take the host out of service"}}
		return x
	}
	if !s.readsPauses(t.root) {
		x.Probability *= passesOn
		x.Against = "what stops it itself is not counted at all of its ports: it may pass on what begins elsewhere; " + x.Against
	}
	x.Next = []Step{{Why: "see which of its queues is full", Do: fmt.Sprintf("read the queues, the discards and the pause frames of all ports of %s", name)}}
	return x
}

// readsPauses reports whether it is known of all ports of a switch that lead on whether they are told to stop.
func (s *Store) readsPauses(n graphs.NodeID) bool {
	return !slices.ContainsFunc(s.fabric.Out(n), func(a graphs.ArcID) bool {
		reads := func(p graphs.PortID, of func(*portReading) *evidence.Counters) bool {
			return slices.ContainsFunc(s.portLog(p).readings, func(r portReading) bool { return pausesOf(of(&r)) != nil })
		}
		return !reads(s.fabric.TailPort(a), func(r *portReading) *evidence.Counters { return r.In }) &&
			!reads(s.fabric.HeadPort(a), func(r *portReading) *evidence.Counters { return r.Out })
	})
}

// fullQueue finds the suspect that is a full queue of a switch.
func (s *Store) fullQueue(d *Diagnosis, n graphs.NodeID) int {
	return slices.IndexFunc(d.Suspects, func(x Suspect) bool {
		a, ok := s.fabric.ArcByName(x.ID)
		return ok && s.fabric.Tail(a) == n && !s.fabric.Node(n).IsHost() && (x.Symptom == Hot || x.Symptom == Slow) && x.Probability >= Named && x.Until == nil
	})
}

// here are the names of who begins a tree and of the arcs that it stops itself.
func (t *pauseTree) here(s *Store) []string {
	names := []string{s.fabric.NodeName(t.root)}
	for _, a := range t.first {
		names = append(names, s.fabric.ArcName(a))
	}
	return names
}

// suffers reports whether another suspect is what is late because something is told to stop that has some names.
func (x *Suspect) suffers(y *Suspect, names []string) bool {
	return y.Symptom == Slow && (x.Until == nil) == (y.Until == nil) && slices.ContainsFunc(y.Class, func(id string) bool { return slices.Contains(names, id) })
}

// absorbPaused takes out of the suspects what is late because who begins pauses takes too little.
func (s *Store) absorbPaused(d *Diagnosis, out *Suspect, t *pauseTree) {
	here := t.here(s)
	d.Suspects = slices.DeleteFunc(d.Suspects, func(x Suspect) bool {
		if !out.suffers(&x, here) {
			return false
		}
		out.Delay, out.DelayLow, out.DelayHigh = x.Delay, x.DelayLow, x.DelayHigh
		out.Loss, out.LossLow, out.LossHigh = x.Loss, x.LossLow, x.LossHigh
		out.Episodes, out.Duty = x.Episodes, x.Duty
		out.Probability = max(out.Probability, x.Probability)
		out.For += "; " + x.For
		out.Evidence = append(out.Evidence, x.Evidence...)
		return true
	})
	if n := s.onTime(t.first[0]); out.Delay == nil && n >= leastOnTime {
		out.Probability *= noDelay / (noDelay*out.Probability + 1 - out.Probability)
		out.Against = fmt.Sprintf("none of %d flows that cross %s is late; ", n, here[1]) + out.Against
	}
}

// absorbHeld takes out of the suspects what is late because it is told to stop, or because what is sent to it is: of hosts behind switches that stop others only what is less late
// than what begins it.
func (s *Store) absorbHeld(d *Diagnosis, out *Suspect, t *pauseTree) {
	names, hosts := t.here(s), map[string]bool{}
	for _, a := range append(slices.Clone(t.first), t.spread...) {
		n := s.fabric.Head(a)
		names = append(names, s.fabric.ArcName(a), s.fabric.NodeName(n))
		for _, b := range s.fabric.Out(n) {
			if h := s.fabric.Head(b); s.fabric.Node(h).IsHost() {
				hosts[s.fabric.NodeName(h)] = true
			}
		}
	}
	d.Suspects = slices.DeleteFunc(d.Suspects, func(x Suspect) bool {
		less := hosts[x.ID] && out.Delay != nil && x.Delay != nil && *x.Delay < *out.Delay
		if !less && !slices.Contains(names, x.ID) || !out.suffers(&x, []string{x.ID}) {
			return false
		}
		out.Evidence = append(out.Evidence, Evidence{s.instrument(), fmt.Sprintf("a victim: %s %s", x.ID, x.delays())})
		return true
	})
}

// addPauseStorm keeps what a capture proves of who sends pause frames without break, and reports whether the fabric has it.
func (s *Store) addPauseStorm(r *evidence.Record) bool {
	if r.Finding != pauseStorm {
		return false
	}
	who, _, _ := strings.Cut(r.Subject, " ")
	at, _ := s.placeOf(who)
	n := at.node
	if at.port != graphs.None {
		n = s.fabric.Port(at.port).Node
	}
	if address, err := netip.ParseAddr(r.Address); n == graphs.None && err == nil {
		if owner, ok := s.fabric.Owner(address); ok {
			n = owner.Node
		}
	}
	if n == graphs.None {
		return false
	}
	text := graphs.Clean(r.By + ": " + r.Subject + ": " + r.Text)
	if i, known := slices.BinarySearch(s.pauseStorms[n], text); !known && len(s.pauseStorms[n]) < maxWords {
		s.pauseStorms[n] = slices.Insert(s.pauseStorms[n], i, text)
	}
	return true
}

// addPauseStorms adds what captures prove of pause frames, to what ports count or beside it. It returns notes on those who only pass on what others begin.
func (s *Store) addPauseStorms(d *Diagnosis, trees []*pauseTree) (notes []string) {
	for _, n := range slices.Sorted(maps.Keys(s.pauseStorms)) {
		name, says := s.fabric.NodeName(n), strings.Join(s.pauseStorms[n], "; ")
		proof := Evidence{string(evidence.SourcePcap), says}
		i := slices.IndexFunc(d.Suspects, func(x Suspect) bool { return x.ID == name && x.Symptom == Pause })
		switch {
		case i >= 0:
			x := &d.Suspects[i]
			x.For, x.Evidence = x.For+"; pcap: "+says, append(x.Evidence, proof)
			x.Probability = min(surest, 1-(1-x.Probability)*(1-pauseFault))
		case slices.ContainsFunc(trees, func(t *pauseTree) bool { return t.passes(s, n) }):
			notes = append(notes, fmt.Sprintf("%s passes on pauses that begin elsewhere: %s", name, says))
		default:
			x := Suspect{Kind: "host", ID: name, Symptom: Pause, Probability: pauseFault, Class: []string{name}, For: says, Evidence: []Evidence{proof},
				Against: "no port that was read counts its pause frames", Next: []Step{{Why: "see whether it begins them", Do: fmt.Sprintf("read the pause frames of the ports of %s and of whom it is linked to", name)}}}
			if !s.fabric.Node(n).IsHost() {
				x.Kind, x.Probability = "node", pauseFault*passesOn
			}
			d.Suspects = append(d.Suspects, x)
		}
	}
	return notes
}

// passes reports whether a node passes on the pauses of a tree.
func (t *pauseTree) passes(s *Store, n graphs.NodeID) bool {
	return slices.ContainsFunc(t.spread, func(a graphs.ArcID) bool { return s.fabric.Head(a) == n })
}
