package flaps

import (
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/internal/halves"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/rhythm"
)

// Where ways are not known, a fault that is always there may stand for another that comes and goes: one of four ways is lost all the time, or two of them for
// half of it. How the losses that it explains lie in time tells which. That is asked only where the flows that lost packets were not
// sent evenly, or differ much in what they lost: it takes a look at all flows that may have crossed it.

// leastDoubtful is how many flows of which the way is not known must have lost packets that a suspect may explain for their times to be asked for.
const leastDoubtful = 4

// A doubt is a suspect of which it is asked whether it is always there, and what may have crossed it.
type doubt struct {
	suspect *Suspect
	candidate
	clustered bool    // the flows that lost packets were sent at about the same time
	rivals    float64 // how likely one other arc explains all that it does, beside it
}

// doubt returns a suspect with what may have crossed it, if flows lost packets that may have and whose way is not known, and if these were not sent evenly or
// differ much in what they lost.
func (s *search) doubt(x *Suspect) (d doubt, ok bool) {
	if s.paths == nil || x.Kind == localize.Host {
		return d, false
	}
	share := s.shareOf(x.Cause)
	most := 0.0
	shares := make([]float64, len(s.lossy))
	for j, i := range s.lossy {
		if shares[j] = share(&s.obs[i]); shares[j] < 1 {
			most = max(most, shares[j])
		}
	}
	var times []float64
	for j, i := range s.lossy {
		if shares[j] > most/2 {
			times = append(times, float64(s.spans[i].From))
		}
	}
	if most == 0 || len(times) < leastDoubtful {
		return d, false
	}
	clustered, uneven := s.spread(times)
	if !clustered && !uneven && !s.bursts(x) {
		return d, false
	}
	var halved [2]candidate
	halves.Do(len(s.obs), func(half, from, to int) {
		c := &halved[half]
		for i := from; i < to; i++ {
			if p := share(&s.obs[i]); p > 0 {
				c.obs, c.shares = append(c.obs, int32(i)), append(c.shares, p)
			}
		}
	})
	return doubt{suspect: x, clustered: clustered, candidate: candidate{
		bound: math.Inf(1), obs: slices.Concat(halved[0].obs, halved[1].obs), shares: slices.Concat(halved[0].shares, halved[1].shares),
	}}, true
}

// shareOf returns how much of an observation's ways crosses a cause.
func (s *search) shareOf(c localize.Cause) func(*localize.Observation) float64 {
	arcs := arcsOf(s.fabric, c)
	on := make([]bool, s.fabric.NumArcs())
	for _, a := range arcs {
		on[a] = true
	}
	return func(o *localize.Observation) float64 {
		switch {
		case someOf(o.Path, on):
			return 1
		case !o.OnSet():
			return 0
		case c.Kind == localize.Node:
			return min(1, s.paths.Reach(o.From, graphs.NodeID(c.ID), o.To))
		}
		sum := 0.0
		for _, a := range arcs {
			if !s.fabric.IsHostArc(a) {
				sum += s.share(o, a)
			}
		}
		return min(1, sum)
	}
}

// moments is in how many parts the time of all evidence is divided to tell how evenly flows were sent.
const moments = 64

// moment returns in which part of the time of all evidence something was sent.
func (s *search) moment(ms float64) int {
	from, to := s.evidence()
	return max(0, min(int(moments*(ms-from)/(to-from)), moments-1))
}

// spread reports whether some of all flows were sent at about the same time, as Kulldorff's scan statistic tells it: how much likelier that is within the best
// interval than elsewhere; and whether they were sent less evenly than by chance (Pearson's statistic).
func (s *search) spread(times []float64) (clustered, uneven bool) {
	if s.sending == nil {
		s.sending = make([]float64, moments+1)
		for _, span := range s.spans {
			if span.known() {
				s.sending[s.moment(float64(span.From))+1]++
			}
		}
		for i := range moments {
			s.sending[i+1] += s.sending[i]
		}
	}
	var some [moments + 1]float64 // until then
	for _, ms := range times {
		some[s.moment(ms)+1]++
	}
	k, all := float64(len(times)), s.sending[moments]
	chi, parts := 0.0, -1.0
	for i := range moments {
		if e := k * (s.sending[i+1] - s.sending[i]) / all; e > 0 {
			chi += (some[i+1] - e) * (some[i+1] - e) / e
			parts++
		}
		some[i+1] += some[i]
	}
	const most, spreads = 5, 1.5
	for i := range moments {
		for j := i + 1; j <= moments; j++ {
			in, share := some[j]-some[i], (s.sending[j]-s.sending[i])/all
			if in <= k*share {
				continue
			}
			nats := in * math.Log(in/(k*share))
			if in < k {
				nats += (k - in) * math.Log((k-in)/(k*(1-share)))
			}
			if nats > most {
				return true, true
			}
		}
	}
	return false, chi > parts+spreads*math.Sqrt(2*parts)
}

