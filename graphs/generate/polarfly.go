package generate

import (
	"fmt"
	"slices"

	"whichlink/graphs"
)

// PolarFlyConfig says how large a PolarFly is: Q is a power of a prime.
type PolarFlyConfig struct {
	Q     int
	Hosts int // a switch
	IPv6  bool
}

// PolarFly makes the Erdős-Rényi polarity graph of Lakhotia et al. (SC 2022): the switches are the q²+q+1 points of the projective plane
// over a field of q elements, and two are joined where they are orthogonal. The q+1 quadrics, which are orthogonal to themselves, have
// degree q, all others q+1; no two are more than two links apart. As in the paper's racks, the quadrics stand in the cluster w, and each
// neighbour of the first quadric is the first switch of a cluster c01, c02, ... of its other neighbours. The cables between two clusters
// are a bundle.
func PolarFly(c PolarFlyConfig) (*graphs.Fabric, error) {
	fail := func(format string, args ...any) (*graphs.Fabric, error) {
		return nil, fmt.Errorf("polarfly with q=%d and %d hosts a switch: %w", c.Q, c.Hosts, fmt.Errorf(format, args...))
	}
	f, err := newField(c.Q)
	switch {
	case err != nil:
		return fail("%w", err)
	case c.Hosts < 0:
		return fail("a count cannot be negative")
	}
	if err := tooMany("links", c.Q*c.Q+c.Q+1, c.Q/2+1+c.Hosts); err != nil {
		return fail("%w", err)
	}
	near := polarity(f)
	racks := polarRacks(near)
	largest := 0
	for _, r := range racks {
		largest = max(largest, len(r))
	}
	a := newAssembly(fmt.Sprintf("pf%d", c.Q), c.IPv6)
	clusters := make([]cluster, len(racks))
	ids, in := make([]graphs.NodeID, len(near)), make([]int, len(near))
	for i, rack := range racks {
		name := "w"
		if i > 0 {
			name = "c" + pad(i, len(racks)-1)
		}
		if clusters[i], err = a.cluster(name, len(rack), largest); err != nil {
			return nil, err
		}
		for j, x := range rack {
			ids[x], in[x] = clusters[i].switches[j], i
		}
	}
	for _, x := range slices.Concat(racks...) {
		for _, y := range near[x] {
			if ids[x] >= ids[y] {
				continue
			}
			var groups []string
			if in[x] != in[y] {
				groups = append(groups, bundle(clusters[in[x]].name, clusters[in[y]].name))
			}
			if err := a.link(ids[x], ids[y], groups...); err != nil {
				return nil, err
			}
		}
	}
	if err := a.hostClusters(clusters, c.Hosts); err != nil {
		return nil, err
	}
	return a.b.Build()
}

// polarity lists the points that are orthogonal to each point of the projective plane; a quadric stands in its own list.
func polarity(f *field) [][]int {
	// One vector for each point, its first coordinate that is not 0 being 1.
	points := [][3]int{{0, 0, 1}}
	for z := range f.q {
		points = append(points, [3]int{0, 1, z})
	}
	for y := range f.q {
		for z := range f.q {
			points = append(points, [3]int{1, y, z})
		}
	}
	near := make([][]int, len(points))
	for i, x := range points {
		for j, y := range points[:i+1] {
			if f.add(f.add(f.mul(x[0], y[0]), f.mul(x[1], y[1])), f.mul(x[2], y[2])) != 0 {
				continue
			}
			near[i] = append(near[i], j)
			if i != j {
				near[j] = append(near[j], i)
			}
		}
	}
	return near
}

// polarRacks puts all points into racks: first the quadrics, then each neighbour of the first quadric with its own neighbours. No two
// quadrics are joined, and every point but the first quadric shares exactly one neighbour with it, so each finds one place.
func polarRacks(near [][]int) [][]int {
	placed := make([]bool, len(near))
	racks := make([][]int, 1)
	for x := range near {
		if slices.Contains(near[x], x) {
			racks[0] = append(racks[0], x)
			placed[x] = true
		}
	}
	first := racks[0][0]
	for _, centre := range near[first] {
		if placed[centre] {
			continue
		}
		rack := []int{centre}
		placed[centre] = true
		for _, x := range near[centre] {
			if !placed[x] && !slices.Contains(near[first], x) {
				rack = append(rack, x)
				placed[x] = true
			}
		}
		racks = append(racks, rack)
	}
	return racks
}
