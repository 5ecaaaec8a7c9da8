// Package selective finds what drops the packets of some flows and lets all others pass: a link one of whose members (IEEE 802.1AX) is dead, a switch with a broken entry
// in its forwarding table or a bad fabric module. Such a fault hits the same flows again and again, since they are told apart by what switches hash and look up, and flows that
// cross it clean are no evidence that it is well. Pingmesh (Guo et al., SIGCOMM 2015) calls it a packet black hole.
//
// It takes flows, and which of them are strange: they lost more than any fault explains that loses some of what each flow sends. A selective fault makes a share of the flows strange
// that cross it, and any flow may be strange by itself; both shares are unknown and integrated out. A flow of which it is not known whether it crosses the fault counts by the share
// of its ways that do. Faults are told one after the other, each with the posterior probability that it is one, and with what the evidence cannot tell from it; what was told may
// have hit the flows that the next one is looked for by, as likely as it hits such flows.
package selective

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// A Suspect may be what hits some of the flows that cross it.
type Suspect struct {
	localize.Cause
	// Probability is that of the true cause being in Class.
	Probability float64
	// Class is all that the evidence cannot tell from this suspect, itself first.
	Class []localize.Cause
	// Share is how many of the flows that cross it are hit, the posterior mean, with its 90 % credible interval.
	Share, Low, High float64
	// Loss is the share of their packets that flows lose which are hit.
	Loss float64
	// Hit are the observations of strange flows that may cross the suspect and that Class explains rather than something else, in order, and Surely how many of them cross the
	// suspect itself for sure. Clean is how many flows without loss do.
	Hit           []int32
	Surely, Clean int
}

const (
	// faults is the number of selective faults that one would bet on in a fabric that somebody looks at: two in three times there is one.
	faults = 2. / 3
	// leastOwn bounds the share of flows that are strange by themselves, and leastShare that of the flows hit of those that cross a fault. All their magnitudes are equally
	// likely.
	leastOwn, leastShare = 1e-4, 1. / 128
	// listed is the least probability of a suspect, and most how many are told.
	listed, most = 0.05, 8
	// leastHit is how many strange flows must have a cause in common.
	leastHit = 2
	// weighed is how many causes are looked at closely, of those that most strange flows may cross.
	weighed = 256
	// leastCauses is the least number of causes that the prior is spread over, as in localize.
	leastCauses = 400
	// surely is the share of a flow's ways that are all of them, but for rounding.
	surely = 1 - 1e-9
	// alike is how much two causes may differ, in nats, that the evidence does not tell apart.
	alike = 2.5
)

// Solve ranks what explains strange observations, which are given in order; all others with losses are left out, and so is what cannot be an observation of the fabric. Paths knows the
// path sets of observations that have From and To; without it these tell of their certain part alone. It keeps no reference to them.
func Solve(f *graphs.Fabric, obs []localize.Observation, strange []int32, paths localize.PathSets) []Suspect {
	if f == nil {
		return nil
	}
	strange = slices.DeleteFunc(slices.Compact(slices.Clone(strange)), func(i int32) bool { return i < 0 || int(i) >= len(obs) || !obs[i].Fits(f) })
	if len(strange) < leastHit {
		return nil
	}
	s := &solver{numbering: number(f), obs: obs, paths: paths, pairs: map[[2]graphs.NodeID][]part{}}
	s.prior = s.priors()
	s.tally = tally{share: make([]float64, s.n), way: make([]int, s.n)}
	for _, i := range strange {
		s.strange = append(s.strange, odd{obs: i, sort: sortOf(&obs[i]), parts: s.crossing(&obs[i], nil, nil), rest: 1})
	}
	for i := range obs {
		if o := &obs[i]; o.Lost == 0 && o.Responder == graphs.None && o.Fits(f) {
			s.passed = append(s.passed, int32(i))
			s.clean[sortOf(o)]++
		}
	}
	// As far from each other as what so many flows tell leaves open.
	step := 1 / math.Sqrt(float64(len(strange)))
	s.shares = magnitudes(leastShare, 1, min(step, 0.25))
	for sort, most := range mostOwn {
		s.owns[sort] = magnitudes(leastOwn, most, min(step, 0.5))
	}
	var out []Suspect
	for len(out) < most {
		x, ok := s.next()
		if !ok {
			break
		}
		out = append(out, x)
	}
	return out
}

// magnitudes returns numbers from one to another, the middles of steps in the logarithm.
func magnitudes(from, to, step float64) []float64 {
	n := math.Ceil(math.Log(to/from) / step)
	list := make([]float64, int(n))
	for i := range list {
		list[i] = from * math.Pow(to/from, (float64(i)+0.5)/n)
	}
	return list
}

// sorts is how many sorts of flows there are: those sent to measure, and those that the fabric carries, each with a share that is strange by itself.
const sorts = 2

// mostOwn bounds that share: of what TCP and RoCE carry, half of the flows may lose packets by themselves.
var mostOwn = [sorts]float64{0.1, 0.5}

