package rhythm

import (
	"math"
	"slices"
	"sort"
)

// firstAfter returns the index of the first episode that ends at or after a time.
func firstAfter(eps []episode, t float64) int {
	return sort.Search(len(eps), func(j int) bool { return eps[j].to >= t })
}

func overlap(c *count, e *episode) float64 {
	return max(0, min(c.To, e.to)-max(c.From, e.from))
}

// part returns the share of the time of a count that lies in episodes.
func (s *scan) part(c *count, eps []episode) float64 {
	return s.partFrom(c, eps, firstAfter(eps, c.From))
}

// partFrom is part, where it is known which episode is the first that ends at or after the count begins.
func (s *scan) partFrom(c *count, eps []episode, j int) float64 {
	if c.To <= c.From {
		if j < len(eps) && eps[j].from <= c.From {
			return 1
		}
		return 0
	}
	in, first := 0.0, j
	for ; j < len(eps) && eps[j].from < c.To; j++ {
		in += overlap(c, &eps[j])
	}
	s.spare -= j - first
	return min(1, in/(c.To-c.From))
}

// likelihood returns the log-likelihood of a count if each of its packets that crossed the suspect was lost with probability p. What
// else may have happened to those that did not cross it is not known, but they are taken to be as good as others.
func likelihood(c *count, p float64) float64 {
	_, v := likelihoods(c, p)
	return v
}

// likelihoods returns also the part of it that the packets crossed the suspect and were lost there.
func likelihoods(c *count, p float64) (here, all float64) {
	lost := 0.0
	if c.lost > 0 {
		lost = math.Log(p)
	}
	return c.likelihoods(lost, math.Log(1-p))
}

// likelihoods is the same by the logarithms of the probabilities that a packet was lost and passed.
func (c *count) likelihoods(lost, passed float64) (here, all float64) {
	here = c.passed * passed
	if c.lost > 0 {
		here += c.lost*lost + c.usual
	}
	all = logSum(here, c.odd)
	if c.Share < 1 {
		here += c.crossed
		all = logSum(all+c.crossed, c.beside)
	}
	return here, all
}

// hit returns the probability that a count crossed the suspect and fared there as it does, given what became of its packets.
func (s *scan) hit(c *count, p float64) float64 {
	if c.Share == 1 && math.IsInf(c.odd, -1) {
		return 1
	}
	here, all := likelihoods(c, p)
	return min(1, math.Exp(here-all))
}

// likelihoodOf returns the log-likelihood of some counts under episodes, with one loss in them and another outside.
func (s *scan) likelihoodOf(counts []count, eps []episode, bad, good float64) float64 {
	sum := 0.0
	lost, passed := math.Log(bad), math.Log1p(-bad) // of most counts that are in episodes at all, all is
	next, at := 0, math.Inf(1)
	s.spare -= len(counts) * countEffort
	for i := range counts {
		c := &counts[i]
		if c.From < at { // another layer
			next = firstAfter(eps, c.From)
		}
		for at = c.From; next < len(eps) && eps[next].to < at; next++ {
		}
		switch in := s.partFrom(c, eps, next); {
		case in == 0 && good == normal:
			sum += c.good
		case in == 1:
			_, all := c.likelihoods(lost, passed)
			sum += all
		default:
			sum += likelihood(c, in*bad+(1-in)*good)
		}
	}
	return sum
}

// changes returns how often episodes change the state.
func changes(eps []episode) float64 {
	n := 2 * len(eps)
	for _, e := range eps {
		if e.begun {
			n--
		}
		if e.lasting {
			n--
		}
	}
	return float64(n)
}

// A reach is counts near a stretch of time: of each layer those from the first place to before the second.
type reach [layers][2]int

// reach returns the counts that may overlap a stretch of time.
func (s *scan) reach(from, to float64) (r reach) {
	for k := range r {
		first, last := s.layer[k], s.layer[k+1]
		a := first + sort.SearchFloat64s(s.until[first:last], from)
		b := first + sort.Search(last-first, func(i int) bool { return s.counts[first+i].From > to })
		r[k] = [2]int{min(a, b), b}
	}
	return r
}

