package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/rhythm"
)

// A crossing is one way of a flow, there or back. What was sent before its path was known is an observation of its own, but no other flow.
type crossing struct {
	flow *flowLog
	from graphs.NodeID
}

// A witness is what one kind of evidence tells of a suspect.
type witness struct {
	crossings  map[crossing]passed
	lossy      int // crossings that lost packets
	sent, lost int
}

// A passed is how many packets a crossing sent and lost.
type passed struct{ sent, lost int }

func (w *witness) add(l *flowLog, o *localize.Observation) {
	if o.Sent == 0 {
		return
	}
	if w.crossings == nil {
		w.crossings = map[crossing]passed{}
	}
	c := crossing{l, o.Src}
	x := w.crossings[c]
	if o.Lost > 0 && x.lost == 0 {
		w.lossy++
	}
	w.crossings[c] = passed{x.sent + o.Sent, x.lost + o.Lost}
	w.sent += o.Sent
	w.lost += o.Lost
}

// witnesses are all that packets tell of a suspect.
type witnesses struct {
	probes, captures             witness // on paths that surely cross it
	unsureProbes, unsureCaptures witness // on paths that may
	hops, unsureHops             witness // answers of switches behind it, and those that may have crossed it
	files                        []string
	stormy                       bool // all of that in storms
}

// hear gathers what packets tell of a cause.
func (o *observer) hear(c localize.Cause) *witnesses {
	w := &witnesses{stormy: o.storms > 0}
	for i := range o.list {
		obs := &o.list[i]
		surely, maybe := o.crossing(obs, c)
		if !maybe {
			continue
		}
		l := o.flow(obs)
		switch {
		case obs.Responder != graphs.None:
			if surely {
				w.hops.add(l, obs)
			} else {
				w.unsureHops.add(l, obs)
			}
		case l.onlyCaptured():
			if surely {
				w.captures.add(l, obs)
			} else {
				w.unsureCaptures.add(l, obs)
			}
			if file := graphs.Clean(l.by); !slices.Contains(w.files, file) {
				w.files = append(w.files, file)
			}
		case surely:
			w.probes.add(l, obs)
		default:
			w.unsureProbes.add(l, obs)
		}
	}
	slices.Sort(w.files)
	return w
}

// lost is how many packets were lost of those that crossed it, or may have.
func (w *witnesses) lost() int {
	return w.probes.lost + w.captures.lost + w.unsureProbes.lost + w.unsureCaptures.lost
}

// recount makes of the flows that a suspect is told with those of these witnesses, so that what speaks for it and what speaks against it add up.
func (w *witnesses) recount(sus *localize.Suspect) {
	if len(w.probes.crossings)+len(w.captures.crossings) == 0 {
		return
	}
	sus.LossyFlows, sus.CleanFlows, sus.Against.CleanSent = w.probes.lossy+w.captures.lossy, 0, 0
	for _, x := range []*witness{&w.probes, &w.captures} {
		for _, c := range x.crossings {
			if c.lost == 0 {
				sus.CleanFlows++
				sus.Against.CleanSent += c.sent
			}
		}
	}
	sus.Against.Expected = sus.Loss * float64(sus.Against.CleanSent)
}

// onlyCaptured reports whether captures tell of a flow, and no prober.
func (l *flowLog) onlyCaptured() bool { return len(l.captured) > 0 && len(l.echoes) == 0 }

// crossing reports whether the packets of an observation surely crossed a cause, and whether they may have.
func (o *observer) crossing(obs *localize.Observation, c localize.Cause) (surely, maybe bool) {
	if c.Kind == localize.Host {
		sure := obs.Src == graphs.NodeID(c.ID) || obs.Dst == graphs.NodeID(c.ID)
		return sure, sure
	}
	if o.s.on(obs.Path, c) {
		return true, true
	}
	if share := o.spreadOver(obs, c); share > 0 {
		return share > 1-1e-9, true
	}
	over := 0
	for i := range obs.Alternatives {
		if o.s.on(obs.Alternatives[i].Arcs, c) {
			over++
		}
	}
	return over > 0 && over == len(obs.Alternatives), over > 0
}

// on reports whether some of these arcs are of a cause.
func (s *Store) on(arcs []graphs.ArcID, c localize.Cause) bool {
	f := s.fabric
	return slices.ContainsFunc(arcs, func(a graphs.ArcID) bool {
		switch c.Kind {
		case localize.Arc:
			return a == graphs.ArcID(c.ID)
		case localize.Link:
			return a.Link() == graphs.LinkID(c.ID)
		case localize.Group:
			return slices.Contains(f.Link(a.Link()).Groups, graphs.GroupID(c.ID))
		case localize.Node:
			return f.Head(a) == graphs.NodeID(c.ID) || f.Tail(a) == graphs.NodeID(c.ID)
		}
		return false
	})
}

// A proof is a sentence that a source has to say on a suspect.
type proof struct {
	Evidence
	side side
}

type side int8

const (
	speaksFor side = iota
	// speaksOf is what was to be expected with the suspect and without it.
	speaksOf
	speaksAgainst
)

