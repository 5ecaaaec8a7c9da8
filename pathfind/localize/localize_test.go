package localize

import "testing"

func TestOneArc(t *testing.T) {
	w := newWorld(fatTree(t, 4), 1)
	bad := w.fabricArc()
	w.faults[Cause{Arc, int32(bad)}] = 0.01
	w.mesh(200, 200)
	r := w.solve()
	if len(r.Suspects) == 0 || r.Suspects[0].Cause != (Cause{Arc, int32(bad)}) {
		t.Errorf("suspects %+v, want arc %d first", r.Suspects, bad)
	}
}
