package flaps

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/internal/halves"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/rhythm"
)

const (
	// leastProof is what an episode proves at least beyond the prior to be looked for: it has two edges, each at one of many moments.
	leastProof = 8
	// clearly is how much likelier than a loss that is always there one from some moment on, or until one, must be where only flows that lost packets are known.
	clearly = 2 * leastProof
	// mostCandidates bounds the search.
	mostCandidates = 256
)

// candidates returns the arcs on flows that lost so much that episodes might explain it, those with most first. Episodes are paid for as
// pathfind/rhythm does it: two changes of state at least, each at the moment of any packet.
func (s *search) candidates() []candidate {
	bound, odd := s.bounds()
	var list []candidate
	for a, b := range bound {
		c, sent := candidate{arc: graphs.ArcID(a), bound: b, odd: odd[a]}, float64(s.sent[a])
		if b > s.prior+leastProof && s.pays(&c, sent) && s.pays(&c, sent+s.stray(c.arc)) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Or(-cmp.Compare(a.bound, b.bound), cmp.Compare(a.arc, b.arc)) })
	return list[:min(len(list), mostCandidates)]
}

// provable hands over what the losses of the j-th lossy observation could prove at most of each arc that it may have crossed.
func (s *search) provable(j int, add func(a graphs.ArcID, nats float64)) {
	o := &s.obs[s.lossy[j]]
	most := s.excess(&s.fates[j])
	if most == 0 {
		return
	}
	for _, a := range o.Path {
		add(a, most)
	}
	if ways := s.ways.of(o); len(ways) > 0 {
		odds := math.Expm1(most)
		for _, p := range ways {
			add(p.arc, math.Log1p(p.share*odds))
		}
	}
}

// pays reports whether the episodes of a candidate, which so many packets may have crossed, could prove more than they cost.
func (s *search) pays(c *candidate, sent float64) bool {
	return c.bound > s.prior+2*math.Log(max(sent, 8))-alike
}

// stray returns the packets that are expected to have crossed an arc without loss of observations whose way is not known and that are not taken.
func (s *search) stray(a graphs.ArcID) float64 {
	if s.loose == nil || s.loose[a] == 0 {
		return 0
	}
	sent := s.loose[a]
	for _, i := range s.aside {
		if o := &s.obs[i]; o.Lost == 0 {
			sent -= s.share(o, a) * float64(o.Sent)
		}
	}
	return max(sent, 0)
}

// excess returns the most that an explanation of a flow's losses is worth, against chance and its own troubles.
func (s *search) excess(f *fate) float64 {
	if !f.tells {
		return 0
	}
	return max(0, f.best-max(math.Log(s.own.rate)+f.odd, f.chance))
}

// gather finds what crosses the candidates.
func (s *search) gather(list []candidate) {
	if len(list) == 0 {
		return
	}
	index, on := make([]int32, s.fabric.NumArcs()), make([]bool, s.fabric.NumArcs())
	for i := range list {
		index[list[i].arc], on[list[i].arc] = int32(i), true
	}
	type crossing struct {
		obs    []int32
		shares []float64
	}
	var halved [2][]crossing
	known := s.touched.Over(on) // what surely crosses some
	halves.Do(len(s.obs), func(half, from, to int) {
		found := make([]crossing, len(list))
		add := func(j, o int32, share float64) {
			found[j].obs, found[j].shares = append(found[j].obs, o), append(found[j].shares, share)
		}
		first, _ := slices.BinarySearch(known, int32(from))
		end, _ := slices.BinarySearch(known, int32(to))
		for _, i := range known[first:end] {
			for _, a := range s.obs[i].Path {
				if on[a] {
					add(index[a], i, 1)
				}
			}
		}
		if s.paths == nil {
			halved[half] = found
			return
		}
		type loose struct {
			from, to graphs.NodeID
			obs      int32
		}
		var unknown []loose
		for i := from; i < to; i++ {
			if o := &s.obs[i]; o.OnSet() {
				if unknown == nil {
					unknown = make([]loose, 0, to-i)
				}
				unknown = append(unknown, loose{o.From, o.To, int32(i)})
			}
		}
		steps := make([]float64, s.fabric.NumNodes()) // of the flows to a node at the tail of an arc, the share that goes on by it
		for j := range list {
			a := list[j].arc
			if len(unknown) == 0 || s.fabric.IsHostArc(a) {
				continue
			}
			for n := range steps {
				steps[n] = s.paths.Step(a, graphs.NodeID(n))
			}
			tail := s.fabric.Tail(a)
			for _, o := range unknown {
				if step := steps[o.to]; step > 0 {
					if reach := s.paths.Reach(o.from, tail, o.to); reach > 0 {
						add(int32(j), o.obs, min(1, reach*step))
					}
				}
			}
		}
		halved[half] = found
	})
	for _, found := range halved {
		for j := range found {
			list[j].obs, list[j].shares = append(list[j].obs, found[j].obs...), append(list[j].shares, found[j].shares...)
		}
	}
}

