package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// A Report is all that is told of an incident. Its texts are clean of control characters, and not yet escaped.
type Report struct {
	*diagnose.Diagnosis
	// Events are what happened, in the order of time; Omitted is how many were left out of their middle.
	Events  []Event
	Omitted int
	// Map says what the drawings of the fabric show, in words.
	Map   string
	Heats []Heat
	Ego   *Ego // nil where no suspect has a place in the fabric
	// Crossing are flows that cross the first suspect.
	Crossing Crossing
	Charts   []Chart
	// ASCII has Markdown drawn without other characters.
	ASCII bool
	// Span says what time the charts show, and in which steps; "" if there are none.
	Span string
}

// An Event is something that happened, once or several times one after the other.
type Event struct {
	From, To time.Time
	// Lane is what saw it: probe, snmp, pcap, note, or diagnosis for what follows from them together.
	Lane, Subject, What string
	Count               int
}

// verdict is the lane of what follows from all evidence together: each of its events stands for itself.
const verdict = "diagnosis"

// mostEvents bounds the timeline.
const mostEvents = 60

// mostDrawn is how many suspects have series of their own.
const mostDrawn = 4

// Report joins a diagnosis with the records that were collected. The diagnosis is not changed.
func (c *Collector) Report(d *diagnose.Diagnosis) *Report {
	r := &Report{Diagnosis: d}
	c.tellEvents(r)
	c.drawMap(r)
	if x := r.first(); x != nil {
		c.tellCrossing(r, x)
	}
	c.drawCharts(r)
	return r
}

// first returns the first suspect, if there is one that is worth a drawing.
func (r *Report) first() *diagnose.Suspect {
	if len(r.Suspects) == 0 {
		return nil
	}
	return &r.Suspects[0]
}

// mostSources bounds the table of sources.
const mostSources = 24

// Told are the sources that have a line of their own.
func (r *Report) Told() []diagnose.Source { return r.Sources[:min(len(r.Sources), mostSources)] }

// Untold sums the other sources up; "" if there are none.
func (r *Report) Untold() string {
	rest := r.Sources[len(r.Told()):]
	if len(rest) == 0 {
		return ""
	}
	records, oldest := 0, rest[0].Newest
	for _, s := range rest {
		records += s.Records
		if s.Newest.Before(oldest) {
			oldest = s.Newest
		}
	}
	return fmt.Sprintf("And %d more with %d records, the newest of each from %s or later.", len(rest), records, r.Clock(oldest))
}

// drawn returns the suspects that have drawings: those that are named, or else the first.
func (r *Report) drawn() []diagnose.Suspect {
	n := 0
	for n < len(r.Suspects) && n < mostDrawn && (n == 0 || r.Suspects[n].Probability >= diagnose.Named) {
		n++
	}
	return r.Suspects[:n]
}

// arcsOf returns the arcs of what has a name: an arc, a link, a node or a group. What is none of these has none.
func arcsOf(f *graphs.Fabric, id string) map[graphs.ArcID]bool {
	out := map[graphs.ArcID]bool{}
	both := func(l graphs.LinkID) { out[l.Forward()], out[l.Backward()] = true, true }
	if a, ok := f.ArcByName(id); ok {
		out[a] = true
	} else if l, ok := f.LinkByName(id); ok {
		both(l)
	} else if n, ok := f.NodeByName(id); ok {
		for _, a := range f.Out(n) {
			both(a.Link())
		}
	} else {
		for g := range graphs.GroupID(f.NumGroups()) {
			if f.Group(g).Name == id {
				for _, l := range f.Group(g).Links {
					both(l)
				}
			}
		}
	}
	return out
}

// tellEvents makes the timeline.
func (c *Collector) tellEvents(r *Report) {
	events := slices.Clone(c.events)
	events = append(events, c.stateEvents()...)
	for i := range r.Suspects {
		events = append(events, c.suspectEvents(&r.Suspects[i])...)
	}
	if !r.From.IsZero() {
		events = append(events, Event{r.From, r.From, verdict, r.Fabric, "evidence begins", 1}, Event{r.To, r.To, verdict, r.Fabric, "evidence ends", 1})
	}
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(a.From.Compare(b.From), strings.Compare(a.Subject, b.Subject), strings.Compare(a.What, b.What))
	})
	r.Events = gather(events)
	if n := len(r.Events) - mostEvents; n > 0 {
		r.Omitted = n
		r.Events = slices.Delete(r.Events, mostEvents/2, mostEvents/2+n)
	}
}

// together is up to which distance the same events are one that happened several times.
const together = 10 * time.Second

// gather makes one event of those that tell the same of the same, close together.
func gather(events []Event) []Event {
	var out []Event
	newest := map[[3]string]int{}
	for _, e := range events {
		k := [3]string{e.Lane, e.Subject, e.What}
		if i, ok := newest[k]; ok && e.Lane != verdict && e.From.Sub(out[i].To) <= together {
			out[i].To = e.To
			out[i].Count += e.Count
			continue
		}
		newest[k] = len(out)
		out = append(out, e)
	}
	return out
}

// stateEvents are changes of ports that polls saw.
func (c *Collector) stateEvents() []Event {
	var out []Event
	readings := slices.Clone(c.ports)
	slices.SortStableFunc(readings, func(a, b counting) int { return a.at.Compare(b.at) })
	down := map[graphs.PortID]bool{}
	for _, n := range readings {
		if !n.known || n.down == down[n.port] {
			continue
		}
		down[n.port] = n.down
		what := "read as up again"
		if n.down {
			what = "read as down"
		}
		out = append(out, Event{n.at, n.at, "snmp", c.fabric.PortName(n.port), what, 1})
	}
	return out
}

// suspectEvents are when a suspect was bad, or if it was all the time, when that first showed.
func (c *Collector) suspectEvents(x *diagnose.Suspect) []Event {
	var out []Event
	for _, e := range x.Episodes {
		if !e.Start.IsZero() {
			out = append(out, Event{e.Start.Add(e.From), e.Start.Add(e.To), verdict, x.ID, fmt.Sprintf("bad (suspect %d, %s)", x.Rank, x.Symptom), 1})
		}
	}
	arcs := arcsOf(c.fabric, x.ID)
	if x.Kind == "arc" || x.Kind == "link" {
		out = append(out, c.errorEvents(x, arcs)...)
	}
	if len(x.Episodes) > 0 || len(arcs) == 0 || x.Symptom == diagnose.Slow || x.Symptom == diagnose.Hot {
		return out
	}
	var first, last time.Time
	for i := range c.echoes {
		e := &c.echoes[i]
		if _, lost := c.crossed(e, arcs); lost > 0 {
			if first.IsZero() || e.at.Before(first) {
				first = e.at
			}
			if e.at.After(last) {
				last = e.at
			}
		}
	}
	if !first.IsZero() {
		out = append(out, Event{first, last, "probe", x.ID, fmt.Sprintf("flows that cross it lose probes (suspect %d)", x.Rank), 1})
	}
	return out
}

// errorEvents are intervals in which the ports that a suspect leads to counted errors.
func (c *Collector) errorEvents(x *diagnose.Suspect, arcs map[graphs.ArcID]bool) []Event {
	var out []Event
	for i := range c.ports {
		n := &c.ports[i]
		if a := c.fabric.ArcInto(n.port); a >= 0 && arcs[a] && n.errors > 0 {
			half := n.interval / 2
			out = append(out, Event{n.at.Add(-half), n.at.Add(half), "snmp", c.fabric.PortName(n.port), fmt.Sprintf("counts input errors (suspect %d)", x.Rank), 1})
		}
	}
	return out
}
