package graphs

import "math/rand/v2"

// Disjoint says how many paths pairs of switches have of which no two share a link: so many links must fail before a pair is cut off. It is
// found for some pairs only, whose switches have hosts (any switches, where there are no hosts).
type Disjoint struct {
	Pairs int
	Paths Span
}

// disjointPairs is how many pairs Disjoint looks at.
const disjointPairs = 64

// Disjoint counts disjoint paths, of any length, for a sample of pairs that is always the same; for all pairs, where they are few.
func (f *Fabric) Disjoint() Disjoint {
	m := f.mesh()
	weight, _ := m.weights()
	var ends []int32
	for i, w := range weight {
		if w > 0 {
			ends = append(ends, int32(i))
		}
	}
	flow := newUnitFlow(m)
	var d Disjoint
	sum := 0
	look := func(a, b int32) {
		n := flow.paths(a, b)
		if d.Pairs == 0 || n < d.Paths.Min {
			d.Paths.Min = n
		}
		d.Paths.Max = max(d.Paths.Max, n)
		sum += n
		d.Pairs++
	}
	if len(ends)*(len(ends)-1)/2 <= disjointPairs {
		for i, a := range ends {
			for _, b := range ends[:i] {
				look(a, b)
			}
		}
	} else {
		rng := rand.New(rand.NewPCG('d', uint64(len(ends))))
		for d.Pairs < disjointPairs {
			if a, b := ends[rng.IntN(len(ends))], ends[rng.IntN(len(ends))]; a != b {
				look(a, b)
			}
		}
	}
	if d.Pairs > 0 {
		d.Paths.Mean = float64(sum) / float64(d.Pairs)
	}
	return d
}

// A unitFlow is a flow over the links of a mesh, each of which carries one path, either way (Ford and Fulkerson 1956).
type unitFlow struct {
	m    *mesh
	back []int32 // by entry of m.next: the entry of the other direction
	used []bool  // by entry of m.next: a path goes this way

	into  []int32 // by switch: the entry by which it was reached
	seen  []int32 // by switch: the search that reached it last
	round int32
	queue []int32
	tail  []int32 // by entry
}

func newUnitFlow(m *mesh) *unitFlow {
	u := &unitFlow{
		m: m, back: make([]int32, len(m.next)), used: make([]bool, len(m.next)),
		into: make([]int32, m.size()), seen: make([]int32, m.size()), tail: make([]int32, len(m.next)),
	}
	// Of parallel links it makes no difference which entry is whose other direction; a loop is its own.
	free := map[[2]int32][]int32{}
	for i := range m.size() {
		for e := m.start[i]; e < m.start[i+1]; e++ {
			u.tail[e] = int32(i)
			j := m.next[e]
			u.back[e] = e
			if int(j) == i {
				continue
			}
			key := [2]int32{j, int32(i)}
			if list := free[key]; len(list) > 0 {
				u.back[e], u.back[list[len(list)-1]] = list[len(list)-1], e
				free[key] = list[:len(list)-1]
			} else {
				other := [2]int32{int32(i), j}
				free[other] = append(free[other], e)
			}
		}
	}
	return u
}

func (u *unitFlow) paths(from, to int32) int {
	clear(u.used)
	n := 0
	for u.reach(from, to) {
		n++
		for at := to; at != from; {
			e := u.into[at]
			if b := u.back[e]; u.used[b] {
				u.used[b] = false // two paths that met head on go on as the other each
			} else {
				u.used[e] = true
			}
			at = u.tail[e]
		}
	}
	return n
}

func (u *unitFlow) reach(from, to int32) bool {
	u.round++
	u.seen[from] = u.round
	u.queue = append(u.queue[:0], from)
	for i := 0; i < len(u.queue); i++ {
		at := u.queue[i]
		for e := u.m.start[at]; e < u.m.start[at+1]; e++ {
			j := u.m.next[e]
			if u.used[e] || u.seen[j] == u.round {
				continue
			}
			u.seen[j], u.into[j] = u.round, e
			if j == to {
				return true
			}
			u.queue = append(u.queue, j)
		}
	}
	return false
}
