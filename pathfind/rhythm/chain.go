package rhythm

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A chain walks over what a suspect may have done: when its state changed, what it was in the beginning, and the share that it lost when bad. Times are shares of
// the time of the evidence.
type chain struct {
	s     *scan
	rand  *rand.Rand
	at    []float64 // of the changes of state, ascending
	begun bool      // bad in the beginning
	bad   float64
	most  float64 // that bad may be: where it begins with episodes that were found, no more than halfway to all, by the logarithm
	prior float64
	eps   []episode // what that makes
	fates []fate    // by count, of these
	work  int

	next     []float64 // what is tried
	nextEps  []episode
	tried    []trial
	shortest float64     // the least time that is drawn between two changes
	logs     [12]float64 // of the rates at which its state may change, evenly from once to the greatest
	rates    [12]float64 // the same
	known    [][]float64 // what integral told, by the number of changes and cells of time
}

// A fate is which part of a count lies in episodes, and its log-likelihood. A trial is that of one in what is tried.
type fate struct{ in, value float64 }
type trial struct {
	of int
	fate
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
		c.logs[i] = math.Log(s.moments) * (float64(i) + 0.5) / float64(len(c.rates))
		c.rates[i] = math.Exp(c.logs[i])
	}
	c.fates, c.most = make([]fate, len(s.counts)), math.Sqrt(c.bad)
	c.begin()
	return c
}

// begin makes episodes of the changes, and weighs them.
func (c *chain) begin() {
	c.eps = c.episodes(c.at, c.begun, c.eps)
	c.prior = c.priorOf(c.eps)
	for i := range c.fates {
		in := c.s.part(&c.s.counts[i], c.eps)
		c.fates[i] = fate{in, c.s.valueOf(i, in, c.bad)}
	}
}

// valueOf is the log-likelihood of a count of which a part lies in episodes.
func (s *scan) valueOf(i int, in, bad float64) float64 {
	if in == 0 {
		return s.counts[i].good
	}
	return likelihood(&s.counts[i], in*bad+(1-in)*normal)
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
	onsets, ends := len(eps), len(eps)
	if eps[0].begun {
		onsets--
	}
	if eps[len(eps)-1].lasting {
		ends--
	}
	in, out := (float64(onsets)+0.5)/max(1-bad, 0.01), (float64(ends)+0.5)/max(bad, c.shortest)
	first := in / (in + out) // the chance to begin in an episode
	if !eps[0].begun {
		first = 1 - first
	}
	return mostlyGood*math.Log(max(1-bad, 0.01)) + c.changed(onsets, 1-bad) + c.changed(ends, bad) + math.Log(first)
}

// changed is the log density of so many changes within some time, whatever their rate: of what integral tells at some times, by its logarithm, what lies between.
func (c *chain) changed(n int, time float64) float64 {
	const cells, shorter = 16, 3 // for a factor of e; and such factors below the shortest time
	if n >= len(c.known) {
		c.known = append(c.known, make([][]float64, n+1-len(c.known))...)
	}
	least := math.Log(c.shortest) - shorter
	if c.known[n] == nil {
		c.known[n] = make([]float64, int(-least*cells)+2)
	}
	x := min(max((math.Log(time)-least)*cells, 0), -least*cells)
	i := int(x)
	for j := i; j < i+2; j++ {
		if c.known[n][j] == 0 {
			c.known[n][j] = c.integral(float64(n), math.Exp(least+float64(j)/cells))
		}
	}
	return c.known[n][i] + (x-float64(i))*(c.known[n][i+1]-c.known[n][i])
}

// integral works out what changed tells.
func (c *chain) integral(n, time float64) float64 {
	sum := math.Inf(-1)
	for i, rate := range c.rates {
		sum = logSum(sum, n*c.logs[i]-rate*time)
	}
	return sum - math.Log(float64(len(c.rates)))
}

// share returns the share of the time that episodes take up.
func (c *chain) share(eps []episode) float64 {
	sum := 0.0
	for _, e := range eps {
		sum += e.to - e.from
	}
	return min(sum/(c.s.end-c.s.begin), 1)
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
	c.work += near.size() + 10
	c.tried = c.tried[:0]
	gain := 0.0
	for _, x := range near {
		next := 0
		if x[0] < x[1] {
			next = firstAfter(c.nextEps, c.s.counts[x[0]].From)
		}
		for i := x[0]; i < x[1]; i++ {
			gain += c.tryCount(i, &next)
		}
	}
	if math.Log(c.rand.Float64()) >= gain+prior-c.prior+odds {
		return false
	}
	c.take()
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

// tryCount weighs a count in what is tried, and returns how much better that explains it. Next is the first episode that may end after its beginning.
func (c *chain) tryCount(i int, next *int) float64 {
	x := &c.s.counts[i]
	for *next < len(c.nextEps) && c.nextEps[*next].to < x.From {
		*next++
	}
	was := c.fates[i]
	in := c.s.partFrom(x, c.nextEps, *next)
	if in == was.in {
		return 0
	}
	v := c.s.valueOf(i, in, c.bad)
	c.tried = append(c.tried, trial{i, fate{in, v}})
	return v - was.value
}

// take makes what was tried of counts what they are.
func (c *chain) take() {
	for _, t := range c.tried {
		c.fates[t.of] = t.fate
	}
}

// accept goes on to a share that is lost in some episodes, and reports whether it does.
func (c *chain) accept(bad, odds float64, eps []episode) bool {
	if bad > c.most {
		return false
	}
	gain, same := 0.0, &eps[0] == &c.eps[0]
	c.tried = c.tried[:0]
	for i, was := range c.fates {
		in := was.in
		if !same {
			in = c.s.part(&c.s.counts[i], eps)
		}
		if in > 0 || was.in > 0 {
			v := c.s.valueOf(i, in, bad)
			gain += v - was.value
			c.tried = append(c.tried, trial{i, fate{in, v}})
			c.work++
		}
	}
	if math.Log(c.rand.Float64()) >= gain+odds {
		return false
	}
	c.bad = bad
	c.take()
	return true
}
