package flock

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// flockRates are Flock's two rates: what a packet's chance to be lost is with a fault on its path, and without.
type flockRates struct{ bad, good float64 }

// A flockSearch is Flock's search (Harsh et al., CoNEXT 2023) over the evidence of one trace at two rates. How much likelier a flow is if a share b of its
// candidate paths has a fault than if none has is (1-b) + b (bad/good)^lost ((1-bad)/(1-good))^arrived, and each component of a hypothesis costs its prior.
type flockSearch struct {
	*scene
	rates    flockRates
	weigh    []float64 // by flow: how much likelier with a fault on its path, in logarithms
	lookup   []int     // by pair: where its sums begin
	sums     []float64 // by pair and number of faulty paths: what all its flows gain; NaN where not yet summed
	gain     []float64 // by component: what it alone gains, but for its prior
	arrived  float64   // what a packet that arrived, and one that was lost, adds to weigh
	lostEach float64
}

func newFlockSearch(x *scene, r flockRates) *flockSearch {
	s := &flockSearch{scene: x, rates: r, weigh: make([]float64, len(x.flows)), arrived: math.Log((1 - r.bad) / (1 - r.good)), lostEach: math.Log(r.bad / r.good)}
	for i := range x.flows {
		s.weigh[i] = float64(x.flows[i].lost)*s.lostEach + float64(x.flows[i].arrived)*s.arrived
	}
	n := 0
	for p := range x.pairs {
		s.lookup = append(s.lookup, n)
		n += x.pairs[p].paths + 1
	}
	s.sums = make([]float64, n)
	for i := range s.sums {
		s.sums[i] = math.NaN()
	}
	s.gain = make([]float64, len(x.crossing))
	for c := range s.gain {
		s.gain[c] = float64(x.lost[c])*s.lostEach + float64(x.arrived[c])*s.arrived
	}
	for p := range x.pairs {
		for i, c := range x.pairs[p].components {
			s.gain[c] += s.pairGain(p, x.pairs[p].masks[i].count())
		}
	}
	return s
}

// flowGain is how much likelier a flow of several paths is with faults on some of them.
func (s *flockSearch) flowGain(flow int32, faulty, paths int) float64 {
	if faulty == 0 {
		return 0
	}
	w := s.weigh[flow]
	b := float64(faulty) / float64(paths)
	if w > 0 {
		return w + math.Log(b+(1-b)*math.Exp(-w))
	}
	return math.Log(1 - b + b*math.Exp(w))
}

// pairGain is that of all flows of a pair.
func (s *flockSearch) pairGain(pair, faulty int) float64 {
	at := &s.sums[s.lookup[pair]+faulty]
	if math.IsNaN(*at) {
		*at = 0
		if p := &s.pairs[pair]; faulty > 0 {
			for _, flow := range p.flows {
				*at += s.flowGain(flow, faulty, p.paths)
			}
		}
	}
	return *at
}

// A hypothesis is components that are faulty.
type hypothesis struct {
	faulty []int32 // in their order
	score  float64
	gain   []float64 // by component: what adding it gains, its prior included; without end less for those that it has
}

// has reports whether a component is faulty.
func (h *hypothesis) has(c int32) bool { return h.gain[c] < taken }

// taken is more than what a component gains that cannot be added, and less than any other gains.
const taken = -1e300

func (h *hypothesis) hasAny(components []int32) bool {
	for _, c := range components {
		if h.has(c) {
			return true
		}
	}
	return false
}

const (
	// beam is how many hypotheses of a size are followed.
	beam = 50
	// most is how many components a hypothesis has at most. Settings that want more name arcs by the dozen that are not faulty.
	most = 24
)

// search returns the components that some of the likeliest hypotheses have: those that are within a thousandth of the best. Hypotheses grow by a component
// at a time until the best of a size is less likely than that of the size before. A device's prior is so many times that of an arc.
func (s *flockSearch) search(prior, device float64) []int32 {
	empty := &hypothesis{gain: make([]float64, len(s.gain))}
	for c := range s.gain {
		empty.gain[c] = s.gain[c] + prior
		if c >= s.arcs {
			empty.gain[c] += prior * (device - 1)
		}
	}
	width := []*hypothesis{empty}
	best, near := 0.0, []*hypothesis{empty}
	for range most {
		grown := s.grow(width, best)
		if len(grown) == 0 {
			break
		}
		best, width = grown[0].score, grown
		near = append(near, grown...)
	}
	var told []int32
	for _, h := range near {
		if h.score >= best-1e-3 {
			told = append(told, h.faulty...)
		}
	}
	slices.Sort(told)
	return slices.Compact(told)
}

