package probes

import (
	"math/rand/v2"
	"sync"
	"time"

	"whichlink/graphs"
)

// An expiryBudget holds back TTL-limited probes, so that all hosts of a plan together ask any one switch for no more than a
// given number a second: each host has an allowance for each switch, its share by the plan.
type expiryBudget struct {
	mu         sync.Mutex // guards what is in the allowances
	allowances map[graphs.NodeID]*allowance
}

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

// newExpiryBudget makes a budget of so many answers a second and switch for all hosts together, of which shares are this host's.
func newExpiryBudget(perSwitch float64, shares map[graphs.NodeID]float64, now time.Time, rng *rand.Rand) *expiryBudget {
	b := &expiryBudget{allowances: make(map[graphs.NodeID]*allowance, len(shares))}
	for n := range shares {
		a := &allowance{most: perSwitch * shares[n], within: time.Second}
		if a.most > 0 && a.most < 1 {
			// Hosts that start together must not all ask their one question in the same second.
			a.within = time.Duration(float64(time.Second) / a.most)
			a.most = 1
			a.add(now.Add(-time.Duration(rng.Float64()*float64(a.within))), 1)
		}
		b.allowances[n] = a
	}
	return b
}

func (a *allowance) add(at time.Time, amount float64) {
	a.charges = append(a.charges, charge{at, amount})
	a.sum += amount
}

// take charges a probe to the switches that may have to answer it, in proportion to how probable each is, and reports whether
// all of them had that much left, and a part of their allowance kept back besides. A switch that is not in the plan has none.
func (b *expiryBudget) take(likely map[graphs.NodeID]float64, keep float64, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n, p := range likely {
		a := b.allowances[n]
		if a == nil {
			return false
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
