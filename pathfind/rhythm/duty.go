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
	mostlyGood = 2
)

// TellDuty tells the share of some time in which a suspect was bad, which may begin before the counts that its rhythm was found by and end after them: the mean over all that it may have done, also while
// nothing crossed it, and an interval that holds the truth in nine of ten cases; and so what it lost in all. The states are drawn by Markov chain Monte Carlo from the renewal process that pays for
// episodes, given the counts; it begins with the episodes that were found, and is the same for the same counts. Beside that stands that it came and went too quickly for its episodes to be told, all
// the time or within what was found. Of what is always there nothing is told.
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
	eps, bad, duty := slices.Clone(c.eps), c.bad, c.share(c.eps)
	list := c.sample()
	told := s.bayes(eps, bad) + mostly(duty) - math.Ln2
	for i := range list {
		list[i].weight = told - math.Log(float64(len(list)))
	}
	price := s.price(eps, bad) + math.Ln2
	for _, d := range newQuick(s, eps).draws() {
		d.weight -= price
		list = append(list, d)
	}
	list = append(list, newQuick(s, []episode{{from: s.begin, to: s.end, begun: true, lasting: true}}).draws()...)
	if worthOf(list)-math.Ln2 > told {
		r.Period, r.Jitter = 0, 0 // the episodes are rather of many
	}
	r.Duty, r.DutyLow, r.DutyHigh = middle(list, func(d *draw) float64 { return d.duty })
	r.Lost, r.LostLow, r.LostHigh = middle(list, func(d *draw) float64 { return d.duty * d.bad })
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
	shortest float64     // the least time that is drawn between two changes
	rates    [12]float64 // at which its state may change, evenly by their logarithms from once to the greatest
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
	for i := range c.rates {
		c.rates[i] = math.Pow(s.moments, (float64(i)+0.5)/float64(len(c.rates)))
	}
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

// priorOf is the log density of episodes before any evidence: a renewal process as in renewal, that is good most of the time.
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
	return mostly(bad) + c.changed(onsets, 1-bad) + c.changed(ends, bad) + math.Log(first)
}

// mostly is the logarithm of how likely a suspect is bad for so much of the time before any evidence, but for what does not depend on that.
func mostly(bad float64) float64 { return mostlyGood * math.Log(max(1-bad, 0.01)) }

// changed is the log density of so many changes within some time, whatever their rate.
func (c *chain) changed(n, time float64) float64 {
	sum, most := 0.0, math.Inf(-1)
	var value [len(c.rates)]float64
	step := math.Log(c.s.moments) / float64(len(c.rates))
	for i, rate := range c.rates {
		value[i] = n*step*(float64(i)+0.5) - rate*time
		most = max(most, value[i])
	}
	for _, v := range value {
		sum += math.Exp(v - most)
	}
	return most + math.Log(sum/float64(len(value)))
}

// share returns the share of the time that episodes take up.
func (c *chain) share(eps []episode) float64 {
	sum := 0.0
	for _, e := range eps {
		sum += e.to - e.from
	}
	return min(sum/(c.s.end-c.s.begin), 1)
}

// sample returns what the chain walks over, but for the time in which it forgets where it began.
func (c *chain) sample() []draw {
	var list []draw
	duty := c.share(c.eps)
	every := max(everyLevel, len(c.s.counts)/countsLevel)
	for step := 0; step < mostSteps && c.work < mostWork; step++ {
		if step%every == 0 {
			c.level()
		}
		if c.step() {
			duty = c.share(c.eps)
		}
		if step%everyLevel == 0 {
			list = append(list, draw{duty: duty, bad: c.bad})
		}
	}
	return list[len(list)/4:]
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

// level tries another share that is lost in the episodes: all there is, or a hazard near the one that it has, evenly by its logarithm. Every other time that is given when they are; else
// they are as much shorter as more is lost, or longer, about their middles: counts that hold an episode as a whole tell what it lost, and not for how long.
func (c *chain) level() {
	bad, odds, ok := c.another()
	if !ok {
		return
	}
	if c.rand.IntN(2) == 0 {
		c.accept(bad, odds, c.eps)
		return
	}
	factor := c.bad / bad
	c.next = c.next[:0]
	for _, e := range c.eps {
		from, to := (e.from-c.s.begin)/(c.s.end-c.s.begin), (e.to-c.s.begin)/(c.s.end-c.s.begin)
		less := (to - from) * (1 - factor)
		odds += math.Log(factor)
		switch {
		case e.begun && e.lasting:
			return
		case e.begun:
			c.next = append(c.next, to-less)
		case e.lasting:
			c.next = append(c.next, from+less)
		default:
			c.next = append(c.next, from+less/2, to-less/2)
		}
	}
	for i, at := range c.next {
		if at <= 0 || at >= 1 || i > 0 && at <= c.next[i-1] {
			return
		}
	}
	c.nextEps = c.episodes(c.next, c.begun, c.nextEps)
	prior := c.priorOf(c.nextEps)
	if c.accept(bad, odds+prior-c.prior, c.nextEps) {
		c.at, c.next, c.eps, c.nextEps = c.next, c.at, c.nextEps, c.eps
		c.prior = prior
	}
}

// another draws a share that may be lost in episodes, with the logarithm of how much more likely the way back is to be tried.
func (c *chain) another() (bad, odds float64, ok bool) {
	const least = 0.5 // hazard from which on all may be lost instead
	most := -math.Expm1(-mostHazard)
	all, wide := math.Log(mostHazard), math.Log(mostHazard/least)
	now := math.Log(-math.Log1p(-c.bad))
	switch dead, jump := c.bad >= most, c.rand.IntN(2) == 0; {
	case dead && !jump:
		return 0, 0, false
	case dead:
		return -math.Expm1(-math.Exp(all - wide*c.rand.Float64())), math.Log(wide / span), true
	case now > all-wide && jump:
		return most, math.Log(span / wide), true
	}
	next := now + math.Exp(-5*c.rand.Float64())*float64(1-2*c.rand.IntN(2))
	if next <= math.Log(leastLoss) || next >= all {
		return 0, 0, false
	}
	switch high := next > all-wide; {
	case high && now <= all-wide:
		odds = -math.Ln2 // from there every other step is another
	case !high && now > all-wide:
		odds = math.Ln2
	}
	return -math.Expm1(-math.Exp(next)), odds, true
}

// accept goes on to a share that is lost in some episodes, and reports whether it does.
func (c *chain) accept(bad, odds float64, eps []episode) bool {
	gain := 0.0
	for i := range c.s.counts {
		x := &c.s.counts[i]
		in, was := c.s.part(x, eps), c.s.part(x, c.eps)
		if in > 0 || was > 0 {
			gain += likelihood(x, in*bad+(1-in)*normal) - likelihood(x, was*c.bad+(1-was)*normal)
			c.work += 2
		}
	}
	if math.Log(c.rand.Float64()) >= gain+odds {
		return false
	}
	c.bad = bad
	return true
}
