package heat

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// A pair is two nodes that send, and the shares of their traffic on arcs.
type pair struct {
	src, dst graphs.NodeID
	from, to int // their places among the ends, where the matrix is estimated
	rate     float64
	shares   []pathfind.ArcShare // by arc
}

// on returns the share of the pair's traffic that crosses an arc.
func (p *pair) on(a graphs.ArcID) float64 {
	i, ok := slices.BinarySearchFunc(p.shares, a, func(x pathfind.ArcShare, a graphs.ArcID) int { return cmp.Compare(x.Arc, a) })
	if !ok {
		return 0
	}
	return p.shares[i].Share
}

// A crossing is a pair of which a share crosses an arc. Rate is that of the pair.
type crossing struct {
	src, dst    graphs.NodeID
	rate, share float64
}

// crossing returns the pairs that cross an arc; where the fabric is wide, those only of arcs that were looked at.
func (s *solver) crossing(a graphs.ArcID) []crossing {
	if s.wide != nil && s.wide.on[a] != nil {
		return s.wide.on[a]
	}
	var list []crossing
	for i := range s.pairs {
		p := &s.pairs[i]
		if share := p.on(a); share > 0 {
			list = append(list, crossing{p.src, p.dst, p.rate, share})
		}
	}
	return list
}

// traffic makes the matrix, and what it and even demand put on the arcs.
func (s *solver) traffic() {
	ends := pathfind.Uniform(s.f).Ends
	if s.in.Matrix != nil {
		s.measured()
	} else {
		s.estimate(ends)
	}
	s.expected = s.loads(s.in.Model)
	if s.scaled = 1; s.in.Matrix != nil {
		s.scaled = s.misfit(ends)
		s.multiply(s.scaled)
		for a := range s.expected {
			s.expected[a] *= s.scaled
		}
	}
	if s.in.Planned != nil {
		s.planned = s.loads(s.in.Planned)
	}
	s.even = s.evenLoads(ends)
}

// misfit is what a measured matrix is to be multiplied by to be as great as the loads: it may be sampled, count other bytes, or lack pairs. It is the median over the
// switches that traffic comes from and goes to. What one of these sends and gets is the same however it is hashed, which what an arc carries is not, and the median does not follow
// the few switches whose demand the matrix lacks.
func (s *solver) misfit(ends []graphs.NodeID) float64 {
	var off []float64
	for _, v := range ends {
		load, expected := 0.0, 0.0
		for _, out := range s.f.Out(v) {
			for _, a := range [...]graphs.ArcID{out, out.Reverse()} {
				if s.fabricArc(a) && !math.IsNaN(s.in.Load[a]) {
					load, expected = load+s.in.Load[a], expected+s.expected[a]
				}
			}
		}
		if expected > 0 {
			off = append(off, load/expected)
		}
	}
	if slices.Sort(off); len(off) == 0 || off[len(off)/2] == 0 {
		return 1
	}
	return off[len(off)/2]
}

// multiply makes the matrix greater.
func (s *solver) multiply(by float64) {
	for i := range s.pairs {
		s.pairs[i].rate *= by
	}
	if w := s.wide; w != nil {
		for i := range w.rate {
			w.rate[i] = float32(float64(w.rate[i]) * by)
		}
		for a := range w.free {
			w.free[a] *= by
		}
	}
}

// measured takes the matrix as it was given.
func (s *solver) measured() {
	if len(s.in.Matrix) > mostNarrow && s.measuredWide() {
		return
	}
	at := map[[2]graphs.NodeID]int{}
	for _, w := range s.in.Matrix {
		k := [2]graphs.NodeID{w.Src, w.Dst}
		i, ok := at[k]
		if !ok {
			i = len(s.pairs)
			at[k] = i
			s.pairs = append(s.pairs, pair{src: w.Src, dst: w.Dst, shares: s.shares(w.Src, w.Dst)})
		}
		s.pairs[i].rate += w.Rate
	}
}

func (s *solver) shares(src, dst graphs.NodeID) []pathfind.ArcShare {
	shares := s.in.Model.Ways(src, dst).Shares()
	slices.SortFunc(shares, func(a, b pathfind.ArcShare) int { return cmp.Compare(a.Arc, b.Arc) })
	return shares
}

