package localize

import (
	"math"
	"slices"
)

// A fit is what the evidence says about one component with all others as they are.
type fit struct {
	rate  float64 // the likeliest bad hazard
	peak  float64 // log-likelihood gained there
	bayes float64 // log Bayes factor of bad against good, the rate integrated out
}

// cached is what was found out last about a component, and a fingerprint of all that it depended on.
type cached struct {
	comp   int32
	print  uint64
	fit    fit
	fitted bool
	exact  [few]bool    // whether look is, or from above
	look   [few]float64 // log of gain times prior density at some rates
	looked bool
	// The rate that explains best the losses which nothing else does, how many these are, how the log-likelihood bends, and what is gained there.
	guess, losses, bend, peak float64
	guessed, peaked           bool
}

// A memory is what is known about components.
type memory struct {
	at   []int32 // by component, its place in kept plus one, or 0; nil where components take each other's places
	kept []cached
}

// newMemory returns a memory for some of n components.
func newMemory(n int32, some int) memory {
	return memory{at: make([]int32, n), kept: make([]cached, 0, some)}
}

// briefMemory returns a memory of a few components, for while a hypothesis is changed: what is found out about one is soon of no more use.
func briefMemory() memory { return memory{kept: make([]cached, 64)} }

// place returns where what is known about a component is kept. It is good until another one is asked for which is not there yet.
func (m *memory) place(c int32) *cached {
	if m.at == nil {
		return &m.kept[int(c)%len(m.kept)]
	}
	if m.at[c] == 0 {
		m.kept = append(m.kept, cached{comp: c})
		m.at[c] = int32(len(m.kept))
	}
	return &m.kept[m.at[c]-1]
}

// forget forgets all components.
func (m *memory) forget() { clear(m.kept) }

// cached returns what is known about a component. From one hypothesis to the next most components see no change.
func (s *search) cached(c int32) *cached { return s.known(c, s.print(c)) }

// print returns a fingerprint of what a component's gain depends on.
func (s *search) print(c int32) uint64 {
	if s.ev.sets != nil {
		return s.twin(c)
	}
	print := math.Float64bits(s.background)
	for _, e := range s.ev.entries[s.ev.start[c]:s.ev.start[c+1]] {
		print = mixed(print, math.Float64bits(s.hazard[e.branch])^math.Float64bits(s.terms[e.term])<<1)
	}
	return print
}

// known is what cached returns, of a component with a fingerprint.
func (s *search) known(c int32, print uint64) *cached {
	k := s.cache.place(c)
	if k.comp != c || k.print != print {
		*k = cached{comp: c, print: print}
	}
	return k
}

// hopeless reports that the Bayes factor of a component is surely below a floor, without the cost of a fit, from its gain at a few rates:
// first from an upper bound that needs no logarithms, then from the gain itself.
func (s *search) hopeless(c int32, floor float64) bool {
	if s.ev.sets != nil { // with sets it costs more to tell what a component depends on
		below, work := s.surelyBelow(c, floor)
		if s.work += work; below {
			return true
		}
	}
	return s.hopelessStill(c, s.cached(c), floor)
}

// peaksAllowed returns by how much a peak between the rates looked at may rise above them, where a floor is asked for. Where next to nothing is asked for peaks
// need not be allowed for: one that matters is so wide that it shows.
func (m *model) peaksAllowed(c int32, floor float64) float64 {
	if floor > 3 {
		return peaked * m.losses[c]
	}
	return 0
}

// surelyBelow reports what hopeless does, from bounds alone, and what work that was. It changes nothing.
func (s *search) surelyBelow(c int32, floor float64) (below bool, work int) {
	var k cached
	work = s.bound(c, floor-slack-s.peaksAllowed(c, floor)-negligible, &k.look)
	return s.under(c, &k, floor), work
}

// under reports whether bounds tell that a component is below a floor.
func (s *search) under(c int32, k *cached, floor float64) bool {
	floor -= slack + s.peaksAllowed(c, floor)
	return slices.Max(k.look[:])+log(s.spread) < floor || s.lookedAt(k) < floor
}

// hopelessStill reports what hopeless does after surelyBelow did not tell.
func (s *search) hopelessStill(c int32, k *cached, floor float64) bool {
	if s.ev.sets != nil {
		return s.hopelessLike(c, k, floor)
	}
	return s.hopelessAnew(c, k, floor)
}

func (s *search) hopelessAnew(c int32, k *cached, floor float64) bool {
	if !k.looked {
		k.looked = true
		s.work += s.bound(c, -dismal, &k.look)
	}
	if s.under(c, k, floor) {
		return true
	}
	peaks := s.peaksAllowed(c, floor)
	floor -= slack
	switch {
	case peaks == 0:
	case s.unsure[c]: // a guess at the peak will not do
		return logIntegral(s.logBad[:], s.fine(c, k)[:]) < floor-finelyPeaked*s.losses[c]
	case s.peak(c, k) >= floor:
		return false
	}
	if s.ev.sets != nil { // what was lost is soon told, beside what arrived
		for i := range k.look {
			if !k.exact[i] && k.look[i] > floor-negligible {
				k.look[i] = min(k.look[i], s.gainAtMost(c, &s.overSome.at[i])+s.logPrior[i*step])
			}
		}
		if s.lookedAt(k) < floor {
			return true
		}
	}
	for i := range k.look {
		if !k.exact[i] && k.look[i] > floor-negligible {
			k.look[i], k.exact[i] = s.gain(c, s.some[i])+s.logPrior[i*step], true
		}
	}
	return s.lookedAt(k) < floor
}

