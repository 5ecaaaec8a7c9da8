package probes

import (
	"sync"
	"time"

	"whichlink/graphs"
)

// An expiryBudget holds back TTL-limited probes, so that all hosts of a plan together ask any one switch for no more than a
// given number a second: each host has a bucket for each switch, filled by its share.
type expiryBudget struct {
	mu      sync.Mutex // guards buckets and last
	buckets map[graphs.NodeID]*expiryBucket
	last    time.Time
}

type expiryBucket struct{ tokens, rate, depth float64 }

// bucketShare is the part of a second's allowance that may go at once. Filling by the rest keeps every second, wherever it
// begins, within the allowance.
const bucketShare = 0.25

func newExpiryBudget(perSwitch float64, shares map[graphs.NodeID]float64, now time.Time) *expiryBudget {
	b := &expiryBudget{buckets: make(map[graphs.NodeID]*expiryBucket, len(shares)), last: now}
	for n, share := range shares {
		allowed := perSwitch * share
		depth := max(1, bucketShare*allowed)
		// A bucket that may hold less than one probe's worth starts empty: hosts that start together must not add up.
		b.buckets[n] = &expiryBucket{tokens: min(depth, bucketShare*allowed), rate: (1 - bucketShare) * allowed, depth: depth}
	}
	return b
}

// take takes a probe's worth from the buckets of the switches that may have to answer it, in proportion to how probable each is,
// and reports whether all of them had it. A switch that is not in the plan has no budget.
func (b *expiryBudget) take(likely map[graphs.NodeID]float64, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d := now.Sub(b.last).Seconds(); d > 0 {
		for _, x := range b.buckets {
			x.tokens = min(x.depth, x.tokens+d*x.rate)
		}
		b.last = now
	}
	for n, p := range likely {
		if x := b.buckets[n]; x == nil || x.tokens < p {
			return false
		}
	}
	for n, p := range likely {
		b.buckets[n].tokens -= p
	}
	return true
}
