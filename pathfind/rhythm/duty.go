package rhythm

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// mostSteps and mostWork bound how long the states are sampled: steps, and counts weighed in them. Of many counts fewer steps are enough, because those leave
	// less in doubt.
	mostSteps, mostWork = 32000, 600000
	// everyLevel is after how many steps another share lost in episodes is tried, or after one for each countsLevel counts if these are
	// more: it looks at all of them.
	everyLevel, countsLevel = 4, 50
	// mostlyGood is how many times, at any of which it might as well have been bad, a suspect is thought to have been seen good before any evidence. One that comes and goes is
	// good most of the time, or it would not pass for one that works; and those of which few flows tell are found where more of these than usual met it bad.
	mostlyGood = 3
)

// TellDuty tells the share of some time in which a suspect was bad, which may begin before the counts that its rhythm was found by and end after them: the mean over all that it may have done, also while
// nothing crossed it, and an interval that holds the truth in nine of ten cases. The states are drawn by Markov chain Monte Carlo from the renewal process that pays for
// episodes, given the counts; it begins with the episodes that were found, and is the same for the same counts. Of what is always there nothing is told.
func (r *Rhythm) TellDuty(counts []Count, from, to float64) {
	if r.Kind == Steady {
		return
	}
	s := newScan(counts)
	if s == nil {
		return
	}
	s.begin, s.end = min(s.begin, from), max(s.end, to)
	r.From, r.To = s.begin, s.end
	c := newChain(s, r)
	if c == nil {
		return
	}
	duties := c.sample()
	sum := 0.0
	for _, d := range duties {
		sum += d
	}
	slices.Sort(duties)
	r.Duty = sum / float64(len(duties))
	r.DutyLow, r.DutyHigh = min(r.Duty, duties[len(duties)/20]), max(r.Duty, duties[len(duties)-1-len(duties)/20])
}

// A chain walks over what a suspect may have done: when its state changed, what it was in the beginning, and the share that it lost when bad. Times are shares of
// the time of the evidence.
type chain struct {
	s     *scan
	rand  *rand.Rand
	at    []float64 // of the changes of state, ascending
	begun bool      // bad in the beginning
	bad   float64
	prior float64
	eps   []episode // what that makes
	work  int

	next     []float64 // what is tried
	nextEps  []episode
	shortest float64 // the least time that is drawn between two changes
	fastest  float64 // logarithm of the greatest rate of changes
}

func newChain(s *scan, r *Rhythm) *chain {
	all := s.end - s.begin
	if !(all > 0) {
		return nil
	}
	c := &chain{s: s, rand: rand.New(rand.NewPCG(1, 90)), begun: r.Episodes[0].Begun, bad: min(max(r.Loss, leastLoss), -math.Expm1(-mostHazard)), shortest: 1 / s.moments}
	for i := range r.Episodes {
		e := &r.Episodes[i]
		from, to := (e.From-s.begin)/all, (e.To-s.begin)/all
		if n := len(c.at); n > 0 {
			from = min(1, max(from, c.at[n-1]+c.shortest/4))
		}
		if !e.Begun {
			c.at = append(c.at, from)
		}
		if !e.Lasting {
			c.at = append(c.at, min(1, max(to, from+c.shortest/4))) // what was lost at one moment lasts for a moment
		}
	}
	lasts, lossy := 0.0, 0.0
	for i := range s.counts {
		if x := &s.counts[i]; x.Lost > 0 {
			lasts, lossy = lasts+(x.To-x.From)/all*x.Share, lossy+x.Share
		}
	}
	c.fastest = math.Log(min(max(lossy/max(lasts, c.shortest), 2*float64(len(r.Episodes)+1)), s.moments))
	c.eps = c.episodes(c.at, c.begun, nil)
	c.prior = c.priorOf(c.eps)
	return c
}

// episodes makes episodes of changes.
func (c *chain) episodes(at []float64, begun bool, into []episode) []episode {
	into = into[:0]
	from, bad := 0.0, begun
	for i := 0; i <= len(at); i++ {
		to := 1.0
		if i < len(at) {
			to = at[i]
		}
		if bad {
			all := c.s.end - c.s.begin
			into = append(into, episode{from: c.s.begin + from*all, to: c.s.begin + to*all, begun: i == 0, lasting: i == len(at)})
		}
		from, bad = to, !bad
	}
	return into
}

