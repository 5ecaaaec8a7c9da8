package localize

import "math"

// Where nearly all flows have something bad in common, as those of one host whose link is bad, no flow without loss tells that good arcs lose little. Then a high
// background explains the losses about as well, and as long as it does nothing asks for the fault: no change of one fault leads to it together with a low
// background. So what explains the losses beside a low one is looked for, too.

const (
	// heady is the background from which on that is worth it, and sobering the one that is tried.
	heady, sobering = 1e-4, 1e-5
)

// sober lets what explains most beside a low background grow.
func (s *search) sober() {
	s.growAnew(sobering, func(int32) bool { return true })
}

// growAnew lets what explains most grow from nothing beside a background, however unlikely it is on its way, as long as it is to go on from a hypothesis.
func (s *search) growAnew(background float64, on func(i int32) bool) {
	best := s.best
	s.best, s.bonus, s.parent, s.atHand = math.Inf(-1), 0, 0, -1
	s.setBackground(background)
	s.load(nil, nil)
	s.feel()
	clear(s.overlap)
	h := hypothesis{score: s.sum}
	for i := s.addAll(&h, s.pick(&h)); i >= 0 && on(i); {
		i = s.grow(i, 0)
	}
	s.best = max(s.best, best)
}
