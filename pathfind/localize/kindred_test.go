package localize

import "testing"

// TestOneKind: of four arcs that lose a packet in a thousand, those that lost too few packets to be told by themselves are told by being like the others.
func TestOneKind(t *testing.T) {
	told, innocent := 0, 0
	for seed := range uint64(20) {
		w := newWorld(fatTree(t, 6), seed)
		bad := map[Cause]bool{}
		for len(bad) < 4 {
			c := Cause{Arc, int32(w.fabricArc())}
			w.faults[c], bad[c] = 0.001, true
		}
		w.mesh(6000, 40)
		for _, x := range Solve(w.Fabric, w.obs, Config{}).Suspects {
			switch {
			case x.Probability < 0.5:
			case bad[x.Cause]:
				told++
			default:
				innocent++
			}
		}
	}
	if told < 68 || innocent > 1 { // without, 59 are told
		t.Errorf("%d of 80 are told, and %d innocents", told, innocent)
	}
}
