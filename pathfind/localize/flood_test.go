package localize_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// TestFlood: several switches lose up to a third of what crosses most of their arcs, and many flows lose packets at more than one place. Each of them is told, with those in
// whose place it may be as no way is known, and nothing else is.
func TestFlood(t *testing.T) {
	t.Parallel()
	f, err := generate.FatTree(generate.FatTreeConfig{K: 8})
	if err != nil {
		t.Fatal(err)
	}
	e := pathfind.NewEqualCost(f, pathfind.PerPath)
	switches := f.Switches()
	rng := rand.New(rand.NewPCG(0, 'f'))
	var sick []graphs.NodeID
	loss := map[graphs.ArcID]float64{}
	for len(sick) < 3 {
		n := switches[rng.IntN(len(switches))]
		if slices.Contains(sick, n) {
			continue
		}
		sick = append(sick, n)
		for _, out := range f.Out(n) {
			for _, a := range []graphs.ArcID{out, out.Reverse()} {
				if rng.Float64() < 0.6 {
					loss[a] = 0.001 * math.Pow(300, rng.Float64())
				}
			}
		}
	}
	r := localize.Solve(f, setFlows(f, e, rng, 10000, func() int { return 100 }, loss), localize.Config{Paths: e, OneWay: true})
	told := map[graphs.NodeID]bool{}
	for _, s := range r.Suspects {
		if s.Probability < 0.5 {
			continue
		}
		held := 0
		for _, n := range sick {
			if slices.ContainsFunc(s.Class, func(c localize.Cause) bool { return concerns(f, c, n) }) {
				told[n] = true
				held++
			}
		}
		if held == 0 {
			t.Errorf("%v is told with %.2f and a class of %d; %v are bad", s.Cause, s.Probability, len(s.Class), sick)
		}
	}
	if len(told) < len(sick) {
		t.Errorf("of %v only %v are told", sick, told)
	}
}

// concerns reports whether a cause is a switch, or one of its arcs.
func concerns(f *graphs.Fabric, c localize.Cause, n graphs.NodeID) bool {
	if c.Kind == localize.Arc {
		a := graphs.ArcID(c.ID)
		return f.Tail(a) == n || f.Head(a) == n
	}
	return c.Kind == localize.Node && graphs.NodeID(c.ID) == n
}
