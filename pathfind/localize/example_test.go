package localize_test

import (
	"fmt"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// Flows whose paths are known, of which those over one arc lose packets.
func ExampleSolve() {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	hosts, ecmp := f.Hosts(), pathfind.NewECMP(f)
	var obs []localize.Observation
	var bad graphs.ArcID
	for i, src := range hosts {
		for j, dst := range hosts {
			paths, _ := ecmp.Paths(src, dst, 64)
			if i == j || len(paths) == 0 {
				continue
			}
			flow := len(obs)
			path := paths[flow%len(paths)].Arcs
			if flow == 20 {
				bad = path[2] // the third arc of some path
			}
			obs = append(obs, localize.Observation{Path: path, Src: src, Dst: dst, Responder: graphs.None, Sent: 1000, Flow: flow})
		}
	}
	for i := range obs {
		for _, a := range obs[i].Path {
			if a == bad {
				obs[i].Lost = 10
			}
		}
	}
	r := localize.Solve(f, obs, localize.Config{})
	for _, x := range r.Suspects {
		if x.Probability > 0.5 {
			fmt.Printf("%s: the arc that is bad %v, surely %v, loses %.1f %%\n", x.Kind, graphs.ArcID(x.ID) == bad, x.Probability > 0.99, 100*x.Loss)
		}
	}
	// Output: arc: the arc that is bad true, surely true, loses 1.0 %
}
