package captures

import (
	"fmt"
	"math"
	"time"
)

const (
	// maxBeats bounds the events that a rhythm remembers; when there are more, what lies close together becomes one.
	maxBeats = 256
	// leastCycles is how many periods must hold an event, and periodsOfSpan the longest span in shortest periods that are looked for.
	leastCycles   = 5
	periodsOfSpan = 200
	// leastApart is how many times the distance up to which events are one a period has at least.
	leastApart = 3
	// chanceOfRhythm is how probable it may be that a series without period shows one as strong, all that was tried counted.
	chanceOfRhythm = 1e-3
	// nearlyAll is how much of what the best period gathers a longer one must gather to be the period, of which the best is a part.
	nearlyAll = 0.9
)

// arcWidths are the parts of a period in which events are expected to gather: by a timer, or about by one.
var arcWidths = [2]float64{0.03, 0.1}

// A rhythm remembers when something happened, and looks for a period in it. Events closer than apart are one.
type rhythm struct {
	apart int64
	times []int64 // when each event began
	last  int64
}

// add notes that something happened. Times rise, but for packets out of order.
func (r *rhythm) add(now int64) {
	if len(r.times) > 0 && now-r.last < r.apart {
		r.last = max(r.last, now)
		return
	}
	r.times = append(r.times, now)
	r.last = now
	for len(r.times) > maxBeats {
		r.apart *= 2
		kept := r.times[:1]
		for _, t := range r.times[1:] {
			if t-kept[len(kept)-1] >= r.apart {
				kept = append(kept, t)
			}
		}
		r.times = kept
	}
}

// A period is at which distance events come back, the first that lies on its grid, how many of its cycles with events have one there,
// and how probable as much is by chance.
type period struct {
	length, first int64
	hit, cycles   int
	chance        float64
}

// at writes the grid of a period for people.
func (p *period) at() string {
	return "on the grid of " + time.Unix(0, p.first).UTC().Format("15:04:05.000")
}

// rule says how a period was told.
func (p *period) rule(what string) string {
	return fmt.Sprintf("%s gather in one part of their period, by chance with probability %.1g at most, and %g is asked for", what, max(p.chance, 1e-99), chanceOfRhythm)
}

// period looks for one. Each period that may be told apart is tried; of each, the cycles with an event in one arc of it are counted
// against what events at random phases, independent from cycle to cycle, would bring. Many events in one cycle are one witness, so that
// a burst is no period. What was tried, periods and arcs, is multiplied with the probability (Bonferroni).
func (r *rhythm) period() (period, bool) {
	if len(r.times) < leastCycles {
		return period{}, false
	}
	span := float64(r.times[len(r.times)-1] - r.times[0])
	shortest := max(leastApart*float64(r.apart), span/periodsOfSpan)
	lowest := (leastCycles - 1) / span
	n := 0.0 // how much is tried
	for _, width := range arcWidths {
		n += (1/shortest - lowest) * 2 * span / width * math.Round(2/width)
	}
	best := period{chance: chanceOfRhythm}
	for _, width := range arcWidths {
		g := newGather(r.times, width, n)
		var tries []period
		at := -1
		for f := lowest; f <= 1/shortest; f += width / (2 * span) {
			p := g.try(f)
			if p.chance >= chanceOfRhythm {
				continue
			}
			if p.chance < best.chance {
				best, at = p, len(tries)
			}
			tries = append(tries, p)
		}
		// All parts of a period gather as much as it does: the longest is it. Its neighbours gather a little less.
		for i := 0; i < at; i++ {
			if p := tries[i]; float64(p.hit) >= nearlyAll*float64(best.hit) {
				for i++; i < at && tries[i].hit > p.hit; i++ {
					p = tries[i]
				}
				best = p
				break
			}
		}
	}
	if best.hit == 0 {
		return period{}, false
	}
	r.fit(&best)
	return best, true
}

// A gather counts how events lie in the arcs of a period, of which each overlaps the next by half.
type gather struct {
	n     float64   // how much is tried
	from  int64     // the first event
	since []float64 // of each event, ns since the first
	arcs  int
	last  []int                 // the last cycle with an event, by arc
	hits  []int                 // cycles with one
	first []int                 // the first event
	some  [maxBeats + 1]float64 // the probability that of so many events at random one lies in a given arc
}

func newGather(times []int64, width, n float64) *gather {
	arcs := int(math.Round(2 / width))
	g := &gather{n: n, from: times[0], arcs: arcs, last: make([]int, arcs), hits: make([]int, arcs), first: make([]int, arcs)}
	for _, t := range times {
		g.since = append(g.since, float64(t-g.from))
	}
	for m := range g.some {
		g.some[m] = 1 - math.Pow(1-width, float64(m))
	}
	return g
}

// try counts the cycles of one frequency, in 1/ns, in which an event lies in the arc that has the most, and returns how probable that is by chance.
func (g *gather) try(frequency float64) period {
	clear(g.hits)
	p := period{length: int64(1 / frequency), chance: 1}
	first := 0
	cycle, inCycle, cycles, chance := -1, 0, 0, 0.0
	for i, t := range g.since {
		at := t*frequency + 0.25 // so that the first event is no edge of a cycle
		c := int(at)
		if c != cycle {
			chance += g.some[inCycle]
			cycle, inCycle = c, 0
			cycles++
		}
		inCycle++
		arc := min(int((at-float64(c))*float64(g.arcs)), g.arcs-1)
		for range 2 {
			if g.hits[arc] == 0 {
				g.first[arc] = i
			}
			if g.hits[arc] == 0 || g.last[arc] != c {
				g.hits[arc]++
				g.last[arc] = c
				if g.hits[arc] > p.hit {
					p.hit, first = g.hits[arc], g.first[arc]
				}
			}
			if arc--; arc < 0 { // the one before overlaps
				arc = g.arcs - 1
			}
		}
	}
	chance += g.some[inCycle]
	p.cycles, p.first = cycles, g.from+int64(g.since[first])
	// What is not far above the mean need not be reckoned out.
	if mean := chance / float64(cycles); p.hit >= leastCycles && float64(p.hit) > chance+2*math.Sqrt(chance*(1-mean)) {
		p.chance = min(1, g.n*binomialTail(cycles, p.hit, mean))
	}
	return p
}

// fit moves a period to where the events that lie on its grid lie best, by least squares.
func (r *rhythm) fit(p *period) {
	for range 2 {
		var n, k, t, kk, kt float64
		for _, at := range r.times {
			x := float64(at-p.first) / float64(p.length)
			i := math.Round(x)
			if math.Abs(x-i) > arcWidths[1] {
				continue
			}
			y := float64(at - p.first)
			n, k, t, kk, kt = n+1, k+i, t+y, kk+i*i, kt+i*y
		}
		slope := (n*kt - k*t) / (n*kk - k*k)
		if d := n*kk - k*k; d <= 0 || slope < 0.8*float64(p.length) || slope > 1.25*float64(p.length) {
			return
		}
		p.first += int64((t - slope*k) / n)
		p.length = int64(slope)
	}
}

// binomialTail returns the probability of k successes or more of n, each with probability q.
func binomialTail(n, k int, q float64) float64 {
	if q >= 1 {
		return 1
	}
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	sum := 0.0
	for i := k; i <= n; i++ {
		sum += math.Exp(lg(n) - lg(i) - lg(n-i) + float64(i)*math.Log(q) + float64(n-i)*math.Log1p(-q))
	}
	return min(1, sum)
}
