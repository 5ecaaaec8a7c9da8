package flock

import (
	"math"
	"slices"
)

// A prototype is the first try at whichlink's model, over flows of known paths, as its description told it: a good arc loses no more than two packets in ten
// thousand, a faulty one a thousandth or more, losses of a flow beyond ten count as ten, and an arc is faulty if its Bayes factor is greater than the number
// of arcs. What the description leaves open is decided here:
// the bar of a switch is that of an arc, an arc that is added may lose up to all packets, and while it is weighed the others are as is likeliest if it is faulty
// (as is likeliest if it is not, far less is found on sets with few losses than the description tells).
type prototype struct {
	*scene
	bar   float64
	lossy []protoFlow
	by    [][]int32 // by arc: those of lossy that cross it
	load  []float64 // by arc: packets that arrived
	h     []float64 // by arc: the hazard
	bad   []bool    // by arc
}

// A protoFlow is a flow that lost packets.
type protoFlow struct {
	path []int32
	lost float64
	sum  float64 // the hazard of the path
}

const (
	protoGood, protoBad, protoMost = 2e-4, 1e-3, 0.2
	protoDead                      = 30.0 // the hazard of an arc that passes nothing
	protoBurst                     = 10
)

func newPrototype(x *scene) *prototype {
	p := &prototype{scene: x, bar: math.Log(float64(x.arcs)), by: make([][]int32, x.arcs), load: make([]float64, x.arcs), h: make([]float64, x.arcs), bad: make([]bool, x.arcs)}
	for i := range x.flows {
		flow := &x.flows[i]
		scale := 1.0
		if flow.lost > protoBurst {
			scale = protoBurst / float64(flow.lost)
		}
		path := slices.DeleteFunc(slices.Clone(flow.certain), func(c int32) bool { return int(c) >= x.arcs })
		for _, a := range path {
			p.load[a] += scale * float64(flow.arrived)
			if flow.lost > 0 {
				p.by[a] = append(p.by[a], int32(len(p.lossy)))
			}
		}
		if flow.lost > 0 {
			p.lossy = append(p.lossy, protoFlow{path: path, lost: scale * float64(flow.lost)})
		}
	}
	for a := range p.h {
		p.set(int32(a), protoGood/4)
	}
	p.fit(nil)
	return p
}

func (p *prototype) set(a int32, h float64) {
	for _, i := range p.by[a] {
		p.lossy[i].sum += h - p.h[a]
	}
	p.h[a] = h
}

// value is the log-likelihood of all that crosses an arc at a hazard.
func (p *prototype) value(a int32, h float64) float64 {
	v := -h * p.load[a]
	for _, i := range p.by[a] {
		x := &p.lossy[i]
		v += x.lost * math.Log(-math.Expm1(-max(x.sum-p.h[a]+h, 1e-12)))
	}
	return v
}

// climb sets an arc's hazard to the likeliest, up to that of a good arc if it is one. The log-likelihood is concave in it.
func (p *prototype) climb(a int32) (changed float64) {
	top := protoGood
	if p.bad[a] {
		top = protoDead
	}
	slope := func(h float64) float64 {
		v := -p.load[a]
		for _, i := range p.by[a] {
			x := &p.lossy[i]
			v += x.lost / math.Expm1(max(x.sum-p.h[a]+h, 1e-12))
		}
		return v
	}
	low, high := 0.0, top
	switch {
	case slope(top) >= 0:
		low = top
	case slope(0) <= 0:
		high = 0
	}
	for high-low > 1e-3*low && high > 1e-9 && low < top {
		mid := (low + high) / 2
		if slope(mid) > 0 {
			low = mid
		} else {
			high = mid
		}
	}
	was := p.h[a]
	p.set(a, low)
	return math.Abs(low - was)
}

// fit sets the hazards of arcs, or of all, to the likeliest, in turns.
func (p *prototype) fit(arcs []int32) {
	if arcs == nil {
		for a := range p.h {
			arcs = append(arcs, int32(a))
		}
	}
	for range 30 {
		changed := 0.0
		for _, a := range arcs {
			changed = max(changed, p.climb(a)/max(p.h[a], protoGood))
		}
		if changed < 1e-2 {
			return
		}
	}
}

// factor is the logarithm of the Bayes factor for an arc to be faulty. If that of an arc is not above the bar while all others are as is likeliest if it is not,
// it is that while they are as is likeliest if it is.
func (p *prototype) factor(a int32) float64 {
	v := p.ratio(a)
	if p.bad[a] || v < 0 || v > p.bar {
		return v
	}
	near := p.near(a)
	hazards := make([]float64, len(near))
	for i, b := range near {
		hazards[i] = p.h[b]
	}
	p.turn(a, true)
	v = p.ratio(a)
	p.bad[a] = false
	for i, b := range near {
		p.set(b, hazards[i])
	}
	return v
}

