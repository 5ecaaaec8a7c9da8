package snmp

import "time"

// A Meter tells how fast ports send and receive. Agents show figures that they keep for seconds, so that two readings close to each other differ by
// nothing or by twice as much as was sent between them. A meter therefore measures from one change of a counter to another, over a stretch of
// time that is long beside the time for which agents keep their figures, and beside the readings between which a change may have been. Of an agent that tells when it took them (Arista's) the
// moments are exact. It is not safe for concurrent use.
type Meter struct {
	span  time.Duration
	ports map[uint32]*gauge
}

// A Rate is what a port carries, in bit/s.
type Rate struct {
	In, Out float64
	// Over is the time from the first change to the last, by the agent's clock.
	Over time.Duration
}

// A gauge is a port's changes within the span.
type gauge struct {
	name    string
	now     time.Duration // since the gauge began
	in, out uint64        // octets since then
	edges   []edge
	seen    bool // in the latest reading
}

// An edge is a moment at which a counter was seen to have changed, at some time since the reading before.
type edge struct {
	at, since time.Duration
	in, out   uint64
}

// doubt is by what share of the time from one edge to another that may be longer or shorter.
func (a *edge) doubt(b *edge) float64 {
	return float64(a.at-a.since+b.at-b.since) / 2 / float64(b.at-a.at)
}

// mostDoubt is above which doubt no rate is told. Of two readings as far apart as the one before, all of it is in doubt if agents keep figures for so long.
const mostDoubt = 1.5

// How long counters stand still at most before nothing is said to flow: SONiC's figures are up to 7 s old.
const longestStill = 10 * time.Second

// NewMeter returns a meter that measures over a span, 30 s if it is 0.
func NewMeter(span time.Duration) *Meter {
	if span <= 0 {
		span = 30 * time.Second
	}
	return &Meter{span, map[uint32]*gauge{}}
}

// Add takes in what ports counted between two readings, as [Between] tells it, and the quantum of the later reading.
func (m *Meter) Add(deltas []Delta, quantum time.Duration) {
	for _, g := range m.ports {
		g.seen = false
	}
	for i := range deltas {
		d := &deltas[i]
		g := m.ports[d.Index]
		if g == nil || g.name != d.Name || d.Reset || d.In.Octets == nil || d.Out.Octets == nil {
			g = &gauge{name: d.Name, seen: true}
			m.ports[d.Index] = g
			if d.Reset || d.In.Octets == nil || d.Out.Octets == nil {
				continue
			}
		}
		g.add(d, m.span, max(longestStill, 2*quantum))
	}
	for index, g := range m.ports {
		if !g.seen {
			delete(m.ports, index)
		}
	}
}

func (g *gauge) add(d *Delta, span, still time.Duration) {
	g.seen = true
	since := g.now
	g.now += d.Elapsed
	g.in += *d.In.Octets
	g.out += *d.Out.Octets
	last := edge{at: -1}
	if len(g.edges) > 0 {
		last = g.edges[len(g.edges)-1]
	}
	if *d.In.Octets > 0 || *d.Out.Octets > 0 || last.at >= 0 && g.now-last.at > still {
		at := max(g.now-d.age, last.at)
		if d.age > 0 || *d.In.Octets == 0 && *d.Out.Octets == 0 {
			since = at
		}
		g.edges = append(g.edges, edge{at, since, g.in, g.out})
	} else if len(g.edges) == 0 && g.now > still {
		g.edges = append(g.edges, edge{}, edge{at: g.now, since: g.now})
	}
	// The last edge that is older than the span stays: it is where the span begins.
	for len(g.edges) > 2 && g.now-g.edges[1].at >= span {
		g.edges = append(g.edges[:0], g.edges[1:]...)
	}
}

// Rate returns what a port carries, from the change to the last one by which that is surest; false as long as its counters have not been seen to change twice, or that may
// have been at quite other times.
func (m *Meter) Rate(index uint32) (Rate, bool) {
	g := m.ports[index]
	if g == nil || len(g.edges) < 2 {
		return Rate{}, false
	}
	last := len(g.edges) - 1
	b := &g.edges[last]
	a, doubt := b, mostDoubt
	for i := range g.edges[:last] {
		if x := &g.edges[i]; x.at < b.at && x.doubt(b) < doubt {
			a, doubt = x, x.doubt(b)
		}
	}
	if a == b {
		return Rate{}, false
	}
	over := b.at - a.at
	return Rate{8 * float64(b.in-a.in) / over.Seconds(), 8 * float64(b.out-a.out) / over.Seconds(), over}, true
}
