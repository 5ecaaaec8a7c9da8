package diagnose

import (
	"strings"
	"testing"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// TestDeafTo: a switch that answers some hosts and others not at all has a filter, or no route back, and no limit of its rate.
func TestDeafTo(t *testing.T) {
	p := newPlay(t, 16)
	store := NewStore(p.f, Config{})
	spine, _ := p.f.NodeByName("spine2")
	hosts := p.f.Hosts()
	for _, c := range []struct {
		lost [3]int // of 20 that each host sent
		want string
	}{
		{[3]int{20, 0, 1}, "none of " + p.f.NodeName(hosts[0]) + ", nearly all of the others: a filter, or no route back"},
		{[3]int{20, 10, 0}, "rate limit"},
		{[3]int{20, 20, 20}, "rate limit"},
		{[3]int{0, 1, 1}, "rate limit"},
	} {
		seen := &observer{s: store}
		for i, lost := range c.lost {
			seen.list = append(seen.list, localize.Observation{Src: hosts[i], Dst: graphs.None, Responder: spine, Sent: 20, Lost: lost})
		}
		told := store.cleared(&localize.Result{Shy: []localize.Responder{{Node: spine, Probability: 0.9, Sent: 60, Answered: 30}}}, nil, seen)
		if len(told) != 1 || !strings.Contains(told[0].Why, "("+c.want+")") {
			t.Errorf("of 20 each %v lost: %+v, want %q", c.lost, told, c.want)
		}
	}
}
