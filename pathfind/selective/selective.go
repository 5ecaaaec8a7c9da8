// Package selective finds what drops the packets of some flows and lets all others pass: a link one of whose members (IEEE 802.1AX) is dead, a switch with a broken entry
// in its forwarding table or a bad fabric module. Such a fault hits the same flows again and again, since they are told apart by what switches hash and look up, and flows that
// cross it clean are no evidence that it is well. Pingmesh (Guo et al., SIGCOMM 2015) calls it a packet black hole.
//
// It takes flows, and which of them are strange: they lost more than any fault explains that loses some of what each flow sends. Each flow may be strange by
// itself. A selective fault makes a share of the flows strange that cross it, which is unknown and integrated out; a flow of which it is not known whether it crosses the fault
// counts by the share of its ways that do. Faults are told one after the other, each with the posterior probability that it is one, and with what the evidence cannot tell from it.
package selective

import (
	"cmp"
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
	// Hit are the observations of strange flows that are likelier to cross something of Class than not, in order, and Surely how many of them cross the suspect itself for sure.
	// Clean is how many flows without loss do.
	Hit           []int32
	Surely, Clean int
}

const (
	// faults is the number of selective faults that one would bet on in a fabric that somebody looks at, and byThemselves the share of flows that one would expect to be strange
	// without one.
	faults, byThemselves = 0.1, 0.002
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

// shares are those of flows that a fault may hit, half an octave from each other and all equally likely.
var shares = func() (list []float64) {
	for q := 1. / 128; q < 1; q *= math.Sqrt2 {
		list = append(list, q)
	}
	return list
}()

// Solve ranks what explains strange observations, which are given in order; all others with losses are left out. Paths knows the path sets of observations that have From and To;
// without it these tell of their certain part alone. It keeps no reference to them.
func Solve(f *graphs.Fabric, obs []localize.Observation, strange []int32, paths localize.PathSets) []Suspect {
	s := &solver{f: f, obs: obs, paths: paths, left: slices.Clone(strange)}
	for i := range obs {
		if o := &obs[i]; o.Responder == graphs.None && o.Sent > 0 {
			s.flows++
		}
	}
	var out []Suspect
	for len(out) < most && len(s.left) >= leastHit {
		x, ok := s.next()
		if !ok {
			break
		}
		out = append(out, x)
		s.left = slices.DeleteFunc(s.left, func(i int32) bool { return slices.Contains(x.Hit, i) })
	}
	return out
}

// A solver looks for one fault after the other.
type solver struct {
	f     *graphs.Fabric
	obs   []localize.Observation
	paths localize.PathSets
	flows int                        // there and back each for itself
	left  []int32                    // strange observations that no fault explains yet
	pairs map[[2]graphs.NodeID]tally // see spread
}

// A candidate is a cause with what the flows say of it.
type candidate struct {
	localize.Cause
	hits    []hit
	passing []float64 // of the flows without loss, how likely each was to lose some if the cause hits the flows that cross it
	clean   int       // how many of these surely cross it
	loss    float64
	score   float64 // log posterior odds
	share   [3]float64
}

// A hit is a strange observation and the share of its ways that cross a cause.
type hit struct {
	obs   int32
	share float64
}

// next finds the likeliest fault.
func (s *solver) next() (Suspect, bool) {
	s.pairs = map[[2]graphs.NodeID]tally{}
	list := s.candidates()
	s.pass(list)
	for _, c := range list {
		s.weigh(c)
	}
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	if len(list) == 0 {
		return Suspect{}, false
	}
	top := list[0]
	total := math.Exp(-top.score) // that there is none
	for _, c := range list {
		total += math.Exp(c.score - top.score)
	}
	x := Suspect{Cause: top.Cause, Share: top.share[1], Low: top.share[0], High: top.share[2], Loss: top.loss, Clean: top.clean}
	over := map[int32]float64{} // by strange observation, the share of its ways that cross the class
	for _, c := range list {
		if c.score-s.prior(c.Kind) >= top.score-s.prior(top.Kind)-alike {
			x.Class = append(x.Class, c.Cause)
			x.Probability += math.Exp(c.score-top.score) / total
			for _, h := range c.hits {
				over[h.obs] += h.share
			}
		}
	}
	for _, h := range top.hits {
		if over[h.obs] >= 0.5 {
			x.Hit = append(x.Hit, h.obs)
		}
		if h.share > surely {
			x.Surely++
		}
	}
	x.Probability = min(x.Probability, 1)
	return x, x.Probability >= listed && len(x.Hit) >= leastHit
}

// prior returns the log prior odds of a cause.
func (s *solver) prior(k localize.Kind) float64 {
	causes := s.f.NumArcs() + s.f.NumLinks() + s.f.NumNodes() + s.f.NumGroups()
	return math.Log(faults / float64(max(causes, leastCauses)) * localize.Preference(k))
}

// candidates returns the causes that several strange flows may have in common, those that most do.
func (s *solver) candidates() []*candidate {
	by := map[localize.Cause]*candidate{}
	var list []*candidate
	for _, i := range s.left {
		s.crossing(&s.obs[i], nil, func(c localize.Cause, share float64) {
			x := by[c]
			if x == nil {
				x = &candidate{Cause: c}
				by[c], list = x, append(list, x)
			}
			x.hits = append(x.hits, hit{i, share})
		})
	}
	sum := func(c *candidate) (sum float64) {
		for _, h := range c.hits {
			sum += h.share
		}
		return sum
	}
	list = slices.DeleteFunc(list, func(c *candidate) bool { return len(c.hits) < leastHit })
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(sum(b), sum(a)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return list[:min(len(list), weighed)]
}

// pass tells the candidates what flows without loss say.
func (s *solver) pass(list []*candidate) {
	by := map[localize.Cause]*candidate{}
	for _, c := range list {
		by[c.Cause] = c
		var lost, sent float64
		for _, h := range c.hits {
			lost, sent = lost+h.share*float64(s.obs[h.obs].Lost), sent+h.share*float64(s.obs[h.obs].Sent)
		}
		c.loss = lost / sent
	}
	for i := range s.obs {
		o := &s.obs[i]
		if o.Lost > 0 || o.Sent <= 0 || o.Responder != graphs.None {
			continue
		}
		s.crossing(o, list, func(cause localize.Cause, share float64) {
			if c := by[cause]; c != nil {
				c.passing = append(c.passing, share*-math.Expm1(float64(o.Sent)*math.Log1p(-min(c.loss, 1-1e-9))))
				if share > surely {
					c.clean++
				}
			}
		})
	}
}

// weigh compares a candidate with no fault at its place, where flows are strange as often as elsewhere.
func (s *solver) weigh(c *candidate) {
	own := float64(1+len(s.left)-len(c.hits)) / (1/byThemselves + float64(s.flows-c.clean)) // as elsewhere
	at := make([]float64, len(shares))
	top := math.Inf(-1)
	for k, q := range shares {
		for _, h := range c.hits {
			at[k] += math.Log1p(h.share * q * (1 - own) / own)
		}
		for _, w := range c.passing {
			at[k] += math.Log1p(-w * q)
		}
		top = max(top, at[k])
	}
	sum := 0.0
	for k := range at {
		at[k] = math.Exp(at[k] - top)
		sum += at[k]
	}
	c.score = top + math.Log(sum/float64(len(shares))) + s.prior(c.Kind)
	c.share = c.hitShare()
}

// hitShare returns the share of flows that a candidate hits, with its 90 % interval, by the count of flows: what likelihoods are asked for lies too far apart for that.
func (c *candidate) hitShare() [3]float64 {
	hits, clean := 0.0, 0.0
	for _, h := range c.hits {
		hits += h.share
	}
	for _, w := range c.passing {
		clean += w
	}
	mean := (hits + 0.5) / (hits + clean + 1)
	// Normal in the arc sine of the root, in which a binomial share has one deviation whatever it is.
	middle, half := math.Asin(math.Sqrt(mean)), 1.645/(2*math.Sqrt(hits+clean+1))
	bound := func(x float64) float64 { return math.Pow(math.Sin(min(max(x, 0), math.Pi/2)), 2) }
	return [3]float64{bound(middle - half), mean, bound(middle + half)}
}
