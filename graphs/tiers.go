package graphs

import "slices"

// HostDistances returns, by node, the number of links to the nearest host: 0 for hosts themselves, -1 where none can be reached. In a Clos it is the
// tier of a switch.
func (f *Fabric) HostDistances() []int {
	far := make([]int, f.NumNodes())
	for n := range far {
		far[n] = -1
	}
	queue := slices.Clone(f.Hosts())
	for _, h := range queue {
		far[h] = 0
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, a := range f.Out(n) {
			if to := f.Head(a); far[to] < 0 {
				far[to] = far[n] + 1
				queue = append(queue, to)
			}
		}
	}
	return far
}
