package diagnose

import (
	"slices"
	"sync"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// A PortSeries keeps what ports carried and lost in time, some hundred points of each, whatever the horizon of evidence is. It is safe for concurrent
// use: a [Store] fills it while screens draw it.
type PortSeries struct {
	most int

	mu    sync.Mutex // guards ports
	ports map[graphs.PortID][]PortPoint
}

// portPoints is how many points of a port are kept where nobody says: half an hour at ten seconds each.
const portPoints = 180

// A PortPoint is what a port did in an interval that ended at At.
type PortPoint struct {
	At   time.Time
	Over time.Duration
	// Speed is in bit/s, 0 if not known.
	Speed   float64
	In, Out PortFlow
	// Metered is over how long the poller itself measured rates by the moments at which counters changed, MeteredIn and MeteredOut; 0 if it did not.
	Metered               time.Duration
	MeteredIn, MeteredOut float64
	// Optics is the light of the port's transceiver, where it was read since the point before: once a minute or so.
	Optics []evidence.Lane
}

// A PortFlow is one direction. Agents count by clocks of their own, of up to seven seconds, so that the Rate of one point by itself may be far off.
type PortFlow struct {
	// Known tells that octets were counted. Rate is in bit/s.
	Known bool
	Rate  float64
	// Errors and Discards are packets.
	Errors, Discards uint64
}

// NewPortSeries makes an empty series that keeps so many points of each port; 0 means 180.
func NewPortSeries(most int) *PortSeries {
	if most <= 0 {
		most = portPoints
	}
	return &PortSeries{most: most, ports: map[graphs.PortID][]PortPoint{}}
}

// add takes in what a port counted. Intervals that say nothing leave a gap.
func (s *PortSeries) add(p graphs.PortID, r *portReading) {
	if r.Reset || r.interval <= 0 || r.In == nil && r.Out == nil {
		return
	}
	point := pointOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.ports[p]
	if n := len(list); n > 0 && !point.At.After(list[n-1].At) {
		return // told by two pollers, or late
	}
	if len(list) == s.most {
		copy(list, list[1:])
		list = list[:s.most-1]
	}
	s.ports[p] = append(list, point)
}

func pointOf(r *portReading) PortPoint {
	p := PortPoint{At: r.at, Over: r.interval, Speed: float64(r.Speed), In: flowOf(r.In, r.interval), Out: flowOf(r.Out, r.interval),
		Optics: r.Optics}
	if r.RateMS > 0 && r.InRate != nil && r.OutRate != nil {
		p.Metered, p.MeteredIn, p.MeteredOut = time.Duration(r.RateMS)*time.Millisecond, float64(*r.InRate), float64(*r.OutRate)
	}
	return p
}

func flowOf(c *evidence.Counters, interval time.Duration) PortFlow {
	if c == nil {
		return PortFlow{}
	}
	return PortFlow{
		Known: c.Octets != nil, Rate: 8 * value(c.Octets) / interval.Seconds(),
		Errors: uint64(max(value(c.Errors), value(c.FCS))), Discards: uint64(value(c.Discards)),
	}
}

// Port returns the points of a port, oldest first.
func (s *PortSeries) Port(p graphs.PortID) []PortPoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ports[p])
}

// A carried is what a port carried, in bit/s, negative where that is not known, and over how long that was measured.
type carried struct {
	in, out float64
	over    time.Duration
}

// carriedBy adds up the newest of some readings, which are in the order of time, over a stretch of time. What the poller measured by its own clock of
// changes is better than that, where it is over as long as what is here.
func carriedBy(readings []portReading, over time.Duration) carried {
	var in, out, inSeconds, outSeconds float64
	last := pointOf(&readings[len(readings)-1])
	for i := range slices.Backward(readings) {
		x := pointOf(&readings[i])
		if last.At.Sub(x.At) >= over {
			break
		}
		if x.In.Known {
			in, inSeconds = in+x.In.Rate*x.Over.Seconds(), inSeconds+x.Over.Seconds()
		}
		if x.Out.Known {
			out, outSeconds = out+x.Out.Rate*x.Over.Seconds(), outSeconds+x.Over.Seconds()
		}
	}
	seconds := max(inSeconds, outSeconds)
	if last.Metered > 0 && last.Metered.Seconds() >= min(seconds, over.Seconds())/2 {
		return carried{last.MeteredIn, last.MeteredOut, last.Metered}
	}
	c := carried{-1, -1, time.Duration(seconds * float64(time.Second))}
	if inSeconds > 0 {
		c.in = in / inSeconds
	}
	if outSeconds > 0 {
		c.out = out / outSeconds
	}
	return c
}
