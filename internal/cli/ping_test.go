package cli

import (
	"slices"
	"testing"
)

// TestJudge: flows are marked that lose more than the rest, also where most of them do.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		lost []int // of 50
		bad  []int
	}{
		{[]int{0, 0, 0, 0}, nil},
		{[]int{0, 0, 1, 0, 2, 0}, nil},
		{[]int{5, 3, 6, 4, 5, 8}, nil}, // all alike
		{[]int{0, 0, 12, 0}, []int{2}},
		{[]int{20, 0, 0, 13, 13, 0, 11, 17}, []int{0, 3, 4, 6, 7}}, // five of eight cross an arc that loses 30 %
		{[]int{50, 50, 50, 0}, []int{0, 1, 2}},
	} {
		var target pingTarget
		for _, n := range c.lost {
			target.Flows = append(target.Flows, pingFlow{flowCounts: &flowCounts{Sent: 50, Lost: n}})
		}
		target.judge()
		var got []int
		for i := range target.Flows {
			if target.Flows[i].Bad {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, c.bad) || target.Bad != len(c.bad) || target.Sent != 50*len(c.lost) {
			t.Errorf("%v: %v are bad (%d), want %v", c.lost, got, target.Bad, c.bad)
		}
	}
}
