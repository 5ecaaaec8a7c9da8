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

// TestApart: of two links that flap each at its own times, among unknown paths that some flows may have taken over both, neither is told with an outage of the other.
func TestApart(t *testing.T) {
	during := func(ws [][2]float64, from, to float64) bool {
		return slices.ContainsFunc(ws, func(x [2]float64) bool { return from < x[1]+5 && to > x[0]-5 })
	}
	for _, seed := range []uint64{900, 933, 947} {
		w := newWorld(t, seed)
		outages := map[graphs.ArcID][][2]float64{}
		first, second := w.switchArc(), w.switchArc()
		outages[first], outages[second] = [][2]float64{{200, 240}, {500, 530}}, [][2]float64{{350, 390}, {800, 840}}
		obs, spans := w.flows(2000, func(a graphs.ArcID, ms float64) float64 {
			if slices.ContainsFunc(outages[a], func(x [2]float64) bool { return ms >= x[0] && ms < x[1] }) {
				return 1
			}
			return 5e-5
		})
		w.hidePaths(obs)
		told := 0
		for _, x := range Solve(w.f, obs, spans, localize.Config{Paths: pathfind.NewEqualCost(w.f, pathfind.PerPath)}).Suspects {
			for a, own := range outages {
				if x.Probability < named || !slices.Contains(x.Class, localize.Cause{Kind: localize.Arc, ID: int32(a)}) {
					continue
				}
				told++
				for _, e := range x.Rhythm.Episodes {
					if !during(own, e.From, e.To) {
						t.Errorf("seed %d: arcs %d and %d: %d is told to be bad from %.0f to %.0f ms", seed, first, second, a, e.From, e.To)
					}
				}
			}
		}
		if told != 2 {
			t.Errorf("seed %d: %d told", seed, told)
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
