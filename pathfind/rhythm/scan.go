package rhythm

import (
	"math"
	"slices"
	"sort"
)

// A cell is a stretch of time in which the state does not change: between two losses, or a piece of the time in which packets were lost.
type cell struct {
	from, to float64
	lossy    bool // within the span of a count with losses
}

func (c cell) width() float64 { return c.to - c.from }

// A scan holds counts and the cells that they are scanned by. The counts lie in layers by how long they last, in each in the order of time: one that lasts for long would make
// all that follows it look as if it might overlap any time within it.
type scan struct {
	all        []count // in the order of time
	every      int     // all of them are looked at, or a sample: every so many-th
	counts     []count
	good       float64         // log-likelihood if the suspect is good all the time
	begin, end float64         // of the evidence
	layer      [layers + 1]int // where each begins among the counts
	until      []float64       // by count, the latest end of those of its layer that are no later
	cells      []cell
	first      []int32 // per count, the first and the last cell that it overlaps
	last       []int32
	edges      []float64 // of cells, ascending
	penalty    float64   // of a change of state, while episodes are looked for
	moments    float64   // at which it may have been: one for each packet
	score      [2][]float64
	rates      []float64 // scratch, of spread
	lasts      bool      // of some counts with losses it is not known when exactly
	memory     []memory  // by count
	spare      int       // effort that may still be made to find better episodes; one is to look how much of a count lies in one of them
}

const (
	// mostCells bounds the time that a scan takes.
	mostCells = 4096
	// mostLossy is how many counts with losses are looked at: so many leave nothing in doubt.
	mostLossy = 20_000
	// pieces is how finely the span of a count with losses is cut at least.
	pieces = 8
	// layers is in how many layers counts lie. Those of each last up to a quarter of those of the next, of the last all the time.
	layers = 7
	// mostEffort is how much may be made for each step of Find, half a second or so for 60,000 counts or fewer, and more for more. What has so many episodes that it is not
	// enough loses all the time, mostly.
	mostEffort = 200_000_000
	// countEffort is that to work out the likelihood of a count.
	countEffort = 24
)

// effort returns how much may be made for a step.
func (s *scan) effort() int { return mostEffort * max(60_000, len(s.counts)) / 60_000 }

func newScan(all []Count) *scan {
	s := &scan{all: clean(all)}
	if len(s.all) == 0 {
		return nil
	}
	s.sample()
	s.begin, s.end = s.all[0].From, s.all[0].To
	for i := range s.all {
		s.end = max(s.end, s.all[i].To)
	}
	sent, lost := 0.0, 0
	for i := range s.counts {
		c := &s.counts[i]
		s.good += c.good
		sent += (c.lost + c.passed) * c.Share
		lost += c.Lost
		s.lasts = s.lasts || c.Lost > 0 && c.To > c.From
	}
	if lost < leastLosses {
		return nil
	}
	// Changes are told apart about as finely as counts follow each other; what they cost in the end is worked out when they are found.
	s.penalty, s.moments = math.Log(max(sent, 8))/2, max(sent, 8)
	s.cut()
	if len(s.cells) < 2 {
		return nil // nothing lost, or never anything else
	}
	s.lay()
	s.spare = s.effort()
	s.memory = make([]memory, len(s.counts))
	for i := range s.counts {
		c := &s.counts[i]
		first := sort.Search(len(s.cells), func(j int) bool { return s.cells[j].to >= c.From })
		last := first
		if c.To == c.From && first+1 < len(s.cells) && s.cells[first].to == c.To && !s.cells[first].lossy {
			first++ // of the two cells that meet at this moment it is the one with losses that matters
			last++
		}
		if c.To > c.From {
			last += sort.Search(len(s.cells)-first, func(j int) bool { return s.cells[first+j].to >= c.To })
		}
		s.first = append(s.first, int32(min(first, len(s.cells)-1)))
		s.last = append(s.last, int32(min(last, len(s.cells)-1)))
	}
	s.edges = append(s.edges, s.begin)
	for _, c := range s.cells {
		if c.to > s.edges[len(s.edges)-1] {
			s.edges = append(s.edges, c.to)
		}
	}
	s.score[0], s.score[1] = make([]float64, len(s.cells)), make([]float64, len(s.cells))
	s.rates = make([]float64, len(s.cells)+1)
	return s
}

// sample takes the counts that are looked at: of very many with losses every so many-th, and as many of those without, in the order of time.
func (s *scan) sample() {
	lossy := 0
	for i := range s.all {
		lossy += min(s.all[i].Lost, 1)
	}
	s.every = max(1, (lossy+mostLossy-1)/mostLossy)
	s.counts = make([]count, 0, len(s.all)/s.every)
	var seen [2]int // without losses and with some
	for i := range s.all {
		n := &seen[min(s.all[i].Lost, 1)]
		if *n++; *n%s.every == 0 {
			s.counts = append(s.counts, s.all[i])
		}
	}
}

