package localize

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// Where many faults lie on ways that are not known, hypotheses that are about as likely are more than a search can visit, and most are several changes away from
// each other. Normalising over those it did visit makes their common members too sure, whether one much like the truth is among them or not. So from the likeliest
// on a Markov chain goes through hypotheses with their rates (Metropolis, Hastings; members come and go as by Green, 1995), and how often it meets a cause is how
// probable that is. The numbers that it draws are always the same: the same evidence gives the same answer.

const (
	// strides bounds how many steps it makes, pace of how much of the search's work there is one at most, and with fewer than leastStrides it tells nothing.
	strides, pace, leastStrides = 8000, 600, 2000
	// drawn is after how many steps a hypothesis is kept, and settling the share of them before the first is, since the chain begins at no place that was drawn.
	drawn, settling = 10, 0.2
	// open is from how many members on, in the mean, that hypotheses have and the likeliest has not, or the other way, the chain is worth its time, and
	// thousands how many hypotheses a search has seen that leaves much open though the likeliest has few members.
	open, thousands = 0.5, 2000
)

// A draw is a hypothesis that a chain was at, and by what they look like, the switches that may be bad in part by it.
type draw struct {
	comps []int32
	parts map[int32]float64
}

// A wanderer is a chain. It changes what is loaded.
type wanderer struct {
	*search
	rng    *rand.Rand
	comps  []int32
	rates  []float64 // logarithms
	prior  float64   // log prior density of both
	beside map[int32]*besiders
	births []float64 // by candidate: how likely one up to it is the next to come
}

// besiders are the components that may take a component's place, ascending, with how likely each is to be tried, up to it.
type besiders struct {
	of     []int32
	upTo   []float64
	gauged float64 // packets that are expected to cross the component
}

// leavesOpen reports whether what the search saw tells that it left much unseen.
func (s *search) leavesOpen(weights []float64) bool {
	if s.ev.sets == nil {
		return false
	}
	mode := &s.hyps[s.mode(weights)]
	var told []int32 // by switches that are bad in part: these are few faults
	for i := range mode.devices {
		if d := &mode.devices[i]; d.odds > 0 {
			told = append(told, d.members...)
		}
	}
	vague := 0
	for _, c := range mode.comps {
		if s.vague(c) && !slices.Contains(told, c) {
			vague++
		}
	}
	if vague <= exchanged && (vague == 0 || len(told) > 0 || len(s.hyps) < thousands) {
		return false
	}
	looks, others := s.looksOf(mode), 0.0
	for i, w := range weights {
		if w > faintest {
			others += w * float64(len(difference(looks, s.looksOf(&s.hyps[i]))))
		}
	}
	return others >= open
}

// vague reports whether most lossy observations of a component may have gone other ways.
func (s *search) vague(c int32) bool {
	open, last := int32(0), int32(-1)
	for _, e := range s.ev.entries[s.ev.start[c]:s.ev.start[c+1]] {
		if t := &s.ev.terms[e.term]; e.term != last && t.lost > 0 && t.n > 1 && len(s.ev.obs[t.obs].Alternatives) > 0 {
			last = e.term
			open += t.weight()
		}
	}
	return 2*open > s.lossy[c]
}

// looksOf returns what the members of a hypothesis look like, ascending.
func (s *search) looksOf(h *hypothesis) []int32 {
	looks := make([]int32, len(h.comps))
	for i, c := range h.comps {
		looks[i] = s.looks[c]
	}
	slices.Sort(looks)
	return looks
}

// wander returns hypotheses drawn in so many steps, from the likeliest on.
func (s *search) wander(steps int) []draw {
	h := s.hyps[s.likeliest()]
	s.recall(&h)
	w := &wanderer{search: s, rng: rand.New(rand.NewPCG(1, 2)), comps: slices.Clone(h.comps), beside: map[int32]*besiders{}}
	for _, r := range h.rates {
		w.rates = append(w.rates, log(r))
	}
	w.prior = w.logPriorOf(w.comps, w.rates)
	all := 0.0
	for _, c := range s.candidates {
		all += math.Sqrt(float64(s.lossy[c]))
		w.births = append(w.births, all)
	}
	for i := range w.births {
		w.births[i] /= all
	}
	var draws []draw
	for i := range steps {
		w.stride()
		if i%drawn == 0 && i >= int(settling*float64(steps)) {
			draws = append(draws, w.draw())
		}
	}
	return draws
}

