package localize

import (
	"slices"
	"testing"

	"whichlink/graphs"
)

// TestUnited: all that two hosts send crosses one link beyond their switch, or a switch that is dead. A search that has come to blame each host by itself
// finds that it may be the link, of which neither host alone gives way to.
func TestUnited(t *testing.T) {
	for seed := range uint64(4) {
		w := newWorld(leafSpine(t, 5, 2, 2), seed)
		leaf := w.Head(w.Out(w.Hosts()[0])[0])
		var up, hosts []graphs.ArcID
		for _, a := range w.Out(leaf) {
			if w.IsHostArc(a) {
				hosts = append(hosts, a.Reverse())
			} else {
				up = append(up, a)
			}
		}
		dead, sick := Cause{Node, int32(w.Head(up[1]))}, Cause{Arc, int32(up[0])}
		w.faults[dead], w.faults[sick] = 1, 0.004
		for range 600 {
			src, dst := w.Hosts()[w.rng.IntN(10)], w.Hosts()[w.rng.IntN(10)]
			if w.Head(w.Out(src)[0]) != w.Head(w.Out(dst)[0]) {
				w.echo(src, dst, 800)
			}
		}
		s := w.search(Config{})
		comps := []int32{int32(hosts[0]), int32(hosts[1]), s.ix.node(graphs.NodeID(dead.ID))}
		slices.Sort(comps)
		s.expand(s.remember(comps, []float64{0.004, 0.004, 12}, 0))
		s.doubt()
		if h := s.hyps[s.likeliest()]; !slices.Equal(h.comps, []int32{sick.ID, s.ix.node(graphs.NodeID(dead.ID))}) {
			t.Errorf("seed %d: %v is likeliest, with %v", seed, h.comps, h.rates)
		}
	}
}
