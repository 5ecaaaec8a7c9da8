package localize

import (
	"slices"

	"whichlink/graphs"
)

// walk sums up what lies on the paths of each pair.
func (t *setTable) walk() {
	ix := t.ix
	n := int(ix.links) + len(ix.host)
	t.soft, t.square = make([]float64, n*int(t.top)), make([]float64, n*int(t.top))
	next := make([][]graphs.ArcID, len(ix.host)) // towards the destination in hand
	step := make([][]float64, len(ix.host))
	known := make([]graphs.NodeID, len(ix.host))
	mass := make([]float64, len(ix.host))
	for i := range known {
		known[i] = graphs.None
	}
	t.kept = make([]kept, 0, min(16*len(t.pairs), mostKept+1))
	var level, then []graphs.NodeID
	for i := range t.pairs {
		p := &t.pairs[i]
		if len(t.ranges) == 0 || t.ranges[len(t.ranges)-1].to != p.to {
			t.ranges = append(t.ranges, pairRange{to: p.to, first: int32(i)})
		}
		t.ranges[len(t.ranges)-1].last = int32(i + 1)
		mass[p.from] = 1
		level = append(level[:0], p.from)
		for len(level) > 0 {
			then = then[:0]
			for _, u := range level {
				m := mass[u]
				mass[u] = 0
				if u == p.to {
					continue
				}
				if u != p.from {
					t.soften(int(ix.links)+int(u), m, int32(i))
					t.keep(int(ix.links)+int(u), i, m)
				}
				if known[u] != p.to {
					known[u] = p.to
					next[u], step[u] = next[u][:0], step[u][:0]
					for _, a := range ix.f.Out(u) {
						if s := t.ps.Step(a, p.to); s > 0 {
							next[u], step[u] = append(next[u], a), append(step[u], s)
						}
					}
				}
				for j, a := range next[u] {
					share := m * step[u][j]
					t.soften(int(a), share, int32(i))
					t.keep(int(a), i, share)
					v := ix.head[a]
					if mass[v] == 0 {
						then = append(then, v)
					}
					mass[v] += share
				}
			}
			level, then = then, level
		}
	}
	t.sortKept(n)
}

// mostKept bounds how often pairs may lie on arcs and nodes for all of that to be kept. Beyond, it is found for each component that is asked for.
const mostKept = 1 << 21

// A kept is a pass, and of what: an arc, or after those a node.
type kept struct {
	at int32
	pass
}

func (t *setTable) keep(at, pair int, share float64) {
	if len(t.kept) <= mostKept {
		t.kept = append(t.kept, kept{int32(at), pass{int32(pair), float32(min(share, 1))}})
	}
}

// sortKept fills in byArc and byNode, if there is not too much for them.
func (t *setTable) sortKept(n int) {
	if len(t.kept) > mostKept {
		t.kept = nil
		return
	}
	end := make([]int32, n+1)
	for i := range t.kept {
		end[t.kept[i].at+1]++
	}
	for i := range n {
		end[i+1] += end[i]
	}
	all := make([]pass, len(t.kept))
	next := slices.Clone(end)
	for i := range t.kept {
		k := &t.kept[i]
		all[next[k.at]] = k.pass
		next[k.at]++
	}
	for a := range t.byArc {
		t.byArc[a] = all[end[a]:end[a+1]:end[a+1]]
	}
	for i := range t.byNode {
		j := int(t.ix.links) + i
		t.byNode[i] = all[end[j]:end[j+1]:end[j+1]]
	}
	t.kept = nil
}

// soften adds a share of a pair's flows to the sums of an arc or node.
func (t *setTable) soften(at int, share float64, pair int32) {
	soft, square := t.soft[at*int(t.top):][:t.top], t.square[at*int(t.top):][:t.top]
	for _, b := range t.bunchesOf(pair) {
		x := share * float64(b.copies)
		soft[b.size] += x
		square[b.size] += x * share
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
