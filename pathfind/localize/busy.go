package localize

import (
	"cmp"
	"slices"

	"whichlink/graphs"
)

// Where many flows that cross a host's arc lost packets, the host is busy or the arc is bad. What is learnt of traffic takes it for busy, since none is bad before any is looked for, and then
// none is missed. So the other is tried, too.

// An outlook is what explains the flows that are known, with traffic that is uneven.
type outlook struct {
	s     *search
	h     hypothesis // loaded in s
	by    tilt
	score float64 // log of how likely that makes them
}

const (
	// mostBusy is of how many busy hosts it is asked whether they are.
	mostBusy = 12
	// busier is from how many times the traffic of others on it is asked, and busierBy from how many flows that lost packets beyond those.
	busier, busierBy = 1.5, 2
	// usualLoss is where the loss of a bad arc is looked for first.
	usualLoss = 0.01
)

// reconsider asks of each arc of a host that seems to have much traffic whether it is bad instead.
func (c *traffic) reconsider(x outlook) outlook {
	if x.s == nil {
		return x
	}
	best := x
	if y := c.anew(x.h, x.by); y.score > x.score {
		best = y // of what is tried next traffic is learnt once more, too
	}
	bad := map[Cause]float64{}
	for _, a := range c.busiest(&x) {
		if slices.Contains(best.h.comps, int32(a)) {
			continue
		}
		if y := c.instead(&best, a); y.score > best.score {
			bad[Cause{Arc, int32(a)}] = 1 / (1 + exp(best.score-y.score))
			best = y
		}
	}
	if len(bad) == 0 {
		return x
	}
	c.adapt(best.by)
	best.s, best.h = c.search(best.s, best.h)
	best.s.ratherBad = bad
	return best
}

// judged is the result of a search, where an arc that may as well be that of a busy host is told by no more than how likely it is that it is bad instead.
func (s *search) judged() *Result {
	r := s.result()
	for i := range r.Suspects {
		for _, c := range r.Suspects[i].Class {
			if p, ok := s.ratherBad[c]; ok {
				r.Suspects[i] = r.Suspects[i].doubted(p * r.Suspects[i].Probability)
				break
			}
		}
	}
	r.rank()
	return r
}

// busiest returns the arcs of hosts that seem to have more traffic than others, those first of which the most flows lost packets for that.
func (c *traffic) busiest(x *outlook) []graphs.ArcID {
	type busy struct {
		arc  graphs.ArcID
		more float64
	}
	var all []busy
	crossed := make([]float64, c.ix.links)
	for i, innocent := range x.s.innocents() {
		way := &c.of[x.s.ev.terms[i].obs]
		crossed[way.first] += innocent
		crossed[way.last] += innocent
	}
	for _, d := range x.by {
		if d == nil {
			continue
		}
		for place, a := range c.access.arcs {
			for _, y := range [...]busy{{a, d.sends(place)}, {a.Reverse(), d.gets(place)}} {
				if by := y.more; by > busier {
					if y.more = crossed[y.arc] * (1 - 1/by); y.more > busierBy {
						all = append(all, y)
					}
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b busy) int { return cmp.Or(cmp.Compare(b.more, a.more), cmp.Compare(a.arc, b.arc)) })
	var arcs []graphs.ArcID
	for _, y := range all[:min(len(all), mostBusy)] {
		if !slices.Contains(arcs, y.arc) {
			arcs = append(arcs, y.arc)
		}
	}
	return arcs
}

// instead returns what explains the flows where an arc of a host is bad, and the host no busier than others.
func (c *traffic) instead(x *outlook, a graphs.ArcID) outlook {
	h := hypothesis{background: x.h.background}
	at, _ := slices.BinarySearch(x.h.comps, int32(a))
	h.comps, h.rates = slices.Insert(slices.Clone(x.h.comps), at, int32(a)), slices.Insert(slices.Clone(x.h.rates), at, usualLoss)
	return c.anew(h, x.by.without(int(c.access.place[a]), c.ix.host[c.ix.tail[a]]))
}

// anew fits a hypothesis and learns how traffic is with it, beginning with some demands.
func (c *traffic) anew(h hypothesis, by tilt) outlook {
	x := outlook{h: h, by: by}
	x.h.rates = slices.Clone(h.rates)
	c.adapt(x.by)
	x.s = c.fitting(&x.h)
	c.weigh(x.s)
	by, gained := c.uneven(x.s)
	c.adapt(by)
	x.by, x.s = by, c.fitting(&x.h)
	x.score = c.likely(x.s, &x.h) + gained
	return x
}

// without returns demands by which a host's arc has as much traffic as others of its switch, there or back.
func (by tilt) without(place int, there bool) tilt {
	for i, d := range by {
		if d == nil {
			continue
		}
		x := *d
		side := &x.got
		if there {
			side = &x.sent
		}
		side[byPlace] = slices.Clone(side[byPlace])
		side[byPlace][place] = 1
		by[i] = &x
	}
	return by
}
