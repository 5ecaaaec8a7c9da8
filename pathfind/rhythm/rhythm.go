// Package rhythm says when a suspect lost packets: all the time, in episodes that come and go, from some moment on or until one.
//
// It takes counts of packets that crossed the suspect, each with its time, and returns a [Rhythm]: [Find]. It is pure: no clock, and the
// same counts give the same answer in whatever order they come.
//
// # The model
//
// At any moment the suspect is good and loses next to nothing, or bad and loses a share that is unknown but one and the same. The states change
// at unknown moments, as a process does that renews itself after times about as long as each other; each change has to pay for itself, the less the more moments
// explain the counts as well. Packets of
// one count are sent at times that are not known singly, evenly over its span, so that an episode that takes up a part of the span
// takes that part of them. Against this stands a suspect that loses one share all the time. Both shares are integrated out, and the
// ratio of what is left is the Bayes factor.
//
// The states are found by the Viterbi algorithm over cells of time, in turns with a guess which packets of a count fell into which cell
// (expectation-maximisation); then the edges are moved to where the counts themselves, not the guess, have them, and episodes are added, parted and joined
// as long as that is better. Time and memory are about linear in the number of counts; of tens of thousands with losses only a sample is looked at.
package rhythm

import (
	"cmp"
	"math"
	"slices"
)

// A Count is packets that were sent over a suspect.
type Count struct {
	// From and To bound the time in which they were sent, in milliseconds since a moment of the caller's choice. They are equal
	// for what was sent at one moment.
	From, To float64
	// Sent is how many, Lost how many of them were lost.
	Sent, Lost int
	// Share is the probability that they crossed the suspect; 0 stands for 1.
	Share float64
	// Run tells that they were lost one after the other and no packet of their flow was answered between: perhaps for one reason of that flow's.
	Run bool
	// Outlier is the probability that they were lost for a reason of their own, of which nothing is known: one count proves no more than that is
	// improbable.
	Outlier float64
	// Own returns the logarithm of how likely so many are lost and so many others pass for such a reason, which ones being told; where it is nil, any share is as likely.
	Own func(lost, passed float64) float64
}

// A count is a Count, how many of its packets prove something, and what of its likelihood does not depend on the suspect's loss.
type count struct {
	Count
	lost, passed float64
	// What follows are logarithms of the chance that the packets had a trouble of their own, that a count with losses had none, that the packets crossed
	// the suspect, and that they did not and fared so elsewhere.
	odd, usual, crossed, beside float64
	good                        float64 // log-likelihood if the suspect is good
}

// A Kind is how the loss of a suspect lies in time.
type Kind int

// The kinds.
const (
	// Steady: one loss all the time, or nothing that proves otherwise.
	Steady Kind = iota
	// Flapping: two episodes or more with quiet between them.
	Flapping
	// Once: one episode, which began and is over.
	Once
	// Since: from some moment on, until the end of the evidence.
	Since
	// Until: from the beginning of the evidence until some moment.
	Until
)

// An Episode is a stretch of time in which the suspect was bad, from the first to the last moment that the evidence demands.
type Episode struct {
	From, To float64 // milliseconds, as in Count
	// Sent and Lost are the packets that crossed the suspect in it, of counts that overlap it in part the likely part.
	Sent, Lost float64
	// Begun tells that the evidence begins within it, Lasting that it ends within it.
	Begun, Lasting bool
}

// A Rhythm is how the loss of a suspect lies in time.
type Rhythm struct {
	Kind Kind
	// Bayes is the logarithm of how much better episodes explain the counts than a constant loss does.
	Bayes float64
	// Proof is the logarithm of how much better they explain the counts than a suspect does that is good all the time.
	Proof float64
	// Episodes in the order of time; none where Kind is Steady.
	Episodes []Episode
	// Loss is the share lost within the episodes.
	Loss float64
	// Stray is how many were lost outside of them.
	Stray float64
	// From and To bound the time of the evidence that Duty is a share of, in milliseconds as in Count.
	From, To float64
	// Unwatched is how much of it the caller knows to be without counts, in milliseconds, and has left out of Duty.
	Unwatched float64
	// Duty is the share of the time of the evidence that the episodes take up; what TellDuty makes of it is the share in which the suspect was bad.
	Duty float64
	// DutyLow and DutyHigh bound that share in nine of ten cases; zero before TellDuty.
	DutyLow, DutyHigh float64
	// Lost is the share lost of all that crossed, and LostLow and LostHigh bound it likewise; zero before TellDuty.
	Lost, LostLow, LostHigh float64
	// Period is the mean time from episode to episode in milliseconds if they come regularly, else 0, and Jitter by how much a single one is off
	// at most, as a share of it.
	Period, Jitter float64
}

