package pathfind

import (
	"math"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
)

// TestBasins: what basins say is what the ways of the pairs say, under every model that has any.
func TestBasins(t *testing.T) {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 14, Degree: 5, Hosts: 1, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	ends := Uniform(f).Ends
	for _, m := range []Model{NewECMP(f), NewSpraypoint(f, nil, SpraypointConfig{}), newUnion(f, nil, 2)} {
		want := m.Loads(Demand{Ends: ends})
		const parts = 3
		var got [parts][]float64
		for i := range got {
			got[i] = make([]float64, f.NumArcs())
		}
		if !Basins(m, ends, ends, parts, func(part, dst int, b *Basin) {
			volume := func(source int) float64 {
				if source == dst {
					return 0
				}
				return 1
			}
			b.Down(volume, func(a graphs.ArcID, flow float64, _ int) { got[part][a] += flow })
			shares := make([]float64, len(ends))
			for _, a := range f.Out(ends[dst]) {
				b.Up(func(x graphs.ArcID) float64 {
					if x == a.Reverse() {
						return 1
					}
					return 0
				}, shares)
				for i, share := range shares {
					if is := m.Ways(ends[i], ends[dst]).Crossing(func(l graphs.LinkID) bool { return l == a.Link() }); i != dst && math.Abs(is-share) > 1e-12 {
						t.Fatalf("%s: %g of %d to %d cross %s, and %g by the basin", m, is, i, dst, f.ArcName(a.Reverse()), share)
					}
				}
			}
		}) {
			t.Fatalf("%s: no basins", m)
		}
		for a := range want.Arcs {
			if sum := got[0][a] + got[1][a] + got[2][a]; math.Abs(sum-want.Arcs[a]) > 1e-9 {
				t.Errorf("%s: %g on %s, and %g by basins", m, want.Arcs[a], f.ArcName(graphs.ArcID(a)), sum)
			}
		}
	}
	if Basins(newValiant(f, nil), ends, ends, 1, func(int, int, *Basin) { t.Error("a basin") }) {
		t.Error("basins under Valiant")
	}
}
