package rhythm

// A memory is the last log-likelihoods of a count that were asked for, by the part of it that lies in episodes and the loss there: while an edge is moved, what was told of the
// place before is asked for again.
type memory struct {
	of   [2]struct{ in, bad, value float64 }
	next int // which is forgotten
}

// remember returns the log-likelihood of the i-th count if a part of it lies in episodes.
func (s *scan) remember(i int, in, bad float64) float64 {
	c := &s.counts[i]
	if in == 0 {
		return c.good
	}
	m := &s.memory[i]
	for k := range m.of {
		if x := &m.of[k]; x.in == in && x.bad == bad {
			return x.value
		}
	}
	x := &m.of[m.next]
	m.next = (m.next + 1) % len(m.of)
	x.in, x.bad, x.value = in, bad, likelihood(c, in*bad+(1-in)*normal)
	return x.value
}

// push puts an episode into the place of another, and returns how much better it explains the counts. Only those matter that lie between the places of an edge.
func (s *scan) push(eps []episode, i int, now episode, bad float64) float64 {
	was := eps[i]
	var first, last reach
	if was.from != now.from {
		first = s.reach(min(was.from, now.from), max(was.from, now.from))
	}
	if was.to != now.to {
		last = s.reach(min(was.to, now.to), max(was.to, now.to))
	}
	gain := 0.0
	for _, near := range first.and(last) {
		for _, x := range near {
			if x[0] < x[1] {
				gain += s.pushed(x[0], x[1], eps, i, now, bad)
			}
		}
	}
	eps[i] = now
	return gain
}

// pushed returns how much better counts of a layer, from one place to before another, are explained with one episode in the place of the i-th.
func (s *scan) pushed(from, to int, eps []episode, i int, now episode, bad float64) float64 {
	was, gain := eps[i], 0.0
	s.spare -= 2 * (to - from) * countEffort
	next := firstAfter(eps, s.counts[from].From)
	for k := from; k < to; k++ {
		c := &s.counts[k]
		for next < len(eps) && eps[next].to < c.From {
			next++
		}
		if c.To <= c.From {
			in := false // one of the others
			for j := next; j < len(eps) && eps[j].from <= c.From; j++ {
				in = in || j != i
			}
			if !in && was.holds(c.From) != now.holds(c.From) {
				change := s.remember(k, 1, bad) - c.good
				if was.holds(c.From) {
					change = -change
				}
				gain += change
			}
			continue
		}
		others := 0.0
		for j := next; j < len(eps) && eps[j].from < c.To; j++ {
			if j != i {
				others += overlap(c, &eps[j])
				s.spare -= 2
			}
		}
		length := c.To - c.From
		before, after := min(1, (others+overlap(c, &was))/length), min(1, (others+overlap(c, &now))/length)
		if before != after {
			old := s.remember(k, before, bad)
			gain += s.remember(k, after, bad) - old
		}
	}
	return gain
}

// holds reports whether a moment lies in an episode.
func (e *episode) holds(at float64) bool { return e.from <= at && at <= e.to }