func sortOf(o *localize.Observation) int {
	if o.Carried {
		return 1
	}
	return 0
}

// A solver looks for one fault after the other.
type solver struct {
	numbering
	obs     []localize.Observation
	paths   localize.PathSets
	strange []odd
	prior   map[localize.Kind]float64 // log odds
	passed  []int32                   // observations of flows without loss; there and back each for itself
	clean   [sorts]float64            // how many these are
	tally   tally
	pairs   map[[2]graphs.NodeID][]part // see spread
	// What is integrated out: shares of the flows hit that cross a fault, and shares of flows that are strange by themselves.
	shares []float64
	owns   [sorts][]float64
}

// An odd is a strange observation.
type odd struct {
	obs       int32
	sort      int
	parts     []part
	explained float64 // how likely what was told makes it strange
	rest      float64 // how likely nothing that was told did
}

// without returns how likely an odd is strange without a further fault, where a share of flows is so by itself.
func (o *odd) without(own float64) float64 { return own + (1-own)*o.explained }

// A candidate is a cause with what the flows say of it.
type candidate struct {
	localize.Cause
	number  int32
	hits    []hit
	passing []float64 // of the flows without loss, how likely each was to lose some if the cause hits the flows that cross it
	clean   int       // how many of these surely cross it
	loss    float64
	nats    float64        // log likelihood ratio with no further fault
	score   float64        // log posterior odds
	hit     []float64      // posterior of the shares of flows hit
	mean    float64        // its mean
	own     [sorts]float64 // posterior mean of the share of flows strange by themselves
}

// A hit is a strange observation, by its place, and the share of its ways that cross a cause.
type hit struct {
	odd   int
	share float64
}

// next finds the likeliest fault beside those that were told.
func (s *solver) next() (Suspect, bool) {
	list := s.candidates()
	if len(list) == 0 {
		return Suspect{}, false
	}
	s.pass(list)
	s.weigh(list)
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.number, b.number))
	})
	top := list[0]
	if top.nats < alike { // the evidence does not tell it from no fault
		return Suspect{}, false
	}
	total := math.Exp(-top.score) // that there is none
	for _, c := range list {
		total += math.Exp(c.score - top.score)
	}
	x := Suspect{Cause: top.Cause, Share: top.mean, Loss: top.loss, Clean: top.clean}
	x.Low, x.High = quantile(s.shares, top.hit, 0.05), quantile(s.shares, top.hit, 0.95)
	by := make([]float64, len(s.strange)) // how likely the class makes each strange
	for _, c := range list {
		if c.nats >= top.nats-alike {
			p := math.Exp(c.score-top.score) / total
			x.Class = append(x.Class, c.Cause)
			x.Probability += p
			for _, h := range c.hits {
				by[h.odd] += p * h.share * c.mean
			}
		}
	}
	x.Probability = min(x.Probability, 1)
	for _, h := range top.hits {
		o := &s.strange[h.odd]
		if p := by[h.odd] / x.Probability; (1-p)*o.without(top.own[o.sort]) < p {
			x.Hit = append(x.Hit, o.obs)
			if h.share > surely {
				x.Surely++
			}
		}
	}
	for i, p := range by {
		o := &s.strange[i]
		o.explained = p + (1-p)*o.explained
		o.rest = top.own[o.sort] / o.without(top.own[o.sort])
	}
	return x, x.Probability >= listed && len(x.Hit) >= leastHit
}

// quantile returns the magnitude up to which a part of the weights lies.
func quantile(of, weights []float64, part float64) float64 {
	step := math.Log(of[1] / of[0])
	for i, w := range weights {
		if part <= w {
			return of[i] * math.Exp(step*(part/w-0.5))
		}
		part -= w
	}
	return of[len(of)-1] * math.Exp(step/2)
}

// priors returns the log prior odds of a cause, by its kind. A fault is one of an arc, a link or a switch about alike often, however many there are of each: a table or a fabric
// module breaks no less often than a member of a LAG.
func (s *numbering) priors() map[localize.Kind]float64 {
	count := map[localize.Kind]int{}
	for i := range s.n {
		count[s.cause(i).Kind]++
	}
	sum := 0.0
	for _, k := range slices.Sorted(maps.Keys(count)) {
		sum += localize.Preference(k)
	}
	odds := map[localize.Kind]float64{}
	for k, n := range count {
		odds[k] = math.Log(faults * min(1, float64(s.n)/leastCauses) * localize.Preference(k) / sum / float64(n))
	}
	return odds
}

