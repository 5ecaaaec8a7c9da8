package diagnose

import (
	"math"
	"slices"
	"time"
)

// A run is packets of one flow that were lost with none answered between them.
type run struct {
	from, to int // when its first and its last packet were sent, in milliseconds since the echo began
	lost     int
}

// runs returns the runs of lost probes: losses that are nearer to each other than one and a half of the flow's sending intervals are one run. A link that is down for a
// moment loses a run; random loss hardly ever does.
func (e *echo) runs() []run {
	gap := 1 + 1.5*float64(e.end.Sub(e.start).Milliseconds())/float64(max(1, e.sent))
	var list []run
	for _, at := range e.lostAt {
		if n := len(list); n > 0 && float64(at-list[n-1].to) <= gap {
			list[n-1].to = at
			list[n-1].lost++
		} else {
			list = append(list, run{at, at, 1})
		}
	}
	return list
}

const (
	// rareMeeting is how unlikely a run must be to meet those of so many other flows by chance for it to be no chance.
	rareMeeting = 0.05
	// leastMeeting is the share of runs that must meet others for those of a flow not to be its own.
	leastMeeting = 0.5
)

// together reports whether flows lose their runs of packets at the same moments, as those do that cross a link which goes down: each flow's losses tell of the link then. Runs that
// each flow has at its own times tell no more than that it was hit once.
func (s *Store) together() bool {
	var all, several []stretch
	flows, lasting := 0.0, 0.0
	for _, l := range s.order {
		if l.lostShare() > stormLoss {
			continue
		}
		var own []stretch
		for i := range l.echoes {
			e := &l.echoes[i]
			every := e.every()
			for _, r := range e.runs() {
				own = append(own, stretch{e.start.Add(time.Duration(r.from) * time.Millisecond), e.start.Add(time.Duration(r.to)*time.Millisecond + every)})
				if r.lost > 1 {
					several = append(several, own[len(own)-1])
				}
			}
		}
		if own = unbroken(own); len(own) > 0 {
			flows++
		}
		for _, x := range own {
			lasting += x.to.Sub(x.from).Seconds()
		}
		all = append(all, own...)
	}
	starts, ends := make([]time.Time, len(all)), make([]time.Time, len(all))
	for i, x := range all {
		starts[i], ends[i] = x.from, x.to
	}
	slices.SortFunc(starts, time.Time.Compare)
	slices.SortFunc(ends, time.Time.Compare)
	before := func(list []time.Time, t time.Time) int {
		n, _ := slices.BinarySearchFunc(list, t, time.Time.Compare)
		return n
	}
	whole := max(s.flowing.to.Sub(s.flowing.from).Seconds(), 1e-3)
	meet := 0
	for _, x := range several {
		others := before(starts, x.to) - before(ends, x.from) - 1
		chance := (float64(len(all))*x.to.Sub(x.from).Seconds() + lasting) / whole / flows
		if atLeast(others, flows-1, min(max(chance, 1e-9), 1)) < rareMeeting {
			meet++
		}
	}
	return float64(meet) >= leastMeeting*float64(len(several))
}

// atLeast returns how likely at least so many of some happen, if each does with a probability; 1 where no more do than are expected, which is likely anyway.
func atLeast(n int, of, each float64) float64 {
	k := min(float64(n), of)
	if k <= of*each {
		return 1
	}
	a, _ := math.Lgamma(of + 1)
	b, _ := math.Lgamma(k + 1)
	c, _ := math.Lgamma(of - k + 1)
	sum, term := 0.0, math.Exp(a-b-c+k*math.Log(each)+(of-k)*math.Log1p(-each))
	for ; k <= of && term > 1e-9*sum; k++ { // each is less likely than the one before
		sum += term
		term *= (of - k) / (k + 1) * each / (1 - each)
	}
	return sum
}