// lay puts the counts, which are in the order of time, into layers.
func (s *scan) lay() {
	shortest := (s.end - s.begin) / math.Exp2(2*(layers-1))
	of := func(c *count) int {
		k := 0
		for length := shortest; k < layers-1 && c.To-c.From > length; length *= 4 {
			k++
		}
		return k
	}
	slices.SortStableFunc(s.counts, func(a, b count) int { return of(&a) - of(&b) })
	last, end := -1, 0.0
	for i := range s.counts {
		c := &s.counts[i]
		if k := of(c); k > last {
			for last++; last < k; last++ {
				s.layer[last] = i
			}
			s.layer[k], end = i, c.To
		}
		end = max(end, c.To)
		s.until = append(s.until, end)
	}
	for last++; last <= layers; last++ {
		s.layer[last] = len(s.counts)
	}
}

// cut parts the time into cells. Where nothing was lost the state cannot change to any use, so that is one cell; where something was, it may
// change wherever a count begins or ends.
func (s *scan) cut() {
	var lossy []cell
	var cuts []float64
	for i := range s.counts {
		c := &s.counts[i]
		cuts = append(cuts, c.From, c.To)
		if c.Lost == 0 {
			continue
		}
		for j := 1; j < pieces && c.To > c.From; j++ {
			cuts = append(cuts, c.From+(c.To-c.From)*float64(j)/pieces)
		}
		if n := len(lossy); n > 0 && c.From <= lossy[n-1].to {
			lossy[n-1].to = max(lossy[n-1].to, c.To)
		} else {
			lossy = append(lossy, cell{c.From, c.To, true})
		}
	}
	if len(lossy) == 0 {
		return
	}
	slices.Sort(cuts)
	cuts = inside(slices.Compact(cuts), lossy)
	if every := (len(cuts) + mostCells - 1) / mostCells; every > 1 {
		thin := cuts[:0]
		for i := every - 1; i < len(cuts); i += every {
			thin = append(thin, cuts[i])
		}
		cuts = thin
	}
	at := s.begin
	for _, l := range lossy {
		if l.from > at {
			s.cells = append(s.cells, cell{at, l.from, false})
		}
		at = l.from
		for len(cuts) > 0 && cuts[0] < l.to {
			s.cells = append(s.cells, cell{at, cuts[0], true})
			at, cuts = cuts[0], cuts[1:]
		}
		s.cells = append(s.cells, cell{at, l.to, true})
		at = l.to
	}
	if s.end > at {
		s.cells = append(s.cells, cell{at, s.end, false})
	}
}

// inside keeps what lies within stretches, and not at their edges.
func inside(cuts []float64, stretches []cell) []float64 {
	out := cuts[:0]
	j := 0
	for _, x := range cuts {
		for j < len(stretches) && stretches[j].to <= x {
			j++
		}
		if j < len(stretches) && x > stretches[j].from {
			out = append(out, x)
		}
	}
	return out
}

// spread adds a value of each count to the cells that it overlaps, by time.
func (s *scan) spread(into []float64, value func(i int) float64) {
	clear(into)
	clear(s.rates)
	for i := range s.counts {
		v := value(i)
		if v == 0 {
			continue
		}
		c, a, b := &s.counts[i], s.first[i], s.last[i]
		if a == b {
			into[a] += v
			continue
		}
		v /= c.To - c.From
		into[a] += v * (s.cells[a].to - c.From)
		into[b] += v * (c.To - s.cells[b].from)
		s.rates[a+1] += v
		s.rates[b] -= v
	}
	rate := 0.0
	for j := range into {
		rate += s.rates[j]
		into[j] += rate * s.cells[j].width()
	}
}

// means returns a function that averages a value of the cells over the time of a count.
func (s *scan) means(value []float64) func(i int) float64 {
	before := make([]float64, len(value)+1)
	for j, v := range value {
		before[j+1] = before[j] + v*s.cells[j].width()
	}
	return func(i int) float64 {
		c, a, b := &s.counts[i], s.first[i], s.last[i]
		if a == b {
			return value[a]
		}
		sum := before[b] - before[a+1] + value[a]*(s.cells[a].to-c.From) + value[b]*(c.To-s.cells[b].from)
		return min(max(sum/(c.To-c.From), 0), 1)
	}
}

// sharpen estimates the loss of each cell by itself, moving the losses of a count to where others lose too (Richardson and Lucy), and returns
// how many packets of each cell were lost and passed.
func (s *scan) sharpen() (lost, passed []float64) {
	const turns = 25
	n := len(s.cells)
	rate := make([]float64, n)
	lost, passed = make([]float64, n), make([]float64, n)
	for j := range rate {
		rate[j] = 0.5
	}
	for range turns {
		mean := s.means(rate)
		s.spread(lost, func(i int) float64 { return s.counts[i].lost / max(mean(i), 1e-9) })
		s.spread(passed, func(i int) float64 {
			c := &s.counts[i]
			return c.Share * c.passed / max(1-mean(i), 1e-9)
		})
		for j := range rate {
			lost[j] = max(lost[j], 0) * rate[j]
			passed[j] = max(passed[j], 0) * (1 - rate[j])
			rate[j] = lost[j] / max(lost[j]+passed[j], 1e-9)
		}
	}
	return lost, passed
}

