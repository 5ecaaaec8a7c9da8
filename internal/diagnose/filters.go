package diagnose

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

const (
	// usuallyUnheard is how many pairs do not hear each other that one would bet on in a fabric that somebody looks at, of so many that are asked at least.
	usuallyUnheard, leastAsked = 0.1, 30
	// atStake is by how many nats a choice of filters must be likelier than another for that to count for nothing, and worthTrying for it not to be worth another search.
	atStake, worthTrying = 5, 3
)

// Filters are what was seen weighed against that some pairs do not hear each other, whatever lies between them. A filtering is some of these, by bit: what their flows lost needs no part that loses it. All of it is
// asked of each, since what pairs lost may convict a part that is well, or hide one that is not.
type filters struct {
	s     *Store
	seen  *observer
	cfg   localize.Config
	of    [][]int // by pair, the observations of its flows
	flows [][]*flowLog
	told  map[*flowLog]bool // those of which there are any: of some the ways are too many
	prior float64           // log odds of each
	tried map[uint64]*localize.Result
}

// A weighedPair is a pair that does not hear each other, and how likely that is no part's fault.
type weighedPair struct {
	pairing
	fate
	oneWay      bool
	began       bool // when all losses did, so that what was answered before is left out
	probability float64
}

// besideFilters returns what was seen without what filters drop where that is sure, what is localized of it, and the pairs that do not hear each other.
func (s *Store) besideFilters(seen *observer, solved *localize.Result, cfg localize.Config) (*observer, *localize.Result, []weighedPair) {
	return s.besideFiltersOf(s.unheardOf(seen.since), seen, solved, cfg)
}

// besideFiltersOf is besideFilters of some of these pairs.
func (s *Store) besideFiltersOf(u *unheard, seen *observer, solved *localize.Result, cfg localize.Config) (*observer, *localize.Result, []weighedPair) {
	probes, _, _ := s.totals()
	if n := len(u.pairs) + len(u.oneWay); n == 0 || n > mostUnheard || !Unexplained(probes, u.lost(), solved.Background) {
		return seen, solved, nil
	}
	list := u.list()
	x := filters{s: s, seen: seen, cfg: cfg, of: make([][]int, len(list)), flows: make([][]*flowLog, len(list)), told: map[*flowLog]bool{}, tried: map[uint64]*localize.Result{0: solved}}
	x.prior = math.Log(usuallyUnheard / float64(max(u.asked, leastAsked)))
	number := map[pairing]int{}
	for i := range list {
		number[list[i].pairing], list[i].began = i, !seen.since.IsZero()
	}
	for i := range seen.list {
		if seen.list[i].Responder != graphs.None {
			continue // what switches answer is not between the two
		}
		l := seen.flow(&seen.list[i])
		x.told[l] = true
		if p, dead := s.unheardAs(u, l.src, l.dst); dead {
			x.of[number[p]] = append(x.of[number[p]], i)
		}
	}
	for _, l := range s.order {
		if p, dead := s.unheardAs(u, l.src, l.dst); dead && l.fate(seen.since).sent > 0 {
			x.flows[number[p]] = append(x.flows[number[p]], l)
		}
	}
	solved = x.weigh(x.search(), list)
	surely := uint64(0)
	for i := range list {
		if list[i].probability >= 1-leastListed {
			surely |= 1 << i
		}
		list[i].probability *= surelyUnheard
	}
	return x.without(surely), solved, list
}

// list returns the pairs in order.
func (u *unheard) list() []weighedPair {
	var list []weighedPair
	for i, fates := range []map[pairing]fate{u.pairs, u.oneWay} {
		for _, p := range slices.SortedFunc(maps.Keys(fates), comparePairings) {
			list = append(list, weighedPair{pairing: p, fate: fates[p], oneWay: i == 1})
		}
	}
	return list
}