// priorOf is the log density of episodes before any evidence: a renewal process as in renewal, but no faster than what was lost at the same time as another can
// tell, and good most of the time. A suspect that is bad half of each millisecond is one that loses half.
func (c *chain) priorOf(eps []episode) float64 {
	if len(eps) == 0 {
		return math.Inf(-1) // something was bad
	}
	bad := c.share(eps)
	onsets, ends := float64(len(eps)), float64(len(eps))
	if eps[0].begun {
		onsets--
	}
	if eps[len(eps)-1].lasting {
		ends--
	}
	in, out := (onsets+0.5)/max(1-bad, 0.01), (ends+0.5)/max(bad, c.shortest)
	first := in / (in + out) // the chance to begin in an episode
	if !eps[0].begun {
		first = 1 - first
	}
	return mostlyGood*math.Log(max(1-bad, 0.01)) + c.changed(onsets, 1-bad) + c.changed(ends, bad) + math.Log(first)
}

// changed is the log density of so many changes within some time, of which the logarithm of the rate is anywhere between once and what can be told.
func (c *chain) changed(n, time float64) float64 {
	const points = 12
	sum, most := 0.0, math.Inf(-1)
	var value [points]float64
	for i := range value {
		log := c.fastest * (float64(i) + 0.5) / points
		value[i] = n*log - math.Exp(log)*time
		most = max(most, value[i])
	}
	for _, v := range value {
		sum += math.Exp(v - most)
	}
	return most + math.Log(sum/points)
}

// share returns the share of the time that episodes take up.
func (c *chain) share(eps []episode) float64 {
	sum := 0.0
	for _, e := range eps {
		sum += e.to - e.from
	}
	return min(sum/(c.s.end-c.s.begin), 1)
}

// sample returns duty cycles of what the chain walks over, but for the time in which it forgets where it began.
func (c *chain) sample() []float64 {
	var duties []float64
	duty := c.share(c.eps)
	every := max(everyLevel, len(c.s.counts)/countsLevel)
	for step := 0; step < mostSteps && c.work < mostWork; step++ {
		if step%every == 0 {
			c.level()
		}
		if c.step() {
			duty = c.share(c.eps)
		}
		duties = append(duties, duty)
	}
	return duties[len(duties)/4:]
}

// step tries one change of what the suspect did, and reports whether it was taken.
func (c *chain) step() bool {
	m := len(c.at)
	c.next = append(c.next[:0], c.at...)
	switch c.rand.IntN(8) {
	case 0, 1, 2:
		return m > 0 && c.shift(c.rand.IntN(m), 1)
	case 3:
		return m > 1 && c.shift(c.rand.IntN(m-1), 2)
	case 4:
		u, length := c.rand.Float64(), c.length()
		i, _ := slices.BinarySearch(c.at, u)
		if u+length >= 1 || i < m && u+length >= c.at[i] {
			return false
		}
		c.next = slices.Insert(c.next, i, u, u+length)
		return c.try(c.begun, u, u+length, -math.Log(float64(m+1))-c.density(length))
	case 5:
		if m < 2 {
			return false
		}
		i := c.rand.IntN(m - 1)
		u, v := c.at[i], c.at[i+1]
		c.next = slices.Delete(c.next, i, i+2)
		return c.try(c.begun, u, v, math.Log(float64(m-1))+c.density(v-u))
	case 6:
		return c.border(true)
	}
	return c.border(false)
}

// shift moves some changes that follow each other.
func (c *chain) shift(i, n int) bool {
	const farthest = 0.3
	by := math.Exp(math.Log(c.shortest)*c.rand.Float64()) * farthest
	if c.rand.IntN(2) == 0 {
		by = -by
	}
	low, high := 0.0, 1.0
	if i > 0 {
		low = c.at[i-1]
	}
	if i+n < len(c.at) {
		high = c.at[i+n]
	}
	from, to := c.at[i], c.at[i+n-1]
	if from+by <= low || to+by >= high {
		return false
	}
	for j := i; j < i+n; j++ {
		c.next[j] += by
	}
	return c.try(c.begun, min(from, from+by), max(to, to+by), 0)
}

