package captures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

const (
	// leastSide is how many bins must lie on each side of a step, chanceOfStep how probable it may be by chance in a series that has none,
	// all places and pairs counted.
	leastSide    = 5
	chanceOfStep = 1e-3
	// stepShare and stepLeast are by how much a round trip must change: a fifth, and 10 us, below which time stamps and hosts blur.
	stepShare = 0.2
	stepLeast = 10_000
	// edge is the share of bins on each side that may lie on the wrong one.
	edge = 0.1
	// periodicPairs is in how many pairs, those with the most round trips, steps are looked for that come back.
	periodicPairs = 8
	// stepNoise is how many times the usual change between bins a change must have to be a step.
	stepNoise = 5
	// crowded is of how many values at most one may be a step: more are no steps but the way that the series goes.
	crowded = 8
)

// An rttFinder tells when the round trip between hosts changed for good, and when it changes by a timer.
type rttFinder struct{ a *Analyzer }

func newRTTFinder(a *Analyzer) finder { return &rttFinder{a} }

func (f *rttFinder) see(*Sight) {}

// An rttStep is where a series of round trips changed its level.
type rttStep struct {
	at            int // index of the first value behind it
	before, after float64
	chance        float64
}

func (f *rttFinder) report(r *Report) {
	pairs := f.a.tcp.series.pairs
	rose, fell := ranking{most: f.a.cfg.MaxFindings}, ranking{most: f.a.cfg.MaxFindings}
	texts := map[uint32]string{}
	limits := map[uint32]float64{}
	for i := range pairs {
		p := &pairs[i]
		at, least, mean := p.values()
		text, s := "", rttStep{}
		if l, ok := step(least, len(pairs)); ok {
			s, text = l, "even the least of each %s: the way is another one, or a queue never empties"
		} else if m, ok := step(mean, len(pairs)); ok {
			s, text = m, fmt.Sprintf("the mean of each %%s, while the least stayed at %s: queues on the way, by load", duration(int64(median(least))))
		} else {
			continue
		}
		list, word := &rose, "rose"
		if s.after < s.before {
			list, word = &fell, "fell"
		}
		texts[uint32(i)] = fmt.Sprintf("the round trip from the point of capture %s from %s to %s, ", word, duration(int64(s.before)), duration(int64(s.after))) +
			fmt.Sprintf(text, duration(1<<p.shift))
		limits[uint32(i)] = (s.before + s.after) / 2
		list.add(candidate{int64(len(at) - s.at), at[s.at], at[len(at)-1], uint32(i), 0})
	}
	tell := func(list *ranking, name string, severity Severity) {
		list.tell(r, func(c candidate) Finding {
			p := &pairs[c.number]
			return Finding{
				Finding: name, Severity: severity, Subject: p.name(), Text: texts[c.number], Filter: p.filter(limits[c.number]), about: choosePair(p.src, p.dst),
				Rule: fmt.Sprintf("a fifth and 10 us more or less from then on, more than nine of ten bins on each side differ among themselves and apart from those on the other, by chance with probability %g at most (rank sums)", chanceOfStep),
			}
		})
	}
	tell(&rose, "rtt-regression", Warning)
	tell(&fell, "rtt-recovery", Info)
	f.periodic(r)
}

// filter shows the acknowledgements of a pair that took longer than a limit in ns.
func (p *rttPair) filter(limit float64) string {
	back := pairFilter(p.dst, p.src)
	if p.roce {
		return back + " && infiniband.aeth"
	}
	return fmt.Sprintf("%s && tcp.analysis.ack_rtt > %.6f", back, limit/1e9)
}

// step looks for the place where a series changed its level, of which the ranks of the values on both sides differ the most (Mann and
// Whitney). One of so many series is tried.
func step(values []float64, series int) (rttStep, bool) {
	n := len(values)
	if n < 2*leastSide {
		return rttStep{}, false
	}
	ranks := rank(values)
	best, bestZ, sum := 0, 0.0, 0.0
	for k := 1; k <= n-leastSide; k++ {
		sum += ranks[k-1]
		if k < leastSide {
			continue
		}
		a, b := float64(k), float64(n-k)
		if z := math.Abs(sum-a*float64(n+1)/2) / math.Sqrt(a*b*float64(n+1)/12); z > bestZ {
			best, bestZ = k, z
		}
	}
	if best == 0 {
		return rttStep{}, false
	}
	s := rttStep{at: best, before: median(values[:best]), after: median(values[best:])}
	s.chance = math.Erfc(bestZ/math.Sqrt2) * float64(n) * float64(series)
	low, high := values[:best], values[best:]
	if s.after < s.before {
		low, high = high, low
	}
	apart := quantileOf(low, 1-edge) < quantileOf(high, edge)
	// What changes its level all the time, as where ways take turns, has no one place where it did.
	within := max(quantileOf(low, 1-edge)-quantileOf(low, edge), quantileOf(high, 1-edge)-quantileOf(high, edge))
	great := math.Abs(s.after-s.before) >= max(stepShare*min(s.before, s.after), stepLeast, within)
	return s, apart && great && s.chance < chanceOfStep
}

// rank returns the rank of each value from 1 on, equal ones the mean of theirs.
func rank(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks := make([]float64, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for _, o := range order[i:j] {
			ranks[o] = float64(i+j+1) / 2
		}
		i = j
	}
	return ranks
}

func quantileOf(values []float64, q float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return v[int(q*float64(len(v)-1)+0.5)]
}

// periodic looks for changes of the round trip that come back at equal distances, as a re-scheduling each 15 s makes them.
func (f *rttFinder) periodic(r *Report) {
	pairs := f.a.tcp.series.pairs
	order := make([]int, len(pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(pairs[y].n, pairs[x].n) })
	for _, i := range order[:min(len(order), periodicPairs)] {
		p := &pairs[i]
		at, least, _ := p.values()
		events := rhythm{apart: 2 << p.shift}
		steps := changes(least)
		for _, k := range steps {
			events.add(at[k])
		}
		found, ok := events.period()
		if found.chance *= periodicPairs; !ok || found.chance >= chanceOfRhythm {
			continue
		}
		r.Findings = append(r.Findings, Finding{
			Finding: "periodic-delay", Severity: Warning, Subject: p.name(), Count: int64(len(steps)), From: instant(at[steps[0]]), To: instant(at[steps[len(steps)-1]]),
			Text: fmt.Sprintf("the round trip from the point of capture changes every %s, %s, in %d of %d periods with changes: something that runs by a timer is the cause",
				duration(found.length), found.at(), found.hit, found.cycles),
			Rule: found.rule("steps of the least round trip in bins of " + duration(1<<p.shift)), Filter: p.filter(0), about: choosePair(p.src, p.dst),
		})
	}
}

// changes returns where a series changes by much more than it usually does from one value to the next: where a step begins.
func changes(values []float64) []int {
	if len(values) < 2*leastSide {
		return nil
	}
	moves := make([]float64, len(values)-1)
	for i := range moves {
		moves[i] = math.Abs(values[i+1] - values[i])
	}
	much := max(stepNoise*median(moves), stepLeast, stepShare/2*median(values))
	var at []int
	for i, m := range moves {
		if m >= much {
			at = append(at, i+1)
		}
	}
	if len(at) > len(values)/crowded {
		return nil
	}
	return at
}