// share returns the part of the ways of an observation, as far as they are not known, that cross an arc.
func (s *search) share(o *localize.Observation, a graphs.ArcID) float64 {
	reach := s.paths.Reach(o.From, s.fabric.Tail(a), o.To)
	if reach == 0 {
		return 0
	}
	return min(1, reach*s.paths.Step(a, o.To))
}

// counts returns what crosses a candidate of what nothing else explains, and how many packets of that may have.
func (s *search) counts(c *candidate) (counts []rhythm.Count, sent float64) {
	counts = make([]rhythm.Count, 0, len(c.obs))
	for i, o := range c.obs {
		if !s.taken[o] || s.obs[o].Lost == 0 && s.episodic[o] {
			counts = append(counts, s.count(int(o), c.shares[i]))
			sent += c.shares[i] * float64(s.obs[o].Sent)
		}
	}
	return counts, sent
}

// time finds the rhythm of a candidate, of what nothing else explains, and what it proves.
func (s *search) time(c *candidate) {
	counts, sent := s.counts(c)
	if c.times, c.proof, c.always = (rhythm.Rhythm{}), 0, 0; !s.pays(c, sent) || even(counts) {
		return
	}
	c.times = rhythm.Find(counts, 0)
	if s.selected && (c.times.Kind == rhythm.Since || c.times.Kind == rhythm.Until) && c.times.Bayes < clearly {
		c.times = rhythm.Rhythm{Bayes: c.times.Bayes, Proof: c.times.Proof} // of what arrived before or after nothing is known; a loss that is always there it may have
	}
	if c.times.Kind == rhythm.Steady {
		c.always = c.times.Proof - c.times.Bayes
		return
	}
	explained := 0.0
	for _, o := range c.obs {
		if !s.taken[o] && s.obs[o].Lost > 0 && s.within(o, c.times.Episodes) {
			f := s.fateOf(&s.obs[o])
			explained += f.troubled(s.own.rate)
		}
	}
	c.proof = c.times.Proof + s.own.fewer(explained)
}

// timeAll does so for several. Candidates that the same observations may have crossed, each with the same share, as do those of the uplinks of a switch
// whose ways are not known, have the rhythm of the first of them.
func (s *search) timeAll(list []*candidate) {
	like := make([]int, len(list)) // the first such candidate
	known := map[uint64]int{}
	for i, c := range list {
		print := uint64(0)
		for k, o := range c.obs {
			print = (print ^ uint64(o) ^ math.Float64bits(c.shares[k])) * 0x9e3779b97f4a7c15
			print ^= print >> 29
		}
		j, ok := known[print]
		if like[i] = j; !ok || math.Abs(list[j].bound-c.bound) > 1e-9 || !slices.Equal(list[j].obs, c.obs) || !slices.Equal(list[j].shares, c.shares) {
			known[print], like[i] = i, i
		}
	}
	halves.Each(len(list), func(i int) {
		if like[i] == i {
			s.time(list[i])
		}
	})
	for i, j := range like {
		list[i].timed, list[i].times, list[i].proof, list[i].always = true, list[j].times, list[j].proof, list[j].always
	}
}