// A step is a hypothesis that another becomes by one more component.
type step struct {
	from  *hypothesis
	add   int32
	score float64
}

// faulty returns the components of the hypothesis that a step leads to.
func (s *step) faulty() []int32 {
	at, _ := slices.BinarySearch(s.from.faulty, s.add)
	return slices.Insert(slices.Clone(s.from.faulty), at, s.add)
}

// among reports whether steps, the best first, hold one to the same hypothesis near a place: components added in another order, which makes the same score but
// for rounding.
func (s *step) among(steps []step, at int) bool {
	from, to := at, at
	for from > 0 && steps[from-1].score < s.score+1e-6 {
		from--
	}
	for to < len(steps) && steps[to].score > s.score-1e-6 {
		to++
	}
	if from == to {
		return false
	}
	faulty := s.faulty()
	return slices.ContainsFunc(steps[from:to], func(o step) bool { return slices.Equal(o.faulty(), faulty) })
}

// grow returns the likeliest hypotheses of one component more, the best first, or none if that is less likely than told.
func (s *flockSearch) grow(width []*hypothesis, least float64) []*hypothesis {
	var steps []step // the best first
	for _, h := range width {
		for c, gain := range h.gain {
			next := step{h, int32(c), h.score + gain}
			if gain < taken || len(steps) == beam && next.score <= steps[beam-1].score {
				continue
			}
			at, _ := slices.BinarySearchFunc(steps, next, func(a, b step) int { return cmp.Compare(b.score, a.score) })
			if next.among(steps, at) {
				continue
			}
			steps = slices.Insert(steps, at, next)
			steps = steps[:min(len(steps), beam)]
		}
	}
	if len(steps) == 0 || steps[0].score < least {
		return nil
	}
	grown := make([]*hypothesis, 0, len(steps))
	for i := range steps {
		grown = append(grown, s.take(&steps[i]))
	}
	return grown
}

// take makes a step. What any other component gains changes by the flows that the new one touches, and by no others.
func (s *flockSearch) take(to *step) *hypothesis {
	c := to.add
	h := &hypothesis{faulty: to.faulty(), score: to.score, gain: slices.Clone(to.from.gain)}
	for _, flow := range s.crossing[c] {
		x := &s.flows[flow]
		if to.from.hasAny(x.certain) {
			continue
		}
		now := 0.0 // what the flow gained before
		if x.pair >= 0 {
			p := &s.pairs[x.pair]
			mask := p.faulty(to.from)
			now = s.flowGain(flow, mask.count(), p.paths)
			for i, d := range p.components {
				h.gain[d] -= s.flowGain(flow, mask.or(p.masks[i]).count(), p.paths) - now
			}
		}
		for _, d := range x.certain {
			h.gain[d] -= s.weigh[flow] - now
		}
	}
	for _, at := range s.among[c] {
		s.touch(int(at), c, to.from, h)
	}
	h.gain[c] = math.Inf(-1)
	return h
}

// faulty returns the paths on which a hypothesis has a fault.
func (p *scenePair) faulty(h *hypothesis) (mask pathMask) {
	for i, c := range p.components {
		if h.has(c) {
			mask = mask.or(p.masks[i])
		}
	}
	return mask
}

// touch changes what components gain by the flows of a pair of which c is on some paths.
func (s *flockSearch) touch(pair int, c int32, from, h *hypothesis) {
	p := &s.pairs[pair]
	before := p.faulty(from)
	after := before.or(p.masks[slices.Index(p.components, c)])
	if after == before {
		return
	}
	was, is := before.count(), after.count()
	var known []int32 // flows that are explained already by what is certain of them
	for _, flow := range p.flows {
		x := &s.flows[flow]
		if len(x.certain) == 0 {
			continue
		}
		if from.hasAny(x.certain) {
			known = append(known, flow)
			continue
		}
		less := s.flowGain(flow, is, p.paths) - s.flowGain(flow, was, p.paths)
		for _, d := range x.certain {
			h.gain[d] -= less
		}
	}
	of := func(faulty int) float64 {
		v := s.pairGain(pair, faulty)
		for _, flow := range known {
			v -= s.flowGain(flow, faulty, p.paths)
		}
		return v
	}
	less := of(is) - of(was)
	for i, d := range p.components {
		h.gain[d] += of(after.or(p.masks[i]).count()) - of(before.or(p.masks[i]).count()) - less
	}
}

