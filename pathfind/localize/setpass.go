package localize

import (
	"cmp"
	"slices"

	"whichlink/graphs"
)

// passes hands over the pairs on whose paths a component lies, once for each of its sites on them.
func (t *setTable) passes(c int32, yield func(pair int32, share float64, a graphs.ArcID)) {
	t.places(c, func(u graphs.NodeID, a graphs.ArcID) {
		list := t.listed(u, a)
		if list == nil {
			list = t.through(u, a)
			t.lists[t.slot(u, a)] = list
		}
		for _, p := range list {
			yield(p.pair, float64(p.share), a)
		}
	})
}

// listed returns the pairs on whose paths a node lies, or an arc if that is not None; nil if they were not looked for yet.
func (t *setTable) listed(u graphs.NodeID, a graphs.ArcID) []pass {
	at := t.slot(u, a)
	if t.lists[at] == nil && t.looked > t.passing && t.passing <= mostListed {
		t.listAll()
	}
	return t.lists[at]
}

const (
	// mostKept bounds how often pairs may lie on arcs and nodes for all of that to be kept when it is found. Beyond, it is found for each component that
	// is asked for.
	mostKept = 1 << 20 // of each half of the pairs
	// mostListed bounds how often they may for all of it to be found once more, when that costs no more than to find it for one component after another.
	mostListed = 1 << 25
)

// A kept is a pass, and of what: an arc, or after those a node.
type kept struct {
	at int32
	pass
}

// sortKept fills in all lists.
func (t *setTable) sortKept(halved ...[]kept) {
	passes, place := t.layOut()
	for half, some := range halved {
		for i := range some {
			k := &some[i]
			passes[place[half][k.at]] = k.pass
			place[half][k.at]++
		}
	}
}

// listAll does likewise, by another walk.
func (t *setTable) listAll() {
	passes, place := t.layOut()
	t.walkHalves(func(half, _ int) walker { return walker{passes: passes, place: place[half]} })
}

// layOut makes room for the passes of all arcs and nodes. It returns the places where those of each half of the pairs begin.
func (t *setTable) layOut() (passes []pass, place [2][]int32) {
	passes = make([]pass, t.passing)
	for half := range place {
		place[half] = make([]int32, len(t.sums))
	}
	at := int32(0)
	for i := range t.sums {
		from := at
		for half, count := range t.count {
			place[half][i] = at
			if count != nil {
				at += count[i]
			}
		}
		t.lists[i] = passes[from:at:at]
	}
	t.allListed = true
	return passes, place
}

// through lists the pairs on whose paths a node lies, and an arc out of it unless that is None. Most pairs have nothing to do with it: those whose sender
// has no way over it, and those whose receiver is reached otherwise. They are told by their ends alone, at the end that leaves fewer of them.
func (t *setTable) through(u graphs.NodeID, a graphs.ArcID) []pass {
	if t.sums[t.slot(u, a)] == nil {
		return []pass{}
	}
	list := t.list[:0]
	look := func(i int32) {
		if p := t.look(i, u, a, t.goOnBy(u, a, t.pairs[i].to)); p.share > 0 {
			list = append(list, p)
		}
	}
	from, to := t.senders(u, a), t.receivers(u, a)
	t.looked += len(t.fromRanges) + len(t.ranges) + int(min(countPairs(from), countPairs(to)))
	if countPairs(from) < countPairs(to) {
		for _, r := range from {
			for _, i := range t.bySender[r.first:r.last] {
				look(i)
			}
		}
		slices.SortFunc(list, func(x, y pass) int { return cmp.Compare(x.pair, y.pair) })
	} else {
		for _, r := range to {
			for i := r.first; i < r.last; i++ {
				look(i)
			}
		}
	}
	t.list = list
	return append(make([]pass, 0, len(list)), list...)
}

// look returns the share of a pair's flows that pass a node, and go on by an arc unless that is None, of which the share that goes on is known.
func (t *setTable) look(i int32, u graphs.NodeID, a graphs.ArcID, step float64) pass {
	p := &t.pairs[i]
	if a == graphs.None && p.from == u || step == 0 {
		return pass{i, 0}
	}
	return pass{i, float32(min(step*t.ps.Reach(p.from, u, p.to), 1))}
}

// goOnBy returns the share of flows to a node that go on from another by an arc, all if that is None; none where they end.
func (t *setTable) goOnBy(u graphs.NodeID, a graphs.ArcID, to graphs.NodeID) float64 {
	switch {
	case u == to:
		return 0 // its ends are certain
	case a == graphs.None:
		return 1
	}
	return t.ps.Step(a, to)
}

// receivers returns those pairs, by destination, that may go by a node, and an arc out of it unless that is None.
func (t *setTable) receivers(u graphs.NodeID, a graphs.ArcID) []pairRange {
	var some []pairRange
	for _, r := range t.ranges {
		if u != r.end && (a == graphs.None || t.ps.Step(a, r.end) > 0) {
			some = append(some, r)
		}
	}
	return some
}

// senders returns likewise pairs by where they come from, which are ranges of bySender.
func (t *setTable) senders(u graphs.NodeID, a graphs.ArcID) []pairRange {
	if t.bySender == nil {
		t.sortBySender()
	}
	var some []pairRange
	for _, r := range t.fromRanges {
		hops := t.ps.Hops(r.end, u)
		if r.end == u && a == graphs.None || r.end != u && hops == 0 || a != graphs.None && t.ps.Hops(r.end, t.ix.head[a]) != hops+1 {
			continue
		}
		some = append(some, r)
	}
	return some
}

func countPairs(of []pairRange) int32 {
	n := int32(0)
	for _, r := range of {
		n += r.last - r.first
	}
	return n
}

// sortBySender lists the pairs of each sender.
func (t *setTable) sortBySender() {
	end := make([]int32, len(t.ix.host)+1)
	for i := range t.pairs {
		end[t.pairs[i].from+1]++
	}
	for n := range t.ix.host {
		if end[n+1] > 0 {
			t.fromRanges = append(t.fromRanges, pairRange{graphs.NodeID(n), end[n], end[n] + end[n+1]})
		}
		end[n+1] += end[n]
	}
	t.bySender = make([]int32, len(t.pairs))
	for i := range t.pairs {
		at := &end[t.pairs[i].from]
		t.bySender[*at] = int32(i)
		*at++
	}
}
