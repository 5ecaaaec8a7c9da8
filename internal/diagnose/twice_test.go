package diagnose

import (
	"testing"

	"whichlink/graphs"
)

// TestToldOnce: a switch that is dead from some moment on is one suspect, though it is found by what was lost while it was down and again by all that was lost.
func TestToldOnce(t *testing.T) {
	s := newScene(t)
	n, _ := s.f.NodeByName("spine2")
	s.run(probing{flows: 60, packets: 50, windows: 12, lose: func(a graphs.ArcID, w int) float64 {
		return max(is(w > 8 && s.f.Head(a) == n), 0.34*is(w == 8 && s.f.Head(a) == n)) // it died in a window
	}})
	for _, r := range s.probe {
		r.LostAtMS = nil
	}
	d := s.diagnosed()
	if len(d.Suspects) != 1 || d.Suspects[0].ID != "spine2" {
		t.Errorf("it is said\n%s", d.Text())
	}
}