// proofs are what packets tell of a suspect that loses some share of them. Clean packets speak against it if one at least was to be lost.
func (w *witnesses) proofs(loss float64) []proof {
	var list []proof
	tell := func(source evidence.Source, x *witness, format string, args ...any) {
		if len(x.crossings) == 0 {
			return
		}
		on := speaksFor
		switch packets := float64(x.sent); {
		case x.lost == 0 && loss*packets >= 1:
			on = speaksAgainst
		case x.lost == 0:
			on = speaksOf
		}
		list = append(list, proof{Evidence{string(source), fmt.Sprintf(format, args...)}, on})
	}
	packets := func(x *witness) string {
		when := ""
		if w.stormy {
			when = " in its outages"
		}
		if x.lost == 0 {
			return fmt.Sprintf("%s clean of %s packets%s", thousands(x.sent), thousands(x.sent), when)
		}
		return fmt.Sprintf("%s of %s packets%s", thousands(x.lost), thousands(x.sent), when)
	}
	files := strings.Join(w.files[:min(len(w.files), 3)], ", ")
	x := &w.probes
	tell(evidence.SourceProbe, x, "%d of %d flow paths that cross it lose packets (%s)", x.lossy, len(x.crossings), packets(x))
	if x = &w.unsureProbes; x.lossy > 0 {
		tell(evidence.SourceProbe, x, "%d of %d flows that may cross it, their paths not being known, lose packets (%s)", x.lossy, len(x.crossings), packets(x))
	}
	x = &w.hops
	tell(evidence.SourceProbe, x, "switches behind it answered %s of %s TTL-expired probes", thousands(x.sent-x.lost), thousands(x.sent))
	if x = &w.unsureHops; len(list) == 0 && x.lost > 0 {
		tell(evidence.SourceProbe, x, "switches answered %s of %s TTL-expired probes that may have crossed it, or whose answers may have", thousands(x.sent-x.lost), thousands(x.sent))
	}
	x = &w.captures
	tell(evidence.SourcePcap, x, "%d of %d captured flows that cross it lose packets (%s) in %s", x.lossy, len(x.crossings), packets(x), files)
	if x = &w.unsureCaptures; x.lossy > 0 {
		tell(evidence.SourcePcap, x, "%d of %d captured flows that may cross it lose packets (%s) in %s", x.lossy, len(x.crossings), packets(x), files)
	}
	return list
}

// portProofs are what ports tell of a cause.
func (s *Store) portProofs(cause localize.Cause, ports *portWords) []proof {
	var list []proof
	tell := func(on side, text string) {
		list = append(list, proof{Evidence{string(evidence.SourceSNMP), text}, on})
	}
	loud, silent := s.countersOf(ports.counted, cause)
	for _, text := range loud {
		tell(speaksFor, text)
	}
	if len(loud) == 0 && silent != "" {
		tell(speaksAgainst, silent)
	}
	if cause.Kind == localize.Node || cause.Kind == localize.Host {
		return list
	}
	for i := range ports.states {
		x := &ports.states[i]
		if !slices.Contains(linksOf(s.fabric, cause), x.link) {
			continue
		}
		if x.outages > 0 {
			tell(speaksFor, s.flapWords(x))
		}
		if text := s.slowerThanPlanned(x.link); text != "" {
			tell(speaksFor, text)
		}
	}
	return list
}

// prove writes down what every source tells of a suspect, for it or against it, in place of the one sentence that sums packets up.
func (s *Store) prove(out *Suspect, cause localize.Cause, loss float64, w *witnesses, ports *portWords) {
	list := append(w.proofs(loss), s.portProofs(cause, ports)...)
	if len(list) == 0 {
		return
	}
	rest := out.For
	if len(out.Evidence) > 0 && strings.HasPrefix(rest, out.Evidence[0].Text) {
		rest = rest[len(out.Evidence[0].Text):]
		out.Evidence = out.Evidence[1:]
	}
	var says, doubts []string
	var proofs []Evidence
	for _, p := range list {
		text := p.Source + ": " + p.Text
		switch p.side {
		case speaksAgainst:
			doubts = append(doubts, text)
			out.Doubts = append(out.Doubts, p.Evidence)
			continue
		case speaksFor:
			says = append(says, text)
		}
		proofs = append(proofs, p.Evidence)
	}
	out.Evidence = append(proofs, out.Evidence...)
	if len(list) == 1 && len(says) == 1 {
		says[0] = list[0].Text // one source alone needs no name
	}
	if len(says) > 0 {
		out.For = strings.Join(says, "; ") + rest
	}
	if len(doubts) > 0 {
		if list[0].side == speaksAgainst && list[0].Source != string(evidence.SourceSNMP) {
			// Of packets that arrived it was just said.
			_, instead, _ := strings.Cut(out.Against, "; ")
			out.Against = instead
		}
		if out.Against != "" && out.Against != "nothing" {
			doubts = append(doubts, out.Against)
		}
		out.Against = strings.Join(doubts, "; ")
	}
}