const (
	// decisive is the least Bayes factor that is believed, a logarithm.
	decisive = 5.0
	// normal is the loss of a suspect that is good.
	normal = 2e-4
	// mostLosses is how many losses of one count that lasts prove something: its packets were not sent so evenly that more would.
	mostLosses = 64
	// leastLosses is the least number that shows a rhythm.
	leastLosses = 3
	// leastLoss is the least loss of one that is bad, mostHazard its greatest hazard: the logarithm of what passes, negative.
	leastLoss  = 1e-3
	mostHazard = 7.0
)

// Find finds the rhythm of a suspect. Episodes with less than some time between them, in milliseconds, count as one: that is no quiet.
// Counts without packets, or with times that are no times, are passed over.
func Find(counts []Count, quiet float64) Rhythm {
	s := newScan(counts)
	if s == nil {
		return Rhythm{}
	}
	whole := s
	steady, _ := s.constant()
	best, level, value := s.find(steady, quiet)
	if b := newScan(hits(counts)); b != nil {
		// What loses a few packets of one flow now and then does so at any time, too. What goes down for a moment is likelier beforehand.
		if always, _ := b.constant(); always+inRuns(counts)-decisive > max(value, steady) {
			s, steady = b, always
			best, level, value = b.find(always, quiet)
		}
	}
	if len(best) == 0 {
		return Rhythm{}
	}
	r := Rhythm{Bayes: (value - steady) * float64(s.every), Proof: (value - s.good) * float64(s.every)}
	if value-steady < decisive {
		return r
	}
	r.Kind = kindOf(best)
	if r.Kind == Steady {
		return r
	}
	whole.describe(&r, best, level)
	if s.ailing(&r, best) || s.bursting(&r, best, level) {
		return Rhythm{Bayes: r.Bayes, Proof: r.Proof}
	}
	r.Period, r.Jitter = Regular(begun(r.Episodes))
	return r
}

// find returns the episodes that explain the counts best, the share lost in them, and the logarithm of how well they do, given that of a constant loss.
func (s *scan) find(steady, quiet float64) (best []episode, level, value float64) {
	scanned, bad := s.search()
	if len(scanned) == 0 {
		return nil, 0, math.Inf(-1)
	}
	worth := s.bayes(scanned, bad)
	best, level, value = s.joinedBy(scanned, bad, worth, quiet)
	if s.lasts && worth > steady {
		refined, bad, worth := s.refine(scanned, bad, worth)
		if refined, bad, worth = s.joinedBy(refined, bad, worth, quiet); worth > value { // not by what is between episodes that count as one
			best, level, value = refined, bad, worth
		}
	}
	if one, bad, worth, ok := s.single(best, value); ok {
		best, level, value = one, bad, worth
	}
	return best, level, value
}

// hits returns counts in which each run is one loss, nil if none is of more.
func hits(counts []Count) []Count {
	if !slices.ContainsFunc(counts, func(c Count) bool { return c.Run && c.Lost > 1 }) {
		return nil
	}
	list := slices.Clone(counts)
	for i := range list {
		if c := &list[i]; c.Run && c.Lost > 1 {
			c.To, c.Sent, c.Lost = c.From, 1, 1
		}
	}
	return list
}

// inRuns returns the logarithm of how likely runs are as long as they are, if after each loss the next packet of the flow is lost with a probability of which any is as likely.
func inRuns(counts []Count) float64 {
	runs, more := 0.0, 0.0
	for i := range counts {
		if c := &counts[i]; c.Run && c.Lost > 0 {
			runs++
			more += float64(c.Lost - 1)
		}
	}
	return integrated(more, runs)
}