// and returns the counts within either of two reaches. Those between the two are within it, too, where they overlap or are none.
func (r reach) and(o reach) (both [2]reach) {
	both = [2]reach{r, o}
	for k := range r {
		if a, b := &both[0][k], &both[1][k]; a[0] < b[1] && b[0] < a[1] {
			*a, *b = [2]int{min(a[0], b[0]), max(a[1], b[1])}, [2]int{}
		}
	}
	return both
}

// size is how many counts there are.
func (r *reach) size() (n int) {
	for _, x := range r {
		n += x[1] - x[0]
	}
	return n
}

// likelihoodNear is likelihoodOf, of counts within a reach that are good outside of episodes.
func (s *scan) likelihoodNear(r *reach, eps []episode, bad float64) float64 {
	sum := 0.0
	for _, x := range r {
		if x[0] < x[1] {
			sum += s.likelihoodOf(s.counts[x[0]:x[1]], eps, bad, normal)
		}
	}
	return sum
}

// settle moves the edges of episodes to where they explain the counts best, and drops or joins those that are not worth their price,
// as long as effort is to spare.
func (s *scan) settle(eps []episode) ([]episode, float64) {
	eps = slices.Clone(eps)
	for range 6 {
		_, bad := s.level(eps)
		moved := s.prune(&eps, bad)
		for i := 0; i < len(eps) && s.spare > 0; i++ {
			moved = s.move(eps, i, true, bad) || moved
			moved = s.move(eps, i, false, bad) || moved
		}
		if !moved {
			return eps, bad
		}
		if s.spare <= 0 {
			break
		}
	}
	_, bad := s.level(eps)
	return eps, bad
}

// prune drops episodes, and joins them to the next, as long as that is better and effort is to spare. It reports whether it was.
func (s *scan) prune(eps *[]episode, bad float64) bool {
	any := false
	rest := slices.Clone(*eps) // the episodes without the i-th
	rest = rest[:copy(rest, rest[1:])]
	for i := 0; i < len(*eps) && s.spare > 0; i++ {
		e := (*eps)[i]
		to, better := e.to, false
		if i+1 < len(*eps) {
			next := rest[i]
			rest[i].from, rest[i].begun = e.from, e.begun
			to = next.to
			if better = s.gain(*eps, rest, e.from, to, bad) > (changes(rest[i:i+1])-changes((*eps)[i:i+2]))*s.penalty; !better {
				rest[i] = next
			}
		}
		if better = better || len(rest) > 0 && s.gain(*eps, rest, e.from, to, bad) > -changes((*eps)[i:i+1])*s.penalty; !better {
			if i < len(rest) {
				rest[i] = e
			}
			continue
		}
		any = true
		*eps = append((*eps)[:0], rest...)
		rest = slices.Delete(rest, i, min(i+1, len(rest)))
		i--
	}
	return any
}

// move moves one edge of an episode by some cells, as long as that is better. It reports whether it was.
func (s *scan) move(eps []episode, i int, start bool, bad float64) bool {
	any := false
	for _, step := range []int{-16, 16, -4, 4, -1, 1} {
		for {
			at, bound := eps[i].to, s.end
			if start {
				at = eps[i].from
			} else if i+1 < len(eps) {
				bound = eps[i+1].from
			}
			was := eps[i]
			now := was
			to, ok := s.edge(at, step)
			switch {
			case !ok:
			case start && (was.begun || to > was.to || i > 0 && to <= eps[i-1].to):
				ok = false
			case start:
				now.from = to
			case was.lasting || to < was.from || to >= bound:
				ok = false
			default:
				now.to = to
			}
			if !ok {
				break
			}
			if s.push(eps, i, now, bad) <= 1e-9 {
				eps[i] = was
				break
			}
			any = true
		}
	}
	return any
}

// edge returns the edge of a cell that lies some edges after a time, or before it.
func (s *scan) edge(at float64, step int) (float64, bool) {
	j := sort.SearchFloat64s(s.edges, at) + step
	if j < 0 || j >= len(s.edges) {
		return 0, false
	}
	return s.edges[j], true
}

