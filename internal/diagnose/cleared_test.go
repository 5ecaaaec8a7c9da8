package diagnose

import (
	"testing"

	"whichlink/pathfind/localize"
)

// TestCleared: of a switch that answers nothing it is said that traffic through it arrives, but not where it is named as what drops nearly all of that.
func TestCleared(t *testing.T) {
	s := newScene(t)
	store := NewStore(s.f, Config{})
	spine, _ := s.f.NodeByName("spine1")
	solved := &localize.Result{Shy: []localize.Responder{{Node: spine, Sent: 100, Probability: 0.99}}}
	for _, c := range []struct {
		id                string
		loss, probability float64
		want              int
	}{{"spine1", 1, 0.99, 0}, {"spine1", 0.01, 0.99, 1}, {"spine1", 1, 0.2, 1}, {"spine2", 1, 0.99, 1}} {
		got := store.cleared(solved, []Suspect{{ID: c.id, Symptom: Loss, Probability: c.probability, Loss: &c.loss}}, nil)
		if len(got) != c.want {
			t.Errorf("%s loses %g with %g: %d cleared, want %d", c.id, c.loss, c.probability, len(got), c.want)
		}
	}
}