// draw returns where the chain is.
func (w *wanderer) draw() draw {
	d := draw{comps: slices.Sorted(slices.Values(w.comps))}
	devices, _ := w.devs.devices(w.ix, d.comps)
	for i := range devices {
		if d.parts == nil {
			d.parts = map[int32]float64{}
		}
		x := w.looks[devices[i].comp]
		d.parts[x] = max(d.parts[x], devices[i].probability())
	}
	return d
}

// logPriorOf is the log prior density of components and their rates.
func (w *wanderer) logPriorOf(comps []int32, rates []float64) float64 {
	_, sum := w.devs.devices(w.ix, comps)
	for i, c := range comps {
		sum += w.ix.logPrior(c) + w.logRatePrior(rates[i])
	}
	return sum
}

// attempt puts components with rates in the place of some members, if the likelihood, the prior and how much likelier the way back is to be tried, as a
// logarithm, tell so.
func (w *wanderer) attempt(out []int, in []int32, rates []float64, back float64) {
	comps, all := make([]int32, 0, len(w.comps)+1), make([]float64, 0, len(w.comps)+1)
	for j, c := range w.comps {
		if !slices.Contains(out, j) {
			comps, all = append(comps, c), append(all, w.rates[j])
		}
	}
	for i, c := range in {
		if !w.possible(rates[i]) || slices.Contains(comps, c) {
			return
		}
		comps, all = append(comps, c), append(all, rates[i])
	}
	if len(comps) > w.cfg.MaxFaults {
		return
	}
	was, prior := w.sum, w.logPriorOf(comps, all)
	floor := was + w.prior - prior - back + w.chance()
	if len(out) == 0 && len(in) == 1 && was+w.atMost(in[0], rates[0]) < floor {
		return
	}
	for _, j := range out {
		w.shift(w.comps[j], 0)
	}
	for i, c := range in {
		w.shift(c, rounded(exp(rates[i])))
	}
	if w.sum >= floor {
		w.comps, w.rates, w.prior = comps, all, prior
		return
	}
	for _, c := range in {
		w.shift(c, 0)
	}
	for _, j := range out {
		w.shift(w.comps[j], rounded(exp(w.rates[j])))
	}
	w.sum = was
}

// refill tries several others in the place of the j-th member, one after the other, and other rates of it: to take it out costs as much as to try one.
func (w *wanderer) refill(j int) {
	with := w.sum
	w.shift(w.comps[j], 0)
	without := w.sum
	comps, rates := slices.Clone(w.comps), slices.Clone(w.rates)
	for range inTurn {
		back := 0.0
		if comps[j], rates[j] = w.comps[j], w.rates[j]+wobble*w.rng.NormFloat64(); w.rng.Float64() < removed {
			comps[j], rates[j], back = w.another(j)
		}
		if c := comps[j]; c < 0 || c != w.comps[j] && slices.Contains(w.comps, c) || !w.possible(rates[j]) {
			continue
		}
		prior := w.logPriorOf(comps, rates)
		floor := with + w.prior - prior - back + w.chance()
		if without+w.atMost(comps[j], rates[j]) < floor {
			continue
		}
		w.shift(comps[j], rounded(exp(rates[j])))
		sum := w.sum
		w.shift(comps[j], 0)
		w.sum = without
		if sum >= floor {
			w.comps[j], w.rates[j], w.prior, with = comps[j], rates[j], prior, sum
		}
	}
	w.shift(w.comps[j], rounded(exp(w.rates[j])))
	w.sum = with
}

// possible reports whether a component may have a rate, of which the logarithm is given.
func (w *wanderer) possible(rate float64) bool {
	return rate >= log(w.bad[0]) && rate < log(mostHazard)
}

// chance returns the log of how much less likely the next step may be than that it is not made.
func (w *wanderer) chance() float64 { return math.Log(w.rng.Float64()) }

// atMost bounds what a component adds to the log-likelihood at a rate from above.
func (w *wanderer) atMost(c int32, rate float64) float64 {
	x := over{hazard: exp(rate)}
	x.cell, x.part = cellOf(x.hazard)
	return w.gainAtMost(c, &x)
}

// pick returns where among ascending numbers up to one the next one drawn falls.
func (w *wanderer) pick(upTo []float64) int {
	return min(sort.SearchFloat64s(upTo, w.rng.Float64()), len(upTo)-1)
}

// width returns how much of such numbers is of the i-th.
func width(upTo []float64, i int) float64 {
	if i == 0 {
		return upTo[0]
	}
	return upTo[i] - upTo[i-1]
}
