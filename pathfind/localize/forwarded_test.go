package localize

import (
	"slices"
	"testing"

	"whichlink/graphs"
)

// TestForwarded: where a switch cuts through, the ports behind it count what came to it broken, each its part of the traffic. That makes none of them sick but the first, however many they
// are, and whether or not somebody tells what came; more than came is their own, and so is what one of them counts and the others do not.
func TestForwarded(t *testing.T) {
	f := leafSpine(t, 6, 2, 2)
	var first graphs.ArcID // into a spine
	for first = 0; f.IsHostArc(first) || f.Node(f.Head(first)).Role != "spine"; first++ {
	}
	var behind []graphs.ArcID
	for _, a := range f.Out(f.Head(first)) {
		if a != first.Reverse() {
			behind = append(behind, a)
		}
	}
	for _, c := range []struct {
		name   string
		count  []float64 // behind the spine
		silent bool      // it
		sick   []graphs.ArcID
	}{
		{"all", []float64{310, 150, 240, 180, 420}, false, []graphs.ArcID{first}},
		{"more", []float64{310, 150, 240, 180, 90_000}, false, []graphs.ArcID{first, behind[4]}},
		{"one", []float64{0, 310, 0, 0, 0}, false, []graphs.ArcID{first, behind[1]}},
		{"all, and nobody tells what came", []float64{310, 150, 240, 180, 420}, true, nil},
		{"one, and nobody tells what came", []float64{0, 310, 0, 0, 0}, true, []graphs.ArcID{behind[1]}},
	} {
		var meters []Meter
		for a := range graphs.ArcID(f.NumArcs()) {
			m := Meter{On: Cause{Arc, int32(a)}, Sort: Errors, Packets: 5e6}
			if c.silent && f.Head(a) == f.Head(first) {
				continue
			}
			if i := slices.Index(behind, a); i >= 0 {
				m.Count = c.count[i]
			} else if a == first {
				m.Count = 1300
			}
			meters = append(meters, m)
		}
		var sick []graphs.ArcID
		for _, e := range Solve(f, nil, Config{Meters: meters}).Early {
			if e.Probability > 0.5 {
				sick = append(sick, e.Arc)
			} else if e.Forwarded < 0.5 {
				t.Errorf("%s: %+v", c.name, e)
			}
		}
		slices.Sort(sick)
		if slices.Sort(c.sick); !slices.Equal(sick, c.sick) {
			t.Errorf("%s: sick are %v, want %v", c.name, sick, c.sick)
		}
	}
}
