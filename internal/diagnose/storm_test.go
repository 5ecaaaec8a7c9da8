package diagnose

import (
	"math"
	"testing"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// TestRivals: in an outage a link's own arcs and the switches at its ends are no other answers, and add to its probability.
func TestRivals(t *testing.T) {
	f := newPlay(t, 0).f
	arc := func(name string, p float64) localize.Suspect {
		a, ok := f.ArcByName(name)
		if !ok {
			t.Fatalf("no arc %s", name)
		}
		return localize.Suspect{Cause: localize.Cause{Kind: localize.Arc, ID: int32(a)}, Probability: p}
	}
	node := func(name string, p float64) localize.Suspect {
		n, ok := f.NodeByName(name)
		if !ok {
			t.Fatalf("no node %s", name)
		}
		return localize.Suspect{Cause: localize.Cause{Kind: localize.Node, ID: int32(n)}, Probability: p}
	}
	mine := arc("leaf1:swp2>spine2:swp1", 0.5)
	link := localize.Suspect{Cause: localize.Cause{Kind: localize.Link, ID: int32(graphs.ArcID(mine.ID).Link())}, Probability: 0.05}
	suspects := []localize.Suspect{
		mine, link, arc("spine2:swp1>leaf1:swp2", 0.2), node("spine2", 0.1), // of the link
		arc("leaf1:swp3>spine3:swp1", 0.3), node("spine3", 0.3),
	}
	if got := ofRivals(f, suspects, mine.Cause); math.Abs(got-0.35) > 1e-9 {
		t.Errorf("got %.2f, want 0.35", got)
	}
}