// A flockSetting is Flock's parameters: its rates, and the logarithm of an arc's prior.
type flockSetting struct {
	flockRates
	prior float64
}

func (s flockSetting) String() string { return fmt.Sprintf("%g/%g/%g", s.bad, s.good, s.prior) }

// flockOwn are those that Flock's repository chose for each kind of evidence.
var flockOwn = map[Evidence]flockSetting{
	INT: {flockRates{.003, .0002}, -15}, A1: {flockRates{.0005, .000175}, -4}, A1P: {flockRates{.006, .0003}, -5},
	P: {flockRates{.006, .0003}, -5}, A2: {flockRates{.007, .0003}, -35}, A1A2P: {flockRates{.002, .0003}, -15},
}

// flockDevice is how many times a device's prior is that of an arc, as in its repository.
const flockDevice = 5

// hopeful returns the components that are worth to be looked at with any setting of the grid, in their order: those that gain most by themselves, or beside
// what a search that follows a single hypothesis has by then, with switches or without. It is the others that most of the time would go to.
func hopeful(x *scene) (kept []int32) {
	add := func(gain []float64, from, to, most int) {
		var best []int32
		for c := from; c < to; c++ {
			at, _ := slices.BinarySearchFunc(best, int32(c), func(a, b int32) int { return cmp.Compare(gain[b], gain[a]) })
			if at < most && x.suspicious(c) && gain[c] > taken {
				best = slices.Insert(best, at, int32(c))
				best = best[:min(len(best), most)]
			}
		}
		kept = append(kept, best...)
	}
	for _, r := range []flockRates{{.001, .0001}, {.003, .0002}, {.012, .0005}} {
		s := newFlockSearch(x, r)
		add(s.gain, 0, x.arcs, 24)
		add(s.gain, x.arcs, len(s.gain), 12)
		for _, last := range []int{x.arcs, len(s.gain)} {
			h := &hypothesis{gain: slices.Clone(s.gain)}
			for range most + 4 {
				add(h.gain, 0, x.arcs, 4)
				add(h.gain, x.arcs, len(h.gain), 2)
				best := 0
				for c := range last {
					if h.gain[c] > h.gain[best] && x.suspicious(c) {
						best = c
					}
				}
				if h.gain[best] <= 0 {
					break
				}
				h = s.take(&step{h, int32(best), 0})
			}
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}

// tryFlock tries what its authors chose, and a grid around that.
func tryFlock(x *scene, seen Evidence, each func(setting string, faulty []int32)) {
	own := flockOwn[seen]
	kept := hopeful(x)
	y := x.narrow(kept)
	try := func(setting string, s *flockSearch, prior float64) {
		faulty := s.search(prior, flockDevice)
		for i, c := range faulty {
			faulty[i] = kept[c]
		}
		each(setting, faulty)
	}
	try("own", newFlockSearch(y, own.flockRates), own.prior)
	bads, goods, priors := []float64{.0005, .001, .0015, .002, .003, .0045, .007, .012}, []float64{.0001, .00015, .0002, .0003, .0005}, []float64{-3, -4, -5, -6.5, -8, -10, -13, -16, -20, -32}
	if len(y.pairs) > 0 { // which takes ten times as long
		bads, goods, priors = []float64{.001, .002, .003, .006, .012}, []float64{.0001, .0002, .0003, .0005}, []float64{-3, -5, -8, -15, -25}
	}
	for _, bad := range bads {
		for _, good := range goods {
			if bad <= good {
				continue
			}
			s := newFlockSearch(y, flockRates{bad, good})
			for _, prior := range priors {
				try(flockSetting{s.rates, prior}.String(), s, prior)
			}
		}
	}
}
