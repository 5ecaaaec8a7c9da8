package localize

import (
	"slices"

	"whichlink/graphs"
	"whichlink/internal/halves"
)

// walk sums up what lies on the paths of each pair.
func (t *setTable) walk() {
	n := int(t.ix.links) + len(t.ix.host)
	var walkers [2]walker
	begin := func(i int) int { // of the pairs of one destination, from i on
		for 0 < i && i < len(t.pairs) && t.pairs[i].to == t.pairs[i-1].to {
			i++
		}
		return i
	}
	halves.Do(len(t.pairs), func(half, from, to int) {
		walkers[half] = newWalker(t, n, to-from)
		for i := begin(from); i < begin(to); i++ {
			walkers[half].walk(int32(i))
		}
	})
	w := &walkers[0]
	t.soft, t.square, t.ranges = w.soft, w.square, w.ranges
	for i, x := range walkers[1].soft {
		t.soft[i] += x
		t.square[i] += walkers[1].square[i]
	}
	t.ranges = append(t.ranges, walkers[1].ranges...)
	t.sortKept(n, w.kept, walkers[1].kept)
}

// A walker sums up what lies on the paths of some pairs.
type walker struct {
	t            *setTable
	soft, square []float64
	ranges       []pairRange
	kept         []kept
	next         [][]graphs.ArcID // by node, towards the destination in hand
	step         [][]float64
	known        []graphs.NodeID // by node, the destination for which that is known
	mass         []float64
	level, then  []graphs.NodeID // scratch
}

func newWalker(t *setTable, n, pairs int) walker {
	hosts := len(t.ix.host)
	w := walker{t: t, soft: make([]float64, n*int(t.top)), square: make([]float64, n*int(t.top)),
		kept: make([]kept, 0, min(16*pairs, mostKept+1)),
		next: make([][]graphs.ArcID, hosts), step: make([][]float64, hosts), known: make([]graphs.NodeID, hosts), mass: make([]float64, hosts)}
	for i := range w.known {
		w.known[i] = graphs.None
	}
	return w
}

// walk follows the paths of a pair.
func (w *walker) walk(i int32) {
	t, p := w.t, &w.t.pairs[i]
	if len(w.ranges) == 0 || w.ranges[len(w.ranges)-1].to != p.to {
		w.ranges = append(w.ranges, pairRange{to: p.to, first: i})
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
	top := int(w.t.top)
	soft, square := w.soft[at*top:][:top], w.square[at*top:][:top]
	for _, b := range w.t.bunchesOf(pair) {
		x := share * float64(b.copies)
		soft[b.size] += x
		square[b.size] += x * share
	}
	if len(w.kept) <= mostKept {
		w.kept = append(w.kept, kept{int32(at), pass{pair, float32(min(share, 1))}})
	}
}

// mostKept bounds how often pairs may lie on arcs and nodes for all of that to be kept. Beyond, it is found for each component that is asked for.
const mostKept = 1 << 20 // of each half of the pairs

// A kept is a pass, and of what: an arc, or after those a node.
type kept struct {
	at int32
	pass
}

// sortKept fills in byArc and byNode, if there is not too much for them.
func (t *setTable) sortKept(n int, halved ...[]kept) {
	end, all := make([]int32, n+1), 0
	for _, some := range halved {
		if len(some) > mostKept {
			return
		}
		for i := range some {
			end[some[i].at+1]++
		}
		all += len(some)
	}
	for i := range n {
		end[i+1] += end[i]
	}
	passes := make([]pass, all)
	next := slices.Clone(end)
	for _, some := range halved {
		for i := range some {
			k := &some[i]
			passes[next[k.at]] = k.pass
			next[k.at]++
		}
	}
	for a := range t.byArc {
		t.byArc[a] = passes[end[a]:end[a+1]:end[a+1]]
	}
	for i := range t.byNode {
		j := int(t.ix.links) + i
		t.byNode[i] = passes[end[j]:end[j+1]:end[j+1]]
	}
}

// sums returns the sums of a component by size.
func (t *setTable) sums(c int32) (soft, square []float64) {
	top := int(t.top)
	if t.softOf[c] == nil {
		switch t.ix.kindOf(c) {
		case 0:
			t.softOf[c], t.squareOf[c] = t.soft[int(c)*top:][:top], t.square[int(c)*top:][:top]
		case 2:
			at := int(t.ix.links + c - t.ix.nodes)
			t.softOf[c], t.squareOf[c] = t.soft[at*top:][:top], t.square[at*top:][:top]
		case 3:
			t.softOf[c], t.squareOf[c] = []float64{}, []float64{}
		default:
			t.softOf[c], t.squareOf[c] = make([]float64, top), make([]float64, top)
			for _, a := range t.ix.parts(nil, c) {
				for i := range top {
					t.softOf[c][i] += t.soft[int(a)*top+i]
					t.squareOf[c][i] += t.square[int(a)*top+i]
				}
			}
		}
	}
	return t.softOf[c], t.squareOf[c]
}

// through lists the pairs on whose paths a node lies, and an arc out of it unless that is None.
func (t *setTable) through(u graphs.NodeID, a graphs.ArcID) []pass {
	list := t.list[:0]
	for _, r := range t.ranges {
		step := 1.0
		if a != graphs.None {
			step = t.ps.Step(a, r.to)
		}
		if !(step > 0) || u == r.to {
			continue
		}
		for i := r.first; i < r.last; i++ {
			if a == graphs.None && t.pairs[i].from == u {
				continue // its ends are certain
			}
			if share := step * t.ps.Reach(t.pairs[i].from, u, r.to); share > 0 {
				list = append(list, pass{i, float32(min(share, 1))})
			}
		}
	}
	t.list = list
	return append(make([]pass, 0, len(list)), list...)
}