const (
	// slack allows for what a few rates miss of an integral.
	slack = 2.5
	// peaked bounds how far a peak between two rates rises above the gain at the nearer of them, in nats a loss.
	peaked = 1.4
	// finelyPeaked is that for all the bad rates.
	finelyPeaked = 0.15
)

// bounds are upper ones on the log of the gain times the prior density at all bad rates, for one component.
type bounds struct {
	comp  int32
	print uint64
	over  [grid]float64
}

// fine returns the bounds of a component at all bad rates. Those last asked for are remembered, for the fit that follows.
func (s *search) fine(c int32, k *cached) *[grid]float64 {
	if b := &s.bounds; b.comp != c || b.print != k.print {
		b.comp, b.print = c, k.print
		s.work += s.overGain(c, &s.overBad, -dismal, b.over[:])
		for i := range b.over {
			b.over[i] += s.logPrior[i]
		}
	}
	return &s.bounds.over
}

// upper bounds the Bayes factor of a component from above, by nothing at all if bounds tell that it is below a floor, and returns what work that was.
func (s *search) upper(c int32, floor float64) (most float64, work int) {
	var k cached
	work = s.bound(c, -dismal, &k.look)
	if s.under(c, &k, floor) {
		return math.Inf(-1), work
	}
	return s.lookedAt(&k) + slack + peaked*s.losses[c], work
}

// peak returns what a component gains at the rate that is guessed to be its best.
func (s *search) peak(c int32, k *cached) float64 {
	if !k.guessed {
		k.guess, k.losses, k.bend = s.guess(c, s.some[few/2])
		k.guessed = true
	}
	if !k.peaked {
		k.peak, k.peaked = s.gain(c, k.guess), true
	}
	return k.peak
}

// bound bounds the log of the gain times the prior density from above at some rates, more coarsely where the gain is below a least. It returns the work that
// it was.
func (s *search) bound(c int32, least float64, look *[few]float64) (work int) {
	work = s.overGain(c, &s.overSome, least, look[:])
	for i := range look {
		look[i] += s.logPrior[i*step]
	}
	return work
}

// lookedAt returns the log of the integral over the rates looked at.
func (s *search) lookedAt(k *cached) float64 {
	var u [few]float64
	for i := range u {
		u[i] = float64(i*step) * s.spread / (grid - 1)
	}
	return logIntegral(u[:], k.look[:])
}

// fit is the model's fit, remembered.
func (s *search) fit(c int32) fit { return s.fitKnown(c, s.cached(c)) }

// fitKnown is that of a component of which something may be known.
func (s *search) fitKnown(c int32, k *cached) fit {
	if !k.fitted {
		if s.ev.sets != nil {
			k.fit = s.fitLike(c, k)
		} else {
			k.fit = s.fitAnew(c, k)
		}
		k.fitted = true
	}
	return k.fit
}

func (s *search) fitAnew(c int32, k *cached) fit {
	if !k.guessed && (s.losses[c] >= sharply || !s.unsure[c]) {
		k.guess, k.losses, k.bend = s.guess(c, s.some[few/2])
		k.guessed = true
	}
	mid := math.NaN()
	if k.peaked {
		mid = k.peak
	}
	if f, ok := s.sharp(c, k.guess, k.losses, mid); ok {
		return f
	}
	if f, ok := s.blunt(c, k.guess, k.losses, k.bend); ok {
		return f
	}
	over := *s.fine(c, k)
	for i, exact := range k.exact {
		if exact {
			over[i*step] = k.look[i]
		}
	}
	return s.model.fit(c, over, k.exact)
}

// least is the least bad rate that a component may be fitted with. Who crosses a switch crosses two arcs, each of which may lose the normal loss: a switch at which all do is good, and one
// is bad that rather loses twice as much as a bad arc than nothing, by some nats.
func (m *model) least(c int32) float64 {
	const rather = 5
	if m.ix.kindOf(c) != 2 {
		return m.bad[0]
	}
	twice := min(2*m.bad[0], 0.9*m.bad[1]) // fit needs them in order, and they lie close where the background is high
	if m.gain(c, twice) > rather {
		return m.bad[0]
	}
	return twice
}

