package probes

import (
	"math"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// question chooses the TTL whose answer splits a set of possible paths best, or 0 if none can split it any more. A switch's CPU
// is asked sparingly: on a leaf-spine or a fat-tree one answer from the middle tells the whole path. Asked TTLs are not asked
// again. The answer is worth most if the node alone tells paths apart, since not every switch answers from the port at which
// the probe came in.
func question(f *graphs.Fabric, paths []pathfind.Path, asked func(ttl int) bool) int {
	best, most := 0, 1e-9
	if len(paths) < 2 {
		return 0
	}
	for ttl := 1; ttl < len(paths[0].Arcs); ttl++ {
		if asked(ttl) {
			continue
		}
		byArc, byNode := map[int32]float64{}, map[int32]float64{}
		for _, p := range paths {
			a := p.Arcs[ttl-1]
			byArc[int32(a)] += p.Share
			byNode[int32(f.Head(a))] += p.Share
		}
		if worth := 0.6*entropy(byNode) + 0.4*entropy(byArc); worth > most {
			best, most = ttl, worth
		}
	}
	return best
}

func entropy(shares map[int32]float64) float64 {
	var total, h float64
	for _, s := range shares {
		total += s
	}
	for _, s := range shares {
		if s > 0 {
			h -= s / total * math.Log(s/total)
		}
	}
	return h
}
