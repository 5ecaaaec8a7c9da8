package delay

import (
	"math"
	"slices"
)

// points is by how many points a distribution of delays is represented, at its quantiles (i+1/2)/points.
const points = 48

// ample is how many flows of a length make a distribution of their own; a length with fewer borrows the shape of all.
const ample = 200

// A class is the flows of one length.
type class struct {
	length, flows int
	at            float64 // the median of healthy flows
	shape         int     // of their distribution around it
}

// baselines are what healthy flows take, by class.
type baselines struct {
	classes []class
	// shapes are distributions by their quantiles, relative to the median. The first is that of all classes together.
	shapes [][points]float64
	spread float64 // of healthy flows around the median of their class: a standard deviation
}

// classify sorts flows into classes by their length.
func (ev *evidence) classify() *baselines {
	count := map[int]int{}
	for i := range ev.flows {
		count[ev.flows[i].length]++
	}
	b := &baselines{}
	for l, n := range count {
		b.classes = append(b.classes, class{length: l, flows: n})
	}
	slices.SortFunc(b.classes, func(x, y class) int { return x.length - y.length })
	for i := range ev.flows {
		x := &ev.flows[i]
		x.class, _ = slices.BinarySearchFunc(b.classes, x.length, func(c class, l int) int { return c.length - l })
	}
	return b
}

// A fitting is how baselines are learnt.
type fitting int

const (
	usual  fitting = iota
	lower          // before more is known than which hosts stand out
	pooled         // with one shape for classes of all sizes
)

type sample struct{ x, weight float64 }

// fit learns the baselines from the flows, each weighing as much as it is likely to be healthy. A first fit, before more is known than which hosts stand out, trusts only the
// lower half of each class, and takes the rest to fall off as it does from a quarter to the half: in a small fabric a third of all flows and more cross one
// switch, and if that is slow, they are late. Where a gap shows that half of them are, it trusts those below it. If no fault explains the others,
// the next fit takes them in again.
func (b *baselines) fit(ev *evidence, healthy []float64, how fitting) {
	first := how == lower
	byClass := make([][]sample, len(b.classes))
	for i := range ev.flows {
		if c := ev.flows[i].class; !first || healthy[i] > 0 {
			byClass[c] = append(byClass[c], sample{ev.flows[i].delay, healthy[i]})
		}
	}
	weight := make([]float64, len(b.classes))
	for c := range b.classes {
		s := byClass[c]
		slices.SortFunc(s, func(x, y sample) int { return compareFloat(x.x, y.x) })
		if first {
			s = s[:belowGap(s)]
			byClass[c] = s
		}
		for _, x := range s {
			weight[c] += x.weight
		}
		b.classes[c].at = quantile(s, weight[c], 0.5)
	}
	b.place(weight)
	var pool []sample
	total := 0.0
	for c := range b.classes {
		for _, x := range byClass[c] {
			pool = append(pool, sample{x.x - b.classes[c].at, x.weight})
			total += x.weight
		}
	}
	slices.SortFunc(pool, func(x, y sample) int { return compareFloat(x.x, y.x) })
	b.spread = max(deviation(pool, total, first), 0.5)
	b.shapes = append(b.shapes[:0], shapeOf(pool, total, 0, first))
	for c := range b.classes {
		b.classes[c].shape = 0
		if weight[c] >= ample && how != pooled {
			b.classes[c].shape = len(b.shapes)
			b.shapes = append(b.shapes, shapeOf(byClass[c], weight[c], b.classes[c].at, first))
		}
	}
}

const (
	// leastBelow is the least share of a class below a gap that tells what healthy flows take, and mostBelow the greatest: of more, the lower half of the class tells it as well.
	leastBelow, mostBelow = 0.42, 0.6
	// gapSpreads is how wide a gap must be, in what lies between one in ten and nine in ten of those below it, and strays the share of a class that may lie in it.
	gapSpreads, strays = 4, 0.02
)

// belowGap returns how many of the sorted samples of a class lie below a gap that parts those of healthy flows from others: all, where there is no such gap.
func belowGap(s []sample) int {
	n := len(s)
	stray := int(strays * float64(n))
	best, widest := n, 0.0
	for k := max(int(leastBelow*float64(n)), leastFlows); k < int(mostBelow*float64(n)); k++ {
		gap := s[min(k+stray, n-1)].x - s[k-1].x
		if gap > widest && gap > gapSpreads*(s[9*k/10].x-s[k/10].x) {
			best, widest = k, gap
		}
	}
	return best
}

// place draws the medians of lengths with few flows toward the line through all lengths: every arc adds about as much as any other. A few
// flows of one length may all cross the same slow arc, and must not be their own measure.
func (b *baselines) place(weight []float64) {
	var n, sx, sy, sxx, sxy float64
	for c := range b.classes {
		if l := float64(b.classes[c].length); l != ownLength && weight[c] > 0 {
			w := weight[c]
			n, sx, sy, sxx, sxy = n+w, sx+w*l, sy+w*b.classes[c].at, sxx+w*l*l, sxy+w*l*b.classes[c].at
		}
	}
	const own = 30 // flows
	for c := range b.classes {
		k := &b.classes[c]
		if k.length == ownLength {
			k.at *= weight[c] / (weight[c] + own) // flows that are as they were differ by nothing
			continue
		}
		line := k.at
		if det := n*sxx - sx*sx; det > 1e-9*n*sxx {
			slope := max(0, (n*sxy-sx*sy)/det)
			line = sy/n + slope*(float64(k.length)-sx/n)
		}
		k.at = (weight[c]*k.at + own*line) / (weight[c] + own)
	}
}

// quantile returns the value below which a share of the weight of sorted samples lies.
func quantile(s []sample, total, share float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sum := 0.0
	for i := range s {
		if sum += s[i].weight; sum >= share*total {
			return s[i].x
		}
	}
	return s[len(s)-1].x
}

// deviation returns the standard deviation that sorted samples would have if they were normal, by their quartiles; by the lower two of them at first.
func deviation(s []sample, total float64, first bool) float64 {
	if first {
		return (quantile(s, total, 0.5) - quantile(s, total, 0.25)) / 0.6745
	}
	return (quantile(s, total, 0.75) - quantile(s, total, 0.25)) / 1.349
}

// shapeOf returns the quantiles of sorted samples relative to at. Beyond the trusted part, the half at first and 98 in 100 later, the
// tail is exponential.
func shapeOf(s []sample, total, at float64, first bool) (shape [points]float64) {
	trusted, before := 0.98, 0.9
	if first {
		trusted, before = 0.5, 0.25
	}
	high := quantile(s, total, trusted)
	mean := (high - quantile(s, total, before)) / math.Log((1-before)/(1-trusted))
	mean *= 1 + 1/math.Sqrt(max(1, total)) // few flows may not have shown how long the tail is
	sum, i := 0.0, 0
	for p := range shape {
		share := (float64(p) + 0.5) / points
		if share > trusted {
			shape[p] = high + mean*math.Log((1-trusted)/(1-share)) - at
			continue
		}
		for ; i < len(s) && sum+s[i].weight < share*total; i++ {
			sum += s[i].weight
		}
		shape[p] = s[min(i, len(s)-1)].x - at
	}
	return shape
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