// fit integrates the hazard of a component without excess over the bad rates, given bounds on the gain times the prior density at these, of which every
// step-th may be exact.
func (m *model) fit(c int32, over [grid]float64, exact [few]bool) fit {
	var u, g [grid + 14]float64 // log hazard and gain
	copy(u[:], m.logBad[:])
	for i := range grid {
		g[i] = over[i] - m.logPrior[i]
	}
	// Where even the bound lies far below the peak, the bound will do.
	first := 0
	for i := range grid {
		if g[i] > g[first] {
			first = i
		}
	}
	most := math.Inf(-1)
	if least := m.least(c); least > m.bad[0] {
		u[0], g[0], exact[0] = log(least), m.gain(c, least), true
	}
	for i := range grid {
		if j := (first + i) % grid; g[j] > most-negligible {
			if j%step != 0 || !exact[j/step] {
				g[j] = m.gain(c, m.bad[j])
			}
			most = max(most, g[j])
		}
	}
	n, top := refine(u[:], g[:], grid, func(x float64) float64 { return m.gain(c, exp(x)) })
	f := fit{rate: rounded(exp(u[top])), peak: g[top]}
	for i := range n {
		g[i] += m.logRatePrior(u[i])
	}
	f.bayes = logIntegral(u[:n], g[:n])
	return f
}

// Faults may have any rate. Those that last until somebody looks lose a packet in a thousand to one in ten, mostly: less goes unnoticed or is normal,
// more is soon mended. The spread is that of a factor of 4 either way, wide enough for the rates that published sets of faults are drawn from (0.1 to
// 2 %, and 0.1 to 50 %). Some faults are of a kind of which nothing is expected, and some lose everything: a link that is dead while routes stay.
const (
	usualRate, usualSpread = 0.01, 1.3
	unusual, dead          = 0.2, 0.1 // shares of all faults
	deadHazard             = mostHazard / 2
)

// logRatePrior is the log of the prior density of a bad rate, per unit of its logarithm u.
func (m *model) logRatePrior(u float64) float64 {
	z := (u - log(usualRate)) / usualSpread
	density := unusual/m.spread + (1-unusual-dead)/(usualSpread*math.Sqrt(2*math.Pi))*exp(-z*z/2)
	if u > log(deadHazard) {
		density += dead / math.Ln2 // spread over what is left up to the greatest hazard
	}
	return log(density)
}

// refine adds points beside the highest of the first n until the peak is resolved or the slices are full. It returns how many there are
// and the highest.
func refine(u, g []float64, n int, f func(float64) float64) (int, int) {
	top := 0
	for i := 1; i < n; i++ {
		if g[i] > g[top] {
			top = i
		}
	}
	for n+2 <= len(u) {
		split := func(i int) bool { // between i and i+1
			if i < 0 || i+1 >= n || math.Abs(g[i+1]-g[i]) < resolved && tent(u[:n], g[:n], i) < 4*resolved || u[i+1]-u[i] < 0.01 {
				return false
			}
			copy(u[i+2:n+1], u[i+1:n])
			copy(g[i+2:n+1], g[i+1:n])
			u[i+1] = (u[i] + u[i+2]) / 2
			g[i+1] = f(u[i+1])
			n++
			return true
		}
		right := split(top)
		left := split(top - 1)
		if !left && !right {
			break
		}
		if left {
			top++
		}
		for i := max(top-1, 0); i < min(top+2, n); i++ {
			if g[i] > g[top] {
				top = i
			}
		}
	}
	return n, top
}

// resolved is how much neighbours may differ, and a peak between them may rise above them, where refine looks no closer. That of a parabola rises by a
// fourth of what tent allows for.
const resolved = 0.3

// tent returns how far a concave function through these points may at most rise above the higher of two neighbours, i and the next, between them: to where
// the lines cross that come from their neighbours. Two points that are as high may have a peak between them.
func tent(u, g []float64, i int) float64 {
	wide := u[i+1] - u[i]
	left, right := math.Inf(1), math.Inf(1) // how steeply it rises from either
	if i > 0 {
		left = (g[i] - g[i-1]) / (u[i] - u[i-1])
	}
	if i+2 < len(u) {
		right = (g[i+1] - g[i+2]) / (u[i+2] - u[i+1])
	}
	from, to := g[i], g[i+1]
	switch {
	case math.IsInf(left, 1):
		return to + max(right, 0)*wide - max(from, to)
	case math.IsInf(right, 1):
		return from + max(left, 0)*wide - max(from, to)
	case left <= 0 || right <= 0:
		return 0
	}
	x := min(max((to-from+right*wide)/(left+right), 0), wide)
	return from + left*x - max(from, to)
}

// logIntegral returns the log of the integral of exp(g) over u, with g linear between the points.
func logIntegral(u, g []float64) float64 {
	most := slices.Max(g)
	sum, last := 0.0, exp(g[0]-most)
	for i := 1; i < len(u); i++ {
		next := exp(g[i] - most)
		sum += segment(u[i]-u[i-1], g[i]-g[i-1], last, next)
		last = next
	}
	return most + log(max(sum, 1e-300))
}

// segment integrates an exponential over a width, at whose ends it is a and b and its logarithm differs by d.
func segment(width, d, a, b float64) float64 {
	if math.Abs(d) > 1e-6 {
		return width * (b - a) / d
	}
	return width * a
}
