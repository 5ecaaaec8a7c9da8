package localize

import "math"

// Where paths are not known many components look alike: the uplinks of a switch, all arcs from a pod to the core. What the evidence says of one is what it
// says of the other, as long as nothing that is loaded tells them apart. It is worked out once.

// twin returns a fingerprint of all that the gain of a component without excess depends on: that of another with the same
// is the same, at every hazard, and so is what becomes of loaded components beside it.
func (s *search) twin(c int32) uint64 {
	print := mixed(0, uint64(s.ix.kindOf(c))+1) // of its own: what is mixed in next may differ by as little as kinds do
	mix := func(x uint64) { print = mixed(print, x) }
	mix(math.Float64bits(s.ev.exposure[c]))
	entries := s.ev.entries[s.ev.start[c]:s.ev.start[c+1]]
	for i := 0; i < len(entries); {
		term, branches := entries[i].term, uint64(0) // in any order: which way comes first tells nothing
		for ; i < len(entries) && entries[i].term == term; i++ {
			e := &entries[i]
			branches += scramble(math.Float64bits(s.hazard[e.branch]) ^ math.Float64bits(s.portion[e.branch])<<1 ^ math.Float64bits(e.times)<<2)
		}
		mix(uint64(term) ^ math.Float64bits(s.terms[term]))
		mix(branches)
	}
	if s.ev.sets == nil {
		return print
	}
	soft, square := s.ev.sets.sumsOf(c)
	for i, x := range soft {
		mix(math.Float64bits(x) ^ math.Float64bits(square[i])<<1)
	}
	s.ev.sets.relations(c, mix)
	return print
}

// relations hands over where a component lies on the paths of pairs that have sites of others of the loaded hypothesis: before or behind them, or beside.
func (t *setTable) relations(c int32, yield func(x uint64)) {
	for _, x := range t.sharedWith(c) {
		p := &t.pairs[x.pair]
		own := t.site(p, c, float64(x.share), x.arc, 0)
		yield(uint64(x.pair) ^ math.Float64bits(own.share)<<1 ^ math.Float64bits(own.step)<<2)
		for i := range p.sites {
			y := &p.sites[i]
			if y.comp == c {
				continue
			}
			reach := 0.0
			if own.before(y) {
				reach = -t.ps.Reach(own.head, y.tail, p.to)
			} else {
				reach = t.ps.Reach(y.head, own.tail, p.to)
			}
			yield(uint64(y.comp) ^ math.Float64bits(y.hazard))
			yield(math.Float64bits(reach))
		}
	}
}

// Likenesses are what was worked out for components, by what they look like. The work that it was counts for each component that it holds for, so that the search
// goes as far as without.
type likenesses struct {
	kin    kin
	fits   map[likeness]likeFit
	floors map[likeness]likeFloor
}

// A likeness is what a component looks like, at which rates its gain is known exactly, which fits rest on, and the floor that is asked for, if one is.
type likeness struct {
	twin  uint64
	exact [few]bool
	floor float64
}

type likeFit struct {
	fit  fit
	work int
}

type likeFloor struct {
	hopeless bool
	after    cached // what is known then
	work     int
}

// mostLike bounds how much of each is remembered.
const mostLike = 1 << 14

// fitLike is the fit of a component, worked out once for all that look alike.
func (s *search) fitLike(c int32, k *cached) fit {
	key := likeness{twin: k.print, exact: k.exact}
	if known, ok := s.like.fits[key]; ok {
		s.work += known.work
		return known.fit
	}
	was := s.work
	f := s.fitAnew(c, k)
	if s.like.fits == nil || len(s.like.fits) >= mostLike {
		s.like.fits = map[likeness]likeFit{}
	}
	s.like.fits[key] = likeFit{f, s.work - was}
	return f
}

// hopelessLike is likewise whether a component is hopeless.
func (s *search) hopelessLike(c int32, k *cached, floor float64) bool {
	key := likeness{k.print, k.exact, floor}
	if known, ok := s.like.floors[key]; ok {
		k.look, k.looked, k.exact = known.after.look, true, known.after.exact
		s.work += known.work
		return known.hopeless
	}
	was := s.work
	hopeless := s.hopelessAnew(c, k, floor)
	if s.like.floors == nil || len(s.like.floors) >= mostLike {
		s.like.floors = map[likeness]likeFloor{}
	}
	s.like.floors[key] = likeFloor{hopeless, *k, s.work - was}
	return hopeless
}
