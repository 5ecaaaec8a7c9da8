package captures

import (
	"math/bits"

	"whichlink/internal/evidence"
)

// A histogram counts times by size: four buckets to each doubling, from a microsecond on, so that a quantile is right to an eighth.
type histogram struct {
	counts   [histogramBuckets]uint32
	n        uint32
	min, max uint32 // in units of 16 ns
}

const histogramBuckets = 88

func bucketOf(ns int64) int {
	v := uint64(max(ns, 0)) / 256 // four buckets from 1024 ns on
	if v < 4 {
		return 0
	}
	e := bits.Len64(v) - 3
	return min(e*4+int(v>>e)-4, histogramBuckets-1)
}

// bucketTime returns a bucket's lower end in nanoseconds.
func bucketTime(b int) int64 { return int64(4+b%4) << (b / 4) * 256 }

func (h *histogram) add(ns int64) {
	h.counts[bucketOf(ns)]++
	units := uint32(min(ns>>4, 1<<32-1))
	if h.n == 0 || units < h.min {
		h.min = units
	}
	h.max = max(h.max, units)
	h.n++
}

// join adds what another one counted.
func (h *histogram) join(o *histogram) {
	if o.n == 0 {
		return
	}
	if h.n == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.n += o.n
	for i, n := range o.counts {
		h.counts[i] += n
	}
}

// quantile returns the time that a share q of all are at most, in nanoseconds, to the middle of a bucket.
func (h *histogram) quantile(q float64) int64 {
	want, sum := uint32(q*float64(h.n)), uint32(0)
	for b, c := range h.counts {
		sum += c
		if sum > want {
			return min(max((bucketTime(b)+bucketTime(b+1))/2, int64(h.min)<<4), int64(h.max)<<4)
		}
	}
	return int64(h.max) << 4
}

// delay returns the distribution in microseconds.
func (h *histogram) delay() *evidence.Delay {
	us := func(ns int64) float64 { return float64(ns) / 1000 }
	return &evidence.Delay{
		Min: us(int64(h.min) << 4), P50: us(h.quantile(0.5)), P90: us(h.quantile(0.9)), P99: us(h.quantile(0.99)), Max: us(int64(h.max) << 4),
	}
}
