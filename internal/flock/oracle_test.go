package flock

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// prior is what the generator draws the number and the rates of a set's faults, and those of its good arcs, from.
type prior struct {
	low, high float64 // of faults: even between them, or evenly in their logarithm
	even      bool    // in their logarithm
	most      int     // faults; each number up to it is equally likely
	usual     float64 // the most that a good arc loses, or four times the median of those with a tail
	tailed    bool
}

func priorOf(t *testing.T, set, trace string) (prior, bool) {
	switch set {
	case "small", "low", "irr", "rrg", "large":
		return prior{low: 0.002, high: 0.02, most: 8, usual: 1e-4}, true
	case "soft":
		return prior{low: 0.001, high: 0.014, most: 8, usual: 1e-4}, true
	case "mixed", "mixedrrg":
		return prior{low: 0.001, high: 0.5, even: true, most: 8, usual: 1e-4, tailed: true}, true
	}
	return priorTold(t, trace)
}

// priorTold reads that of a set which has no name from the arguments of the generator, which it keeps with the truth. Of many faults it knows as little as
// of few: how many there are at most.
func priorTold(t *testing.T, trace string) (prior, bool) {
	text, err := os.ReadFile(strings.TrimSuffix(trace, ".trace") + ".truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var told struct{ Kind, Args string }
	if err := json.Unmarshal(text, &told); err != nil {
		t.Fatal(err)
	}
	p := prior{low: 0.002, high: 0.02, most: 8, usual: 1e-4}
	args := strings.Fields(told.Args)
	for i, arg := range args {
		var to *float64
		switch arg {
		case "-nf":
			n, err := strconv.Atoi(args[i+1])
			if err != nil {
				t.Fatal(err)
			}
			p.most = max(p.most, n)
		case "-good":
			to = &p.usual
		case "-lo":
			to = &p.low
		case "-hi":
			to = &p.high
		case "-goodtail":
			p.tailed = true
		case "-logu":
			p.even = true
		}
		if to != nil {
			if *to, err = strconv.ParseFloat(args[i+1], 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p, told.Kind == "link"
}

// bad and good return the rate that a share u of all is below.
func (p prior) bad(u float64) float64 {
	if p.even {
		return p.low * math.Pow(p.high/p.low, u)
	}
	return p.low + u*(p.high-p.low)
}

func (p prior) good(u float64) float64 {
	if p.tailed {
		return min(p.usual/4*math.Exp(math.Sqrt2*math.Erfinv(2*u-1)), 4*p.usual)
	}
	return u * max(p.usual, 1e-9) // a hazard of zero has no logarithm
}

// An oracle knows what no tool can: from what the generator draws rates and how many faults, that losses are independent, and the path of every flow.
// It draws from the posterior of all arcs' rates together, an arc at a time given all the others (Gibbs sampling), and so misses on average no less than
// what cannot be known from the trace.
type oracle struct {
	rng    *rand.Rand
	bad    [rates]float64  // hazards that a faulty arc may have, all equally likely
	good   [levels]float64 // those of a good one
	usual  [levels]float64 // how likely these are, in logarithms
	obs    []localize.Observation
	lossy  [][]int32 // by arc: the observations that cross it and lost packets
	passed []float64 // by arc: packets that crossed it and arrived
	sum    []float64 // by observation: the hazard of its path
	hazard []float64 // by arc
	faulty []int     // by arc: one more than which of bad its hazard is, or 0
	faults int
	most   int // faults
	odds   [2 * levels]float64
}

const (
	// levels is how many hazards are looked at when an arc is drawn: of a faulty one every so many of all rates, from a random one on.
	levels, rates = 8, 48 * levels
	// sweeps is how often each arc is drawn anew, the first of which are forgotten.
	sweeps, forgotten = 200, 40
)

func newOracle(f *graphs.Fabric, obs []localize.Observation, p prior, truth []string) *oracle {
	n := f.NumArcs()
	x := &oracle{rng: rand.New(rand.NewPCG(1, 2)), most: p.most, obs: obs, lossy: make([][]int32, n), passed: make([]float64, n), sum: make([]float64, len(obs)),
		hazard: make([]float64, n), faulty: make([]int, n)}
	for i := range x.bad {
		x.bad[i] = min(-math.Log1p(-p.bad((float64(i)+0.5)/rates)), 30) // dead arcs pass no packet either
	}
	// Good arcs with a rate from the tail are few, and look faulty to those who do not expect them.
	for i, from := range [levels]float64{0, 0.25, 0.5, 0.75, 0.9, 0.96, 0.99, 0.997} {
		to := [levels]float64{0.25, 0.5, 0.75, 0.9, 0.96, 0.99, 0.997, 1}[i]
		x.good[i], x.usual[i] = -math.Log1p(-p.good((from+to)/2)), math.Log(to-from)
	}
	for a := range x.hazard {
		x.hazard[a] = x.good[levels/2]
	}
	for i := range obs {
		for _, a := range obs[i].Path {
			x.sum[i] += x.hazard[a]
			x.passed[a] += float64(obs[i].Sent - obs[i].Lost)
			if obs[i].Lost > 0 {
				x.lossy[a] = append(x.lossy[a], int32(i))
			}
		}
	}
	for a := range x.hazard {
		if slices.Contains(truth, arcName(f, graphs.ArcID(a))) && len(x.lossy[a]) > 0 {
			x.set(a, x.bad[rates/2], rates/2+1)
		}
	}
	return x
}

// set gives an arc another hazard, that of a good one if faulty is 0.
func (x *oracle) set(a int, h float64, faulty int) {
	for _, i := range x.lossy[a] {
		x.sum[i] += h - x.hazard[a]
	}
	x.hazard[a] = h
	if x.faulty[a] > 0 {
		x.faults--
	}
	if x.faulty[a] = faulty; faulty > 0 {
		x.faults++
	}
}

// likelihood returns the log-likelihood of all that crosses an arc at a hazard, but for a constant.
func (x *oracle) likelihood(a int, h float64) float64 {
	v, product := -h*x.passed[a], 1.0
	for _, i := range x.lossy[a] {
		miss := -math.Expm1(-(x.sum[i] - x.hazard[a] + h))
		if x.obs[i].Lost > 1 {
			v += float64(x.obs[i].Lost) * math.Log(miss)
		} else if product *= miss; product < 1e-200 {
			v += math.Log(product)
			product = 1
		}
	}
	return v + math.Log(product)
}

// draw draws the hazard of an arc given those of all others. It returns the probability that the arc is faulty.
func (x *oracle) draw(a int) float64 {
	others, offset := x.faults, x.rng.IntN(rates/levels)
	if x.faulty[a] > 0 {
		others, offset = others-1, (x.faulty[a]-1)%(rates/levels)
	}
	// One set of n+1 arcs is so much likelier than one of n of which it has all.
	prior := math.Inf(-1)
	if others < x.most {
		prior = math.Log(float64(others+1) / float64(len(x.hazard)-others))
	}
	for i := range levels {
		x.odds[i] = x.usual[i] + x.likelihood(a, x.good[i])
		x.odds[levels+i] = prior - math.Log(levels) + x.likelihood(a, x.bad[offset+i*(rates/levels)])
	}
	top := slices.Max(x.odds[:])
	all, bad := 0.0, 0.0
	for i := range x.odds {
		x.odds[i] = math.Exp(x.odds[i] - top)
		if all += x.odds[i]; i >= levels {
			bad += x.odds[i]
		}
	}
	u := x.rng.Float64() * all
	i := 0
	for ; i < len(x.odds)-1 && u >= x.odds[i]; i++ {
		u -= x.odds[i]
	}
	if i < levels {
		x.set(a, x.good[i], 0)
	} else {
		at := offset + (i-levels)*(rates/levels)
		x.set(a, x.bad[at], at+1)
	}
	return bad / all
}

// any returns one of the faulty arcs.
func (x *oracle) any() int {
	a := -1
	for at := x.rng.IntN(x.faults); at >= 0; at-- {
		a += 1 + slices.IndexFunc(x.faulty[a+1:], func(rate int) bool { return rate > 0 })
	}
	return a
}

// accept reports whether a change of the log of the posterior is one to make (Metropolis and Hastings).
func (x *oracle) accept(gain float64) bool { return math.Log(x.rng.Float64()) < gain }

// move gives one of the faulty arcs another rate near its own, if that is right.
func (x *oracle) move() {
	a := x.any()
	at := x.faulty[a] + (1-2*x.rng.IntN(2))<<x.rng.IntN(5)
	if at < 1 || at > rates {
		return
	}
	if h := x.bad[at-1]; x.accept(x.likelihood(a, h) - x.likelihood(a, x.hazard[a])) {
		x.set(a, h, at)
	}
}

// swap lets one of the faulty arcs and another that some of its losses crossed change places, if that is right: to get there by way of both or of neither
// would take long.
func (x *oracle) swap() {
	a := x.any()
	path := x.obs[x.lossy[a][x.rng.IntN(len(x.lossy[a]))]].Path
	b := int(path[x.rng.IntN(len(path))])
	if x.faulty[b] > 0 {
		return
	}
	ha, hb, rate := x.hazard[a], x.hazard[b], x.faulty[a]
	gain := -x.likelihood(a, ha) + x.likelihood(a, hb)
	x.set(a, hb, 0)
	gain += x.likelihood(b, ha) - x.likelihood(b, hb)
	x.set(b, ha, rate)
	// B is chosen for a the more often the fewer losses a has.
	if !x.accept(gain + math.Log(float64(len(x.lossy[a]))/float64(len(x.lossy[b])))) {
		x.set(b, hb, 0)
		x.set(a, ha, rate)
	}
}

// probabilities returns, by arc, the posterior probability that it is faulty.
func (x *oracle) probabilities() []float64 {
	p := make([]float64, len(x.hazard))
	for sweep := range sweeps {
		for a := range p {
			if len(x.lossy[a]) == 0 {
				continue // hardly ever faulty
			}
			q := x.draw(a)
			if sweep >= forgotten {
				p[a] += q / (sweeps - forgotten)
			}
		}
		for range 4 * x.faults {
			x.swap()
			x.move()
		}
	}
	return p
}

// named returns the arcs that an oracle names with a probability of a half or more.
func (x *oracle) named(f *graphs.Fabric) (arcs []string) {
	for a, p := range x.probabilities() {
		if p >= 0.5 {
			arcs = append(arcs, arcName(f, graphs.ArcID(a)))
		}
	}
	return arcs
}