// within reports whether an observation may have been sent in one of some episodes.
func (s *search) within(o int32, eps []rhythm.Episode) bool {
	from, to := float64(s.spans[o].From), float64(s.spans[o].To)
	return s.spans[o].known() && slices.ContainsFunc(eps, func(e rhythm.Episode) bool { return e.From <= to && from <= e.To })
}

// count puts an observation as a count. One without a known time becomes one that is passed over.
func (s *search) count(i int, share float64) rhythm.Count {
	when := s.spans[i]
	if !when.known() {
		when = unknown
	}
	sent, lost := s.proving(&s.obs[i])
	return rhythm.Count{From: float64(when.From), To: float64(when.To), Sent: sent, Lost: lost, Share: share, Outlier: s.own.rate, Own: s.odd}
}

// suspect makes a suspect of a candidate. Its class is the candidates whose episodes, before those of this one were known, explained the losses about
// as well, and explain nothing now.
func (s *search) suspect(x *candidate, all, before []candidate) Suspect {
	type member struct {
		cause localize.Cause
		proof float64
	}
	self := member{localize.Cause{Kind: localize.Arc, ID: int32(x.arc)}, x.proof}
	class := []member{self}
	var up member
	for i := range all {
		c := &all[i]
		if c.arc == x.arc || !c.timed || !before[i].timed || before[i].times.Kind == rhythm.Steady || c.proof > s.prior {
			continue
		}
		m := member{localize.Cause{Kind: localize.Arc, ID: int32(c.arc)}, before[i].proof}
		if m.proof > x.proof-alike {
			class = append(class, m)
		} else if up.cause.Kind == "" || m.proof > up.proof {
			up = m
		}
	}
	slices.SortStableFunc(class[1:], func(a, b member) int { return -cmp.Compare(a.proof, b.proof) })
	sum := 0.0
	out := Suspect{Rhythm: x.times}
	for _, m := range class {
		sum += math.Exp(m.proof - self.proof)
		out.Class = append(out.Class, m.cause)
	}
	out.Cause = self.cause
	out.Probability = 1 / (1 + math.Exp(s.prior-self.proof-math.Log(sum)))
	out.Alone = out.Probability / sum
	if up.cause.Kind != "" {
		out.Against.RunnerUp, out.Against.Nats = up.cause, self.proof-up.proof
	} else {
		out.Against.Nats = self.proof
	}
	s.tally(&out, x)
	return out
}

// tally counts what surely crosses a candidate.
func (s *search) tally(out *Suspect, x *candidate) {
	for i, o := range x.obs {
		if x.shares[i] < 1 {
			continue
		}
		obs := &s.obs[o]
		out.Sent += obs.Sent
		out.Lost += obs.Lost
		if obs.Lost > 0 {
			out.LossyFlows++
		} else {
			out.CleanFlows++
			out.Against.CleanSent += obs.Sent
		}
	}
	if out.Sent == 0 || out.LossyFlows == 0 {
		return
	}
	// What one flow lost is one piece of evidence: its packets met the same episode.
	out.Loss = float64(out.Lost) / float64(out.Sent)
	margin := 2 * out.Loss / math.Sqrt(float64(out.LossyFlows))
	out.Low, out.High = max(0, out.Loss-margin), min(1, out.Loss+margin)
	// Clean flows within the episodes are those that should have lost something.
	for i, o := range x.obs {
		if s.obs[o].Lost == 0 && x.shares[i] == 1 && s.spans[o].known() {
			for _, e := range x.times.Episodes {
				from, to := float64(s.spans[o].From), float64(s.spans[o].To)
				in := min(to, e.To) - max(from, e.From)
				if in > 0 && to > from {
					out.Against.Expected += x.times.Loss * float64(s.obs[o].Sent) * in / (to - from)
				}
			}
		}
	}
}

