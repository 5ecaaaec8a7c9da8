package diagnose

import (
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
)

// A Picture is all that can be drawn of one moment: the diagnosis, what was counted on every arc, and what happened. It is immutable once
// published, and its size is bounded by that of the fabric: some forty bytes an arc, and [maxEvents] events.
type Picture struct {
	Diagnosis *Diagnosis
	Fabric    *graphs.Fabric
	// Model is how flows are forwarded, nil where that is not known.
	Model pathfind.Model
	// Arcs are by the id of the arc.
	Arcs []ArcTally
	// Events are what happened, the oldest first; Forgotten is how many older ones were let go.
	Events    []Event
	Forgotten int
}

// An ArcTally is what was counted on one direction of a link. What flows lose, they lose somewhere between their ends: that a flow which crosses
// an arc loses packets is a reason to look at the arc, and its Suspicion says what came of that.
type ArcTally struct {
	// Sent and Lost count the packets of flows that are known to cross the arc; of flows that could not tell the ways apart, Lost is that of both.
	Sent, Lost uint32
	// Flows are known to cross it, and Lossy of them lost packets.
	Flows, Lossy uint32
	// Late is the least, over the flows that cross it, of what they now take above their own best, in microseconds: what an arc adds, all of its
	// flows take. NaN where no flow has measured it.
	Late float32
	// Use is how full the arc is, and Expected how full it would be if what the fabric carries were spread evenly over its pairs; NaN where not known.
	Use, Expected float32
	// Suspicion is the probability of the likeliest suspect that the arc belongs to, or is not told from.
	Suspicion float32
	// Flaps is how often its link was seen to go down.
	Flaps uint16
	// Measured says whether evidence crosses the arc. One that is not measured is unknown, which is not healthy.
	Measured bool
}

// Loss is the share of the packets of the flows that cross the arc which was lost, NaN where nothing was sent.
func (t *ArcTally) Loss() float64 {
	if t.Sent == 0 {
		return math.NaN()
	}
	return float64(t.Lost) / float64(t.Sent)
}

// Picture puts together what the store knows, with the diagnosis that it made last.
func (s *Store) Picture(d *Diagnosis) *Picture {
	p := &Picture{Diagnosis: d, Fabric: s.fabric, Model: s.model, Arcs: make([]ArcTally, s.fabric.NumArcs())}
	unknown := float32(math.NaN())
	for a := range p.Arcs {
		t := &p.Arcs[a]
		t.Late, t.Use, t.Expected = unknown, unknown, unknown
		t.Measured = a < len(s.measured) && s.measured[a]
	}
	for _, l := range s.order {
		l.tally(p.Arcs)
	}
	s.tallyPorts(p)
	for i := range d.Suspects {
		p.suspect(&d.Suspects[i])
	}
	s.chronicle.judge(d)
	p.Events, p.Forgotten = s.chronicle.list()
	return p
}

// A leg is what a flow measured in one direction.
type leg struct {
	arcs       []graphs.ArcID
	sent, lost int
}

// tally adds what the echoes of one flow say of the arcs that they are known to cross. The flow counts once on each arc, whatever its paths were.
func (l *flowLog) tally(arcs []ArcTally) {
	if len(l.echoes) == 0 {
		return
	}
	best, now := math.Inf(1), math.NaN()
	for i := range l.echoes {
		if r := l.echoes[i].rtt; r != nil {
			best, now = min(best, r.P50), r.P50
		}
	}
	var legs []leg
	add := func(w way, sent, lost int) {
		if !w.certain() || sent <= 0 {
			return
		}
		for i := range legs {
			if slices.Equal(legs[i].arcs, w.alternatives[0]) {
				legs[i].sent, legs[i].lost = legs[i].sent+sent, legs[i].lost+lost
				return
			}
		}
		legs = append(legs, leg{w.alternatives[0], sent, lost})
	}
	for i := range l.echoes {
		e := &l.echoes[i]
		path, back := e.path, e.back
		if e.split {
			add(path, e.sent, e.lostForward)
			add(back, e.sent-e.lostForward, e.lostBack)
		} else {
			add(path, e.sent, e.lost)
			add(back, e.sent, e.lost)
		}
	}
	for i := range legs {
		for _, a := range legs[i].arcs {
			t := &arcs[a]
			t.Sent += uint32(legs[i].sent)
			t.Lost += uint32(legs[i].lost)
			t.Flows++
			if legs[i].lost > 0 {
				t.Lossy++
			}
			if late := float32(now - best); !math.IsNaN(now) && !(t.Late <= late) {
				t.Late = late
			}
		}
	}
}

