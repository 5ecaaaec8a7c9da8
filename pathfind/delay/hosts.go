package delay

import (
	"math"
	"slices"
)

// Hosts differ by themselves, in their network cards, kernels and loads, and in some fabrics by much more than the flows of one host do. There, to be slower than
// other hosts is nothing special, and what hosts usually add is taken off their flows before faults are looked for.

const (
	// enoughFlows is how many flows of a host tell what it adds, and enoughHosts how many such hosts tell how much hosts differ.
	enoughFlows, enoughHosts = 8, 8
	// differ is how much more hosts must differ than what each adds is sure, both as standard deviations.
	differ = 2
	// unusual is how far above others a host stands out, in standard deviations of hosts.
	unusual = 4
	// twice the least delay that counts as a fault is what a host must add for its flows to be left out: cables and switches near it add some.
	twice = 2
	// turns is how often what a host adds is told anew, given what those at the other end of its flows do.
	turns = 4
)

// A hostEffect is what one host adds to its flows, more than the median host does.
type hostEffect struct {
	flows []int32
	adds  float64
}

// evenHosts takes off what hosts add, if they differ. One that stands out keeps all of it: it may be a fault, and where most flows have such a host, they are no measure for others. How much hosts differ is told by
// the faster half of them, since faults only make slower.
func (ev *evidence) evenHosts(b *baselines, least float64) {
	ev.ordinary = slices.Repeat([]float64{1}, len(ev.flows))
	ev.leaveOutFull()
	effects := ev.hostsWith(enoughFlows, len(ev.flows))
	if len(effects) < enoughHosts {
		return
	}
	spread, sure := ev.learnHosts(b, effects, true)
	if !ev.leaveOut(effects, max(unusual*spread, twice*least)) {
		ev.forgetHosts(effects)
		spread, sure = ev.learnHosts(b, effects, false)
	}
	if !sure {
		ev.forgetHosts(effects)
		return
	}
	far := standsOut(effects, spread)
	for _, x := range effects {
		if x.adds > far {
			ev.add(&x, -x.adds)
		}
	}
	ev.evenRare(b, far)
	for i := range ev.flows {
		ev.flows[i].delay -= ev.flows[i].ends
	}
}

// standsOut returns what a host adds at least that stands out. Hosts differ more than their faster half tells: from that on up, each that is near those below it is one of them.
func standsOut(effects []hostEffect, spread float64) (far float64) {
	adds := make([]float64, len(effects))
	for k, x := range effects {
		adds[k] = x.adds
	}
	slices.Sort(adds)
	middle, sum := adds[len(adds)/2], 0.0
	for k, x := range adds {
		if k > len(adds)/2 && x > far {
			break
		}
		sum += (x - middle) * (x - middle)
		far = x + unusual*max(spread, math.Sqrt(sum/float64(k+1)))
	}
	return far
}

// evenRare takes off what hosts with few flows add, as far as it is no more than other hosts do.
func (ev *evidence) evenRare(b *baselines, far float64) {
	rest := ev.aside(b)
	for _, x := range ev.hostsWith(1, enoughFlows-1) {
		if more := medianOf(rest, x.flows); more <= far {
			ev.add(&x, more)
		}
	}
}

// learnHosts learns what hosts add, and returns by how much they differ, or how unsure that is if it is more, and whether they do for sure. In each turn it learns from one host after another, or from all at
// once and by half: that takes more turns, but where many are slow what one adds is not first laid to others.
func (ev *evidence) learnHosts(b *baselines, effects []hostEffect, atOnce bool) (spread float64, sure bool) {
	n := turns
	if atOnce {
		n *= 2
	}
	sure = true
	for range n {
		rest := ev.aside(b)
		more := make([]float64, len(effects))
		for k, x := range effects {
			more[k] = medianOf(rest, x.flows) / 2
		}
		adds, flows := make([]float64, len(effects)), make([]float64, len(effects))
		for k := range effects {
			x := &effects[k]
			if !atOnce {
				more[k] = medianOf(rest, x.flows)
			}
			for _, i := range x.flows {
				rest[i] -= more[k]
			}
			ev.add(x, more[k])
			adds[k], flows[k] = x.adds, float64(len(x.flows))
		}
		middle := median(adds)
		for k := range effects {
			ev.add(&effects[k], -middle)
		}
		const ofMedian = 1.2533 // how much less a median is sure than a mean, of normal samples
		unsure := ofMedian * lowerSpread(rest) / math.Sqrt(median(flows))
		spread = lowerSpread(adds)
		sure, spread = sure && spread >= differ*unsure, max(spread, unsure)
	}
	return spread, sure
}