// border adds a change before all others or behind them, or takes the first or last away.
func (c *chain) border(first bool) bool {
	m, begun := len(c.at), c.begun != first
	if c.rand.IntN(2) == 0 {
		length := c.length()
		if first && (length >= 1 || m > 0 && length >= c.at[0]) || !first && (length >= 1 || m > 0 && 1-length <= c.at[m-1]) {
			return false
		}
		if first {
			c.next = slices.Insert(c.next, 0, length)
			return c.try(begun, 0, length, -c.density(length))
		}
		c.next = append(c.next, 1-length)
		return c.try(begun, 1-length, 1, -c.density(length))
	}
	if m == 0 {
		return false
	}
	if first {
		c.next = slices.Delete(c.next, 0, 1)
		return c.try(begun, 0, c.at[0], c.density(c.at[0]))
	}
	c.next = c.next[:m-1]
	return c.try(begun, c.at[m-1], 1, c.density(1-c.at[m-1]))
}

// length draws a time, of which any is as likely by its logarithm, and density is the logarithm of how likely it is.
func (c *chain) length() float64 { return math.Exp(math.Log(c.shortest) * c.rand.Float64()) }

func (c *chain) density(length float64) float64 {
	if length < c.shortest {
		return math.Inf(-1)
	}
	return -math.Log(length) - math.Log(-math.Log(c.shortest))
}

// try goes on to what is next by the rule of Metropolis and Hastings, all that differs lying within a stretch of time. Odds are the logarithm of how much more likely the way
// back is to be tried.
func (c *chain) try(begun bool, from, to, odds float64) bool {
	if math.IsInf(odds, 0) {
		return false
	}
	c.nextEps = c.episodes(c.next, begun, c.nextEps)
	prior := c.priorOf(c.nextEps)
	if math.IsInf(prior, -1) {
		return false
	}
	all := c.s.end - c.s.begin
	near := c.s.reach(c.s.begin+from*all, c.s.begin+to*all)
	c.work += 2*near.size() + 10
	gain := c.s.likelihoodNear(&near, c.nextEps, c.bad) - c.s.likelihoodNear(&near, c.eps, c.bad)
	if math.Log(c.rand.Float64()) >= gain+prior-c.prior+odds {
		return false
	}
	c.at, c.next, c.eps, c.nextEps = c.next, c.at, c.nextEps, c.eps
	c.begun, c.prior = begun, prior
	return true
}

// level tries another share that is lost in the episodes, given when they are: all there is, or a hazard near the one that it has, evenly by its logarithm.
func (c *chain) level() {
	const least = 0.5 // hazard from which on all may be lost instead
	most := -math.Expm1(-mostHazard)
	all, wide := math.Log(mostHazard), math.Log(mostHazard/least)
	now, odds, bad := math.Log(-math.Log1p(-c.bad)), 0.0, most
	switch dead, jump := c.bad >= most, c.rand.IntN(2) == 0; {
	case dead && !jump:
		return
	case dead:
		bad = -math.Expm1(-math.Exp(all - wide*c.rand.Float64()))
		odds = math.Log(wide / span)
	case now > all-wide && jump:
		odds = math.Log(span / wide)
	default:
		next := now + math.Exp(-5*c.rand.Float64())*float64(1-2*c.rand.IntN(2))
		if next <= math.Log(leastLoss) || next >= all {
			return
		}
		switch high := next > all-wide; {
		case high && now <= all-wide:
			odds = -math.Ln2 // from there every other step is another
		case !high && now > all-wide:
			odds = math.Ln2
		}
		bad = -math.Expm1(-math.Exp(next))
	}
	gain := 0.0
	for i := range c.s.counts {
		x := &c.s.counts[i]
		if in := c.s.part(x, c.eps); in > 0 {
			gain += likelihood(x, in*bad+(1-in)*normal) - likelihood(x, in*c.bad+(1-in)*normal)
			c.work += 2
		}
	}
	if math.Log(c.rand.Float64()) < gain+odds {
		c.bad = bad
	}
}
