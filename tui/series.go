package tui

import (
	"math"
	"slices"

	"whichlink/graphs"
)

// A course is one quantity over time, a value a column, with its total.
type course struct {
	loss       []float64 // fraction a column, NaN without a sample
	rtt        []float64 // microseconds
	sent, lost int
	// whole is true where the loss is of both ways together: the reflector could not tell them apart.
	whole bool
}

// courseOf adds up what the flows in one direction of a link measured, k bins a column. Flows that only may cross it, or
// whose loss is of both ways, count only if there are no others.
func courseOf(d *LinkDetail, arc graphs.ArcID, k int) course {
	for _, strict := range []bool{true, false} {
		var c course
		var pick []*FlowSeries
		for i := range d.Flows {
			f := &d.Flows[i]
			if f.Arc != arc || strict && (f.Maybe || f.Whole) {
				continue
			}
			pick = append(pick, f)
			c.whole = c.whole || f.Whole
		}
		if len(pick) == 0 {
			continue
		}
		c.gather(pick, k)
		return c
	}
	return course{}
}

func (c *course) gather(flows []*FlowSeries, k int) {
	bins := 0
	for _, f := range flows {
		bins = max(bins, len(f.Sent))
	}
	delays := make([]float64, 0, len(flows)*k)
	for from := 0; from < bins; from += k {
		sent, lost := 0, 0
		delays = delays[:0]
		for _, f := range flows {
			for i := from; i < min(from+k, len(f.Sent), len(f.Lost)); i++ {
				sent += f.Sent[i]
				lost += f.Lost[i]
				if i < len(f.RTT) && !math.IsNaN(f.RTT[i]) {
					delays = append(delays, f.RTT[i])
				}
			}
		}
		c.sent += sent
		c.lost += lost
		c.loss = append(c.loss, ratio(lost, sent))
		c.rtt = append(c.rtt, median(delays))
	}
}

// ratio is lost/sent, NaN if nothing was sent: no sample is not zero loss.
func ratio(lost, sent int) float64 {
	if sent <= 0 {
		return math.NaN()
	}
	return float64(lost) / float64(sent)
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// latest returns the last value that is one, NaN if there is none.
func latest(v []float64) float64 {
	for _, x := range slices.Backward(v) {
		if !math.IsNaN(x) {
			return x
		}
	}
	return math.NaN()
}
