package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

// name returns the fabric's name for a cause.
func (s *Store) name(c localize.Cause) string {
	switch c.Kind {
	case localize.Arc:
		return s.fabric.ArcName(graphs.ArcID(c.ID))
	case localize.Link:
		return s.fabric.LinkName(graphs.LinkID(c.ID))
	case localize.Group:
		return s.fabric.Group(graphs.GroupID(c.ID)).Name
	default:
		return s.fabric.NodeName(graphs.NodeID(c.ID))
	}
}

// linksOf returns the links on which a cause shows.
func linksOf(f *graphs.Fabric, c localize.Cause) []graphs.LinkID {
	switch c.Kind {
	case localize.Arc:
		return []graphs.LinkID{graphs.ArcID(c.ID).Link()}
	case localize.Link:
		return []graphs.LinkID{graphs.LinkID(c.ID)}
	case localize.Group:
		return f.Group(graphs.GroupID(c.ID)).Links
	}
	var links []graphs.LinkID
	for _, a := range f.Out(graphs.NodeID(c.ID)) {
		links = append(links, a.Link())
	}
	return links
}

// surest is the most that is ever claimed: beyond it the model's own faults weigh more than the evidence.
const surest = 0.99

// lossSuspect puts a suspect of the inference into words, which looked at so much time; 0 for all of it. What was lost may also be read as what was changed (corruption).
func (s *Store) lossSuspect(sus *localize.Suspect, symptom Symptom, looked time.Duration) Suspect {
	out := Suspect{Kind: string(sus.Kind), ID: s.name(sus.Cause), Symptom: symptom, Probability: min(sus.Probability, surest), dial: s.dial(), then: looked > 0}
	out.loses(sus.Loss, sus.Low, sus.High)
	for _, c := range sus.Class {
		out.Class = append(out.Class, s.name(c))
	}
	if len(out.Class) == 0 {
		out.Class = []string{out.ID}
	}
	if sus.Kind == localize.Arc || sus.Kind == localize.Link {
		out.Link = s.fabric.LinkName(linksOf(s.fabric, sus.Cause)[0])
	}
	crossing := sus.LossyFlows + sus.CleanFlows
	verb := "lose packets"
	if symptom == Corruption {
		verb = "arrive changed"
	}
	source := s.instrument()
	switch {
	case crossing > 0:
		out.For = fmt.Sprintf("%d of %d flow paths that cross it %s (%s of %s packets)", sus.LossyFlows, crossing, verb, thousands(sus.Lost), thousands(sus.Sent))
	case symptom == Corruption:
		out.For = "flows that may cross it " + verb
	default: // what flows tell that may cross it is told where all witnesses are
		out.For, source = "what ports at it count", string(evidence.SourceSNMP)
	}
	out.Against = s.against(sus)
	out.Evidence = append(out.Evidence, Evidence{source, out.For})
	if len(sus.Parts) > 0 {
		var parts []string
		for _, p := range sus.Parts {
			parts = append(parts, s.name(p.Cause)+" "+Percent(p.Loss))
		}
		out.Evidence = append(out.Evidence, Evidence{s.instrument(), out.BadInPart(parts)})
	}
	if symptom == Loss && !s.spared[sus.Cause] {
		s.tellRhythm(&out, sus, looked)
	}
	out.Next = s.next(&out, sus)
	return out
}

// loses says how much a suspect loses, with the credible interval.
func (x *Suspect) loses(loss, low, high float64) { x.Loss, x.LossLow, x.LossHigh = &loss, &low, &high }

// BadInPart says which arcs of a switch are bad and how much: where it may be another switch as well, which they are if it is this one.
func (x *Suspect) BadInPart(parts []string) string {
	text := "bad in part: " + strings.Join(parts, ", ")
	if len(x.Class) > 1 {
		text = "if it is " + x.ID + ", " + text
	}
	return text
}

// against says the strongest counter-evidence: clean flows weigh as much as the losses that they should have had.
func (s *Store) against(sus *localize.Suspect) string {
	text := "no flow crosses it clean"
	switch {
	case sus.CleanFlows+sus.LossyFlows == 0:
		text = "no flow is known to cross it"
	case sus.CleanFlows > 0:
		form := "%d flow paths cross it clean (%.1f losses were to be expected of their %s packets)"
		if sus.CleanFlows == 1 {
			form = "%d flow path crosses it clean (%.1f losses were to be expected of its %s packets)"
		}
		text = fmt.Sprintf(form, sus.CleanFlows, sus.Against.Expected, thousands(sus.Against.CleanSent))
	}
	if up := sus.Against.RunnerUp; up.Kind != "" && up != sus.Cause {
		text += Instead(string(up.Kind), s.name(up), sus.Against.Nats)
	}
	return text
}

