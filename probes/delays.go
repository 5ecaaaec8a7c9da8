package probes

import (
	"slices"
	"time"

	"whichlink/internal/evidence"
)

// maxDelays is how many samples a delays keeps.
const maxDelays = 256

// delays is a distribution of round-trip times in constant memory: the exact extremes, and an even sample of the rest.
type delays struct {
	n        int // all that were added
	min, max time.Duration
	kept     []time.Duration
	stride   int // every stride-th is kept
	skip     int
}

func (d *delays) add(x time.Duration) {
	if d.n == 0 || x < d.min {
		d.min = x
	}
	if x > d.max {
		d.max = x
	}
	d.n++
	if d.skip > 0 {
		d.skip--
		return
	}
	if len(d.kept) == maxDelays {
		// Full: every second one goes, and from now on only half as many come in.
		for i := range maxDelays / 2 {
			d.kept[i] = d.kept[2*i]
		}
		d.kept = d.kept[:maxDelays/2]
		d.stride *= 2
	}
	if d.stride == 0 {
		d.stride = 1
		if d.kept == nil {
			d.kept = make([]time.Duration, 0, maxDelays)
		}
	}
	d.kept = append(d.kept, x)
	d.skip = d.stride - 1
}

// delay summarises what was added, nil if nothing was.
func (d *delays) delay() *evidence.Delay {
	if d.n == 0 {
		return nil
	}
	sorted := slices.Clone(d.kept)
	slices.Sort(sorted)
	at := func(q float64) float64 {
		return microseconds(sorted[min(len(sorted)-1, int(q*float64(len(sorted))))])
	}
	return &evidence.Delay{Min: microseconds(d.min), P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: microseconds(d.max)}
}

// reset forgets all and keeps the memory.
func (d *delays) reset() { *d = delays{kept: d.kept[:0]} }

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()/100) / 10 }

// Delays is a distribution of delays in constant memory. The zero value is empty.
type Delays struct{ d delays }

// Add adds a delay.
func (d *Delays) Add(x time.Duration) { d.d.add(x) }

// Delay summarises what was added, nil if nothing was.
func (d *Delays) Delay() *evidence.Delay { return d.d.delay() }