// single returns one episode in the place of several, unless these explain the counts decisively better where its changes of state cost no more than theirs: what began or
// ended once shows quiet by chance now and then. What it is worth is at its own price.
func (s *scan) single(eps []episode, value float64) (one []episode, bad, worth float64, ok bool) {
	if len(eps) < 2 || len(eps) > mostWeighed {
		return nil, 0, 0, false
	}
	whole := episode{eps[0].from, eps[len(eps)-1].to, eps[0].begun, eps[len(eps)-1].lasting}
	begun, lasting := whole, whole
	begun.from, begun.begun = s.begin, true
	lasting.to, lasting.lasting = s.end, true
	least := value - decisive
	for _, e := range []episode{whole, begun, lasting} {
		x := []episode{e}
		most, level := s.level(x)
		if e.begun && e.lasting || most <= least {
			continue
		}
		v := s.bayes(x, level)
		if fair := v + s.price(x, level) - s.renewed(x, [][2]edge{s.ends(x, 0, level)}); fair > least {
			one, bad, worth, least, ok = x, level, v, fair, true
		}
	}
	return one, bad, worth, ok
}

// joinedBy is join, with the loss in what it makes of them and what that is worth.
func (s *scan) joinedBy(eps []episode, bad, value, quiet float64) ([]episode, float64, float64) {
	joined := join(eps, quiet)
	if len(joined) < len(eps) {
		_, bad = s.level(joined)
		value = s.bayes(joined, bad)
	}
	return joined, bad, value
}

// join makes one of episodes with less than some time between them.
func join(eps []episode, quiet float64) []episode {
	out := []episode{eps[0]}
	for _, e := range eps[1:] {
		if last := &out[len(out)-1]; e.from-last.to < quiet {
			last.to, last.lasting = e.to, e.lasting
		} else {
			out = append(out, e)
		}
	}
	return out
}

// ailing reports whether a suspect is bad outside of its episodes, too, and loses a good part of what it loses there: a burst does not make it one
// that comes and goes. What one flow or another lost alone is no sign of that: it may have been an episode, too short to be told from chance.
func (s *scan) ailing(r *Rhythm, eps []episode) bool {
	const part = 0.2
	lost := 0.0
	for i := range r.Episodes {
		lost += r.Episodes[i].Lost
	}
	if r.Stray <= part*lost {
		return false
	}
	var outside []count
	for i := range s.counts {
		if s.part(&s.counts[i], eps) == 0 {
			outside = append(outside, s.counts[i])
		}
	}
	always, _ := peak(func(p float64) float64 { return s.likelihoodOf(outside, nil, p, p) })
	return always-s.likelihoodOf(outside, nil, normal, normal) > decisive
}

// bursting reports whether what a suspect loses outside of its worst episode may as well be lost all the time: losses that are always there fall together
// now and then, by chance, so that each time looks like an episode of its own.
func (s *scan) bursting(r *Rhythm, eps []episode, bad float64) bool {
	if len(eps) < 2 {
		return false
	}
	worst := 0
	for i := range r.Episodes {
		if r.Episodes[i].Lost > r.Episodes[worst].Lost {
			worst = i
		}
	}
	var outside []count
	lost := 0.0
	for i := range s.counts {
		if s.part(&s.counts[i], eps[worst:worst+1]) == 0 {
			outside = append(outside, s.counts[i])
			lost += s.counts[i].lost * s.counts[i].Share
		}
	}
	others := slices.Delete(slices.Clone(eps), worst, worst+1)
	price := s.full(others)
	if len(eps) <= mostWeighed {
		price = s.price(eps, bad) - s.price(eps[worst:worst+1], bad)
	}
	always, _ := peak(func(p float64) float64 { return s.likelihoodOf(outside, nil, p, p) })
	return always+width(lost) > s.likelihoodOf(outside, others, bad, normal)-price
}

func kindOf(eps []episode) Kind {
	first, last := &eps[0], &eps[len(eps)-1]
	switch {
	case len(eps) > 1:
		return Flapping
	case !first.begun && !last.lasting:
		return Once
	case !first.begun:
		return Since
	case !last.lasting:
		return Until
	}
	return Steady
}

