package flaps

import (
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/internal/halves"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// TestJoin: two finds, each by the losses of another time, become one where it is the same link that flapped among unknown paths, with all its episodes, and
// stay two where two links did.
func TestJoin(t *testing.T) {
	for seed := range uint64(2) {
		w := newWorld(t, 500+seed)
		first := w.switchArc()
		for _, second := range []graphs.ArcID{first, first.Reverse()} {
			obs, spans := w.flows(3000, func(a graphs.ArcID, ms float64) float64 {
				if a == first && ms >= 200 && ms < 240 || a == second && (ms >= 600 && ms < 640 || ms >= 800 && ms < 830) {
					return 1
				}
				return 5e-5
			})
			w.hidePaths(obs)
			cfg := localize.Config{Paths: pathfind.NewEqualCost(w.f, pathfind.PerPath)}
			steady, touched := localize.SolveTouched(w.f, obs, cfg)
			s := newSearch(w.f, obs, spans, cfg)
			s.begin(steady, touched)
			found := append(s.seen(0, 500), s.seen(500, 1000)...)
			if len(found) != 2 {
				t.Fatalf("seed %d: %d finds by the losses of two times, want 2", seed, len(found))
			}
			s.own = s.troubles()
			for i := range found {
				s.anew(&found[i])
			}
			joined := s.join(found)
			if want := map[bool]int{true: 1, false: 2}[first == second]; len(joined) != want {
				t.Errorf("seed %d: arcs %d and %d: of two finds %d are left, want %d", seed, first, second, len(joined), want)
			} else if want == 1 && (len(joined[0].times.Episodes) != 3 || !slices.Contains(joined[0].Class, localize.Cause{Kind: localize.Arc, ID: int32(first)})) {
				t.Errorf("seed %d: arc %d: joined to class %v, episodes %v", seed, first, joined[0].Class, joined[0].times.Episodes)
			}
		}
	}
}

// seen returns what is found by the losses of some time alone.
func (s *search) seen(from, to float32) []flap {
	hidden := map[int32]bool{}
	for _, i := range s.lossy {
		if !s.taken[i] && (s.spans[i].From < from || s.spans[i].From >= to) {
			hidden[i] = true
		}
	}
	s.retake(hidden)
	s.own = s.troubles()
	candidates := s.candidates()
	s.gather(candidates)
	halves.Each(len(candidates), func(i int) { s.time(&candidates[i]) })
	found := s.best(candidates, mostFlaps)
	s.leave(hidden)
	return found
}
