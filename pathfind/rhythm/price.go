package rhythm

import (
	"math"
	"slices"
	"sort"
)

// mostWeighed is how many episodes are weighed one by one; of more, each has to explain its changes in full.
const mostWeighed = 64

// once is the price of what comes once, the logarithm of how many come again for each: flows with troubles of their own that fall together look like it.
const once = 2.3

// An edge is what may be said of one end of an episode: for how long it may be moved either way, each moment weighted by how well it explains the counts
// beside where it is, and by how much that makes the episode longer in the mean. Both are shares of the time of the evidence.
type edge struct{ leeway, longer float64 }

// ends returns the edges of an episode at which the state changed.
func (s *scan) ends(eps []episode, i int, bad float64) (out [2]edge) {
	for k, start := range [2]bool{true, false} {
		if start && eps[i].begun || !start && eps[i].lasting {
			out[k] = edge{leeway: 1}
			continue
		}
		out[k] = s.leeway(eps, i, start, bad)
		out[k].leeway = max(out[k].leeway, 1/s.moments)
	}
	return out
}

// price returns what episodes cost: the logarithm of how unlikely their changes of state are before any evidence, each anywhere within its leeway.
func (s *scan) price(eps []episode, bad float64) float64 {
	if len(eps) > mostWeighed {
		return s.full(eps)
	}
	ends := make([][2]edge, len(eps))
	for i := range eps {
		ends[i] = s.ends(eps, i, bad)
	}
	return s.priceOf(eps, ends)
}

// full returns the price of changes of which each was at one of many moments.
func (s *scan) full(eps []episode) float64 { return changes(eps) * math.Log(s.moments) }

// priceOf is price, the edges known.
func (s *scan) priceOf(eps []episode, ends [][2]edge) float64 {
	if len(eps) == 1 && (eps[0].begun || eps[0].lasting) {
		return s.full(eps) // what began or ended is not known to come and go
	}
	return s.renewed(eps, ends)
}

// renewed is the price of episodes that come and go.
func (s *scan) renewed(eps []episode, ends [][2]edge) float64 {
	cost, time := 0.0, 0.0
	if len(eps) == 1 {
		cost = once
	}
	for i, e := range eps {
		cost -= math.Log(ends[i][0].leeway * ends[i][1].leeway)
		time += max(0, (e.to-e.from)/(s.end-s.begin)+ends[i][0].longer+ends[i][1].longer)
	}
	return cost - s.renewal(len(eps), eps[0].begun, eps[len(eps)-1].lasting, time)
}

// renewal returns the logarithm of the density of the changes of state of episodes that take up a share of the time, before any evidence, with
// the time of the evidence as the unit. Episodes last about as long as each other, and so do the times between them, exponentially distributed with means of which
// each from that of one packet to all the time is as likely, by its logarithm.
func (s *scan) renewal(n int, begun, lasting bool, time float64) float64 {
	onsets, ends := n, n
	if begun {
		onsets--
	}
	if lasting {
		ends--
	}
	most := s.moments
	time = min(max(time, float64(n)/most), 0.99)
	spread := math.Log(most)
	rate := func(n int, x float64) float64 {
		if n == 0 {
			return -math.Log(spread) // nearly: of all means, only the longest leave no change
		}
		g, _ := math.Lgamma(float64(n))
		return g - float64(n)*math.Log(x) + math.Log(max(fewer(n, x)-fewer(n, most*x), 1e-9)/spread)
	}
	in, out := (float64(onsets)+0.5)/(1-time), (float64(ends)+0.5)/time
	first := in / (in + out) // the chance to begin in an episode
	if !begun {
		first = 1 - first
	}
	return rate(onsets, 1-time) + rate(ends, time) + math.Log(first)
}

// fewer returns the probability of fewer than n events where x are expected.
func fewer(n int, x float64) float64 {
	term := math.Exp(-x)
	sum := term
	for k := 1; k < n; k++ {
		term *= x / float64(k)
		sum += term
	}
	return sum
}

// worth drops the episodes that explain less than their price, the least first, as long as effort is to spare.
func (s *scan) worth(eps []episode, bad float64) ([]episode, float64) {
	if len(eps) > mostWeighed {
		return eps, bad
	}
	for len(eps) > 1 && s.spare > 0 {
		before := len(eps)
		for w := s.weigh(eps, bad); len(eps) > 1 && s.spare > 0; {
			i, gain := w.least()
			if gain <= 0 {
				break
			}
			eps = w.drop(i)
		}
		if len(eps) == before {
			break
		}
		_, bad = s.level(eps)
	}
	return eps, bad
}

// Weights are what the episodes of a set explain and cost, one by one.
type weights struct {
	s    *scan
	bad  float64
	eps  []episode
	ends [][2]edge
	// Without one episode, the likelihood is that much greater, and these are the ends of those from the first on that it lies beside or shares counts with.
	gain  []float64
	first []int
	aside [][][2]edge
	stale []bool
}