// ratio is that with all others as they are.
func (p *prototype) ratio(a int32) float64 {
	var bad [16]float64
	for i := range bad {
		bad[i] = p.value(a, protoBad*math.Pow(protoMost/protoBad, float64(i)/15))
	}
	var good [6]float64
	for i := range good {
		good[i] = p.value(a, protoGood*float64(i)/5)
	}
	return logMean(bad[:]) - logMean(good[:])
}

func logMean(x []float64) float64 {
	top := slices.Max(x)
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum/float64(len(x)))
}

// near returns the arcs that share a flow that lost packets with one, itself too.
func (p *prototype) near(a int32) []int32 {
	arcs := []int32{a}
	for _, i := range p.by[a] {
		arcs = append(arcs, p.lossy[i].path...)
	}
	slices.Sort(arcs)
	return slices.Compact(arcs)
}

// turn makes an arc faulty, or good again, and fits all that share losses with it.
func (p *prototype) turn(a int32, bad bool) {
	p.bad[a] = bad
	p.fit(p.near(a))
}

// search adds the best arc until none is above the bar, then drops those that no longer are and swaps those that another explains better.
func (p *prototype) search() {
	factors := make([]float64, p.arcs)
	for a := range factors {
		factors[a] = math.Inf(-1)
		if len(p.by[a]) > 0 {
			factors[a] = p.factor(int32(a))
		}
	}
	for range 10 * most {
		best := int32(-1)
		for a, f := range factors {
			if !p.bad[a] && f > p.bar && (best < 0 || f > factors[best]) {
				best = int32(a)
			}
		}
		if best < 0 {
			break
		}
		p.turn(best, true)
		for _, a := range p.near(best) {
			factors[a] = p.factor(a)
		}
	}
	for range 4 {
		if !p.drop() && !p.swap() {
			return
		}
	}
}

// drop makes the arcs good again that are below the bar, given all others.
func (p *prototype) drop() (changed bool) {
	for a, bad := range p.bad {
		if bad && p.factor(int32(a)) <= p.bar {
			p.turn(int32(a), false)
			changed = true
		}
	}
	return changed
}

// swap puts the arc in the place of a faulty one that explains more, if it does.
func (p *prototype) swap() (changed bool) {
	for a, bad := range p.bad {
		if !bad {
			continue
		}
		was, best := p.factor(int32(a)), int32(a)
		p.turn(int32(a), false)
		for _, b := range p.near(int32(a)) {
			if f := p.factor(b); !p.bad[b] && f > was+1e-6 {
				was, best = f, b
			}
		}
		p.turn(best, true)
		changed = changed || best != int32(a)
	}
	return changed
}

// faulty returns the faulty arcs, and in place of those of a switch the switch, if that m of its M arcs are faulty is better explained by it, as often as
// chance would have it with any share of them: the switch of which that is clearest first, and then of what is left.
func (p *prototype) faulty() (faulty []int32) {
	p.search()
	left := slices.Clone(p.bad)
	for {
		best, most := int32(-1), 0.0
		for n := range int32(len(p.crossing) - p.arcs) {
			if gain := p.blame(n, left); p.suspicious(p.arcs+int(n)) && gain > most {
				best, most = n, gain
			}
		}
		if best < 0 {
			break
		}
		faulty = append(faulty, int32(p.arcs)+best)
		for a := range left {
			if tail, head := p.ends(a); tail == best || head == best {
				left[a] = false
			}
		}
	}
	for a, bad := range left {
		if bad {
			faulty = append(faulty, int32(a))
		}
	}
	return faulty
}

// blame is how much better a switch explains those of its arcs that are bad than they explain themselves.
func (p *prototype) blame(n int32, bad []bool) float64 {
	m, all := 0, 0
	for a := range p.h {
		if tail, head := p.ends(a); (tail == n || head == n) && p.load[a]+float64(len(p.by[a])) > 0 {
			if all++; bad[a] {
				m++
			}
		}
	}
	if m == 0 {
		return 0
	}
	return float64(m-1)*p.bar - math.Log(float64(all+1)) - logChoose(all, m)
}

// logChoose is the logarithm of in how many ways m of n can be chosen.
func logChoose(n, m int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(m + 1))
	c, _ := math.Lgamma(float64(n - m + 1))
	return a - b - c
}

// tryPrototype tries its one setting.
func tryPrototype(x *scene, _ Evidence, each func(setting string, faulty []int32)) {
	each("own", newPrototype(x).faulty())
}