// level returns the log-likelihood of episodes at the share lost in them that explains the counts best, and that share.
func (s *scan) level(eps []episode) (value, bad float64) {
	var whole, some []count
	var inside []float64 // of some
	rest := 0.0
	for i := range s.counts {
		switch in := s.part(&s.counts[i], eps); in {
		case 0:
			rest += s.counts[i].good
		case 1:
			whole = append(whole, s.counts[i])
		default:
			some, inside = append(some, s.counts[i]), append(inside, in)
		}
	}
	value, bad = peak(func(p float64) float64 {
		sum, lost, passed := 0.0, math.Log(p), math.Log1p(-p)
		for i := range whole {
			_, all := whole[i].likelihoods(lost, passed)
			sum += all
		}
		for i := range some {
			sum += likelihood(&some[i], inside[i]*p+(1-inside[i])*normal)
		}
		return sum
	})
	return value + rest, bad
}

// bayes returns the log marginal likelihood of episodes, the share lost in them integrated out.
func (s *scan) bayes(eps []episode, bad float64) float64 {
	lost := 0.0
	for i := range s.counts {
		c := &s.counts[i]
		if in := s.part(c, eps); in > 0 {
			lost += s.hit(c, in*bad+(1-in)*normal) * c.lost * in * bad / (in*bad + (1-in)*normal)
		}
	}
	spread := s.likelihoodOf(s.counts, eps, bad, normal) + width(lost)
	return oftenAll(spread, bad, func(p float64) float64 { return s.likelihoodOf(s.counts, eps, p, normal) }) - s.price(eps, bad)
}

// constant returns the log marginal likelihood of one loss all the time, and that loss.
func (s *scan) constant() (value, loss float64) {
	lost := 0.0
	all := count{Count: Count{Share: 1}, odd: math.Inf(-1)} // of what is certain; the times do not matter
	var doubtful []count
	for i := range s.counts {
		c := &s.counts[i]
		lost += c.lost * c.Share
		if c.Share < 1 || c.odd > math.Inf(-1) {
			doubtful = append(doubtful, *c)
			continue
		}
		all.lost += c.lost
		all.passed += c.passed
	}
	at := func(p float64) float64 {
		sum := likelihood(&all, p)
		for i := range doubtful {
			sum += likelihood(&doubtful[i], p)
		}
		return sum
	}
	value, loss = peak(at)
	return oftenAll(value+width(lost), loss, at), loss
}

// oftenAll adds to the log marginal likelihood over an even prior that what is bad loses all there is as often as anything else: a link is down.
func oftenAll(spread, loss float64, at func(loss float64) float64) float64 {
	const near = 0.5 // of a loss that is less, next to nothing is likely if all is lost
	if loss >= near {
		spread = logSum(spread, at(-math.Expm1(-mostHazard)))
	}
	return spread - math.Ln2
}

// span is the range of the logarithm of hazards, over which the prior is even.
var span = math.Log(mostHazard / leastLoss)

// width is the log of the part of the prior that some losses leave likely.
func width(lost float64) float64 {
	return math.Log(min(1, math.Sqrt(2*math.Pi/max(lost, 1))/span))
}

// peak returns the greatest value of a function of a loss, and where it is.
func peak(f func(loss float64) float64) (value, loss float64) {
	at := func(x float64) float64 { return f(-math.Expm1(-math.Exp(x))) }
	const points = 24
	low, step := math.Log(leastLoss), span/(points-1)
	best, most := low, math.Inf(-1)
	for i := range points {
		x := low + float64(i)*step
		if v := at(x); v > most {
			best, most = x, v
		}
	}
	x, y := golden(max(low, best-step), min(low+span, best+step), 1e-4*step, at)
	for _, z := range []float64{x, y} {
		if v := at(z); v > most {
			best, most = z, v
		}
	}
	return most, -math.Expm1(-math.Exp(best))
}

// golden looks for the maximum of a function that has one, between two places, by golden sections. It returns two places near it that are no further apart than some width.
func golden(low, high, width float64, at func(float64) float64) (x, y float64) {
	const part = 0.6180339887498949
	x, y = high-part*(high-low), low+part*(high-low)
	fx, fy := at(x), at(y)
	for high-low > width {
		if fx > fy {
			high, y, fy = y, x, fx
			x = high - part*(high-low)
			fx = at(x)
		} else {
			low, x, fx = x, y, fy
			y = low + part*(high-low)
			fy = at(y)
		}
	}
	return x, y
}