// Instead says of a rival how much less likely it is than the suspect, by a logarithm, as it stands behind what else speaks against that.
func Instead(kind, name string, nats float64) string {
	less := "less"
	if nats < 0 {
		less, nats = "more", -nats
	}
	return fmt.Sprintf("; instead of it: %s %s, %s times %s likely", kind, name, times(nats), less)
}

// fewLinks is the share of a suspect's probability from which it is worth to look at the ends of its own link, before it is told from the others.
const fewLinks = 0.3

// tellEnds is why to read the counters at both ends of an arc.
const tellEnds = "tell transmitter, cable and receiver apart"

// next says what would confirm the suspect, split its class, or mend it.
func (s *Store) next(out *Suspect, sus *localize.Suspect) []Step {
	var steps []Step
	if step, ok := s.split(out, sus); ok {
		steps = append(steps, step)
	}
	switch {
	case sus.Kind == localize.Node && (out.Symptom == Flap || out.Symptom == Down):
		steps = append(steps, restarted(out.ID))
	case out.oneWay && s.fabric.Node(s.fabric.Head(graphs.ArcID(sus.ID))).IsHost():
		host := s.fabric.NodeName(s.fabric.Head(graphs.ArcID(sus.ID)))
		return append(steps, Step{Why: "packets of " + host + " arrive meanwhile: it stood still, or its link is dead one way", On: host, Do: "ethtool -S, nstat UdpRcvbufErrors, and what held up its CPUs"})
	case (out.Symptom == Flap || out.Symptom == Down) && out.Link != "" && !out.oneWay: // else no carrier was lost
		steps = append(steps, Step{Why: "see it in the switches' own words", Do: fmt.Sprintf("compare the carrier transitions and last change of both ends of %s", out.Link)})
	case sus.Kind == localize.Arc && onLink(sus) < fewLinks:
	case sus.Kind == localize.Arc:
		f := s.fabric
		a := graphs.ArcID(sus.ID)
		steps = append(steps, Step{
			Why: tellEnds,
			Do:  fmt.Sprintf("read the output discards of %s and the input errors of %s", f.PortName(f.TailPort(a)), f.PortName(f.HeadPort(a))),
		})
	case sus.Kind == localize.Link && onLink(sus) < fewLinks:
	case sus.Kind == localize.Link:
		steps = append(steps, Step{Why: "both directions suffer: cable, optic or line card", Do: fmt.Sprintf("read the errors and last change of both ends of %s", out.ID)})
	case sus.Kind == localize.Host:
		steps = append(steps, Step{Why: "tell the network card from the software", On: out.ID, Do: "ethtool -S, nstat UdpRcvbufErrors, and the load of its CPUs"})
	case sus.Kind == localize.Node:
		steps = append(steps, Step{Why: "the whole switch loses: its fabric chips or its memory", Do: fmt.Sprintf("drain %s and look at its drop counters by reason", out.ID)})
	case sus.Kind == localize.Group:
		steps = append(steps, Step{Why: "what they share is sick, not each link", Do: fmt.Sprintf("inspect %s", out.ID)})
	}
	if (sus.Kind == localize.Arc || sus.Kind == localize.Link) && out.Probability*onLink(sus) >= Named && !s.hasStopped(out, sus) {
		steps = append(steps, Step{Why: "stop the harm while it is mended", Do: fmt.Sprintf("drain %s, then measure again", out.Link)})
	}
	return steps
}

// restarted says how to find out why all links of a switch failed together.
func restarted(name string) Step {
	return Step{Why: "all its links failed together: a restart, its power, or its control plane", Do: "look at the uptime and the log of " + name}
}

// onLink returns which share of a suspect's probability is that of its own link, or of an arc of that. One of many links is more likely whole than not: looking at its
// ends, or draining it, would help seldom.
func onLink(sus *localize.Suspect) float64 {
	link := func(c localize.Cause) graphs.LinkID {
		switch c.Kind {
		case localize.Arc:
			return graphs.ArcID(c.ID).Link()
		case localize.Link:
			return graphs.LinkID(c.ID)
		}
		return graphs.None
	}
	on, all := 0.0, 0.0
	for i, c := range sus.Class {
		w := 1.0
		if len(sus.Weights) == len(sus.Class) {
			w = sus.Weights[i]
		}
		if all += w; link(c) == link(sus.Cause) {
			on += w
		}
	}
	if !(all > 0) {
		return 1
	}
	return on / all
}

// hasStopped reports whether a suspect has stopped, as far as can be told.
func (s *Store) hasStopped(out *Suspect, sus *localize.Suspect) bool {
	return out.Until != nil || s.stops[sus.Cause].probability >= surelyStopped
}

