package localize

import (
	"sync/atomic"

	"whichlink/internal/halves"
)

// A weighing is what could be faulty besides the loaded hypothesis. It is looked at while that is changed.
type weighing struct {
	list  []addition
	below []bool       // the odds of which are surely below the floor
	floor float64      // log odds
	next  atomic.Int64 // of the list, the first that nobody has looked at
}

// open lists what may be above a floor, by how it was felt to be pulled.
func (s *search) open(h *hypothesis, floor float64) *weighing {
	w := weighing{floor: floor}
	for _, c := range h.comps {
		s.here.count(s.ix, c, 1)
	}
	for _, c := range s.candidates {
		x := addition{comp: c, odds: s.ix.logPrior(c), beside: s.here.beside(s.ix, c)}
		if s.excess[c] == 0 && s.mostGain(c) >= floor-x.odds-x.beside {
			w.list = append(w.list, x)
		}
	}
	s.here.clear()
	w.below = make([]bool, len(w.list))
	if s.ev.sets != nil {
		s.model.each(len(w.list), func(m *model, i int) {
			x, work := &w.list[i], 0
			w.below[i], work = s.surelyBelow(x.comp, floor-x.odds-x.beside)
			m.work += work
		})
	}
	return &w
}

// some is how many components are looked at before it is asked whether there are more.
const some = 4

// look weighs what nobody has weighed.
func (w *weighing) look(s *search) {
	for n := len(w.list); ; {
		from := int(w.next.Add(some)) - some
		if from >= n {
			return
		}
		for i := from; i < min(from+some, n); i++ {
			x := &w.list[i]
			s.bounds.comp = -1 // so that it is the same work whoever does it
			if w.below[i] = w.below[i] || s.hopelessStill(x.comp, w.floor-x.odds-x.beside); !w.below[i] {
				f := s.fit(x.comp)
				x.rate, x.odds = f.rate, f.bayes+x.odds-s.overlap[x.comp]
			}
		}
	}
}

// meanwhile weighs what could be faulty besides the loaded hypothesis while something is done that changes it and leaves it as it was.
func (s *search) meanwhile(w *weighing, do func()) {
	if s.ev.sets != nil { // which has but one state
		do()
		w.look(s)
		return
	}
	other := s.aside()
	mine := func() {
		// What is remembered of components is the other's.
		s.cache, s.moved = s.moved, s.cache
		do()
		s.cache, s.moved = s.moved, s.cache
		w.look(s)
	}
	if !halves.Both(mine, func() { w.look(other) }) {
		mine()
	}
	s.work += other.work
}

// aside returns a search that has loaded the same, and may look at components while this one loads something else.
func (s *search) aside() *search {
	if s.other == nil {
		s.other, s.moved = &search{model: &model{}}, make([]cached, s.ix.n)
	}
	m := s.other.model
	*s.other = *s
	s.other.model = m
	s.model.copyTo(m)
	return s.other
}