// tallyPorts adds what switches and hosts say of their ports.
func (s *Store) tallyPorts(p *Picture) {
	if len(s.ports.logs) == 0 {
		return
	}
	load, speed, _, read := s.loads(0)
	for a, x := range load {
		if !math.IsNaN(x) {
			p.Arcs[a].Use = float32(x / speed[graphs.ArcID(a).Link()])
		}
	}
	if read > 0 {
		s.expect(p, load, speed)
	}
	for _, id := range s.portsSaid() {
		n := 0
		for _, e := range s.ports.logs[id].events {
			if e.what == evidence.Down {
				n++
			}
		}
		a := s.fabric.ArcFrom(id)
		if n == 0 || a == graphs.None {
			continue
		}
		for _, a := range [2]graphs.ArcID{a, a.Reverse()} {
			p.Arcs[a].Flaps = max(p.Arcs[a].Flaps, uint16(min(n, math.MaxUint16)))
		}
	}
}

// expect spreads what the fabric is seen to carry evenly over its pairs.
func (s *Store) expect(p *Picture, load, speed []float64) {
	evenly := s.even()
	if evenly == nil {
		return
	}
	var seen, even float64
	for a, x := range load {
		if !math.IsNaN(x) && !s.fabric.IsHostArc(graphs.ArcID(a)) {
			seen, even = seen+x, even+evenly[a]
		}
	}
	if even <= 0 {
		return
	}
	for a := range load {
		if v := speed[graphs.ArcID(a).Link()]; v > 0 && !s.fabric.IsHostArc(graphs.ArcID(a)) {
			p.Arcs[a].Expected = float32(evenly[a] * seen / even / v)
		}
	}
}

// suspect puts a suspicion on all the arcs that a suspect may be, and its episodes on the link that flaps.
func (p *Picture) suspect(x *Suspect) {
	mark := func(a graphs.ArcID) {
		t := &p.Arcs[a]
		t.Suspicion = max(t.Suspicion, float32(x.Probability))
		if x.Symptom == Flap {
			t.Flaps = max(t.Flaps, uint16(min(len(x.Episodes), math.MaxUint16)))
		}
	}
	for _, id := range append([]string{x.ID}, x.Class...) {
		for _, a := range p.ArcsOf(id) {
			mark(a)
		}
	}
}

// ArcsOf returns the arcs that a suspect's name stands for: an arc, both of a link, all of a node's, all of a shared-risk group's. A name of
// another kind has none.
func (p *Picture) ArcsOf(id string) []graphs.ArcID { return arcsNamed(p.Fabric, id) }

func arcsNamed(f *graphs.Fabric, id string) []graphs.ArcID {
	if a, ok := f.ArcByName(id); ok {
		return []graphs.ArcID{a}
	}
	if l, ok := f.LinkByName(id); ok {
		return []graphs.ArcID{l.Forward(), l.Backward()}
	}
	var out []graphs.ArcID
	if n, ok := f.NodeByName(id); ok {
		for _, a := range f.Out(n) {
			out = append(out, a, a.Reverse())
		}
		return out
	}
	for g := range graphs.GroupID(f.NumGroups()) {
		if f.Group(g).Name == id {
			for _, l := range f.Group(g).Links {
				out = append(out, l.Forward(), l.Backward())
			}
		}
	}
	return out
}
