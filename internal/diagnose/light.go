package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// The light of transceivers is held against the limits that their makers gave them. It moves no probability: modules live with little light for years, and a
// fault that shows in light shows in errors, too. It says why, and what to do.

// lightStands is for how long a reading of light stands; it is read about once a minute.
const lightStands = 5 * time.Minute

// mostDim is how many ports notes tell of.
const mostDim = 4

// light is the newest reading of a port's light; nil where there is none, or it is old.
func (s *Store) light(p graphs.PortID) []evidence.Lane {
	l := s.ports.logs[p]
	if l == nil || s.ports.read.Sub(l.litAt) > lightStands {
		return nil
	}
	return l.lit
}

// A dimness is what light of a port is beyond its limits.
type dimness struct {
	text       string // "" where all is well
	low, alarm bool
	limited    bool // there are limits to be within
}

// dim judges what a port receives, or sends: of several lanes that are beyond their limits by the worst.
func (s *Store) dim(p graphs.PortID, receives bool) dimness {
	var out dimness
	lanes, worst := 0, 0.0
	list := s.light(p)
	for i := range list {
		l := &list[i]
		dbm, limits, verb := l.Tx, l.TxLimits, "sends"
		if receives {
			dbm, limits, verb = l.Rx, l.RxLimits, "receives"
		}
		if dbm == nil || limits == nil {
			continue
		}
		out.limited = true
		words, low, alarm := limits.Beyond(*dbm)
		if words == "" {
			continue
		}
		if lanes++; lanes > 1 && (out.alarm && !alarm || out.alarm == alarm && *dbm >= worst) {
			continue
		}
		worst, out.low, out.alarm = *dbm, low, alarm
		where := ""
		if l.Lane > 0 {
			where = fmt.Sprintf(" in lane %d", l.Lane)
		}
		out.text = fmt.Sprintf("%s %s %.4g dBm%s, %s", s.fabric.PortName(p), verb, *dbm, where, words)
	}
	if lanes > 1 {
		out.text += fmt.Sprintf(" (%d lanes are beyond their limits)", lanes)
	}
	return out
}

// lightOf tells, of suspects that may come from bad light, which light is beyond its limits, and what that means for what is to be done.
func (s *Store) lightOf(d *Diagnosis) {
	for i := range d.Suspects {
		x := &d.Suspects[i]
		if x.Symptom != Loss && x.Symptom != Flap && x.Symptom != Corruption && x.Symptom != Down {
			continue
		}
		var arcs []graphs.ArcID
		if a, ok := s.fabric.ArcByName(x.ID); ok {
			arcs = []graphs.ArcID{a}
		} else if l, ok := s.fabric.LinkByName(x.ID); ok {
			arcs = []graphs.ArcID{l.Forward(), l.Backward()}
		}
		for _, a := range arcs {
			s.lightOn(x, a)
		}
	}
}

func (s *Store) lightOn(x *Suspect, a graphs.ArcID) {
	from, to := s.fabric.TailPort(a), s.fabric.HeadPort(a)
	sent, received := s.dim(from, false), s.dim(to, true)
	for _, m := range []dimness{sent, received} {
		if m.text != "" {
			x.For += "; snmp: " + m.text
			x.Evidence = append(x.Evidence, Evidence{string(evidence.SourceSNMP), m.text})
		}
	}
	tail, head := s.fabric.PortName(from), s.fabric.PortName(to)
	var step Step
	switch {
	case sent.text != "" && sent.low:
		step = Step{Why: tail + " sends too little light", Do: "replace the transceiver of " + tail}
	case received.text != "" && received.low && sent.limited && sent.text == "":
		step = Step{Why: fmt.Sprintf("%s sends enough light, and %s receives too little: it is lost in between", tail, head),
			Do: "clean both ends of the fibre of " + s.fabric.LinkName(a.Link()) + ", then replace it"}
	case received.text != "" && received.low:
		step = Step{Why: head + " receives too little light", Do: "read what " + tail + " sends: if that is well, clean both ends of the fibre, then replace it"}
	default:
		return
	}
	// The light was read: what says to read it gives way.
	x.Next = slices.DeleteFunc(x.Next, func(n Step) bool { return n.Why == tellEnds || strings.Contains(n.Do, "read the light levels") })
	x.Next = slices.Insert(x.Next, 0, step)
}

// lightNotes tells of alarms of light at ports of which no suspect tells.
func (s *Store) lightNotes(d *Diagnosis) []string {
	var dim []string
	for p := range graphs.PortID(s.fabric.NumPorts()) {
		l := s.ports.logs[p]
		if l == nil || len(l.readings) == 0 || l.readings[len(l.readings)-1].Oper != "up" {
			continue // a port that is down may well be dark
		}
		for _, receives := range []bool{true, false} {
			m := s.dim(p, receives)
			if m.alarm && !slices.ContainsFunc(d.Suspects, func(x Suspect) bool { return strings.Contains(x.For, m.text) }) {
				dim = append(dim, m.text)
			}
		}
	}
	if n := len(dim); n > mostDim {
		dim = append(dim[:mostDim], fmt.Sprintf("and %d more ports", n-mostDim))
	}
	if len(dim) == 0 {
		return nil
	}
	return []string{"light beyond its alarms, though nothing is known to be lost there: " + strings.Join(dim, "; ")}
}
