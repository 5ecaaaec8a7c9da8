package probes

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"whichlink/graphs"
)

// An expiryBudget holds back TTL-limited probes, so that all hosts of a plan together ask any one switch for no more than a
// given number a second: each host has an allowance for each switch, its share by the plan.
type expiryBudget struct {
	mu         sync.Mutex // guards allowances and what is in them
	allowances map[graphs.NodeID]*allowance
	detour     float64 // answers a second of a switch that the plan does not expect on this host's paths
	rng        *rand.Rand
}

// detourShare is the part of every switch's answers that is left for paths which the plan did not expect.
const detourShare = 0.2

// An allowance is how much of a switch's answers a host may ask for in any one second (or in as many seconds as it takes to be
// allowed one).
type allowance struct {
	most    float64
	within  time.Duration
	charges []charge // of the last stretch, oldest first
	sum     float64
}

type charge struct {
	at     time.Time
	amount float64
}

// newExpiryBudget makes a budget of so many answers a second and switch for all of a number of hosts together, of which shares
// are this host's.
func newExpiryBudget(perSwitch float64, shares map[graphs.NodeID]float64, hosts int, now time.Time, rng *rand.Rand) *expiryBudget {
	b := &expiryBudget{
		allowances: make(map[graphs.NodeID]*allowance, len(shares)),
		detour:     perSwitch * detourShare / float64(max(1, hosts)),
		rng:        rng,
	}
	for _, n := range slices.Sorted(maps.Keys(shares)) {
		b.allow(n, perSwitch*(1-detourShare)*shares[n]+b.detour, now)
	}
	return b
}

// allow gives a switch its allowance from a moment on.
func (b *expiryBudget) allow(n graphs.NodeID, most float64, now time.Time) *allowance {
	a := &allowance{most: most, within: time.Second}
	if a.most < 1 {
		a.most, a.within = 1, time.Duration(float64(time.Second)/max(most, 1e-3))
		// Hosts that start together, or whose paths change together, must not all ask their one question in the same second.
		a.add(now.Add(-time.Duration(b.rng.Float64()*float64(a.within))), 1)
	}
	b.allowances[n] = a
	return a
}

func (a *allowance) add(at time.Time, amount float64) {
	a.charges = append(a.charges, charge{at, amount})
	a.sum += amount
}

// take charges a probe to the switches that may have to answer it, in proportion to how probable each is, and reports whether
// all of them had that much left, and a part of their allowance kept back besides.
func (b *expiryBudget) take(likely map[graphs.NodeID]float64, keep float64, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n, p := range likely {
		a := b.allowances[n]
		if a == nil {
			a = b.allow(n, b.detour, now)
		}
		for len(a.charges) > 0 && now.Sub(a.charges[0].at) >= a.within {
			a.sum -= a.charges[0].amount
			a.charges = a.charges[1:]
		}
		if a.sum+p > a.most*(1-keep)+1e-9 {
			return false
		}
	}
	for n, p := range likely {
		b.allowances[n].add(now, p)
	}
	return true
}
