package diagnose

import (
	"math"
	"slices"
	"testing"

	"whichlink/pathfind/localize"
)

// TestMixed: what is found by either of two routings counts as much as that routing explains, and what one of them cannot tell from another stays in its class.
func TestMixed(t *testing.T) {
	a, b, c := localize.Cause{Kind: localize.Arc, ID: 1}, localize.Cause{Kind: localize.Arc, ID: 2}, localize.Cause{Kind: localize.Arc, ID: 3}
	suspect := func(p float64, class ...localize.Cause) localize.Suspect {
		weights := slices.Repeat([]float64{p / float64(len(class))}, len(class))
		return localize.Suspect{Cause: class[0], Probability: p, Alone: weights[0], Class: class, Weights: weights}
	}
	without := &localize.Result{Suspects: []localize.Suspect{suspect(0.9, a, b)}}
	with := &localize.Result{Suspects: []localize.Suspect{suspect(0.9, b), suspect(0.9, c)}}
	for _, x := range []struct{ score, other float64 }{{0, 0.45}, {math.Log(9), 0.81}, {-math.Log(9), 0.09}} {
		with.Score = x.score
		got := mixed(without, with).Suspects
		if len(got) != 2 || !slices.Equal(got[0].Class, []localize.Cause{b, a}) || math.Abs(got[0].Probability-0.9) > 1e-9 || math.Abs(got[1].Probability-x.other) > 1e-9 {
			t.Errorf("with score %.1f: %+v", x.score, got)
		}
	}
}
