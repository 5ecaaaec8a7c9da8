package rhythm

import (
	"math"
	"slices"
)

const (
	// mostSteps and mostWork bound how long the states are sampled: steps, and counts weighed in them. Of many counts fewer steps are enough, because those leave
	// less in doubt.
	mostSteps, mostWork = 64000, 1200000
	// everyLevel is after how many steps another share lost in episodes is tried, or after one for each countsLevel counts if these are
	// more: it looks at all of them.
	everyLevel, countsLevel = 4, 50
	// mostlyGood is how many times, at any of which it might as well have been bad, a suspect is thought to have been seen good before any evidence. One that comes and goes is
	// good most of the time, or it would not pass for one that works; and those of which few flows tell are found where more of these than usual met it bad.
	mostlyGood = 2
	// manyMore is how many times as many episodes as were found there have to be for their regularity to be chance.
	manyMore = 2
)

// TellDuty tells the share of some time in which a suspect was bad, which may begin before the counts that its rhythm was found by and end after them: the mean over all that it may have done, also while
// nothing crossed it, and an interval that holds the truth in nine of ten cases; and so what it lost in all. The states are drawn by Markov chain Monte Carlo from the renewal process that pays for
// episodes, given the counts; what is told is the same for the same counts. Of what is always there nothing is told.
//
// A few long episodes in which a part is lost explain counts that last for longer than outages about as well as many short ones do in which all is, and a chain does not get from the ones to the others as
// often as it should. So half of the draws are those of a chain that begins with the episodes that were found and stays near what they lose, half of one that begins with the shortest outages. Episodes that
// come back regularly are not many that chance put together.
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
	var list []draw
	if !s.lasts || r.Period > 0 {
		list = c.sample(mostSteps, mostWork, false)
	} else if list = c.sample(mostSteps/2, mostWork/2, false); c.shorten() {
		list = append(list, c.sample(mostSteps/2, mostWork/2, true)...)
	}
	if _, many, _ := middle(list, func(d draw) float64 { return d.episodes }); many > manyMore*float64(len(r.Episodes)) {
		r.Period, r.Jitter = 0, 0
	}
	r.Duty, r.DutyLow, r.DutyHigh = middle(list, func(d draw) float64 { return d.duty })
	r.Lost, r.LostLow, r.LostHigh = middle(list, func(d draw) float64 { return d.duty * d.bad })
}

// A draw is what a suspect may have done: the share of the time in which it was bad, what it lost then, and in how many episodes.
type draw struct{ duty, bad, episodes float64 }

// middle returns the mean of a value of draws, and the bounds that hold nine of ten.
func middle(list []draw, value func(draw) float64) (mean, low, high float64) {
	all := make([]float64, len(list))
	for i, d := range list {
		all[i] = value(d)
		mean += all[i] / float64(len(list))
	}
	slices.Sort(all)
	return mean, all[len(all)/20], all[len(all)-1-len(all)/20]
}

// sample returns what the chain walks over, but for the first quarter, in which it forgets where it began. Until then the share that is lost when bad stays what it is, if it is held.
func (c *chain) sample(steps, work int, held bool) []draw {
	var list []draw
	c.work = 0
	duty, forgets := c.share(c.eps), true
	every := max(everyLevel, len(c.s.counts)/countsLevel)
	for step := 0; step < steps && c.work < work; step++ {
		if step%every == 0 && !(held && forgets) {
			c.level()
		}
		if c.step() {
			duty = c.share(c.eps)
		}
		forgets = step < steps/4 && c.work < work/4
		if !forgets && (len(list) == 0 || step%everyLevel == 0) {
			list = append(list, draw{duty, c.bad, float64(len(c.eps))})
		}
	}
	return list
}

// shorten begins anew with about the shortest outages that explain the losses if they lose all there is, and reports whether these were found within the work that a chain may make.
func (c *chain) shorten() bool {
	s, all := c.s, c.s.end-c.s.begin
	c.work, c.bad, c.most = 0, -math.Expm1(-mostHazard), 1
	var eps []episode
	for i := range s.counts { // the shorter ones first
		if x := &s.counts[i]; x.Lost > 0 {
			need := max((x.To-x.From)*float64(x.Lost)/float64(x.Sent), all*c.shortest/2)
			if need -= s.part(x, eps) * max(x.To-x.From, need); need >= all*c.shortest/4 {
				eps = c.outage(x, need, eps)
			}
		}
		if c.work > mostWork/2 {
			return false
		}
	}
	c.at, c.begun = c.at[:0], false
	for _, e := range eps {
		if e.from > s.begin {
			c.at = append(c.at, (e.from-s.begin)/all)
		} else {
			c.begun = true
		}
		if e.to < s.end {
			c.at = append(c.at, (e.to-s.begin)/all)
		}
	}
	c.begin()
	return len(eps) > 0
}

// outage adds an outage to episodes where in a count it explains the others best.
func (c *chain) outage(x *count, length float64, eps []episode) (best []episode) {
	const places = 8
	most := math.Inf(-1)
	for k := range places {
		from := x.From + (x.To-x.From-length)*(float64(k)+0.5)/places
		next := with(eps, episode{from: max(from, c.s.begin), to: min(from+length, c.s.end)})
		near := c.s.reach(from, from+length)
		c.work += near.size() + len(eps)
		if v := c.s.likelihoodNear(&near, next, c.bad) - c.s.likelihoodNear(&near, eps, c.bad); v > most {
			best, most = next, v
		}
	}
	return best
}

// with returns episodes and another, which becomes one with those that it meets.
func with(eps []episode, e episode) []episode {
	i := firstAfter(eps, e.from)
	j := i
	for ; j < len(eps) && eps[j].from <= e.to; j++ {
		e.from, e.to = min(e.from, eps[j].from), max(e.to, eps[j].to)
	}
	return slices.Concat(eps[:i], []episode{e}, eps[j:])
}