// without is what was seen, but for what flows of some pairs lost.
func (x *filters) without(filtering uint64) *observer {
	if filtering == 0 {
		return x.seen
	}
	o := *x.seen
	o.list = slices.Clone(o.list)
	for i, of := range x.of {
		if filtering>>i&1 != 0 {
			for _, j := range of {
				o.list[j].Sent, o.list[j].Lost, o.list[j].Bursts = o.list[j].Sent-o.list[j].Lost, 0, 0
			}
		}
	}
	return &o
}

// try returns how likely a filtering is, as a logarithm but for a constant.
func (x *filters) try(filtering uint64) float64 {
	if x.tried[filtering] == nil {
		x.tried[filtering] = x.s.localize(x.without(filtering), x.cfg)
	}
	sum := x.tried[filtering].Score + x.priorOf(filtering)
	for i := range x.flows {
		if filtering>>i&1 == 0 {
			sum -= x.surprise(i, x.tried[filtering], false)
		}
	}
	return sum
}

// surprise is the negative logarithm of how likely nothing is answered of those flows of a pair of which there are observations, or of the others, by what is localized.
func (x *filters) surprise(pair int, solved *localize.Result, told bool) (sum float64) {
	for _, l := range x.flows[pair] {
		if x.told[l] == told {
			sum -= math.Log(x.dies(l, solved.Suspects))
		}
	}
	return sum
}

// dies is how likely nothing of a flow is answered by what is suspected, or by itself.
func (x *filters) dies(l *flowLog, suspects []localize.Suspect) float64 {
	lives := 1 - localize.Outlier
	for i := range suspects {
		if suspects[i].Loss < losesAll {
			continue
		}
		met := 0.0
		for j, c := range suspects[i].Class {
			arcs := arcsOf(x.s.fabric, c)
			met += suspects[i].Weights[j] * (1 - (1-x.seen.over(l.there(), arcs))*(1-x.seen.over(l.home(), arcs)))
		}
		lives *= 1 - min(met, 1)
	}
	return 1 - lives
}

func (x *filters) priorOf(filtering uint64) float64 {
	return float64(bits.OnesCount64(filtering)) * x.prior
}

// search returns the likeliest filtering, and tries those beside it that may count: what one explains is about what surprises without it, and what all together explain beyond that any of
// them may.
func (x *filters) search() uint64 {
	best, least := uint64(0), x.try(0)
	all := uint64(1)<<len(x.of) - 1
	if s := x.try(all); s > least {
		best, least = all, s
	}
	none := x.tried[0]
	alone := make([]float64, len(x.of))
	beyond := x.tried[all].Score - none.Score
	for i := range alone {
		alone[i] = x.surprise(i, none, true)
		beyond -= alone[i]
		alone[i] += x.surprise(i, none, false)
	}
	atMost := func(filtering uint64) float64 {
		sum := x.try(0) + x.priorOf(filtering) + max(beyond, 0)
		for i := range alone {
			if filtering>>i&1 != 0 {
				sum += alone[i]
			}
		}
		return sum
	}
	for moved := true; moved; {
		moved = false
		from := best
		for i := range x.of {
			next := from ^ 1<<i
			if atMost(next) < least-worthTrying {
				continue
			}
			if s := x.try(next); s > least {
				best, least, moved = next, s, true
			}
		}
	}
	return best
}

// weigh returns what is localized by all filterings that were tried, each as likely as it is, and sets how likely each pair is filtered.
func (x *filters) weigh(best uint64, list []weighedPair) *localize.Result {
	some := slices.Collect(maps.Keys(x.tried))
	slices.SortFunc(some, func(a, b uint64) int { return cmp.Or(-cmp.Compare(x.try(a), x.try(b)), cmp.Compare(a, b)) })
	out, sum := x.tried[best], 0.0
	top := x.try(best)
	for _, f := range some {
		weight := math.Exp(x.try(f) - top)
		if weight < math.Exp(-atStake) {
			break
		}
		if sum += weight; f != best {
			out = mixedBy(out, x.tried[f], (sum-weight)/sum)
		}
		for i := range list {
			if f>>i&1 != 0 {
				list[i].probability += weight
			}
		}
	}
	for i := range list {
		list[i].probability /= sum
	}
	return out
}
