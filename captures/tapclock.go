package captures

import (
	"cmp"
	"math"
	"slices"
)

// A drawn is a packet of a capture that was drawn to compare clocks by.
type drawn struct {
	key, flow uint64
	time      int64
	dir, ttl  uint8
}

// drawLimit is how many packets of a capture are drawn: those with the smallest hashes, which are the same ones at every tap.
const drawLimit = 1 << 15

// A draw is the packets of one capture with the smallest hashes.
type draw struct {
	kept     []drawn
	limit    uint64
	from, to int64
	packets  int64 // that can be told from each other
}

func (d *draw) add(p drawn) {
	if d.packets == 0 {
		d.from, d.to, d.limit = p.time, p.time, math.MaxUint64
	}
	d.packets++
	d.from, d.to = min(d.from, p.time), max(d.to, p.time)
	if p.key > d.limit {
		return
	}
	if d.kept = append(d.kept, p); len(d.kept) >= 2*drawLimit {
		d.sort()
		d.kept = d.kept[:drawLimit]
		d.limit = d.kept[drawLimit-1].key
	}
}

func (d *draw) sort() {
	slices.SortFunc(d.kept, func(a, b drawn) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.time, b.time)) })
}

// once drops packets that were drawn more than once: which sight belongs to which is not known of them.
func (d *draw) once() []drawn {
	d.sort()
	var out []drawn
	for i, p := range d.kept {
		if (i == 0 || d.kept[i-1].key != p.key) && (i+1 == len(d.kept) || d.kept[i+1].key != p.key) {
			out = append(out, p)
		}
	}
	return out
}

// A met is a packet that was drawn at both taps. D is the difference of the two times, less that of one of them, in ns, and at
// its time at tap A since the capture's first.
type met struct {
	at, d float64
	flow  uint64
	dir   uint8
	lead  int8 // 1 where A is nearer to the sender, -1 where B is, 0 unknown
}

// A tapClock says what a time at tap B is at tap A. Offset is how far B is ahead at the time zero of A; it grows by drift.
type tapClock struct {
	zero, offset int64
	drift        float64 // ns by ns
	drifts       bool    // drift was measured
	both         bool    // packets of both directions were compared, so that the offset is not off by the way itself
	least        int64   // the least one-way delay, if both
	most         int64   // how far the times of the packets compared lie above the least
	met          int
}

// toA turns a time at tap B into one of tap A.
func (c *tapClock) toA(t int64) int64 {
	t -= c.offset
	return t - int64(c.drift/(1+c.drift)*float64(t-c.zero))
}

// toB turns a time of A's clock into B's.
func (c *tapClock) toB(t int64) int64 { return t + int64(c.drift*float64(t-c.zero)) + c.offset }

// Less than this says nothing of a clock's drift; more than maxDrift is no clock's.
const (
	driftSpan  = 1e9 // ns
	driftMet   = 16
	maxDrift   = 1e-3
	driftBins  = 16
	tellingGap = 200 // ns that the two directions of a flow must differ by
)

// compareClocks finds the offset and drift of tap B's clock against tap A's. Delays are never negative: packets that pass A first
// all lie above a line, those that pass B first below one, and queues only push them further away (Moon, Skelly, Towsley, 1999).
// The offset is the middle of the two lines where the least delays of both directions are taken for equal.
func compareClocks(a, b *draw) (tapClock, bool) {
	as, bs := a.once(), b.once()
	var list []met
	var offset int64
	for i, j := 0, 0; i < len(as) && j < len(bs); {
		switch x, y := &as[i], &bs[j]; {
		case x.key < y.key:
			i++
		case x.key > y.key:
			j++
		default:
			if len(list) == 0 {
				offset = y.time - x.time
			}
			list = append(list, met{
				at: float64(x.time - a.from), d: float64(y.time - x.time - offset), flow: x.flow, dir: x.dir,
				lead: int8(cmp.Compare(x.ttl, y.ttl)),
			})
			i++
			j++
		}
	}
	if len(list) == 0 {
		return tapClock{}, false
	}
	slices.SortFunc(list, func(x, y met) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.d, y.d)) })
	lead(list)
	c := tapClock{zero: a.from, met: len(list)}
	c.drift, c.drifts = driftOf(list)
	low, high := math.Inf(1), math.Inf(-1)
	for _, m := range list {
		if d := m.d - c.drift*m.at; m.lead >= 0 {
			low = min(low, d)
		} else {
			high = max(high, d)
		}
	}
	middle := low
	switch {
	case math.IsInf(low, 1):
		middle = high
	case !math.IsInf(high, -1) && low >= high:
		c.both = true
		middle, c.least = (low+high)/2, int64((low-high)/2)
	case !math.IsInf(high, -1):
		middle = (low + high) / 2 // the directions were not told apart
	}
	c.offset = offset + int64(math.Round(middle))
	for _, m := range list {
		c.most = max(c.most, int64(math.Abs(m.d-c.drift*m.at-middle)))
	}
	return c, true
}

