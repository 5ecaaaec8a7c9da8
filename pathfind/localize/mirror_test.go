package localize

import (
	"slices"
	"testing"

	"whichlink/graphs"
)

// TestMirrored: arcs that share losses are the other way together. Where one of them is a member both ways, of which the other way shares none, there is no such image: a member twice would
// explain losses twice.
func TestMirrored(t *testing.T) {
	w := newWorld(leafSpine(t, 2, 1, 1), 1)
	there := w.path(w.Hosts()[0], w.Hosts()[1])
	var home []graphs.ArcID
	for _, a := range slices.Backward(there) {
		home = append(home, a.Reverse())
	}
	for i, path := range [][]graphs.ArcID{there, home} {
		w.obs = append(w.obs, Observation{Path: path, Src: w.Tail(path[0]), Dst: w.Head(path[3]), Responder: graphs.None, Sent: 100, Lost: 50, Flow: i})
	}
	s := w.search(Config{})
	up, down := int32(there[1]), int32(there[2])
	back := int32(there[1].Reverse())
	if image := s.mirrored([]int32{up, down}, 0); !slices.Equal(image, []int32{back, int32(there[2].Reverse())}) {
		t.Errorf("the other way are %v", image)
	}
	if image := s.mirrored([]int32{up, down, back}, 0); image != nil {
		t.Errorf("a member is twice in %v", image)
	}
}
