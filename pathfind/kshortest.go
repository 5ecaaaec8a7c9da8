package pathfind

import (
	"fmt"
	"slices"

	"whichlink/graphs"
)

// A kShortest is forwarding over the K shortest paths that visit no node twice (Yen 1971), as tunnels do it: the source shares flows
// evenly among them, and further switches choose nothing. Of paths of equal length those come first that leave by an earlier port of the first
// node where they differ. Where there are fewer than K, all are used.
type kShortest struct {
	*ECMP
	k int
}

func newKShortest(f *graphs.Fabric, down func(graphs.LinkID) bool, k int) Model {
	return &kShortest{NewECMPWithout(f, down), k}
}

func (y *kShortest) String() string { return fmt.Sprintf("ksp:%d", y.k) }

func (y *kShortest) Loads(d Demand) *Loads { return loadPairs(y, d) }

func (y *kShortest) Ways(src, dst graphs.NodeID) *Ways {
	w := &Ways{f: y.f, src: src, dst: dst, stations: []station{{node: src}}}
	if src == dst {
		w.order = []int32{0}
		return w.settle()
	}
	paths := y.paths(src, dst)
	if len(paths) == 0 {
		w.stations[0].loss, w.order = BlackHole, []int32{0}
		return w.settle()
	}
	end := int32(1) // of the first station of the next path
	for _, p := range paths {
		end += int32(len(p) - 1)
	}
	w.stations[0].last = int32(len(paths))
	w.steps = make([]step, len(paths))
	for i, p := range paths {
		at := &w.steps[i]
		*at = step{arc: p[0], share: 1 / float64(len(paths))}
		for k, a := range p[1:] {
			at.to = int32(len(w.stations))
			first := int32(len(w.steps))
			w.stations = append(w.stations, station{node: y.head[p[k]], state: int32(i), first: first, last: first + 1})
			w.steps = append(w.steps, step{arc: a, share: 1})
			at = &w.steps[first]
		}
		at.to = end
	}
	w.stations = append(w.stations, station{node: dst})
	for i := range w.stations {
		w.order = append(w.order, int32(i))
	}
	return w.settle()
}

// A candidate is a path that left an earlier one after some arcs.
type candidate struct {
	arcs []graphs.ArcID
	left int
}

// paths returns the k shortest paths, by Yen's algorithm with Lawler's saving: a path is only varied from where it left the one before.
func (y *kShortest) paths(src, dst graphs.NodeID) [][]graphs.ArcID {
	s := &spur{y: y, dst: dst, dist: make([]int16, len(y.host)), on: make([]bool, len(y.host))}
	var found [][]graphs.ArcID
	first := s.shortest(src, nil)
	if first == nil {
		return nil
	}
	waiting := []candidate{{first, 0}}
	for len(waiting) > 0 && len(found) < y.k {
		best := 0
		for i := range waiting {
			if y.before(waiting[i].arcs, waiting[best].arcs) {
				best = i
			}
		}
		c := waiting[best]
		waiting = slices.Delete(waiting, best, best+1)
		found = append(found, c.arcs)
		if len(found) == y.k {
			break
		}
		at := src
		for i, a := range c.arcs {
			if i >= c.left {
				// All that was found leaves the common beginning by one of these.
				var taken []graphs.ArcID
				for _, p := range found {
					if len(p) > i && slices.Equal(p[:i], c.arcs[:i]) {
						taken = append(taken, p[i])
					}
				}
				if rest := s.shortest(at, taken); rest != nil {
					waiting = append(waiting, candidate{slices.Concat(c.arcs[:i], rest), i})
				}
			}
			s.on[at] = true
			at = y.head[a]
		}
		clear(s.on)
	}
	return found
}

// before orders paths by their length, then by their ports.
func (y *kShortest) before(p, q []graphs.ArcID) bool {
	if len(p) != len(q) {
		return len(p) < len(q)
	}
	for i := range p {
		if p[i] != q[i] {
			out := y.out(y.f.Tail(p[i]))
			return slices.Index(out, p[i]) < slices.Index(out, q[i])
		}
	}
	return false
}

// A spur finds shortest paths that keep off some nodes.
type spur struct {
	y     *kShortest
	dst   graphs.NodeID
	on    []bool // by node: whether to keep off it
	dist  []int16
	queue []graphs.NodeID
}

// shortest returns the first, by its ports, of the shortest paths from a node to the destination that leave by none of some arcs. It searches
// backwards from the destination, no further than it needs to.
func (s *spur) shortest(from graphs.NodeID, taken []graphs.ArcID) []graphs.ArcID {
	y := s.y
	for _, n := range s.queue {
		s.dist[n] = 0
	}
	s.queue = append(s.queue[:0], s.dst)
	s.dist[s.dst] = 1 // one more than the distance; 0 is not reached
	first := graphs.ArcID(graphs.None)
	open := func(a graphs.ArcID) bool {
		d := s.dist[y.head[a]]
		return d > 0 && !slices.Contains(taken, a)
	}
	limit := int16(maxDistance)
	for i := 0; i < len(s.queue) && s.dist[s.queue[i]] < limit; i++ {
		n := s.queue[i]
		for _, out := range y.out(n) {
			m := y.head[out]
			if m == from && open(out.Reverse()) {
				limit = s.dist[n] // the nodes of this distance are all known, and no other matters
			}
			if m != from && s.dist[m] == 0 && !s.on[m] && !y.host[m] {
				s.dist[m] = s.dist[n] + 1
				s.queue = append(s.queue, m)
			}
		}
	}
	if limit == maxDistance {
		return nil
	}
	for _, a := range y.out(from) {
		if open(a) && s.dist[y.head[a]] == limit {
			first = a
			break
		}
	}
	path := []graphs.ArcID{first}
	for at := y.head[first]; at != s.dst; at = y.head[path[len(path)-1]] {
		for _, a := range y.out(at) {
			if d := s.dist[y.head[a]]; d > 0 && d == s.dist[at]-1 {
				path = append(path, a)
				break
			}
		}
	}
	return path
}
