package localize

import (
	"slices"
	"sync/atomic"

	"whichlink/internal/halves"
)

// A prospect is a component that may be faulty besides the loaded hypothesis. Before it is weighed its odds are those of the prior.
type prospect struct {
	addition
	most float64 // of odds and beside, from above
}

// prospects lists what may be above a floor, in log odds, by how it was felt to be pulled, but for what is barred. The list is good until the next one is
// asked for.
func (s *search) prospects(h *hypothesis, floor float64, barred func(int32) bool) []prospect {
	s.here.countAll(s.ix, h.comps)
	alone := s.here.alone(s.ix)
	if s.listed[0] == nil { // room for all, so that nothing is moved
		n := len(s.candidates)
		s.listed = [2][]prospect{make([]prospect, 0, n), make([]prospect, 0, n-n/2)}
	}
	s.listed[1] = s.listed[1][:0]
	halves.Briefly(len(s.candidates), func(half, from, to int) {
		list := s.listed[half][:0]
		for _, c := range s.candidates[from:to] {
			if s.excess[c] > 0 || barred != nil && barred(c) {
				continue
			}
			x := prospect{addition: addition{comp: c, odds: s.priorOf(c) - s.overlap[c], beside: s.here.beside(s.ix, c, alone[s.ix.kindOf(c)])}}
			if x.most = s.mostGain(c) + x.odds + x.beside; x.most >= floor {
				list = append(list, x)
			}
		}
		s.listed[half] = list
	})
	s.here.clear()
	s.listed[0] = append(s.listed[0], s.listed[1]...)
	return s.listed[0]
}

// A weighing is of what could be faulty besides the loaded hypothesis. It may be done while that is changed.
type weighing struct {
	list  []prospect
	below []bool       // the odds of which are surely below the floor
	print []uint64     // what they look like, of those that are not; nil where that is still to be told
	floor float64      // log odds
	next  atomic.Int64 // of the list, the first that nobody has looked at
}

// weighing begins one. Where ways are not known what is surely below the floor is left out, unless that was done, and what looks alike is told.
func (s *search) weighing(list []prospect, floor float64, sifted bool) *weighing {
	w := &weighing{list: list, below: make([]bool, len(list)), floor: floor}
	for i := range list {
		s.cache.place(list[i].comp) // two cores will look there
	}
	if s.ev.sets == nil {
		return w
	}
	if s.ev.sets.settled() {
		w.print = make([]uint64, len(list))
	}
	s.model.each(len(list), func(m *model, i int) {
		x, work := &list[i], 0
		if !sifted {
			w.below[i], work = s.surelyBelow(x.comp, floor-x.odds-x.beside)
			m.work += work
		}
		if w.print != nil && !w.below[i] {
			w.print[i] = s.twin(x.comp)
		}
	})
	return w
}

// some is how many components are looked at before it is asked whether there are more.
const some = 2

// look weighs what nobody has weighed.
func (w *weighing) look(s *search) {
	for n := len(w.list); ; {
		from := int(w.next.Add(some)) - some
		if from >= n {
			return
		}
		for i := from; i < min(from+some, n); i++ {
			w.lookAt(s, i)
		}
	}
}

// lookAt weighs one of the list.
func (w *weighing) lookAt(s *search, i int) {
	if w.below[i] {
		return
	}
	x := &w.list[i]
	print := uint64(0)
	if w.print != nil {
		print = w.print[i]
	} else {
		print = s.print(x.comp)
	}
	k := s.known(x.comp, print)
	s.bounds.comp = -1 // so that it is the same work whoever does it
	if w.below[i] = s.hopelessStill(x.comp, k, w.floor-x.odds-x.beside); !w.below[i] {
		f := s.fitKnown(x.comp, k)
		x.rate, x.odds = f.rate, f.bayes+x.odds
	}
}

// weigh weighs all of the list on two cores, which path sets do not allow: they have but one state.
func (s *search) weigh(w *weighing) {
	if len(w.list) <= some {
		w.look(s)
		return
	}
	if s.peer == nil {
		s.peer = &search{model: &model{}}
	}
	m := s.peer.model
	*s.peer, *m = *s, *s.model
	s.peer.model, m.work = m, 0
	s.setRises()
	if !halves.Both(func() { w.look(s) }, func() { w.look(s.peer) }) {
		w.look(s)
	}
	s.work += m.work
}

// change looks at the neighbours of the loaded hypothesis that have another member in place of one or several, and weighs what could be faulty besides. One
// core takes the members one by one, the other those that are parts of the same.
func (s *search) change(h *hypothesis, w *weighing) {
	replace := func() {
		for j := range h.comps {
			s.replace(h, j)
		}
	}
	if s.ev.sets != nil { // which have but one state
		replace()
		s.join(h)
		w.look(s)
		return
	}
	other := s.aside()
	mine := func() { s.later(replace); w.look(s) }
	others := func() { other.later(func() { other.join(h) }); w.look(other) }
	if !halves.Both(mine, others) {
		mine()
		others()
	}
	s.work += other.work
	for _, f := range slices.Concat(s.found, other.found) {
		s.keep(f)
	}
}

// later does something that changes what is loaded and leaves it as it was. What it finds is left in found.
func (s *search) later(do func()) {
	s.moved.forget()
	s.found, s.waits = s.found[:0], true
	s.cache, s.moved = s.moved, s.cache
	do()
	s.cache, s.moved = s.moved, s.cache
	s.waits = false
}

// aside returns a search that has loaded the same, for the other core.
func (s *search) aside() *search {
	if s.other == nil {
		s.other = &search{model: &model{}, scratch: newScratch(s.ix.n, s.devs.another())}
	}
	m, own := s.other.model, s.other.scratch
	*s.other = *s
	s.other.model, s.other.scratch = m, own
	s.model.copyTo(m)
	return s.other
}
