package flock

import (
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/flaps"
	"whichlink/pathfind/localize"
)

// A flapOracle knows what no tool can: when arcs of a trace were bad, how much they lost then, what good arcs lose, and that no flow has a trouble of its own.
// What it cannot tell nobody can.
type flapOracle struct {
	f     *graphs.Fabric
	obs   []localize.Observation
	spans []flaps.Span
	paths localize.PathSets
	bad   map[graphs.ArcID]badTime
	only  bool // of flows, those that lost packets
}

// A badTime is when an arc was bad, and the share of packets that it lost then.
type badTime struct {
	windows [][2]float64
	loss    float64
}

// good is what good arcs lose of what crosses one, in the mean.
const good = 5e-5

// inside returns the share of a span that lies in windows.
func inside(s flaps.Span, windows [][2]float64) float64 {
	from, to := float64(s.From), float64(s.To)
	in := 0.0
	for _, w := range windows {
		in += max(0, min(to, w[1])-max(from, w[0]))
		if from == to && w[0] <= from && from <= w[1] {
			return 1
		}
	}
	if to <= from {
		return 0
	}
	return in / (to - from)
}

// share returns the probability that the packets of an observation crossed an arc.
func (x *flapOracle) share(o *localize.Observation, a graphs.ArcID) float64 {
	if slices.Contains(o.Path, a) {
		return 1
	}
	if o.From == o.To || x.paths == nil || x.f.IsHostArc(a) {
		return 0
	}
	reach := x.paths.Reach(o.From, x.f.Tail(a), o.To)
	if reach == 0 {
		return 0
	}
	return min(1, reach*x.paths.Step(a, o.To))
}

// likelihood returns that of an observation's losses, given what it may have crossed with which probability, and what part of its packets that lost then. One
// path crosses one of them at most.
func (x *flapOracle) likelihood(o *localize.Observation, shares, losses []float64) float64 {
	n, k := float64(o.Sent), float64(o.Lost)
	at := func(p float64) float64 {
		p = min(p, 1-1e-6)
		v := math.Exp(k*math.Log(p) + (n-k)*math.Log1p(-p))
		return v
	}
	rest, all, none := 1.0, 0.0, 0.0
	base := 6 * good
	for i, share := range shares {
		share = min(share, rest)
		rest -= share
		p := min(base+losses[i], 1-1e-6)
		all += share * at(p)
		none += share * math.Pow(1-p, n)
	}
	all += rest * at(base)
	none += rest * math.Pow(1-base, n)
	if x.only {
		return all / max(1-none, 1e-300)
	}
	return all
}

// posterior returns how likely it is that an arc is the one which was bad in its windows, among all arcs and none, all others as they are. Along with it
// comes how many are hardly less likely.
func (x *flapOracle) posterior(a graphs.ArcID) (probability float64, class int) {
	bad := x.bad[a]
	others := make(map[graphs.ArcID]badTime)
	for b, t := range x.bad {
		if b != a {
			others[b] = t
		}
	}
	gain := make([]float64, x.f.NumArcs())
	var hit []int
	lossy := make([]bool, x.f.NumArcs())
	for i := range x.obs {
		if inside(x.spans[i], bad.windows) == 0 {
			continue
		}
		hit = append(hit, i)
		if o := &x.obs[i]; o.Lost > 0 {
			for c := range lossy {
				lossy[c] = lossy[c] || x.share(o, graphs.ArcID(c)) > 0
			}
		}
	}
	var shares, losses []float64
	for _, i := range hit {
		o := &x.obs[i]
		in := inside(x.spans[i], bad.windows)
		shares, losses = shares[:0], losses[:0]
		for b, t := range others {
			if s, part := x.share(o, b), inside(x.spans[i], t.windows); s > 0 && part > 0 {
				shares, losses = append(shares, s), append(losses, part*t.loss)
			}
		}
		was := x.likelihood(o, shares, losses)
		for c := range gain {
			if !lossy[c] {
				continue
			}
			if s := x.share(o, graphs.ArcID(c)); s > 0 {
				now := x.likelihood(o, append(shares, s), append(losses, in*bad.loss))
				gain[c] += math.Log(max(now, 1e-300) / max(was, 1e-300))
			}
		}
	}
	most := math.Log(float64(x.f.NumArcs()) / 3) // of none
	none := most
	for c := range gain {
		if lossy[c] {
			most = max(most, gain[c])
			if gain[c] > gain[a]-2.5 {
				class++
			}
		}
	}
	sum := math.Exp(none - most)
	for c := range gain {
		if lossy[c] {
			sum += math.Exp(gain[c] - most)
		}
	}
	return math.Exp(gain[a]-most) / sum, class
}

// newFlapOracle estimates the loss of bad arcs from all flows of the trace, over their paths.
func newFlapOracle(f *graphs.Fabric, truth map[graphs.ArcID][][2]float64, all []localize.Observation, allSpans []flaps.Span) *flapOracle {
	x := &flapOracle{f: f, bad: map[graphs.ArcID]badTime{}, paths: pathfind.NewEqualCost(f, pathfind.PerPath)}
	for a, windows := range truth {
		sent, lost := 0.0, 0.0
		for i := range all {
			if o := &all[i]; slices.Contains(o.Path, a) {
				if in := inside(allSpans[i], windows); in > 0 {
					sent += in * float64(o.Sent)
					lost += min(float64(o.Lost), in*float64(o.Sent))
				}
			}
		}
		x.bad[a] = badTime{windows, (lost + 0.5) / (sent + 1)}
	}
	return x
}
