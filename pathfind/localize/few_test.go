package localize

import (
	"testing"

	"whichlink/graphs"
)

// TestFewLosses: what lost one packet or two of a handful is not named for that, and what lost all of a handful is.
func TestFewLosses(t *testing.T) {
	f := leafSpine(t, 4, 4, 2)
	src, dst := f.Hosts()[0], f.Hosts()[7]
	up, down := f.Out(src)[0], f.Out(dst)[0].Reverse()
	path := []graphs.ArcID{up, 0, 0, down}
	for _, a := range f.Out(f.Head(up)) {
		for _, b := range f.Out(f.Head(a)) {
			if f.Head(b) == f.Tail(down) {
				path[1], path[2] = a, b
			}
		}
	}
	for _, c := range []struct {
		sent, lost int
		named      bool
	}{{1, 1, false}, {9, 1, false}, {2, 2, false}, {9, 2, false}, {100, 2, false}, {9, 9, true}} {
		few := Observation{Path: path, Src: src, Dst: dst, Responder: graphs.None, Sent: c.sent, Lost: c.lost}
		odd := Observation{Path: []graphs.ArcID{9999}, Src: src, Dst: dst, Responder: graphs.None, Sent: 1000, Lost: 500} // which nobody can use
		r := Solve(f, []Observation{few, odd}, Config{})
		if x := &r.Suspects[0]; x.Probability >= 0.5 != c.named || x.Probability < 0.05 || len(x.Class) < 4 || r.Healthy < 0 || r.Healthy+x.Probability > 1.01 {
			t.Errorf("%d of %d lost: %.2f for one of %d, %.2f for none", c.lost, c.sent, x.Probability, len(x.Class), r.Healthy)
		}
	}
}