// split says how the members of a suspect's class are told apart, or a suspect that is not sure is confirmed.
func (s *Store) split(out *Suspect, sus *localize.Suspect) (Step, bool) {
	if s.spared[sus.Cause] {
		return Step{}, false // probes tell nothing of it
	}
	if s.hasStopped(out, sus) {
		return Step{Why: "it has probably stopped: see whether it comes back, from many hosts", Do: s.probeFor(60)}, true
	}
	why := fmt.Sprintf("tell the %d apart: send what splits them, then localize with %s, too", len(out.Class), runFiles)
	if len(out.Class) < 2 {
		if why = fmt.Sprintf("make sure: send what crosses it, then localize with %s, too", runFiles); sus.Probability > sureEnough {
			return Step{}, false
		}
	}
	if r, ok := s.splitting(sus, s.vision.blind); ok {
		return Step{Why: why, On: s.fabric.NodeName(r.Src), Do: s.command(&r)}, true
	}
	if len(out.Class) < 2 {
		return Step{}, false
	}
	if _, ok := s.splitting(sus, nil); ok {
		return Step{Why: fmt.Sprintf("tell the %d apart: flows would, if traces found their ways, and they do not", len(out.Class)), Do: trace}, true
	}
	return Step{Why: fmt.Sprintf("tell the %d apart: no flow between hosts does", len(out.Class)), Do: "compare the counters of " + firstOf(out.Class, mostCompared)}, true
}

// mostCompared is of how many members of a class the names are told where their counters have to be compared.
const mostCompared = 8

// sureEnough is the probability from which a suspect that is alone need not be confirmed.
const sureEnough = 0.95

// downSuspect puts a withdrawn link or switch into words.
func (s *Store) downSuspect(w withdrawal) Suspect {
	first := w.class[0]
	out := Suspect{Symptom: Down, Probability: min(surest, 1-1e3*w.chance)}
	for _, a := range w.class {
		name := s.absentName(a)
		out.Class = append(out.Class, name)
	}
	out.ID = out.Class[0]
	if first.node != graphs.None {
		out.Kind = string(localize.Node)
	} else {
		out.Kind, out.Link = string(localize.Link), out.ID
	}
	out.For = w.words()
	if !w.since.IsZero() {
		out.For += fmt.Sprintf("; flows left it at %s", s.dial().clock(w.since))
	}
	out.Evidence = []Evidence{{"probe", out.For}, {"probe", "capacity lost: " + s.capacityLost(first)}}
	ends := strings.ReplaceAll(s.fabric.LinkName(first.links[0]), "--", " and ")
	if n := len(out.Class); n > 1 {
		out.Next = append(out.Next, Step{Why: fmt.Sprintf("tell the %d apart: flows of hosts at other switches do; then localize with %s, too", n, runFiles), Do: s.probeFor(60)})
	}
	if words, up := s.portsUp(&w); up {
		out.idle = "carries nothing, though its ports are up: drained, or routing avoids it"
		out.Against = words + ": it is not down"
		out.Doubts = []Evidence{{string(evidence.SourceSNMP), words}}
		out.Next = append(out.Next, Step{Why: "tell drained from a routing session that is down", Do: fmt.Sprintf("look at what is in maintenance, and at the routing sessions between %s", ends)})
		return out
	}
	out.idle = "is down or drained"
	out.Against = "a drained link looks the same to probes as one that is down"
	out.Next = append(out.Next,
		Step{Why: "tell down from drained", Do: fmt.Sprintf("look at the state of %s", ends)},
		Step{Why: "see what its neighbours say", Do: "run whichlink trace between hosts on both sides, with --fabric"})
	return out
}

