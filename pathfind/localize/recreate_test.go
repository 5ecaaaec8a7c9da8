package localize

import "testing"

// TestUplinksAlike: where all uplinks of a switch lose alike, or all arcs down to it, these are named, and not the links of its hosts that send or get what crosses them,
// though one of these hides behind no single one of those.
func TestUplinksAlike(t *testing.T) {
	for _, up := range []bool{true, false} {
		innocents, found := 0, 0
		for seed := range uint64(8) {
			w := newWorld(leafSpine(t, 4, 4, 2), seed)
			w.background = 1e-6
			leaf, _ := w.NodeByName("leaf3")
			arcs := map[int32]bool{}
			for _, a := range w.Out(leaf) {
				if w.IsHostArc(a) {
					continue
				}
				if !up {
					a = a.Reverse()
				}
				arcs[int32(a)] = true
				w.faults[Cause{Arc, int32(a)}] = 0.01
			}
			w.mesh(300, 600)
			for _, s := range w.solve().Suspects {
				switch {
				case s.Probability <= 0.5, s.Cause == Cause{Node, int32(leaf)}:
				case s.Kind == Arc && arcs[s.ID]:
					found++
				default:
					innocents++
				}
			}
		}
		t.Logf("up %v: %d innocents, %d arcs", up, innocents, found)
		if innocents > 0 || found == 0 {
			t.Errorf("up %v: %d innocents, %d arcs", up, innocents, found)
		}
	}
}
