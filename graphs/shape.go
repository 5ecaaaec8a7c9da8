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
}

// A Span is the least, the largest and the mean of some numbers.
type Span struct {
	Min, Max int
	Mean     float64
}

// Shape measures a fabric. It takes time in proportion to the number of switches times the number of links.
func (f *Fabric) Shape() Shape {
	switches := f.Switches()
	s := Shape{
		Nodes: f.NumNodes(), Switches: len(switches), Hosts: f.NumNodes() - len(switches),
		Ports: f.NumPorts(), Links: f.NumLinks(), Arcs: f.NumArcs(), Roles: map[Role]int{},
	}
	for i := range f.nodes {
		s.Roles[f.nodes[i].Role]++
	}
	next := f.switchNeighbours()
	ends := 0
	for i, n := range switches {
		d := len(next[n])
		ends += d
		if i == 0 || d < s.Degree.Min {
			s.Degree.Min = d
		}
		s.Degree.Max = max(s.Degree.Max, d)
	}
	if len(switches) > 0 {
		s.Degree.Mean = float64(ends) / float64(len(switches))
	}
	pairs, sum := 0, 0
	part := make([]bool, f.NumNodes()) // nodes whose part was counted
	dist := make([]int32, f.NumNodes())
	queue := make([]NodeID, 0, len(switches))
	for _, src := range switches {
		for i := range dist {
			dist[i] = -1
		}
		dist[src] = 0
		queue = append(queue[:0], src)
		for i := 0; i < len(queue); i++ {
			for _, m := range next[queue[i]] {
				if dist[m] < 0 {
					dist[m] = dist[queue[i]] + 1
					queue = append(queue, m)
				}
			}
		}
		if !part[src] {
			s.Parts++
		}
		for _, n := range queue {
			part[n] = true
			sum += int(dist[n])
		}
		pairs += len(queue) - 1
		s.Diameter = max(s.Diameter, int(dist[queue[len(queue)-1]]))
	}
	if pairs > 0 {
		s.MeanPath = float64(sum) / float64(pairs)
	}
	return s
}

// switchNeighbours lists the switches at the other ends of each switch's links, one entry a link.
func (f *Fabric) switchNeighbours() [][]NodeID {
	next := make([][]NodeID, f.NumNodes())
	for a := range ArcID(f.NumArcs()) {
		if !f.IsHostArc(a) {
			next[f.Tail(a)] = append(next[f.Tail(a)], f.Head(a))
		}
	}
	return next
}
