package whatif

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"whichlink/graphs"
)

// A Limit is how many neighbours a switch may lose at once: a number, or a share of those that it has. The zero Limit is 1.
type Limit struct {
	count int
	share float64
}

// ParseLimit reads a limit: 1, or 5%.
func ParseLimit(text string) (Limit, error) {
	if number, ok := strings.CutSuffix(text, "%"); ok {
		if x, err := strconv.ParseFloat(number, 64); err == nil && x > 0 && x <= 100 {
			return Limit{share: x / 100}, nil
		}
	} else if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return Limit{count: n}, nil
	}
	return Limit{}, fmt.Errorf("limit %q, expected a number of neighbours such as 1, or a share such as 5%%", graphs.Clean(text))
}

// String writes a limit as ParseLimit reads it.
func (l Limit) String() string {
	if l.share > 0 {
		return strconv.FormatFloat(100*l.share, 'g', 6, 64) + "%"
	}
	return strconv.Itoa(max(1, l.count))
}

// of returns how many of so many neighbours may be lost.
func (l Limit) of(neighbours int) int {
	if l.share > 0 {
		return int(math.Floor(l.share*float64(neighbours) + 1e-9))
	}
	return max(1, l.count)
}

// A Rule tells whether neighbours of one switch go together. It is held to the ends: ToRs, leaves.
type Rule struct {
	Limit Limit
	// Broken are the places in Answer.Switches of those that lose more neighbours than they may, the one that loses the largest share first.
	Broken []int
	// Worst is the place of the switch that loses the largest share of its neighbours, or -1 where none loses any.
	Worst int
}

func (d *damage) rule(l Limit, switches []Switch) Rule {
	r := Rule{Limit: l, Worst: -1}
	end := map[graphs.NodeID]bool{}
	for _, n := range d.ends {
		end[n] = true
	}
	share := func(i int) float64 { return float64(len(switches[i].Lost)) / float64(switches[i].Neighbours) }
	for i, s := range switches {
		if !end[s.Node] || len(s.Lost) == 0 {
			continue
		}
		if r.Worst < 0 || share(i) > share(r.Worst) {
			r.Worst = i
		}
		if len(s.Lost) > l.of(s.Neighbours) {
			r.Broken = append(r.Broken, i)
		}
	}
	slices.SortStableFunc(r.Broken, func(i, j int) int { return cmp.Compare(share(j), share(i)) })
	return r
}
