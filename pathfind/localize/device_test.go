package localize_test

import (
	"slices"
	"testing"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// TestPartsOfSwitch: all that two hosts of one switch send to a third is lost, and where it went between is not known. What all of it crosses may be dead, and the switch of the
// two for having several dead parts no likelier than that: a link and an arc of it are one part, and what loses packets that others lose anyway is like no other fault.
func TestPartsOfSwitch(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	e := pathfind.NewEqualCost(f, pathfind.PerPath)
	hosts := f.Hosts()
	last := hosts[len(hosts)-1]
	down := f.Out(last)[0].Reverse()
	var obs []localize.Observation
	for flow := range 8 {
		up := f.Out(hosts[flow%2])[0]
		obs = append(obs, listed(f, e, localize.Observation{
			Path: []graphs.ArcID{up, down}, From: f.Head(up), To: f.Tail(down), Src: hosts[flow%2], Dst: last, Responder: graphs.None, Sent: 200, Lost: 200, Flow: flow,
		}))
	}
	top := localize.Solve(f, obs, localize.Config{}).Suspects[0]
	for _, c := range []localize.Cause{{Kind: localize.Arc, ID: int32(down)}, {Kind: localize.Host, ID: int32(last)}, {Kind: localize.Link, ID: int32(down.Link())},
		{Kind: localize.Node, ID: int32(f.Tail(down))}} {
		if !slices.Contains(top.Class, c) {
			t.Errorf("%v is not in the class of %v: %v", c, top.Cause, top.Class)
		}
	}
}
