package heat

import (
	"cmp"
	"math"
	"slices"

	"whichlink/graphs"
	"whichlink/pathfind"
)

// Input is what is known. Loads and volumes are in bit/s.
type Input struct {
	// Model is how packets are forwarded now.
	Model pathfind.Model
	// Planned, if set, is how they were if all links were up; Down are those that are not, and With is the model if one of these were up, too.
	Planned pathfind.Model
	Down    []graphs.LinkID
	With    func(graphs.LinkID) pathfind.Model
	// Load is what each arc carries, by its id; NaN where that is not known. What is negative or beyond 10^18 is taken as not known, too.
	Load []float64
	// Speed is of each link, by its id; nil for those of the fabric. The loads of a link without a speed are taken as not known.
	Speed []float64
	// Matrix is the measured traffic between hosts or switches, of which the proportions count; it is estimated from Load if there is none.
	Matrix []Flow
}

// A Flow is traffic from one node to another, in bit/s.
type Flow struct {
	Src, Dst graphs.NodeID
	Rate     float64
}

// leastRate and mostRate are what is far from any rate, in bit/s or another unit: sums and quotients of what lies between can be calculated with.
const leastRate, mostRate = 1e-18, 1e18

// sound returns the input with a load for each arc and a speed for each link, of which those that cannot be are not known, and without traffic and links that cannot be, in order.
func (in Input) sound() Input {
	f := in.Model.Fabric()
	could := func(x float64) bool { return x == 0 || x >= leastRate && x <= mostRate }
	speed := in.Speed
	if speed == nil {
		speed = pathfind.Speeds(f)
	}
	load := in.Load
	in.Speed, in.Load = make([]float64, f.NumLinks()), make([]float64, f.NumArcs())
	copy(in.Speed, speed)
	for l, x := range in.Speed {
		if !could(x) {
			in.Speed[l] = 0
		}
	}
	for a := range in.Load {
		if in.Load[a] = math.NaN(); a < len(load) && could(load[a]) && in.Speed[graphs.ArcID(a).Link()] > 0 {
			in.Load[a] = load[a]
		}
	}
	there := func(n graphs.NodeID) bool { return n >= 0 && int(n) < f.NumNodes() }
	var matrix []Flow
	for _, w := range in.Matrix {
		if there(w.Src) && there(w.Dst) && w.Src != w.Dst && w.Rate > 0 && could(w.Rate) {
			matrix = append(matrix, w)
		}
	}
	// Sums of many rates depend on their order, by their last digit.
	slices.SortFunc(matrix, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst), cmp.Compare(a.Rate, b.Rate))
	})
	in.Matrix = matrix
	in.Down = slices.DeleteFunc(slices.Clone(in.Down), func(l graphs.LinkID) bool { return l < 0 || int(l) >= f.NumLinks() })
	slices.Sort(in.Down)
	in.Down = slices.Compact(in.Down)
	return in
}