// countsErrors reports whether a port counts broken packets of one of a cause's arcs.
func (s *Store) countsErrors(c *counted, cause localize.Cause) bool {
	return slices.ContainsFunc(s.arcsOf(cause), func(a graphs.ArcID) bool {
		in, out := c.in[s.fabric.HeadPort(a)], c.out[s.fabric.TailPort(a)]
		return in != nil && in.broken() > 0 || out != nil && out.errors > 0
	})
}

// corrupts turns a suspect that loses packets to errors that its ports count, and of which no flow lost any that crosses it or may, into one that corrupts them;
// and says which plug it is where errors are counted.
func (s *Store) corrupts(out *Suspect, sus *localize.Suspect, w *witnesses, c *counted) {
	if out.Symptom != Loss || !s.countsErrors(c, sus.Cause) {
		return
	}
	if sus.Lost+w.lost() == 0 {
		out.Symptom = Corruption
		s.countedLoss(out, sus.Cause, c)
	}
	if sus.Kind != localize.Arc && sus.Kind != localize.Link {
		return
	}
	out.Next = slices.DeleteFunc(out.Next, func(x Step) bool { return x.Why == tellEnds }) // the counters have told
	out.Next = slices.Insert(out.Next, 0, s.opticStep(s.arcsOf(sus.Cause)[0]))
}

// countedLoss tells of a suspect that no probe met as much loss as its ports count: what else is believed of its loss is what probes might meet.
func (s *Store) countedLoss(out *Suspect, cause localize.Cause, c *counted) {
	var errors, packets uint64
	low, high := 1.0, 0.0
	for _, a := range s.arcsOf(cause) {
		count, others, _, _ := s.broken(c, a)
		if count == 0 {
			continue
		}
		errors, packets = errors+count, packets+count+others
		from, to := localize.CountedRate(float64(count), float64(count+others))
		low, high = min(low, from), max(high, to)
	}
	if errors > 0 {
		out.loses(float64(errors)/float64(packets), low, high)
	}
}

// queues takes for a loss what packets alone would take for a flap, if the sending port counts that its queue drops: one that is full at times. Where that is about as much as is
// lost, the counters have told which end it is.
func (s *Store) queues(out *Suspect, cause localize.Cause, c *counted) {
	if out.Symptom != Flap && out.Symptom != Loss || cause.Kind != localize.Arc {
		return
	}
	port := s.fabric.TailPort(graphs.ArcID(cause.ID))
	t := c.out[port]
	if t == nil || t.discards == 0 {
		return
	}
	out.Symptom = Loss
	if out.LossLow == nil || 2*float64(t.discards) < *out.LossLow*float64(t.packets) || s.countsErrors(c, cause) {
		return
	}
	s.askQueue(out, graphs.ArcID(cause.ID))
}

// opticStep says what to do about packets that arrive broken: the receiving port is only where it shows.
func (s *Store) opticStep(a graphs.ArcID) Step {
	return Step{Why: fmt.Sprintf("what arrives broken at %s was broken on the way: the cable, or the transmitter of %s", s.fabric.PortName(s.fabric.HeadPort(a)), s.fabric.PortName(s.fabric.TailPort(a))),
		Do: fmt.Sprintf("read the light levels at both ends of %s, clean and reseat, then swap the optic at %s, then the cable", s.fabric.LinkName(a.Link()), s.fabric.PortName(s.fabric.TailPort(a)))}
}

// alsoLoses puts to a suspect that was told by the word of ports what packets tell of the same link.
func (s *Store) alsoLoses(x *Suspect, sus *localize.Suspect, seen *observer) {
	w := seen.hear(sus.Cause)
	if x.Loss != nil || x.Symptom != Flap && x.Symptom != Down && x.Symptom != Miswire || sus.Probability < Named || w.lost() == 0 {
		return
	}
	x.loses(sus.Loss, sus.Low, sus.High)
	for _, p := range w.proofs(sus.Loss) {
		if p.side == speaksFor {
			x.For += "; " + p.Source + ": " + p.Text
			x.Evidence = append(x.Evidence, p.Evidence)
		}
	}
	if x.Symptom == Down && sus.Loss >= outageLoss && !slices.ContainsFunc(sus.Class, func(c localize.Cause) bool {
		return c.Kind != localize.Arc && c.Kind != localize.Link || s.fabric.LinkName(linksOf(s.fabric, c)[0]) != x.Link
	}) {
		x.Probability = max(x.Probability, min(sus.Probability, surest)) // by what ports say and by what it loses
	}
	if x.Symptom != Flap {
		return
	}
	// Ports count outages; when each was, and how long it lasted, packets tell better.
	if r := s.rhythmOf(sus.Cause); r.Kind == rhythm.Flapping || r.Kind == rhythm.Once && x.once {
		x.Episodes, x.Probability = nil, max(x.Probability, min(sus.Probability, surest))
		x.once = r.Kind == rhythm.Once
		x.TellRhythm(&r, s.flowing.from, s.instrument())
	}
}