// add takes a host to add so much more to its flows.
func (ev *evidence) add(x *hostEffect, more float64) {
	x.adds += more
	for _, i := range x.flows {
		ev.flows[i].ends += more
	}
}

// forgetHosts takes hosts to add nothing.
func (ev *evidence) forgetHosts(effects []hostEffect) {
	for k := range effects {
		effects[k].adds = 0
	}
	for i := range ev.flows {
		ev.flows[i].ends = 0
	}
}

// leaveOut takes flows of hosts that add more than some delay for out of the ordinary, where they are most, and reports that: of fewer the lower half tells what others take.
func (ev *evidence) leaveOut(effects []hostEffect, more float64) bool {
	out := map[int32]bool{}
	for _, x := range effects {
		if x.adds > more {
			for _, i := range x.flows {
				out[i] = true
			}
		}
	}
	return 2*len(out) > ev.ordinaries() && ev.leave(out)
}

// ordinaries is how many flows are not out of the ordinary.
func (ev *evidence) ordinaries() (n int) {
	for _, x := range ev.ordinary {
		if x > 0 {
			n++
		}
	}
	return n
}

// leave takes flows for out of the ordinary, unless few others are left, and reports that.
func (ev *evidence) leave(out map[int32]bool) bool {
	if ev.ordinaries()-len(out) < leastFlows {
		return false
	}
	for i := range out {
		ev.ordinary[i] = 0
	}
	return true
}

// leaveOutFull takes flows over arcs that are known to be full for out of the ordinary: most of a length may be late by them.
func (ev *evidence) leaveOutFull() {
	out := map[int32]bool{}
	for i := range ev.flows {
		if ev.flows[i].full {
			out[int32(i)] = true
		}
	}
	ev.leave(out)
}

// hostsWith lists the hosts with so many flows that are compared with others of their length.
func (ev *evidence) hostsWith(least, most int) (list []hostEffect) {
	for n, host := range ev.host {
		if !host {
			continue
		}
		var x hostEffect
		for _, i := range ev.through(ev.arcs + int32(n)) {
			if ev.flows[i].length != ownLength && !ev.flows[i].full {
				x.flows = append(x.flows, i)
			}
		}
		if n := len(x.flows); n >= least && n <= most {
			list = append(list, x)
		}
	}
	return list
}

// aside returns by how much each flow is later than the median of its length, of those below a gap, beside what its hosts add.
func (ev *evidence) aside(b *baselines) []float64 {
	rest := make([]float64, len(ev.flows))
	byClass := make([][]sample, len(b.classes))
	for i, x := range ev.flows {
		rest[i] = x.delay - x.ends
		byClass[x.class] = append(byClass[x.class], sample{rest[i], 1})
	}
	at := make([]float64, len(byClass))
	for c, s := range byClass {
		slices.SortFunc(s, func(x, y sample) int { return compareFloat(x.x, y.x) })
		at[c] = s[belowGap(s)/2].x
	}
	for i := range rest {
		rest[i] -= at[ev.flows[i].class]
	}
	return rest
}

func medianOf(values []float64, at []int32) float64 {
	some := make([]float64, len(at))
	for k, i := range at {
		some[k] = values[i]
	}
	return median(some)
}

// lowerSpread returns the standard deviation that values would have if they were normal, by their lower half. It sorts them.
func lowerSpread(x []float64) float64 {
	slices.Sort(x)
	return (x[len(x)/2] - x[len(x)/4]) / 0.6745
}
