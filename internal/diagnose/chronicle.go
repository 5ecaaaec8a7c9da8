package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// An Event is something that happened at a moment.
type Event struct {
	At time.Time
	// Lane is the source that saw it, or verdict for what the diagnosis came to say.
	Lane string
	What string
	// About is the port, link or flow that it happened to; it may be empty. Count is how often it did, at least 1.
	About string
	Count int
}

// Words say what happened, and how often if that was more than once.
func (e *Event) Words() string {
	if flows := fmt.Sprintf("%d flows", e.Count); e.Count > 1 && e.About != flows {
		return fmt.Sprintf("%s, %d times", e.What, e.Count)
	}
	return e.What
}

// LaneVerdict is the lane of what the diagnosis came to say.
const LaneVerdict = "verdict"

const (
	// maxEvents is how many events are kept; of more, the newest.
	maxEvents = 2000
	// grain is how far the beginning of an episode may move from one diagnosis to the next.
	grain = 100 * time.Millisecond
)

// A chronicle keeps what happened, in the order of time. What is published of it is never written to again.
type chronicle struct {
	events    []Event
	forgotten int
	named     map[string]bool // suspects that the newest diagnosis names
	told      map[string]bool // episodes that stand among the events
	moves     moves
}

// add takes in a record, if it tells of something that happened.
func (c *chronicle) add(r *evidence.Record) {
	lane := string(r.Source)
	switch r.Kind {
	case evidence.KindEvent:
		c.put(Event{r.Time, lane, "port went " + graphs.Clean(r.Event), graphs.Clean(r.Port), 1})
	case evidence.KindNote:
		if r.Text == "" {
			return
		}
		c.put(Event{r.Time, string(evidence.SourceNote), graphs.Clean(r.Text), graphs.Clean(r.By), 1})
	case evidence.KindFinding:
		c.put(Event{r.Time, lane, graphs.Clean(r.Finding) + ": " + graphs.Clean(r.Text), graphs.Clean(r.Subject), countOf(r)})
	case evidence.KindPath:
		c.path(r)
	}
}

func countOf(r *evidence.Record) int {
	if r.Count == nil {
		return 1
	}
	return max(1, *r.Count)
}

// put inserts an event in the order of time.
func (c *chronicle) put(e Event) {
	c.own()
	i := len(c.events)
	for i > 0 && c.events[i-1].At.After(e.At) {
		i--
	}
	c.events = slices.Insert(c.events, i, e)
	if n := len(c.events) - maxEvents; n > 0 {
		c.events = c.events[n:]
		c.forgotten += n
	}
}

// own makes the events the chronicle's own again after they were published.
func (c *chronicle) own() {
	if cap(c.events) == len(c.events) { // as list leaves them
		c.events = append(make([]Event, 0, len(c.events)+64), c.events...)
	}
}

// list publishes the events.
func (c *chronicle) list() ([]Event, int) {
	c.events = slices.Clip(c.events)
	return c.events, c.forgotten
}

// judge notes what a diagnosis says that the one before did not.
func (c *chronicle) judge(d *Diagnosis) {
	named := map[string]bool{}
	for i := range d.Suspects {
		x := &d.Suspects[i]
		if x.Probability < Named {
			continue
		}
		id := string(x.Symptom) + " " + x.ID
		named[id] = true
		if !c.named[id] {
			c.put(Event{d.To, LaneVerdict, fmt.Sprintf("%s suspected, p %.2f", x.Symptom, min(x.Probability, surest)), x.ID, 1})
		}
		c.episodes(x)
	}
	for _, id := range slices.Sorted(maps.Keys(c.named)) {
		if symptom, about, _ := strings.Cut(id, " "); !named[id] {
			c.put(Event{d.To, LaneVerdict, symptom + " no longer suspected", about, 1})
		}
	}
	c.named = named
}

// episodes notes when a suspect was bad. The end of the last one moves while it lasts; its beginning names it, to a grain.
func (c *chronicle) episodes(x *Suspect) {
	if c.told == nil || len(c.told) > 4*maxEvents {
		c.told = map[string]bool{}
	}
	for _, e := range x.Episodes {
		if e.Start.IsZero() {
			continue
		}
		from := e.Start.Add(e.From)
		key := func(off time.Duration) string { return fmt.Sprint(x.ID, from.Round(grain).Add(off).UnixMilli()) }
		if c.told[key(0)] || c.told[key(grain)] || c.told[key(-grain)] {
			continue
		}
		c.told[key(0)] = true
		source := string(evidence.SourceProbe)
		if len(x.Evidence) > 0 {
			source = x.Evidence[0].Source
		}
		c.put(Event{from, cmp.Or(source, string(evidence.SourceProbe)), fmt.Sprintf("%s began", x.Symptom), x.ID, 1})
	}
}