func (s *scan) weigh(eps []episode, bad float64) *weights {
	n := len(eps)
	w := &weights{s: s, bad: bad, eps: slices.Clone(eps), ends: make([][2]edge, n), gain: make([]float64, n), first: make([]int, n), aside: make([][][2]edge, n),
		stale: make([]bool, n)}
	for i := range eps {
		w.ends[i] = s.ends(eps, i, bad)
		w.stale[i] = true
	}
	return w
}

// least returns the episode without which the others explain the counts best, and what is gained by dropping it.
func (w *weights) least() (least int, gain float64) {
	gain = math.Inf(-1)
	all := w.s.priceOf(w.eps, w.ends)
	for i := range w.eps {
		if v := w.without(i) + all; v > gain {
			least, gain = i, v
		}
	}
	return least, gain
}

// without returns the gain in likelihood where one of several episodes is dropped, the price of the others taken off.
func (w *weights) without(i int) float64 {
	s := w.s
	rest := slices.Delete(slices.Clone(w.eps), i, i+1)
	if w.stale[i] {
		w.stale[i] = false
		w.gain[i] = s.gain(w.eps, rest, w.eps[i].from, w.eps[i].to, w.bad)
		first, last := w.near(i)
		w.first[i], w.aside[i] = first, w.aside[i][:0]
		for j := first; j < last; j++ { // of the rest
			w.aside[i] = append(w.aside[i], s.ends(rest, j, w.bad))
		}
	}
	ends := slices.Delete(slices.Clone(w.ends), i, i+1)
	copy(ends[w.first[i]:], w.aside[i])
	return w.gain[i] - s.priceOf(rest, ends)
}

// near returns which of the other episodes one lies beside or shares counts with: from the first to before the last, by their indices where it is dropped.
func (w *weights) near(i int) (first, last int) {
	from, to := w.eps[i].from, w.eps[i].to
	for _, x := range w.s.reach(from, to) {
		for _, c := range w.s.counts[x[0]:x[1]] {
			if c.Lost > 0 { // of what passed, each episode by itself says nearly all
				from, to = min(from, c.From), max(to, c.To)
			}
		}
	}
	first = firstAfter(w.eps, from)
	last = sort.Search(len(w.eps), func(j int) bool { return w.eps[j].from > to })
	return max(0, min(first, i)-1), min(len(w.eps), max(last, i+1)+1) - 1
}

// drop drops an episode and returns the others. What lies near it is weighed anew, and so is what lies near that.
func (w *weights) drop(i int) []episode {
	first, last := w.near(i)
	w.eps, w.ends = slices.Delete(w.eps, i, i+1), slices.Delete(w.ends, i, i+1)
	w.gain, w.first = slices.Delete(w.gain, i, i+1), slices.Delete(w.first, i, i+1)
	w.aside, w.stale = slices.Delete(w.aside, i, i+1), slices.Delete(w.stale, i, i+1)
	for j := first; j < last; j++ {
		w.ends[j] = w.s.ends(w.eps, j, w.bad)
	}
	for j := range w.eps {
		if w.first[j] > i {
			w.first[j]--
		}
		a, b := w.near(j)
		w.stale[j] = w.stale[j] || a <= last && b >= first
	}
	return slices.Clone(w.eps)
}

// leeway looks for how far an edge of an episode may be moved.
func (s *scan) leeway(eps []episode, i int, start bool, bad float64) edge {
	const faint = 4 // nats
	was := eps[i]
	at, low, high := was.to, was.from, s.end
	if i+1 < len(eps) {
		high = eps[i+1].from
	}
	outward := 1.0
	if start {
		outward = -1
		at, low, high = was.from, s.begin, was.to
		if i > 0 {
			low = eps[i-1].to
		}
	}
	all, longer := 0.0, 0.0
	for _, sign := range []float64{-1, 1} {
		last, weight, gain := 0.0, 1.0, 0.0
		for step := (s.end - s.begin) / s.moments; ; step *= 1.5 {
			to := at + sign*(last+step)
			done := to <= low || to >= high
			to = min(max(to, low), high)
			place := was
			if start {
				place.from = to
			} else {
				place.to = to
			}
			gain += s.push(eps, i, place, bad)
			now := math.Exp(min(gain, 0))
			far := math.Abs(to - at)
			all += (far - last) * (weight + now) / 2
			longer += sign * outward * (far - last) * (last*weight + far*now) / 2
			last, weight = far, now
			if done || gain < -faint {
				break
			}
		}
		eps[i] = was
	}
	if all <= 0 {
		return edge{}
	}
	return edge{all / (s.end - s.begin), longer / all / (s.end - s.begin)}
}