// loads is what the pairs put on arcs under a model.
func (s *solver) loads(m pathfind.Model) []float64 {
	sum := make([]float64, s.f.NumArcs())
	if s.wide != nil {
		sum = m.Loads(s.wide.demand()).Arcs
	} else if m != s.in.Model {
		if d, ok := s.demand(); ok {
			return m.Loads(d).Arcs
		}
	}
	for i := range s.pairs {
		p := &s.pairs[i]
		if p.rate == 0 {
			continue
		}
		shares := p.shares
		if m != s.in.Model {
			shares = m.Ways(p.src, p.dst).Shares()
		}
		for _, x := range shares {
			sum[x.Arc] += p.rate * x.Share
		}
	}
	return sum
}

// dense is of how many pairs of ends at least one sends for a model to let all flow destination by destination. That is much faster than pair by pair, but asks about every pair of ends.
const dense = 64

// demand is what the pairs send, for a model to let flow. It reports false where few of their ends send to each other.
func (s *solver) demand() (pathfind.Demand, bool) {
	rate := make(map[[2]graphs.NodeID]float64, len(s.pairs))
	var ends []graphs.NodeID
	for i := range s.pairs {
		p := &s.pairs[i]
		rate[[2]graphs.NodeID{p.src, p.dst}] += p.rate
		ends = append(ends, p.src, p.dst)
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	volume := func(src, dst graphs.NodeID) float64 { return rate[[2]graphs.NodeID{src, dst}] }
	return pathfind.Demand{Ends: ends, Volume: volume}, len(ends)*len(ends) <= dense*len(s.pairs)
}

// evenLoads is what the same traffic would put on arcs if every end sent as much to every other, and hosts as much as others; under the model of all links, which is what
// the fabric was built for.
func (s *solver) evenLoads(ends []graphs.NodeID) []float64 {
	m := s.in.Model
	if s.in.Planned != nil {
		m = s.in.Planned
	}
	l := m.Loads(pathfind.Demand{Ends: ends})
	total, even := 0.0, 0.0
	for _, a := range s.known {
		total += s.in.Load[a]
		even += l.Arcs[a]
	}
	scale := 0.0
	if even > 0 {
		scale = total / even
	}
	for a := range l.Arcs {
		l.Arcs[a] *= scale
	}
	// What all hosts get, and what all send, by the speeds of their links: next to its neighbours behind one switch a host is hardly ever uneven, and alone there it never is.
	var got, sent, gets, sends float64
	hosts := func(use func(toward graphs.ArcID)) {
		for a := range graphs.ArcID(s.f.NumArcs()) {
			if s.f.Node(s.f.Head(a)).IsHost() {
				use(a)
			}
		}
	}
	hosts(func(a graphs.ArcID) {
		if x := s.in.Load[a]; !math.IsNaN(x) {
			got, gets = got+x, gets+s.speed[a.Link()]
		}
		if x := s.in.Load[a.Reverse()]; !math.IsNaN(x) {
			sent, sends = sent+x, sends+s.speed[a.Link()]
		}
	})
	part := func(all, speeds float64, l graphs.LinkID) float64 {
		if speeds == 0 {
			return 0
		}
		return all * s.speed[l] / speeds
	}
	hosts(func(a graphs.ArcID) {
		l.Arcs[a], l.Arcs[a.Reverse()] = part(got, gets, a.Link()), part(sent, sends, a.Link())
	})
	return l.Arcs
}

func known(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// mostEnds is between how many switches a matrix is estimated with the arcs of each pair at hand; with more, see wide.
const mostEnds = 160

// fits is how often the estimate is drawn toward the loads, and haste by how much each time.
const (
	fits  = 60
	haste = 0.7
)

// estimate finds a matrix between switches that explains the loads: at first each switch sends to each other in proportion to what their hosts send and receive
// (the gravity model), then pairs grow or shrink by what the arcs that they cross carry beyond or below what is expected, but little at a time, so
// that what no matrix explains stays unexplained.
func (s *solver) estimate(ends []graphs.NodeID) {
	outside := s.outside()
	for _, n := range s.f.Switches() {
		if outside[n] != (exchange{}) && !slices.Contains(ends, n) {
			ends = append(ends[:len(ends):len(ends)], n)
		}
	}
	out, in := make([]float64, len(ends)), make([]float64, len(ends))
	told := true
	for i, n := range ends {
		out[i], in[i] = outside[n].sends, outside[n].gets
		for _, a := range s.f.Out(n) {
			if s.f.IsHostArc(a) {
				told = told && !math.IsNaN(s.in.Load[a]) && !math.IsNaN(s.in.Load[a.Reverse()])
				out[i] += known(s.in.Load[a.Reverse()])
				in[i] += known(s.in.Load[a])
			}
		}
	}
	if len(ends) < 2 || len(ends) > mostWide {
		return
	}
	if len(ends) > mostEnds {
		s.estimateWide(ends, out, in, told)
		s.hosts()
		return
	}
	for i, src := range ends {
		for j, dst := range ends {
			if i == j {
				continue
			}
			rate := 1.0
			if told {
				rate = out[i] * in[j]
			}
			if rate > 0 {
				s.pairs = append(s.pairs, pair{src: src, dst: dst, from: i, to: j, rate: rate, shares: s.shares(src, dst)})
			}
		}
	}
	s.scale()
	s.gravity = s.loads(s.in.Model)
	if !told {
		out, in = nil, nil
	}
	s.stray = s.astray()
	for range fits {
		s.draw(out, in)
	}
	s.hosts()
}

// An exchange is what a switch sends into the fabric, and gets from it, that comes and goes by no port that the fabric has: it is the border to
// another network, say.
type exchange struct{ sends, gets float64 }

// unbalanced is by how much more a switch sends than comes in, or the other way round, of all that comes or goes and of what its fastest port carries,
// for the rest to be from outside: counters are not all read at once.
const unbalanced, leastOutside = 0.2, 0.1

// outside finds the switches that exchange traffic with what the fabric does not have, by what all of their ports carry.
func (s *solver) outside() map[graphs.NodeID]exchange {
	found := map[graphs.NodeID]exchange{}
	for _, n := range s.f.Switches() {
		out, in, fastest := 0.0, 0.0, 0.0
		for _, a := range s.f.Out(n) {
			out, in = out+s.in.Load[a], in+s.in.Load[a.Reverse()]
			fastest = max(fastest, s.speed[a.Link()])
		}
		if math.Abs(out-in) > max(unbalanced*max(out, in), leastOutside*fastest) { // never where a load is not known
			found[n] = exchange{max(0, out-in), max(0, in-out)}
		}
	}
	return found
}

// scale makes the matrix as great as the loads between switches are.
func (s *solver) scale() {
	expected := s.loads(s.in.Model)
	total, sum := 0.0, 0.0
	for _, a := range s.known {
		total, sum = total+s.in.Load[a], sum+expected[a]
	}
	if sum > 0 {
		s.multiply(total / sum)
	}
}

// draw changes each pair by the mean of what its arcs carry over what is expected there, weighed by its shares; what hosts behind a switch send
// and receive, if that is known, is an arc that all their pairs share. Some of it stays behind the switch: it is a bound.
func (s *solver) draw(out, in []float64) {
	expected := s.loads(s.in.Model)
	sends, gets := make([]float64, len(out)), make([]float64, len(in))
	for i := range s.pairs {
		if p := &s.pairs[i]; out != nil {
			sends[p.from] += p.rate
			gets[p.to] += p.rate
		}
	}
	for i := range s.pairs {
		p := &s.pairs[i]
		sum, weight := 0.0, 0.0
		for _, x := range p.shares {
			load := s.in.Load[x.Arc]
			if math.IsNaN(load) || s.f.IsHostArc(x.Arc) || s.stray[x.Arc] || expected[x.Arc] <= 0 {
				continue
			}
			sum += x.Share * ratio(load, expected[x.Arc])
			weight += x.Share
		}
		if out != nil {
			const bound = 1.5 // as much as so many arcs
			sum += bound * (min(0, ratio(out[p.from], sends[p.from])) + min(0, ratio(in[p.to], gets[p.to])))
			weight += 2 * bound
		}
		if weight > 0 {
			p.rate *= math.Exp(haste * sum / weight)
		}
	}
}

// ratio is the logarithm of what there is over what is expected, within bounds.
func ratio(is, expected float64) float64 {
	if expected <= 0 {
		return 0
	}
	return math.Log(min(8, max(0.125, is/expected)))
}

// hosts adds what is known of the arcs of hosts: their load is their demand. It is told as traffic from or to the host's switch.
func (s *solver) hosts() {
	for a, load := range s.in.Load {
		arc := graphs.ArcID(a)
		if math.IsNaN(load) || load <= 0 || !s.f.IsHostArc(arc) {
			continue
		}
		s.pairs = append(s.pairs, pair{src: s.f.Tail(arc), dst: s.f.Head(arc), rate: load, shares: []pathfind.ArcShare{{Arc: arc, Share: 1}}})
	}
}
