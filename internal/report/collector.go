// Package report writes an incident down for people who were not there: as Markdown for a ticket, or as one page of HTML that fetches nothing.
//
// A [Collector] takes the records that the diagnosis was made of, and [Collector.Report] joins both: verdict, suspects with what speaks for and
// against them, a timeline, a map of the fabric, the paths across the first suspect, and series over time. It says nothing that the diagnosis or
// the records do not say. The same records give the same report, byte by byte: no clock is asked.
//
// Names come from the network and from files: they are cleaned of control characters, and escaped in the way of either form.
package report

import (
	"math"
	"slices"
	"strings"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// A Collector keeps what a report needs of evidence: about 60 bytes for an echo. One goroutine owns it.
type Collector struct {
	fabric  *graphs.Fabric
	echoes  []echo
	flows   []flow
	flowOf  map[flow]int32
	routes  [][]graphs.ArcID
	routeOf map[string]int32
	ports   []counting
	events  []Event
	first   time.Time
	last    time.Time
	taken   map[int32]int32 // by flow the route that it was last seen on
	windows []int32         // lengths of the echoes' windows, in milliseconds
}

type flow struct {
	by string
	evidence.Flow
}

// An echo is what one record counted, at the middle of its window. Routes are -1 where they are not known, losses by direction where they could not be told.
type echo struct {
	at                      time.Time
	flow, route, back       int32
	sent, lost, there, home int32
	rtt                     float64 // median in microseconds, NaN if none was answered
}

// A counting is what a port counted in one interval, as rates; NaN where it does not count that.
type counting struct {
	at                          time.Time
	interval                    time.Duration
	port                        graphs.PortID
	errors, discards, used      float64 // packets a second, and of the speed the share that was received
	discardsOut, usedOut, pause float64
	down                        bool
	known                       bool // whether the state is known
}

// NewCollector makes an empty collector of evidence on a fabric.
func NewCollector(f *graphs.Fabric) *Collector {
	return &Collector{fabric: f, flowOf: map[flow]int32{}, routeOf: map[string]int32{}, taken: map[int32]int32{}}
}

// Add takes in a record. Kinds that tell nothing for a report are passed over.
func (c *Collector) Add(r *evidence.Record) {
	if start := r.Start(); c.first.IsZero() || start.Before(c.first) {
		c.first = start
	}
	if r.Time.After(c.last) {
		c.last = r.Time
	}
	switch r.Kind {
	case evidence.KindEcho:
		c.addEcho(r)
	case evidence.KindPath:
		c.addPath(r)
	case evidence.KindCounters:
		c.addCounters(r)
	case evidence.KindEvent:
		c.event(r, string(r.Source), r.Port, "went "+r.Event)
	case evidence.KindFinding:
		c.event(r, string(r.Source), r.Subject, r.Finding+": "+r.Text)
	case evidence.KindNote:
		c.event(r, string(r.Source), r.By, r.Text)
	}
}

func (c *Collector) event(r *evidence.Record, lane, subject, what string) {
	c.events = append(c.events, Event{From: r.Time, To: r.Time, Lane: lane, Subject: graphs.Clean(subject), What: graphs.Clean(what), Count: 1})
}

func (c *Collector) addEcho(r *evidence.Record) {
	if r.Flow == nil || r.Sent == nil || r.Lost == nil {
		return
	}
	e := echo{
		at: r.Start().Add(r.Time.Sub(r.Start()) / 2), route: c.route(r.Path), back: c.route(r.Back),
		sent: int32(*r.Sent), lost: int32(*r.Lost), there: -1, home: -1, rtt: math.NaN(),
	}
	if r.LostForward != nil && r.LostBack != nil {
		e.there, e.home = int32(*r.LostForward), int32(*r.LostBack)
	}
	if r.RTT != nil && *r.Sent > *r.Lost {
		e.rtt = r.RTT.P50
	}
	e.flow = c.flow(r)
	c.echoes = append(c.echoes, e)
	c.windows = append(c.windows, int32(r.WindowMS))
}

// flow returns the number of a record's flow.
func (c *Collector) flow(r *evidence.Record) int32 {
	k := flow{r.By, *r.Flow}
	id, ok := c.flowOf[k]
	if !ok {
		id = int32(len(c.flows))
		c.flowOf[k] = id
		c.flows = append(c.flows, k)
	}
	return id
}

// addPath notes that a flow takes another path than before.
func (c *Collector) addPath(r *evidence.Record) {
	if r.Flow == nil {
		return
	}
	id, route := c.flow(r), c.route(r.Path)
	if route < 0 {
		return
	}
	if before, ok := c.taken[id]; ok && before != route {
		c.event(r, "probe", r.By, "saw flows change their path")
	}
	c.taken[id] = route
}

// route returns the number of a path, or -1 if it is not known or not of this fabric.
func (c *Collector) route(names []string) int32 {
	if len(names) == 0 {
		return -1
	}
	key := strings.Join(names, "\n")
	if id, ok := c.routeOf[key]; ok {
		return id
	}
	id := int32(len(c.routes))
	arcs := make([]graphs.ArcID, len(names))
	for i, n := range names {
		a, ok := c.fabric.ArcByName(n)
		if !ok {
			id = -1
			break
		}
		arcs[i] = a
	}
	if id >= 0 {
		c.routes = append(c.routes, arcs)
	}
	c.routeOf[key] = id
	return id
}

func (c *Collector) addCounters(r *evidence.Record) {
	p, ok := c.fabric.PortByName(r.Port)
	if !ok {
		return
	}
	nan := math.NaN()
	n := counting{at: r.Start().Add(r.Time.Sub(r.Start()) / 2), interval: r.Time.Sub(r.Start()), port: p, errors: nan, discards: nan, used: nan, discardsOut: nan, usedOut: nan, pause: nan,
		down: r.Oper == evidence.Down && r.Admin != evidence.Down, known: r.Oper != ""}
	seconds := float64(r.IntervalMS) / 1000
	if seconds > 0 && !r.Reset {
		rate := func(v *uint64) float64 {
			if v == nil {
				return nan
			}
			return float64(*v) / seconds
		}
		share := func(v *uint64) float64 {
			if r.Speed == 0 {
				return nan
			}
			return rate(v) * 8 / float64(r.Speed)
		}
		if in := r.In; in != nil {
			// Mostly FCS errors are among the errors, too.
			n.errors, n.discards, n.used, n.pause = greater(rate(in.Errors), rate(in.FCS)), rate(in.Discards), share(in.Octets), rate(in.Pause)
		}
		if out := r.Out; out != nil {
			n.discardsOut, n.usedOut = rate(out.Discards), share(out.Octets)
		}
	}
	c.ports = append(c.ports, n)
}

// greater returns the greater of two numbers, of which one or both may be NaN.
func greater(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}

// crossed returns what of an echo's probes crossed any of some arcs, and was lost. What was lost and cannot be told apart by direction counts if
// either way crosses.
func (c *Collector) crossed(e *echo, arcs map[graphs.ArcID]bool) (sent, lost int) {
	on := func(route int32) bool {
		return route >= 0 && slices.ContainsFunc(c.routes[route], func(a graphs.ArcID) bool { return arcs[a] })
	}
	there, home := on(e.route), on(e.back)
	switch {
	case !there && !home:
		return 0, 0
	case e.there < 0 || there && home:
		return int(e.sent), int(e.lost)
	case there:
		return int(e.sent), int(e.there)
	}
	return int(e.sent - e.there), int(e.home)
}