// portsUp reports whether ports of every link of what may be gone were read to be up since flows left it, and no port of these to be down; and says so. What was
// read before the first trace, or long before the newest, says nothing of now.
func (s *Store) portsUp(w *withdrawal) (string, bool) {
	var first, newest time.Time
	for _, l := range s.order {
		if n := len(l.paths); n > 0 {
			newest = later(newest, l.paths[n-1].at)
			if first.IsZero() || l.paths[0].at.Before(first) {
				first = l.paths[0].at
			}
		}
	}
	fresh := later(later(w.since, first), newest.Add(-freshSighting))
	var names []string
	for _, a := range w.class {
		for _, l := range a.links {
			up := 0
			for _, p := range s.fabric.Link(l).Ends {
				now := s.portLog(p).now()
				switch {
				case now.at.Before(fresh):
				case now.oper == evidence.Down:
					return "", false
				case now.oper == evidence.Up:
					up++
					names = append(names, s.fabric.PortName(p))
				}
			}
			if up == 0 {
				return "", false
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	verb := " are up"
	if len(names) == 1 {
		verb = " is up"
	}
	return firstOf(names, 4) + verb, true
}

func (s *Store) absentName(a absent) string {
	if a.node != graphs.None {
		return s.fabric.NodeName(a.node)
	}
	return s.fabric.LinkName(a.links[0])
}

// capacityLost says how many of their links the nodes at the ends lost: switches of those to others, hosts of all.
func (s *Store) capacityLost(a absent) string {
	lost := map[graphs.NodeID]int{}
	var order []graphs.NodeID
	for _, l := range a.links {
		for _, n := range []graphs.NodeID{s.fabric.Tail(l.Forward()), s.fabric.Head(l.Forward())} {
			if n == a.node || s.fabric.IsHostArc(l.Forward()) && !s.fabric.Node(n).IsHost() {
				continue
			}
			if lost[n]++; lost[n] == 1 {
				order = append(order, n)
			}
		}
	}
	var parts []string
	for _, n := range order {
		all, links := s.fabric.Degree(n), "links"
		if !s.fabric.Node(n).IsHost() {
			all, links = 0, "fabric links"
			for _, x := range s.fabric.Out(n) {
				if !s.fabric.IsHostArc(x) {
					all++
				}
			}
		}
		parts = append(parts, fmt.Sprintf("%s %d of its %d %s", s.fabric.NodeName(n), lost[n], all, links))
	}
	const most = 4
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("and %d more switches", len(parts)-most))
	}
	return strings.Join(parts, ", ")
}

// Sentence says the suspect in one line, and of how many it is one that the evidence cannot tell apart.
func (x *Suspect) Sentence() string {
	one := x.ID
	if n := len(x.Class); n > 1 {
		one = fmt.Sprintf("one of %d: %s", n, strings.Join(x.Class[:min(n, 3)], " or "))
		if n > 3 {
			one += " or ..."
		}
	}
	var does string
	switch x.Symptom {
	case Loss:
		does = fmt.Sprintf("drops %s of packets%s", Percent(*x.Loss), x.forOnly)
		switch {
		case x.Hit != nil:
			does = fmt.Sprintf("drops %s of the packets of some flows, %s of those that cross it", Percent(*x.Loss / *x.Hit), Percent(*x.Hit))
		case x.spares:
			does += " of captures, and spares probes"
		case x.when != "":
			if !x.then {
				does += ", " + x.most
			}
			does += x.when
		case x.Until != nil:
			does = fmt.Sprintf("dropped %s of packets until %s", Percent(*x.Loss), x.dial.clock(*x.Until))
		case !x.perhaps.IsZero():
			does += ", or did until " + x.dial.clock(x.perhaps)
		}
	case MTU:
		does = fmt.Sprintf("drops all packets of %s bytes and more, and passes those of up to %s", thousands(x.drops), thousands(x.passes))
	case Corruption:
		does = fmt.Sprintf("corrupts %s of packets", Percent(*x.Loss))
	case Flap:
		does = "flaps"
		if x.fresh {
			does = "went down a moment ago, and it is too early to tell whether it is up again"
			break
		}
		if x.once {
			does = "went down once and is up again"
			if x.when != "" {
				does = "was down" + x.when + ", and is up again"
				break
			}
		}
		over := x.Until != nil && len(x.Episodes) > 1
		if over {
			does = "flapped"
		}
		if x.PeriodMS > 0 {
			does += " every " + Micros(1e3*float64(x.PeriodMS))
		}
		if over {
			does += "," + x.between() + ", and does no more"
		} else if x.Duty > 0 {
			does += fmt.Sprintf(", %s of the time", Percent(x.Duty))
		}
		if x.isDown {
			does += ", and is down now"
		}
	case Down:
		if does = "is down"; x.idle != "" {
			does = x.idle
		}
	case Miswire:
		does = "is miswired"
	case Hot:
		does = "is hot"
		if x.Until != nil {
			does = "was hot" + x.when
		}
		switch {
		case x.Loss != nil && x.Until != nil:
			does += fmt.Sprintf(" and dropped %s of packets", Percent(*x.Loss))
		case x.Loss != nil:
			does += fmt.Sprintf(" and drops %s of packets", Percent(*x.Loss))
		}
		does += ": " + strings.TrimSuffix(strings.SplitAfterN(x.For, ";", 2)[0], ";")
	case Slow:
		does = x.delays()
		switch {
		case x.Loss != nil && x.Until != nil:
			does += fmt.Sprintf(" and dropped %s of packets: its queue was full", Percent(*x.Loss))
		case x.Loss != nil:
			does += fmt.Sprintf(" and drops %s of packets: its queue is full", Percent(*x.Loss))
		}
	case Pause:
		does = "stops others by pause frames: "
		if x.Until != nil {
			does = "stopped others by pause frames: "
		}
		does += strings.SplitN(x.For, ";", 2)[0]
	default:
		does = "shows " + string(x.Symptom)
	}
	return fmt.Sprintf("%s %s (p %.2f)", one, does, x.Probability)
}