// clean drops counts that cannot be used and puts the others into an order of their own.
func clean(counts []Count) []count {
	out := make([]count, 0, len(counts))
	for _, c := range counts {
		finite := math.Abs(c.From) < 1e15 && math.Abs(c.To) < 1e15 // false for what is no number
		if !finite || c.To < c.From || c.Sent <= 0 || c.Lost < 0 || c.Lost > c.Sent || !(c.Share >= 0) || !(c.Outlier >= 0) {
			continue
		}
		if c.Share == 0 || c.Share > 1 {
			c.Share = 1
		}
		c.Outlier = min(c.Outlier, 0.5)
		x := count{Count: c, lost: float64(c.Lost), passed: float64(c.Sent - c.Lost), odd: math.Inf(-1)}
		if x.lost > mostLosses && c.To > c.From {
			x.passed *= mostLosses / x.lost
			x.lost = mostLosses
		}
		if c.Lost > 0 && c.Outlier > 0 {
			own := c.Own
			if own == nil {
				own = integrated
			}
			x.odd = math.Log(c.Outlier) + own(x.lost, x.passed)
		}
		x.usual = math.Log1p(-c.Outlier)
		if c.Share < 1 {
			good := x.passed * math.Log1p(-normal)
			if x.lost > 0 {
				good += x.lost*math.Log(normal) + x.usual
			}
			x.crossed, x.beside = math.Log(c.Share), logSum(good, x.odd)+math.Log1p(-c.Share)
		}
		x.good = likelihood(&x, normal)
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b count) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Lost, b.Lost),
			cmp.Compare(a.Share, b.Share), cmp.Compare(a.Outlier, b.Outlier))
	})
	return out
}

// describe counts what lies in the episodes.
func (s *scan) describe(r *Rhythm, eps []episode, bad float64) {
	bounds := make([]Episode, len(eps))
	var within float64
	for i, e := range eps {
		bounds[i] = Episode{From: e.from, To: e.to, Begun: e.begun, Lasting: e.lasting}
		within += e.to - e.from
	}
	var sent, lost float64
	for i := range s.all {
		c := &s.all[i]
		inside := s.part(c, eps)
		k, n := float64(c.Lost), float64(c.Sent)
		if inside == 0 {
			r.Stray += k * c.Share
			continue
		}
		p := inside*bad + (1-inside)*normal
		k, n = k*s.hit(c, p), n*s.hit(c, p)
		k, m := k*inside*bad/p, (n-k)*inside*(1-bad)/(1-p)
		r.Stray += float64(c.Lost) - k
		for j := firstAfter(eps, c.From); j < len(eps) && eps[j].from <= c.To; j++ {
			share := 1.0
			if c.To > c.From {
				share = overlap(c, &eps[j]) / (c.To - c.From) / inside
			}
			bounds[j].Lost += k * share
			bounds[j].Sent += (k + m) * share
		}
		sent, lost = sent+k+m, lost+k
	}
	r.Episodes = bounds
	r.Loss = lost / max(sent, 1e-9)
	r.From, r.To = s.begin, s.end
	if all := s.end - s.begin; all > 0 {
		r.Duty = min(1, within/all)
	}
}

// begun returns when those episodes began of which that is known.
func begun(eps []Episode) (starts []float64) {
	for i := range eps {
		if !eps[i].Begun {
			starts = append(starts, eps[i].From)
		}
	}
	return starts
}

// Regular returns the period of what began at some times, in order, and how far one gap is off at most, as a share of it, or zeros if it may be chance that they look
// regular. A single gap proves no period.
func Regular(starts []float64) (period, off float64) {
	const chance, most = 0.03, 0.25
	gaps := len(starts) - 1
	if gaps < 2 {
		return 0, 0
	}
	period = (starts[gaps] - starts[0]) / float64(gaps)
	for i := range gaps {
		off = max(off, math.Abs(starts[i+1]-starts[i]-period)/period)
	}
	// Gaps that come by chance are spread evenly over all that have this sum; those that are nowhere off by more fill this part at most.
	likely := 1.0
	for i := 1; i < gaps; i++ {
		likely *= float64(i) * 2 * max(off, 0.005) / float64(gaps)
	}
	if likely > chance || off > most {
		return 0, 0
	}
	return period, off
}