// bursts reports whether flows that may have crossed an arc, by ways that are not known, lost so much more than it loses in the mean that it may come and go.
func (s *search) bursts(x *Suspect) bool {
	if x.Kind != localize.Arc || !(x.Loss > 0 && x.Loss < 1) {
		return false
	}
	sum := 0.0
	for j, i := range s.lossy {
		o := &s.obs[i]
		if !slices.ContainsFunc(s.ways.of(o), func(p part) bool { return p.arc == graphs.ArcID(x.ID) }) {
			continue
		}
		sent, lost := s.proving(o)
		even := float64(lost)*math.Log(x.Loss) + float64(sent-lost)*math.Log1p(-x.Loss)
		sum += max(0, s.fates[j].odd-max(even, s.fates[j].chance))
	}
	return sum > leastProof
}

// settle returns those of the doubtful that lose packets all the time, as what nothing else explains has it. Of flows that lost packets each is asked about
// what it crossed most probably.
func (s *search) settle(doubts []doubt) (steady []*doubt) {
	most := map[int32]float64{} // by observation with losses
	for i := range doubts {
		for j, o := range doubts[i].obs {
			if s.obs[o].Lost > 0 {
				most[o] = max(most[o], doubts[i].shares[j])
			}
		}
	}
	halves.Each(len(doubts), func(i int) {
		c := &doubts[i].candidate
		n := 0
		for j, o := range c.obs {
			if c.shares[j] >= most[o] {
				c.obs[n], c.shares[n] = o, c.shares[j]
				n++
			}
		}
		c.obs, c.shares = c.obs[:n], c.shares[:n]
		s.time(c)
	})
	for i := range doubts {
		d := &doubts[i]
		switch k := d.times.Kind; {
		case k == rhythm.Flapping || k == rhythm.Once: // it will be found again
		case !d.clustered || d.suspect.Kind != localize.Arc || !s.replace(d):
			steady = append(steady, d)
		}
	}
	return steady
}

// replace finds another arc that came and went and explains all that a suspect does which is always there, and is likelier. It reports whether there is one; how
// likely it is, beside the suspect, is noted for what is said of either.
func (s *search) replace(d *doubt) bool {
	list, lossy := s.common(d)
	s.gather(list)
	s.timeAll(those(list, every))
	always := d.steadily()
	for i := range list {
		if list[i].arc == graphs.ArcID(d.suspect.ID) { // beside all that the others are asked about
			always = max(always, list[i].steadily())
		}
	}
	best, sum := -1, 0.0
	for i := range list {
		if c := &list[i]; s.explains(c, lossy) {
			sum += math.Exp(min(c.times.Proof-always, 100))
			if best < 0 || c.proof > list[best].proof {
				best = i
			}
		}
	}
	d.rivals = sum * d.suspect.Alone / d.suspect.Probability
	if d.rivals <= 1 {
		return false
	}
	x, before := list[best], slices.Clone(list)
	took := s.take(&x)
	s.timeAll(those(list, every))
	y := s.suspect(&x, list, before)
	y.Suspect = y.Believed(y.Probability * d.rivals / (1 + d.rivals))
	s.instead = append(s.instead, flap{y, x, took})
	return true
}

// steadily returns what a candidate proves if it is always there, or from some moment on, or until one.
func (c *candidate) steadily() float64 {
	if c.times.Kind == rhythm.Steady {
		return c.always
	}
	return c.times.Proof
}

// beside returns a suspect that is always there as likely as it is beside what may stand in its place.
func (s *search) beside(x Suspect) Suspect {
	for _, c := range x.Class {
		if rivals := s.rivalled[c]; rivals > 0 {
			x.Suspect = x.Believed(x.Probability / (1 + rivals))
			break
		}
	}
	return x
}

// nearly is the share of the flows which a suspect explains that another arc must explain to stand in its place.
const nearly = 0.9

// common returns the arcs that nearly all flows may have crossed which a suspect explains and which lost packets, and those flows.
func (s *search) common(d *doubt) (list []candidate, lossy map[int32]bool) {
	crossed := make([]float64, s.fabric.NumArcs())
	lossy = map[int32]bool{}
	for _, o := range d.obs {
		if obs := &s.obs[o]; obs.Lost > 0 && s.spans[o].known() && !s.taken[o] {
			lossy[o] = true
			for _, a := range obs.Path {
				crossed[a]++
			}
			for _, p := range s.ways.of(obs) {
				crossed[p.arc]++
			}
		}
	}
	for a, n := range crossed {
		if n > 0 && n >= nearly*float64(len(lossy)) {
			list = append(list, candidate{arc: graphs.ArcID(a), bound: math.Inf(1)})
		}
	}
	return list, lossy
}

// explains reports whether nearly all of some flows may have met an episode of a candidate.
func (s *search) explains(c *candidate, lossy map[int32]bool) bool {
	if c.times.Kind != rhythm.Flapping && c.times.Kind != rhythm.Once {
		return false
	}
	n := 0
	for _, o := range c.obs {
		if lossy[o] && s.within(o, c.times.Episodes) {
			n++
		}
	}
	return float64(n) >= nearly*float64(len(lossy))
}
