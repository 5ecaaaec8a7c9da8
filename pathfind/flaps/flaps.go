// Package flaps ranks what explains lost packets where it is known when they were sent: beside the faults that are always there, arcs that lose
// packets in episodes only.
//
// Over the whole time a link that is down for a moment, and again for another, loses a small share, of some flows all packets and of most none.
// That looks like flows with troubles of their own more than like a fault. Within its episodes it is clear: all that crosses the link is lost, and
// all that crosses others is not. [Solve] asks pathfind/localize for the faults that are always there, and of what these leave unexplained
// pathfind/rhythm for each arc, whether episodes of it explain that.
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

// A Span is when the packets of an observation were sent, in milliseconds since a moment of the caller's choice. If that is not known, To is
// before From.
type Span struct{ From, To float32 }

// unknown is the span of what was sent nobody knows when.
var unknown = Span{0, -1}

// known reports whether it is known; one without an end is not.
func (s Span) known() bool {
	d := s.To - s.From
	return d >= 0 && d <= math.MaxFloat32
}

// A Suspect may explain the evidence, all the time or in episodes.
type Suspect struct {
	localize.Suspect
	Rhythm rhythm.Rhythm
}

// A Result is what the evidence says. The suspects are ranked, most probable first; those of the embedded result know no times.
type Result struct {
	*localize.Result
	Suspects []Suspect
	// Congested is how many arcs are bad for moments as many others are, by about as much, so that none of them is taken for a fault.
	Congested int
}

const (
	// faults is how many faults one would bet on in a fabric that somebody looks at.
	faults = 3
	// named is the probability from which a suspect counts as found.
	named = 0.5
	// faint is the probability below which it is not asked when a suspect that is always there loses packets.
	faint = 0.05
	// alike is how much less than the best explanation another may be worth, in nats, to be listed beside it.
	alike = 3
	// mostFlaps bounds the search.
	mostFlaps = 32
)

// Solve ranks the causes that explain the observations, of which each was sent within the span at its place, and is of a flow of its own: windows of one flow would count as so many
// flows, each of which tells of itself whether it has troubles of its own. It keeps no reference to them.
func Solve(f *graphs.Fabric, obs []localize.Observation, spans []Span, cfg localize.Config) *Result {
	if f == nil {
		return &Result{Result: localize.Solve(f, obs, cfg)}
	}
	if n := len(obs) - len(spans); n > 0 { // of these it is not known
		spans = append(slices.Clip(spans), slices.Repeat([]Span{unknown}, n)...)
	}
	spans = spans[:len(obs)]
	r, _ := solve(f, obs, spans, cfg)
	if r.Run > 0 {
		// What comes and goes loses packets in runs, too, and explains more of them.
		cfg.Independent = true
		if again, some := solve(f, obs, spans, cfg); some {
			r = again
		}
	}
	return r
}

