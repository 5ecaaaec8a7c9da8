package localize

import (
	"slices"

	"whichlink/graphs"
	"whichlink/internal/halves"
)

// routes are the paths of all observations, those of each half one after the other, and none of one that cannot be used: who looks for what crosses something reads a fifth of what the observations take.
type routes [2]route

// A route is paths, one after the other, and how many arcs each has.
type route struct {
	arcs  []graphs.ArcID
	sizes []int32
}

// newRoute returns room for so many paths that are about as long as one.
func newRoute(n int, like []graphs.ArcID) route {
	return route{make([]graphs.ArcID, 0, n*(len(like)+1)), make([]int32, 0, n)}
}

func (r *route) add(path []graphs.ArcID) {
	r.arcs, r.sizes = append(r.arcs, path...), append(r.sizes, int32(len(path)))
}

// Over returns the observations that can be used whose Path crosses a marked arc, in order. All arcs of the fabric are marked or not.
func (r *routes) Over(marked []bool) []int32 {
	var crossing [2][]int32
	halves.Do(len(r[0].sizes)+len(r[1].sizes), func(half, _, _ int) {
		crossing[half] = r[half].over(marked)
	})
	for i := range crossing[1] {
		crossing[1][i] += int32(len(r[0].sizes))
	}
	return slices.Concat(crossing[0], crossing[1])
}

// over returns the paths that cross a marked arc.
func (r *route) over(marked []bool) (crossing []int32) {
	path, end := -1, 0 // of the path
	for i, a := range r.arcs {
		if !marked[a] || i < end { // or one more of the same path
			continue
		}
		for end <= i {
			path++
			end += int(r.sizes[path])
		}
		crossing = append(crossing, int32(path))
	}
	return crossing
}
