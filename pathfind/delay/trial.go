package delay

import (
	"cmp"
	"math"
	"slices"
)

// A trial is a component as a fault beside those of the hypothesis.
type trial struct {
	fault
	// score is the log posterior odds of the fault.
	score float64
	// Of its mean: 95 % credible bounds.
	low, high float64
}

// try weighs a component that is not in the hypothesis: what it adds is integrated out.
func (s *search) try(c int32) trial { return s.weighGains(c, s.gains(c, 1)) }

const (
	coarse = 4  // glimpses look at every fourth level only
	margin = 12 // nats by which a glimpse may be wrong
)

// best weighs those of some components that a glance at a few levels shows to be good, the best first.
func (s *search) best(among []int32) []trial {
	glimpse := make([]float64, len(among))
	top := math.Inf(-1)
	for i, c := range among {
		gain := s.gains(c, coarse)
		glimpse[i] = math.Inf(-1)
		for l := s.leastOf(c); l <= s.most; l += coarse {
			glimpse[i] = max(glimpse[i], gain[l]+s.prior[c])
			if c < s.ev.arcs { // a link of several members, of which one is slow
				glimpse[i] = max(glimpse[i], gain[half*len(s.t.levels)+l]+s.prior[c])
			}
		}
		top = max(top, glimpse[i])
	}
	var out []trial
	for i, c := range among {
		if glimpse[i] >= top-margin {
			out = append(out, s.try(c))
		}
	}
	slices.SortStableFunc(out, func(a, b trial) int { return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.comp, b.comp)) })
	return out
}

func (s *search) weighGains(c int32, gain []float64) trial {
	levels, least, good := len(s.t.levels), s.leastOf(c), s.goodOf(c)
	best, at := math.Inf(-1), 0
	for shape := range shapes {
		for l := least; l <= s.most; l++ {
			if g := gain[shape*levels+l]; g > best {
				best, at = g, shape*levels+l
			}
		}
	}
	byLevel := make([]float64, levels)
	sum := 0.0
	for shape := range shapes {
		for l := least; l <= s.most; l++ {
			p := math.Exp(gain[shape*levels+l] - best)
			byLevel[l] += p
			sum += p
		}
	}
	faulty := best + math.Log(sum/float64(shapes*(s.most-least+1)))
	top := 0.0
	for l := range good + 1 {
		top = max(top, gain[l])
	}
	passes := 0.0
	for l := range good + 1 {
		passes += math.Exp(gain[l] - top)
	}
	healthy := top + math.Log(passes/float64(good+1))
	x := trial{fault: fault{comp: c, shape: at / levels, level: at % levels}, score: faulty - healthy + s.prior[c]}
	x.mean = s.t.levels[x.level]
	x.low, x.high = s.bound(byLevel, 0.025*sum), s.bound(byLevel, 0.975*sum)
	return x
}

// bound returns the mean below which some of the weight of levels lies. A level stands for all from half a step below to half a step above it.
func (s *search) bound(weight []float64, share float64) float64 {
	sum := 0.0
	for l := range s.most + 1 {
		if sum+weight[l] >= share {
			return s.t.levels[l] * math.Pow(step, (share-sum)/weight[l]-0.5)
		}
		sum += weight[l]
	}
	return s.t.levels[s.most]
}

// gains returns, for each shape and level of one more fault, by how much the log likelihood grows. With every greater than one only some are looked at: every so many levels, of
// what is added to all flows and to every second, which the flows that are on time speak against, or do not.
func (s *search) gains(c int32, every int) []float64 {
	gain := make([]float64, shapes*len(s.t.levels))
	times, least := s.ev.timesThrough(c), s.leastOf(c)
	for k, i := range s.ev.through(c) {
		x := &s.ev.flows[i]
		if x.set < 0 && s.sum[i] == 0 && times[k] == 1 {
			logs := s.t.log[s.t.place(x.own, x.bin):][:len(gain)]
			for g := range gain {
				gain[g] += logs[g] - logs[0]
			}
			continue
		}
		s.addGain(gain, i, s.partsOf(x), times[k:k+1], least, every)
	}
	for _, m := range s.ev.members[c] {
		parts, times := s.divide(m, c)
		for _, i := range s.ev.sets[m.set].flows {
			s.addGain(gain, i, parts, times, least, every)
		}
	}
	return gain
}

// divide returns how the flows of a set are divided by the faults and one more component, and how often each part crosses that one.
func (s *search) divide(m member, c int32) (parts []weighed, times []uint8) {
	for _, p := range s.ev.split(&s.ev.sets[m.set], append([]int32{c}, s.named()...), s.cfg.Paths) {
		n := uint8(0)
		for _, x := range p.crossed {
			if x == c {
				n++
			}
		}
		parts, times = append(parts, s.weigh(p, c)), append(times, n)
	}
	return parts, times
}

// blur is the share of what faults are known to add to a flow, below which the flow cannot tell of one more: levels are coarse, and so is their sum.
const blur = 0.3

// addGain adds the gain of one flow, whose parts cross the component so many times; all alike if only one number is given. Of the levels of a fault it begins with the least.
func (s *search) addGain(gain []float64, i int32, parts []weighed, times []uint8, least, every int) {
	x := &s.ev.flows[i]
	levels := len(s.t.levels)
	row := s.t.p[s.t.place(x.own, x.bin):][:len(gain)]
	crossing := func(k int) int {
		if len(times) == 1 {
			return int(times[0])
		}
		return int(times[k])
	}
	without, rest := 0.0, 0.0 // of the likelihood: without the component, and of the parts that do not cross it
	plain := 0.0              // the share of the parts that cross it once and nothing else
	for k, w := range parts {
		sum, shape := join(s.sum[i], s.shape[i], w.sum, w.shape)
		p := w.share * row[int(shape)*levels+s.t.level(sum)]
		without += p
		switch {
		case crossing(k) == 0:
			rest += p
		case crossing(k) == 1 && sum == 0:
			plain += w.share
		}
	}
	at := func(shape, l int) {
		p := rest + plain*row[shape*levels+l]
		for k, w := range parts {
			n := crossing(k)
			sum, sh := join(s.sum[i], s.shape[i], w.sum, w.shape)
			switch mean := float64(n) * s.t.levels[l]; {
			case n == 0 || n == 1 && sum == 0:
			case sum == 0 && n == 2 && l > 0:
				p += w.share * row[shape*levels+min(l+doubling, levels-1)]
			case mean < blur*sum:
				p += w.share * row[int(sh)*levels+s.t.level(sum)]
			default:
				sum, sh = join(sum, sh, mean, uint8(shape))
				p += w.share * row[int(sh)*levels+s.t.level(sum)]
			}
		}
		gain[shape*levels+l] += math.Log(p / without)
	}
	if every > 1 {
		for l := least; l <= s.most; l += every {
			at(queue, l)
			at(half, l)
		}
		return
	}
	for shape := range shapes {
		for l := least; l <= s.most; l++ {
			at(shape, l)
		}
	}
	for l := range s.good + 1 {
		at(0, l)
	}
}