// candidates returns the causes that several strange flows may have in common, those that most do that nothing explains yet.
func (s *solver) candidates() []*candidate {
	type met struct {
		cause, flows int32
		unexplained  float64
	}
	by := make([]met, s.n)
	for i := range s.strange {
		o := &s.strange[i]
		for _, p := range o.parts {
			by[p.cause].flows++
			by[p.cause].unexplained += p.share * o.rest
		}
	}
	for i := range by {
		by[i].cause = int32(i)
	}
	by = slices.DeleteFunc(by, func(m met) bool { return m.flows < leastHit })
	slices.SortFunc(by, func(a, b met) int {
		return cmp.Or(cmp.Compare(b.unexplained, a.unexplained), cmp.Compare(a.cause, b.cause))
	})
	list, at := make([]*candidate, min(len(by), weighed)), make([]*candidate, s.n)
	for i := range list {
		list[i] = &candidate{Cause: s.cause(by[i].cause), number: by[i].cause}
		at[by[i].cause] = list[i]
	}
	for i := range s.strange {
		for _, p := range s.strange[i].parts {
			if c := at[p.cause]; c != nil {
				c.hits = append(c.hits, hit{i, p.share})
			}
		}
	}
	return list
}

// pass tells the candidates what flows without loss say.
func (s *solver) pass(list []*candidate) {
	at := make([]*candidate, s.n)
	for _, c := range list {
		at[c.number] = c
		var lost, sent float64
		for _, h := range c.hits {
			o := &s.strange[h.odd]
			lost, sent = lost+h.share*o.rest*float64(s.obs[o.obs].Lost), sent+h.share*o.rest*float64(s.obs[o.obs].Sent)
		}
		c.loss = lost / sent
	}
	clear(s.pairs)
	var parts []part
	for _, i := range s.passed {
		o := &s.obs[i]
		parts = s.crossing(o, list, parts[:0])
		for _, p := range parts {
			if c := at[p.cause]; c != nil {
				c.passing = append(c.passing, p.share*-math.Expm1(float64(o.Sent)*math.Log1p(-min(c.loss, 1-1e-9))))
				if p.share > surely {
					c.clean++
				}
			}
		}
	}
}

// weigh compares each candidate with no further fault.
func (s *solver) weigh(list []*candidate) {
	var none [sorts][]float64                   // log likelihood of no further fault
	beside := make([][]float64, len(s.strange)) // by strange flow, the odds against it without a further fault
	for i := range beside {
		beside[i] = make([]float64, len(s.owns[s.strange[i].sort]))
	}
	nothing := 0.0
	for sort := range none {
		none[sort] = make([]float64, len(s.owns[sort]))
		for g, own := range s.owns[sort] {
			none[sort][g] = s.clean[sort] * math.Log1p(-own)
			for i := range s.strange {
				if o := &s.strange[i]; o.sort == sort {
					p := o.without(own)
					none[sort][g] += math.Log(p)
					beside[i][g] = (1 - p) / p
				}
			}
		}
		sum, _ := weights(slices.Clone(none[sort]))
		nothing += sum
	}
	owns := make([][sorts]float64, len(s.shares))
	for _, c := range list {
		runs := s.runs(c)
		c.hit = make([]float64, len(s.shares))
		for k, share := range s.shares {
			part := 1.0
			for _, w := range c.passing {
				if part *= 1 - w*share; part < 1e-200 { // one logarithm for many
					c.hit[k], part = c.hit[k]+math.Log(part), 1
				}
			}
			c.hit[k] += math.Log(part)
			for sort := range none { // what one sort does by itself says nothing of the other
				logs := slices.Clone(none[sort])
				for _, r := range runs {
					for g := 0; s.strange[r.odd].sort == sort && g < len(logs); g++ {
						logs[g] += r.flows * math.Log1p(r.share*share*beside[r.odd][g])
					}
				}
				sum, weight := weights(logs)
				c.hit[k] += sum
				owns[k][sort] = 0
				for g, p := range weight {
					owns[k][sort] += p * s.owns[sort][g]
				}
			}
		}
		sum, _ := weights(c.hit)
		c.nats = sum - nothing - math.Log(float64(len(s.shares)))
		c.score = c.nats + s.prior[c.Kind]
		for k, p := range c.hit {
			c.mean += p * s.shares[k]
			for sort, own := range owns[k] {
				c.own[sort] += p * own
			}
		}
	}
}

// A run is of hits that tell the same.
type run struct {
	hit
	flows float64
}

// runs returns the hits of a candidate, those together that tell the same.
func (s *solver) runs(c *candidate) (list []run) {
	order := slices.SortedFunc(slices.Values(c.hits), func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.share, b.share), cmp.Compare(s.strange[a.odd].explained, s.strange[b.odd].explained), cmp.Compare(s.strange[a.odd].sort, s.strange[b.odd].sort))
	})
	for _, h := range order {
		if n := len(list); n > 0 && list[n-1].share == h.share && s.strange[list[n-1].odd].explained == s.strange[h.odd].explained && s.strange[list[n-1].odd].sort == s.strange[h.odd].sort {
			list[n-1].flows++
			continue
		}
		list = append(list, run{h, 1})
	}
	return list
}

// weights returns the logarithm of the sum of what logarithms are given of, and the part of each in it, in their place.
func weights(logs []float64) (float64, []float64) {
	top, sum := slices.Max(logs), 0.0
	for i, x := range logs {
		logs[i] = math.Exp(x - top)
		sum += logs[i]
	}
	for i := range logs {
		logs[i] /= sum
	}
	return top + math.Log(sum), logs
}
