package probes

import (
	"math"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// question chooses a TTL whose answer splits a set of possible paths well, or 0 if none can split it any more. A switch's CPU
// is asked sparingly: on a leaf-spine or a fat-tree one answer from the middle tells the whole path. The answer is worth most if
// the node alone tells paths apart, since not every switch answers from the port at which the probe came in, and if the switches
// that may have to give it are known to answer. Of TTLs that are nearly as good turn chooses one, to spread the load.
func question(f *graphs.Fabric, paths []pathfind.Path, asked func(ttl int) bool, answers func(graphs.NodeID) float64, turn int) int {
	if len(paths) < 2 {
		return 0
	}
	worth := make([]float64, len(paths[0].Arcs))
	most := 0.0
	for ttl := 1; ttl < len(worth); ttl++ {
		if asked(ttl) {
			continue
		}
		byArc, byNode := map[graphs.ArcID]float64{}, map[graphs.NodeID]float64{}
		total, hope := 0.0, 0.0
		for _, p := range paths {
			a := p.Arcs[ttl-1]
			n := f.Head(a)
			byArc[a] += p.Share
			byNode[n] += p.Share
			total += p.Share
			hope += p.Share * answers(n)
		}
		worth[ttl] = (0.6*entropy(byNode) + 0.4*entropy(byArc)) * hope / total
		most = max(most, worth[ttl])
	}
	var good []int
	for ttl, w := range worth {
		if w > 1e-9 && w >= goodEnough*most {
			good = append(good, ttl)
		}
	}
	if len(good) == 0 {
		return 0
	}
	return good[turn%len(good)]
}

// goodEnough is the part of the best question's worth from which another is as good: the port of the next switch tells as much as
// the node of this one.
const goodEnough = 0.65

// likelyAt returns which nodes may be at a TTL, and how probably.
func likelyAt(f *graphs.Fabric, paths []pathfind.Path, ttl int) map[graphs.NodeID]float64 {
	likely := map[graphs.NodeID]float64{}
	total := 0.0
	for _, p := range paths {
		total += p.Share
	}
	for _, p := range paths {
		likely[f.Head(p.Arcs[ttl-1])] += p.Share / total
	}
	return likely
}

func entropy[K comparable](shares map[K]float64) float64 {
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