// lossByTime tells the loss by the share of the time that is bad. Where ways are known of some flows only, those are mostly the ones that lost packets, or none:
// what they lost says little of all that crosses.
func (x *Suspect) lossByTime() {
	r := &x.Rhythm
	if x.Loss, x.Low, x.High = r.Lost, r.LostLow, r.LostHigh; r.DutyHigh == 0 { // no bounds are known but those of all losses in some episodes
		x.Loss = r.Loss * r.Duty
		margin := 2 * x.Loss / math.Sqrt(float64(max(1, len(r.Episodes))))
		x.Low, x.High = max(0, x.Loss-margin), min(1, x.Loss+margin)
	}
}

// A timed rhythm is one with the counts that it was found by.
type timed struct {
	rhythm.Rhythm
	counts []rhythm.Count
}

// tellDuty tells for which share of the time of all evidence a suspect was bad. Where only flows that lost packets are known, nothing is of what arrived while nothing
// was lost: there it is what the episodes take up.
func (s *search) tellDuty(r *rhythm.Rhythm, counts []rhythm.Count) {
	if r.Kind == rhythm.Steady {
		return
	}
	from, to := s.evidence()
	if !s.selected {
		r.TellDuty(counts, from, to)
		return
	}
	r.Duty *= (r.To - r.From) / (to - from)
	r.From, r.To = from, to
}

// evidence returns from when to when there is any evidence, in milliseconds, if it is known of some when it was sent.
func (s *search) evidence() (from, to float64) {
	if s.since > s.until {
		for _, span := range s.spans {
			if span.known() {
				s.since, s.until = min(s.since, float64(span.From)), max(s.until, float64(span.To))
			}
		}
	}
	return s.since, s.until
}

// rhythms finds how the losses of suspects that are arcs or links lie in time, but for those that are hardly any. What crosses another suspect that is named,
// too, is left out: it may have been lost there. Only the observations that cross some suspect are looked at.
func (s *search) rhythms(suspects []Suspect, crossing []int32) []timed {
	found := make([]timed, len(suspects))
	timely := func(x Suspect) bool {
		return x.Probability >= faint && (x.Kind == localize.Arc || x.Kind == localize.Link)
	}
	if len(s.lossy) == 0 || !slices.ContainsFunc(suspects, timely) {
		return found
	}
	of := make([]int32, s.fabric.NumArcs())
	for i := range suspects {
		if k := suspects[i].Kind; k == localize.Arc || k == localize.Link {
			for _, a := range arcsOf(s.fabric, suspects[i].Cause) {
				if of[a] == 0 {
					of[a] = int32(i) + 1
				}
			}
		}
	}
	counts := make([][]rhythm.Count, len(suspects))
	for _, i := range crossing {
		first, strange := int32(0), false
		for _, a := range s.obs[i].Path {
			switch j := of[a]; {
			case j == 0 || j == first:
			case first == 0:
				first = j
			default:
				strange = strange || suspects[first-1].Probability >= named
				if suspects[j-1].Probability >= named {
					first, strange = j, strange || suspects[first-1].Probability >= named
				}
			}
		}
		if first > 0 && !strange && !s.episodic[i] {
			counts[first-1] = append(counts[first-1], s.count(int(i), 1))
		}
	}
	halves.Each(len(found), func(i int) {
		if suspects[i].Probability >= faint && !even(counts[i]) {
			if found[i].Rhythm = rhythm.Find(counts[i], 0); found[i].Kind != rhythm.Steady {
				found[i].counts = counts[i]
			}
		}
	})
	return found
}

// even reports whether losses scatter from flow to flow hardly more than those of a constant loss do (Pearson's statistic): then nothing came and went.
func even(counts []rhythm.Count) bool {
	sent, lost := 0.0, 0.0
	for i := range counts {
		sent, lost = sent+float64(counts[i].Sent), lost+float64(counts[i].Lost)
	}
	if lost == 0 || lost == sent {
		return true
	}
	p := lost / sent
	chi := 0.0
	for i := range counts {
		n, d := float64(counts[i].Sent), float64(counts[i].Lost)-p*float64(counts[i].Sent)
		chi += d * d / (n * p * (1 - p))
	}
	const most = 1.5
	return chi < most*float64(len(counts))
}