// lead settles for the packets whose TTL does not tell which tap they passed first: of the two directions of a flow it is A for the
// one whose times at B lie later.
func lead(list []met) {
	slope := coarseSlope(list)
	type way struct {
		flow uint64
		dir  uint8
	}
	least, most := map[way]float64{}, map[way]float64{}
	told := map[way]int8{}
	for _, m := range list {
		w, d := way{m.flow, m.dir}, m.d-slope*m.at
		if m.lead != 0 {
			told[w] = m.lead
		}
		if v, ok := least[w]; !ok || d < v {
			least[w] = d
		}
		if v, ok := most[w]; !ok || d > v {
			most[w] = d
		}
	}
	for i := range list {
		m := &list[i]
		w, back := way{m.flow, m.dir}, way{m.flow, 1 - m.dir}
		if m.lead == 0 {
			m.lead = told[w]
		}
		if m.lead == 0 {
			m.lead = -told[back]
		}
		if _, ok := least[back]; m.lead != 0 || !ok {
			continue
		}
		switch gap := least[w] + most[w] - least[back] - most[back]; {
		case gap > 2*tellingGap:
			m.lead = 1
		case gap < -2*tellingGap:
			m.lead = -1
		}
	}
}

// coarseSlope is the drift by the medians of the first and the last part of the packets.
func coarseSlope(list []met) float64 {
	n := len(list) / driftBins
	if n < 2 || list[len(list)-1].at-list[0].at < driftSpan {
		return 0
	}
	part := func(m []met) (at, d float64) {
		ds := make([]float64, len(m))
		for i := range m {
			at += m[i].at / float64(len(m))
			ds[i] = m[i].d
		}
		slices.Sort(ds)
		return at, ds[len(ds)/2]
	}
	t0, d0 := part(list[:n])
	t1, d1 := part(list[len(list)-n:])
	if t1 <= t0 {
		return 0
	}
	return (d1 - d0) / (t1 - t0)
}

// driftOf returns the slope of the line below the packets that pass A first, or above those that pass B first: of whichever are more.
func driftOf(list []met) (float64, bool) {
	var first, second []met
	for _, m := range list {
		if m.lead >= 0 {
			first = append(first, m)
		} else {
			m.d = -m.d
			second = append(second, m)
		}
	}
	sign := 1.0
	if len(second) > len(first) {
		first, sign = second, -1
	}
	if len(first) < driftMet || first[len(first)-1].at-first[0].at < driftSpan {
		return 0, false
	}
	slices.SortFunc(first, func(x, y met) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.d, y.d)) })
	slope := sign * hullSlope(first)
	if math.Abs(slope) > maxDrift {
		return 0, false
	}
	return slope, true
}

// hullSlope returns the slope of the line that lies below all points and nearest to them: the edge of their lower convex hull
// under their middle.
func hullSlope(list []met) float64 {
	var hull []met
	middle := 0.0
	for _, m := range list {
		middle += m.at / float64(len(list))
		if n := len(hull); n > 0 && hull[n-1].at == m.at {
			continue // points of one time are sorted by d
		}
		for len(hull) >= 2 {
			p, q := hull[len(hull)-2], hull[len(hull)-1]
			if (q.d-p.d)*(m.at-p.at) < (m.d-p.d)*(q.at-p.at) {
				break
			}
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, m)
	}
	for i := 1; i < len(hull); i++ {
		if hull[i].at >= middle {
			return (hull[i].d - hull[i-1].d) / (hull[i].at - hull[i-1].at)
		}
	}
	return 0
}