// solve is Solve with what is taken for granted of runs. It reports whether something comes and goes.
func solve(f *graphs.Fabric, obs []localize.Observation, spans []Span, cfg localize.Config) (r *Result, some bool) {
	steady, touched := localize.SolveTouched(f, obs, cfg)
	if steady.Ignored > 0 {
		if fit, when := usable(f, obs, spans); len(fit) < len(obs) {
			r, some = solve(f, fit, when, cfg)
			r.Ignored += len(obs) - len(fit)
			return r, some
		}
	}
	cfg.Selected = steady.Selected
	s := newSearch(f, obs, spans, cfg)
	times := s.begin(steady, touched)
	found := s.find()
	if len(found) > 0 {
		// What the episodes explain tells nothing of other faults, nor of how flows lose packets by themselves.
		was := steady
		if steady = localize.Solve(f, s.unexplained(), cfg); !was.Own.Known() && steady.Own.Known() {
			all := len(found)
			if found = s.reweigh(found, &steady.Own); len(found) < all {
				steady = localize.Solve(f, s.unexplained(), cfg)
			}
		}
		times = nil
	}
	flaps := s.tell(found)
	r = &Result{Result: steady}
	for i := range steady.Suspects {
		x := &steady.Suspects[i]
		if !slices.ContainsFunc(flaps, func(o Suspect) bool { return o.Cause == x.Cause }) {
			r.Suspects = append(r.Suspects, s.beside(Suspect{Suspect: *x}))
		}
	}
	if times == nil {
		times = s.rhythms(r.Suspects, s.cross(r.Suspects))
	}
	for i := range r.Suspects {
		s.tellDuty(&times[i].Rhythm, times[i].counts)
		r.Suspects[i].Rhythm = times[i].Rhythm
	}
	r.Suspects = append(r.Suspects, flaps...)
	r.Congested = s.congest(r.Suspects)
	slices.SortStableFunc(r.Suspects, func(a, b Suspect) int {
		return cmp.Or(-cmp.Compare(a.Probability, b.Probability), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return r, len(flaps) > 0
}

// A search is for arcs that explain losses in episodes.
type search struct {
	fabric *graphs.Fabric
	obs    []localize.Observation
	spans  []Span
	paths  localize.PathSets
	ways   ways
	prior  float64 // log odds against a fault of one arc
	// taken tells of each observation that something else explains what it lost, episodic that episodes do.
	taken, episodic []bool
	selected        bool    // nothing is known of flows that lost nothing
	normal          float64 // loss per crossing of an arc that is good all the time, at most
	touched         localize.Touched
	own             troubles
	odd             func(lost, passed float64) float64 // how likely a flow with troubles of its own fares so, a logarithm
	lossy           []int32                            // observations with losses, if it is known when they were sent
	fates           []fate                             // of those
	timed           int                                // observations of which it is known when they were sent; 0 until asked for
	since, until    float64                            // of all evidence, in milliseconds; the first behind the second until asked for
	sent            []int                              // by arc, packets that surely crossed it of observations that are not taken
	// By arc, the packets expected to have crossed it of observations without loss whose way is not known; and those of them that are taken.
	loose    []float64
	aside    []int32
	sending  []float64                  // how many observations were sent until each of some moments; nil until asked for
	apart    map[pair]bool              // finds that are not one
	instead  []flap                     // found in the place of what seemed to be always there
	rivalled map[localize.Cause]float64 // how likely something that comes and goes stands in the place of a suspect, beside it
}

func newSearch(f *graphs.Fabric, obs []localize.Observation, spans []Span, cfg localize.Config) *search {
	own := troubles{rate: outlier}
	if cfg.Selected {
		own.rate = selectedOutlier
	}
	return &search{
		own: own, fabric: f, obs: obs, spans: spans, paths: cfg.Paths, ways: ways{fabric: f, paths: cfg.Paths}, selected: cfg.Selected,
		taken: make([]bool, len(obs)), episodic: make([]bool, len(obs)), since: math.Inf(1), until: math.Inf(-1),
		apart: map[pair]bool{}, rivalled: map[localize.Cause]float64{}, prior: math.Log(max(2, float64(f.NumArcs())/faults)),
	}
}

// cross returns the observations that cross the arcs of suspects.
func (s *search) cross(suspects []Suspect) []int32 {
	if len(suspects) == 0 {
		return nil
	}
	on := make([]bool, s.fabric.NumArcs())
	for i := range suspects {
		for _, a := range arcsOf(s.fabric, suspects[i].Cause) {
			on[a] = true
		}
	}
	return s.touched.Over(on)
}

// someOf reports whether some of the arcs are marked.
func someOf(arcs []graphs.ArcID, marked []bool) bool {
	for _, a := range arcs {
		if marked[a] {
			return true
		}
	}
	return false
}

// begin takes what the faults explain that are always there. It returns the rhythms of all suspects.
func (s *search) begin(steady *localize.Result, touched localize.Touched) []timed {
	s.touched = touched
	s.normal = steady.Background + steady.Normal
	s.odd = steady.Own.Likely
	list := make([]Suspect, len(steady.Suspects))
	for i := range steady.Suspects {
		list[i].Suspect = steady.Suspects[i]
	}
	s.lossy = slices.DeleteFunc(slices.Clone(touched.Lossy), func(i int32) bool { return !s.spans[i].known() })
	s.weighFates()
	rhythms := s.rhythms(list, touched.Crossing)
	crosses := make([]bool, s.fabric.NumArcs())
	mark := func(x *Suspect) {
		for _, a := range arcsOf(s.fabric, x.Cause) {
			crosses[a] = true
		}
	}
	var doubts []doubt
	for i, times := range rhythms {
		if list[i].Probability < named || times.Kind == rhythm.Flapping || times.Kind == rhythm.Once {
			continue // it will be found again
		}
		if d, ok := s.doubt(&list[i]); ok {
			doubts = append(doubts, d)
		} else {
			mark(&list[i])
		}
	}
	s.takeLossy(crosses)
	if len(doubts) > 0 {
		for _, d := range s.settle(doubts) {
			mark(d.suspect)
			s.rivalled[d.suspect.Cause] = d.rivals
		}
		s.takeLossy(crosses)
	}
	s.sent, s.loose = slices.Clone(steady.Exposure), steady.Loose
	s.leaveOut(crosses, touched.Crossing)
	return rhythms
}

// weighFates weighs what became of the flows that lost packets.
func (s *search) weighFates() {
	s.fates = make([]fate, len(s.lossy))
	halves.Briefly(len(s.lossy), func(_, from, to int) {
		for j := from; j < to; j++ {
			s.fates[j] = s.fateOf(&s.obs[s.lossy[j]])
		}
	})
}

// takeLossy takes what may have crossed some arcs and lost packets.
func (s *search) takeLossy(crosses []bool) {
	for _, i := range s.lossy {
		if slices.ContainsFunc(s.ways.of(&s.obs[i]), func(p part) bool { return crosses[p.arc] }) {
			s.taken[i] = true
		}
	}
}

// leaveOut takes what surely crosses some arcs, of some observations, and takes it off what was sent.
func (s *search) leaveOut(crosses []bool, crossing []int32) {
	var sent [2][]int
	var aside [2][]int32
	halves.Briefly(len(crossing), func(half, from, to int) {
		n := make([]int, len(crosses))
		for _, i := range crossing[from:to] {
			o := &s.obs[i]
			if !someOf(o.Path, crosses) {
				continue
			}
			s.taken[i] = true
			if o.OnSet() {
				aside[half] = append(aside[half], i)
			}
			for _, a := range o.Path {
				n[a] += o.Sent
			}
		}
		sent[half] = n
	})
	s.aside = slices.Concat(aside[0], aside[1])
	for _, half := range sent {
		for a, n := range half {
			s.sent[a] -= n
		}
	}
}

// arcsOf returns the arcs on which a cause shows.
func arcsOf(f *graphs.Fabric, c localize.Cause) []graphs.ArcID {
	switch c.Kind {
	case localize.Arc:
		return []graphs.ArcID{graphs.ArcID(c.ID)}
	case localize.Link:
		l := graphs.LinkID(c.ID)
		return []graphs.ArcID{l.Forward(), l.Backward()}
	case localize.Group:
		var arcs []graphs.ArcID
		for _, l := range f.Group(graphs.GroupID(c.ID)).Links {
			arcs = append(arcs, l.Forward(), l.Backward())
		}
		return arcs
	}
	var arcs []graphs.ArcID
	for _, a := range f.Out(graphs.NodeID(c.ID)) {
		arcs = append(arcs, a, a.Reverse())
	}
	return arcs
}

// A candidate is an arc whose episodes may explain losses.
type candidate struct {
	arc    graphs.ArcID
	bound  float64 // more than its episodes can prove of the losses one by one
	odd    float64 // how many flows seem to have troubles of their own of those that they can explain
	obs    []int32 // that cross it
	shares []float64
	timed  bool // what follows is known, as what nothing else explains has it
	times  rhythm.Rhythm
	proof  float64 // that they do, a logarithm
	always float64 // the same of a loss that is always there, where that explains them hardly worse
}

// find finds arcs one after the other, each the best explanation of what those before it left, until that leaves nothing to explain. What is found leaves
// fewer flows with troubles of their own, so that what was doubtful before may be clear.
func (s *search) find() []flap {
	found := s.instead
	for round := 0; len(found) < mostFlaps && round < 2*mostFlaps; round++ { // what is joined might be found twice again
		s.own = s.troubles()
		for i := range found {
			s.anew(&found[i])
		}
		found = s.join(found)
		if len(found) > 0 {
			s.own = s.troubles()
		}
		candidates := slices.DeleteFunc(s.candidates(), func(c candidate) bool {
			return slices.ContainsFunc(found, func(x flap) bool { return x.arc == c.arc })
		})
		s.gather(candidates)
		more := s.best(candidates, mostFlaps-len(found))
		if found = append(found, more...); len(more) == 0 {
			break
		}
	}
	s.divide(found)
	for i := range found {
		s.explain(&found[i].candidate)
	}
	return found
}

// reweigh weighs what was found anew where it is known how flows lose packets by themselves, and returns what is still likelier than not.
func (s *search) reweigh(found []flap, own *localize.Own) (rest []flap) {
	s.odd = own.Likely
	s.weighFates()
	s.own = s.troubles()
	clear(s.episodic)
	for _, x := range found {
		s.leave(x.took)
		s.time(&x.candidate)
		alike := x.Probability / x.Alone
		if p := 1 / (1 + math.Exp(s.prior-x.proof)/alike); x.times.Kind != rhythm.Steady && p >= named {
			x.Rhythm, x.Probability, x.Alone = x.times, p, p/alike
			s.retake(x.took)
			s.explain(&x.candidate)
			rest = append(rest, x)
		}
	}
	return rest
}

// tell tells of what was found what it loses and for which share of the time.
func (s *search) tell(found []flap) []Suspect {
	suspects := make([]Suspect, len(found))
	for i := range found {
		x := &found[i]
		s.leave(x.took)
		counts, _ := s.counts(&x.candidate)
		s.tellDuty(&x.Rhythm, counts)
		s.retake(x.took)
		if s.selected || slices.ContainsFunc(x.shares, func(share float64) bool { return share < 1 }) {
			x.lossByTime()
		}
		suspects[i] = x.Suspect
	}
	return suspects
}

// A flap is a candidate that was found, and the observations that it explains.
type flap struct {
	Suspect
	candidate
	took map[int32]bool
}

// anew looks for the episodes of what was found among what the others leave. Episodes that were doubtful before may be clear now.
func (s *search) anew(x *flap) {
	s.leave(x.took)
	c := x.candidate
	if s.time(&c); c.times.Kind == rhythm.Flapping || c.times.Kind == x.times.Kind {
		x.candidate, x.Rhythm = c, c.times
		x.Sent, x.Lost, x.LossyFlows, x.CleanFlows, x.Against.CleanSent, x.Against.Expected = 0, 0, 0, 0, 0, 0
		s.tally(&x.Suspect, &c)
	}
	x.took = s.take(&x.candidate)
}

// leave takes back that observations are explained.
func (s *search) leave(took map[int32]bool) {
	for o := range took {
		s.taken[o], s.episodic[o] = false, false
	}
}

// retake marks again what a find explains.
func (s *search) retake(took map[int32]bool) {
	for o := range took {
		s.taken[o], s.episodic[o] = true, true
	}
}

// every chooses all candidates.
func every(*candidate) bool { return true }

// those returns the candidates that are some.
func those(list []candidate, some func(*candidate) bool) []*candidate {
	var chosen []*candidate
	for i := range list {
		if c := &list[i]; some(c) {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// take marks what the episodes of a candidate explain, and returns those observations. What may have crossed it and lost packets then needs no other
// explanation, or else every arc beside it, on the ways that are not known to be another, would be taken for one that flaps at the same time.
func (s *search) take(c *candidate) map[int32]bool {
	took := map[int32]bool{}
	for i, o := range c.obs {
		if s.taken[o] || c.shares[i] < 1 && s.obs[o].Lost == 0 {
			continue
		}
		if s.within(o, c.times.Episodes) {
			s.taken[o], s.episodic[o] = true, true
			took[o] = true
		}
	}
	return took
}

// explain marks what surely crossed a find in its episodes and lost packets, also what was put down at first to a fault that is always there, which may have
// been taken for one by that alone.
func (s *search) explain(c *candidate) {
	for i, o := range c.obs {
		if c.shares[i] == 1 && s.obs[o].Lost > 0 && s.within(o, c.times.Episodes) {
			s.episodic[o] = true
		}
	}
}

// unexplained returns the observations that no episode explains.
func (s *search) unexplained() []localize.Observation {
	rest := make([]localize.Observation, 0, len(s.obs))
	for i := range s.obs {
		if !s.episodic[i] || s.obs[i].Lost == 0 {
			rest = append(rest, s.obs[i])
		}
	}
	return rest
}