// An episode is a stretch of time in which the suspect is bad.
type episode struct {
	from, to       float64
	begun, lasting bool
}

// search returns the likeliest episodes and the share lost in them.
func (s *scan) search() (best []episode, level float64) {
	lost, passed := s.sharpen()
	most, effort := math.Inf(-1), s.effort()
	var tried [][]episode
	for _, bad := range []float64{0.97, 0.6, 0.2, 0.04, 0.008} {
		up, down := odds(bad)
		for j := range lost {
			s.score[0][j] = lost[j]*up + passed[j]*down
		}
		states := s.viterbi(make([]bool, len(s.cells)))
		for range 12 {
			bad = s.expect(states, bad)
			next := s.viterbi(states)
			if slices.Equal(next, states) {
				break
			}
			states = next
		}
		eps := s.episodes(states)
		if len(eps) == 0 || slices.ContainsFunc(tried, func(x []episode) bool { return slices.Equal(x, eps) }) {
			continue
		}
		tried = append(tried, eps)
		s.spare = effort
		eps, bad = s.settle(eps)
		left := s.spare
		s.spare = effort
		eps, bad = s.worth(eps, bad)
		if min(left, s.spare) <= 0 {
			effort /= 4 // all levels together are not to take much longer than one
		}
		if v := s.bayes(eps, bad); v > most {
			best, level, most = eps, bad, v
		}
	}
	return best, level
}

// odds are what a lost packet and one that passed add to the log odds of bad.
func odds(bad float64) (lost, passed float64) {
	return math.Log(bad / normal), math.Log((1 - bad) / (1 - normal))
}

// viterbi returns the likeliest states of the cells, by the scores of those that were good and of those that were bad.
func (s *scan) viterbi(was []bool) []bool {
	n := len(s.cells)
	from := make([][2]bool, n) // whether the best way to good, or to bad, comes from bad
	good, bad := 0.0, 0.0
	for j := range n {
		score := s.score[0][j]
		if was[j] {
			score = s.score[1][j]
		}
		g, b := good, bad
		if j > 0 {
			if bad-s.penalty > good {
				g, from[j][0] = bad-s.penalty, true
			}
			from[j][1] = true
			if good-s.penalty > bad {
				b, from[j][1] = good-s.penalty, false
			}
		}
		good, bad = g, b+score
	}
	states := make([]bool, n)
	state := bad > good
	for j := n - 1; j >= 0; j-- {
		states[j] = state
		if state {
			state = from[j][1]
		} else {
			state = from[j][0]
		}
	}
	return states
}

// expect parts the packets of each count between good and bad cells, scores the cells by them, and returns the share lost in bad ones.
func (s *scan) expect(states []bool, bad float64) float64 {
	in := make([]float64, len(states))
	for j, b := range states {
		if b {
			in[j] = 1
		}
	}
	mean := s.means(in)
	type part struct{ lostGood, passedGood, lostBad, passedBad float64 }
	parts := make([]part, len(s.counts))
	k, m := 0.0, 0.0
	for i := range s.counts {
		c := &s.counts[i]
		inside := mean(i)
		p := inside*bad + (1-inside)*normal
		w := s.hit(c, p)
		lost, passed := w*c.lost/p, w*c.passed/(1-p)
		parts[i] = part{lost * normal, passed * (1 - normal), lost * bad, passed * (1 - bad)}
		k += inside * parts[i].lostBad
		m += inside * parts[i].passedBad
	}
	if k > 0 {
		bad = min(max(k/(k+m), leastLoss), 1-math.Exp(-mostHazard))
	}
	up, down := odds(bad)
	s.spread(s.score[0], func(i int) float64 { return parts[i].lostGood*up + parts[i].passedGood*down })
	s.spread(s.score[1], func(i int) float64 { return parts[i].lostBad*up + parts[i].passedBad*down })
	return bad
}

// episodes makes stretches of time of bad cells. Cells at their edges in which nothing was lost are no part of them.
func (s *scan) episodes(states []bool) []episode {
	lossy := func(j int) bool { return s.score[1][j] > 0 || s.cells[j].width() == 0 }
	var eps []episode
	for j := 0; j < len(states); j++ {
		if !states[j] {
			continue
		}
		a := j
		for j+1 < len(states) && states[j+1] {
			j++
		}
		e := episode{begun: a == 0, lasting: j == len(states)-1}
		b := j
		for a < b && !e.begun && !lossy(a) {
			a++
		}
		for a < b && !e.lasting && !lossy(b) {
			b--
		}
		e.from, e.to = s.cells[a].from, s.cells[b].to
		eps = append(eps, e)
	}
	return eps
}
