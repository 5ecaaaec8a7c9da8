package graphs

// A Shape is a fabric in numbers. Degrees and lengths are of the graph that the switches form: links to hosts do not count.
type Shape struct {
	Nodes, Hosts, Switches, Ports, Links, Arcs int
	Roles                                      map[Role]int
	// Degree is how many links to other switches a switch has.
	Degree Span
	// Diameter is the length in links of the longest of the shortest paths between switches, MeanPath the mean of their lengths over all pairs.
	// Pairs without a path do not count; Parts tells whether there are any.
	Diameter int
	MeanPath float64
	// Parts is the number of parts, not connected with each other, into which the switches fall.
	Parts int
	// Triangles is how many sets of three switches are linked with each other.
	Triangles int
	Diversity Diversity
}

// A Span is the least, the largest and the mean of some numbers.
type Span struct {
	Min, Max int
	Mean     float64
}

// Diversity says how many shortest paths pairs of switches have that hosts are attached to; of all switches, where there are no hosts.
// Paths over parallel links are different paths.
type Diversity struct {
	Pairs int     // that have a path, each direction by itself
	Mean  float64 // shortest paths of a pair
	// Single is the share (0..1) of pairs that have one shortest path and no other.
	Single float64
}

// Shape measures a fabric. It takes time in proportion to the number of switches times the number of links.
func (f *Fabric) Shape() Shape {
	m := f.mesh()
	s := Shape{
		Nodes: f.NumNodes(), Switches: m.size(), Hosts: f.NumNodes() - m.size(),
		Ports: f.NumPorts(), Links: f.NumLinks(), Arcs: f.NumArcs(), Roles: map[Role]int{}, Triangles: m.triangles(),
	}
	for i := range f.nodes {
		s.Roles[f.nodes[i].Role]++
	}
	for i := range m.size() {
		d := m.degree(i)
		if i == 0 || d < s.Degree.Min {
			s.Degree.Min = d
		}
		s.Degree.Max = max(s.Degree.Max, d)
	}
	if m.size() > 0 {
		s.Degree.Mean = float64(len(m.next)) / float64(m.size())
	}
	weight, _ := m.weights()
	w := newWalk(m)
	counted := make([]bool, m.size()) // switches whose part was counted
	pairs, sum, single := 0, 0, 0
	paths := 0.0
	for src := range m.size() {
		w.from(int32(src))
		if !counted[src] {
			s.Parts++
		}
		for _, n := range w.order {
			counted[n] = true
			sum += int(w.dist[n])
			if int(n) == src || weight[src] == 0 || weight[n] == 0 {
				continue
			}
			s.Diversity.Pairs++
			paths += w.paths[n]
			if w.paths[n] == 1 {
				single++
			}
		}
		pairs += len(w.order) - 1
		s.Diameter = max(s.Diameter, int(w.dist[w.order[len(w.order)-1]]))
	}
	if pairs > 0 {
		s.MeanPath = float64(sum) / float64(pairs)
	}
	if n := s.Diversity.Pairs; n > 0 {
		s.Diversity.Mean, s.Diversity.Single = paths/float64(n), float64(single)/float64(n)
	}
	return s
}

// A walk goes over a mesh from one switch, nearest first, and counts the shortest paths as it goes.
type walk struct {
	m     *mesh
	order []int32   // switches in the order of their distance
	dist  []int32   // by switch; -1 where there is no way
	paths []float64 // shortest paths, by switch
}

func newWalk(m *mesh) *walk {
	return &walk{m: m, order: make([]int32, 0, m.size()), dist: make([]int32, m.size()), paths: make([]float64, m.size())}
}

func (w *walk) from(src int32) {
	for i := range w.dist {
		w.dist[i] = -1
	}
	w.dist[src], w.paths[src] = 0, 1
	w.order = append(w.order[:0], src)
	for i := 0; i < len(w.order); i++ {
		n := w.order[i]
		d, paths := w.dist[n]+1, w.paths[n]
		for _, m := range w.m.neighbours(int(n)) {
			switch w.dist[m] {
			case -1:
				w.dist[m], w.paths[m] = d, paths
				w.order = append(w.order, m)
			case d:
				w.paths[m] += paths
			}
		}
	}
}

// triangles counts each triangle at its first corner. Parallel links make no further ones.
func (m *mesh) triangles() int {
	n := 0
	// By switch: the last corner of which it is a neighbour, that was looked at from there, that was reached by way of another.
	near, looked, reached := make([]int32, m.size()), make([]int32, m.size()), make([]int64, m.size())
	round := int64(0)
	for i := range m.size() {
		corner := int32(i) + 1
		for _, j := range m.neighbours(i) {
			near[j] = corner
		}
		for _, j := range m.neighbours(i) {
			if int(j) <= i || looked[j] == corner {
				continue
			}
			looked[j] = corner
			round++
			for _, k := range m.neighbours(int(j)) {
				if k > j && near[k] == corner && reached[k] != round {
					reached[k] = round
					n++
				}
			}
		}
	}
	return n
}
