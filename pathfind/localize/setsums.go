package localize

import (
	"slices"

	"whichlink/graphs"
	"whichlink/internal/halves"
)

// walk sums up what lies on the paths of each pair.
func (t *setTable) walk() {
	walkers := t.walkHalves(func(_, pairs int) walker {
		n := int(t.ix.links) + len(t.ix.host)
		return walker{sums: make([][]float64, n), count: make([]int32, n), kept: make([]kept, 0, min(16*pairs, mostKept+1))}
	})
	w, other := &walkers[0], &walkers[1]
	t.sums, t.count, t.ranges = w.sums, [2][]int32{w.count, other.count}, append(w.ranges, other.ranges...)
	for at, more := range other.sums {
		if t.sums[at] == nil {
			t.sums[at] = more
			continue
		}
		for i, x := range more {
			t.sums[at][i] += x
		}
	}
	for _, count := range t.count {
		for _, n := range count {
			t.passing += int(n)
		}
	}
	if len(w.kept) <= mostKept && len(other.kept) <= mostKept {
		t.sortKept(w.kept, other.kept)
	}
}

// walkHalves has two walkers follow the paths of half of the pairs each.
func (t *setTable) walkHalves(begin func(half, pairs int) walker) (walkers [2]walker) {
	first := func(i int) int { // of the pairs of one destination, from i on
		for 0 < i && i < len(t.pairs) && t.pairs[i].to == t.pairs[i-1].to {
			i++
		}
		return i
	}
	halves.Do(len(t.pairs), func(half, from, to int) {
		w, hosts := begin(half, to-from), len(t.ix.host)
		w.t = t
		w.next, w.step, w.known, w.mass = make([][]graphs.ArcID, hosts), make([][]float64, hosts), make([]graphs.NodeID, hosts), make([]float64, hosts)
		for i := range w.known {
			w.known[i] = graphs.None
		}
		for i := first(from); i < first(to); i++ {
			w.walk(int32(i))
		}
		walkers[half] = w
	})
	return walkers
}

// A walker sums up what lies on the paths of some pairs, or lists it.
type walker struct {
	t           *setTable
	sums        [][]float64 // by arc, then by node: see setTable
	spare       []float64   // for more of them
	count       []int32     // likewise: how many pairs pass it
	passes      []pass      // if not nil, these are filled in, and nothing else is
	place       []int32     // in passes, of the next one of an arc or node
	ranges      []pairRange
	kept        []kept
	next        [][]graphs.ArcID // by node, towards the destination in hand
	step        [][]float64
	known       []graphs.NodeID // by node, the destination for which that is known
	mass        []float64
	level, then []graphs.NodeID // scratch
}

// walk follows the paths of a pair.
func (w *walker) walk(i int32) {
	t, p := w.t, &w.t.pairs[i]
	if len(w.ranges) == 0 || w.ranges[len(w.ranges)-1].end != p.to {
		w.ranges = append(w.ranges, pairRange{end: p.to, first: i})
	}
	w.ranges[len(w.ranges)-1].last = i + 1
	w.mass[p.from] = 1
	level, then := append(w.level[:0], p.from), w.then
	for len(level) > 0 {
		then = then[:0]
		for _, u := range level {
			m := w.mass[u]
			w.mass[u] = 0
			if u == p.to {
				continue
			}
			if u != p.from {
				w.add(int(t.ix.links)+int(u), m, i)
			}
			if w.known[u] != p.to {
				w.known[u] = p.to
				w.next[u], w.step[u] = w.next[u][:0], w.step[u][:0]
				for _, a := range t.ix.f.Out(u) {
					if s := t.ps.Step(a, p.to); s > 0 {
						w.next[u], w.step[u] = append(w.next[u], a), append(w.step[u], s)
					}
				}
			}
			for j, a := range w.next[u] {
				share := m * w.step[u][j]
				w.add(int(a), share, i)
				v := t.ix.head[a]
				if w.mass[v] == 0 {
					then = append(then, v)
				}
				w.mass[v] += share
			}
		}
		level, then = then, level
	}
	w.level, w.then = level, then
}

// add adds a share of a pair's flows to the sums of an arc or node.
func (w *walker) add(at int, share float64, pair int32) {
	passed := pass{pair, float32(min(share, 1))}
	if w.passes != nil {
		w.passes[w.place[at]] = passed
		w.place[at]++
		return
	}
	top := int(w.t.top)
	if w.sums[at] == nil {
		if len(w.spare) == 0 {
			w.spare = make([]float64, 512*top)
		}
		w.sums[at], w.spare = w.spare[:2*top:2*top], w.spare[2*top:]
	}
	soft, square := w.sums[at][:top], w.sums[at][top:]
	for _, b := range w.t.bunchesOf(pair) {
		x := share * float64(b.copies)
		soft[b.size] += x
		square[b.size] += x * share
	}
	w.count[at]++
	if len(w.kept) <= mostKept {
		w.kept = append(w.kept, kept{int32(at), passed})
	}
}

// sumsOf returns the sums of a component by size.
func (t *setTable) sumsOf(c int32) (soft, square []float64) {
	top := int(t.top)
	if known := t.totals[c]; known != nil {
		return known[:top], known[top:]
	}
	own, parts := t.none, 0
	t.places(c, func(u graphs.NodeID, a graphs.ArcID) {
		more := t.sums[t.slot(u, a)]
		if more == nil {
			return
		}
		switch parts++; parts {
		case 1:
			own = more
			return
		case 2:
			own = slices.Clone(own)
		}
		for i, x := range more {
			own[i] += x
		}
	})
	t.totals[c] = own
	return own[:top], own[top:]
}

// expected returns by arc how many packets are expected to have crossed it, as far as they are independent of each other.
func (t *setTable) expected() []float64 {
	loose := make([]float64, t.ix.links)
	for a := range loose {
		if sums := t.sums[a]; sums != nil {
			for size, copies := range sums[:t.top] {
				loose[a] += copies * t.packets[size]
			}
		}
	}
	return loose
}

// slot returns the place of an arc or, if that is None, of a node among all arcs and nodes.
func (t *setTable) slot(u graphs.NodeID, a graphs.ArcID) int {
	if a == graphs.None {
		return int(t.ix.links) + int(u)
	}
	return int(a)
}
