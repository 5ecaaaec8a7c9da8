package rhythm

import (
	"cmp"
	"math"
	"slices"
)

// A suspect may come and go more quickly than counts tell: each lasts for longer than an outage, and sees some of it. Then no episodes are much likelier than others, but those
// that tell about as much are so many that they are together, while a few long ones in which a part is lost are the likeliest by themselves. So beside the latter stands that
// of each count's time in them some share was bad, drawn for itself: as much as a process is in one of two states which it leaves at constant rates.

// A quick weighs how a suspect comes and goes too quickly for its single outages to be told.
type quick struct {
	alike   []alike
	lasting []float64 // shares of the time of the evidence that counts last
	most    float64   // the greatest rate of changes
	took    float64   // share of all time in which a suspect may come and go
	rest    float64   // log-likelihood of what lies outside
	// By share of the time and alike, how likely what became of its packets is at one loss while bad.
	passes []float64
	bad    float64
}

// An alike is counts that are weighed as one, of whose time a part lies where a suspect may come and go.
type alike struct {
	*count
	times, part float64
	lasts       int
}

const (
	// about is by which factor what counts last, and have sent, may differ to be taken for the same.
	about = 1.3
	// oddsStep is how close together the shares of the time are that are tried, in log odds, and farthestOdds where they end.
	oddsStep, farthestOdds = 0.3, 8.1
	// milderHazard is the least hazard that is asked about: of what loses less, outages of a part of a count's time are not told.
	milderHazard = 0.01
)

// A share of the time of a count, with its logarithm and that of the rest.
type timeShare struct{ part, log, rest float64 }

// partly are the shares of the time between none and all of it.
var partly = func() (list []timeShare) {
	for x := -farthestOdds; x <= farthestOdds; x += oddsStep {
		list = append(list, timeShare{1 / (1 + math.Exp(-x)), -math.Log1p(math.Exp(-x)), -math.Log1p(math.Exp(x))})
	}
	return list
}()

func newQuick(s *scan, eps []episode) *quick {
	q := &quick{most: s.moments}
	for _, e := range eps {
		q.took += (e.to - e.from) / (s.end - s.begin)
	}
	type kind struct{ lasts, sent, share, part int }
	all := s.end - s.begin
	clean, lasting := map[kind]int{}, map[int]int{}
	step := func(x float64) int { return int(math.Round(math.Log(max(x, 1e-9)) / math.Log(about))) }
	for i := range s.counts {
		c := &s.counts[i]
		part := s.part(c, eps)
		if part == 0 {
			q.rest += c.good
			continue
		}
		in := part * (c.To - c.From) / all
		lasts, ok := lasting[step(in)]
		if !ok {
			lasts = len(q.lasting)
			lasting[step(in)], q.lasting = lasts, append(q.lasting, in)
		}
		if c.Lost == 0 {
			of := kind{lasts, step(c.passed), step(c.Share), step(part)}
			if j, ok := clean[of]; ok {
				q.alike[j].times++
				continue
			}
			clean[of] = len(q.alike)
		}
		q.alike = append(q.alike, alike{c, 1, part, lasts})
	}
	q.passes = make([]float64, len(q.alike)*(len(partly)+2))
	return q
}

// at prepares for one loss while bad.
func (q *quick) at(bad float64) {
	q.bad = bad
	n := len(partly) + 2
	for i := range q.alike {
		c := &q.alike[i]
		for k := range n {
			share := 0.0
			switch {
			case k < len(partly):
				share = partly[k].part
			case k > len(partly):
				share = 1
			}
			share *= c.part
			loss := share*bad + (1-share)*normal
			q.passes[i*n+k] = math.Exp(c.lost*math.Log(loss) + c.passed*math.Log1p(-loss))
		}
	}
}

// likelihood returns the log-likelihood of the counts where the suspect is bad for a share of the time, and changes at some rate: the sum of those of both changes, in the time of the evidence.
func (q *quick) likelihood(share, rate float64) float64 {
	n := len(partly) + 2
	weights := make([][]float64, len(q.lasting))
	for j, lasts := range q.lasting {
		weights[j] = occupied(share, rate*lasts)
	}
	sum := q.rest
	for i := range q.alike {
		c := &q.alike[i]
		here := 0.0
		if w := weights[c.lasts]; w == nil {
			in := share * c.part
			loss := in*q.bad + (1-in)*normal
			here = c.lost*math.Log(loss) + c.passed*math.Log1p(-loss)
		} else {
			for k, x := range w {
				here += x * q.passes[i*n+k]
			}
			here = math.Log(max(here, math.SmallestNonzeroFloat64))
		}
		all := here
		if c.Lost > 0 {
			all = logSum(here+c.usual, c.odd)
		}
		if c.Share < 1 {
			all = logSum(all+c.crossed, c.beside)
		}
		sum += c.times * all
	}
	return sum
}

// occupied returns how likely each share of a time is bad, of those between, none and all of it, where so many changes are expected: between, with the mean and the variance that it
// has, as by a beta distribution. Where it is nearly the same for all counts, it returns nil.
func occupied(share, changes float64) []float64 {
	spread := 1 - changes/3
	if changes > 1e-3 {
		spread = 2 * (changes + math.Expm1(-changes)) / (changes * changes)
	}
	if spread < oddsStep*oddsStep*share*(1-share)/4 {
		return nil
	}
	w := make([]float64, len(partly)+2)
	none, whole := (1-share)*math.Exp(-share*changes), share*math.Exp(-(1-share)*changes)
	w[len(partly)], w[len(partly)+1] = none, whole
	between := 1 - none - whole
	if between < 1e-9 {
		return w
	}
	mean := (share - whole) / between
	variance := (share*share+share*(1-share)*spread-whole)/between - mean*mean
	size := min(max(mean*(1-mean)/max(variance, 1e-9)-1, 0.5), 1e4)
	most, sum := math.Inf(-1), 0.0
	for k, x := range partly {
		w[k] = size * (mean*x.log + (1-mean)*x.rest)
		most = max(most, w[k])
	}
	for k := range partly {
		w[k] = math.Exp(w[k] - most)
		sum += w[k]
	}
	for k := range partly {
		w[k] *= between / sum
	}
	return w
}

// A draw is what a suspect may have done, for which share of the time it was bad and what it lost then, and the logarithm of its weight.
type draw struct{ duty, bad, weight float64 }

// draws returns what it may have done, weighted by how likely that is together with the counts: the rates of changes are even by their logarithm, and so is the hazard but for half of the time, when
// all is lost, as elsewhere.
func (q *quick) draws() []draw {
	if len(q.alike) == 0 {
		return nil
	}
	const rates, levels = 8, 5
	wide := math.Log(mostHazard / milderHazard)
	var list []draw
	for l := range levels + 1 {
		hazard, prior := mostHazard, -math.Ln2
		if l < levels {
			hazard = milderHazard * math.Exp(wide*(float64(l)+0.5)/levels)
			prior = math.Log(wide/span/levels) - math.Ln2
		}
		q.at(-math.Expm1(-hazard))
		near := math.NaN()
		for j := range rates {
			rate := math.Exp(math.Log(q.most) * (float64(j) + 0.5) / rates)
			var some []draw
			some, near = q.shares(rate, near)
			for _, d := range some {
				d.weight += prior - math.Log(rates)
				if l == levels {
					list = append(list, d)
					continue
				}
				for _, aside := range [...]float64{-1. / 3, 0, 1. / 3} { // of a loss nearby that in all comes to the same
					bad := -math.Expm1(-hazard * math.Exp(aside*wide/levels))
					if duty := d.duty * d.bad / bad; duty < 1 {
						list = append(list, draw{duty, bad, d.weight - math.Log(3)})
					}
				}
			}
		}
	}
	return list
}

// shares weighs shares of the time, whose log odds are the difference of the logarithms of two rates, near the likeliest one, which it returns; it is near another, if that is a number.
func (q *quick) shares(rate, near float64) (list []draw, likeliest float64) {
	wide := math.Log(q.most)
	at := func(odds float64) float64 {
		share := 1 / (1 + math.Exp(-odds))
		return q.likelihood(share, rate) + math.Log(max(1-math.Abs(odds)/wide, 1e-9)/wide) + mostly(q.took*share)
	}
	low, high := -wide, wide
	if !math.IsNaN(near) {
		low, high = max(low, near-1.5), min(high, near+1.5)
	}
	x, y := golden(low, high, 0.05, at)
	const apart = 0.05
	likeliest = (x + y) / 2
	top := at(likeliest)
	curve := (2*top - at(likeliest-apart) - at(likeliest+apart)) / (apart * apart)
	deviation := 1 / math.Sqrt(max(curve, 1))
	const step = 0.5
	for k := -2.5; k <= 2.5; k += step {
		list = append(list, draw{q.took / (1 + math.Exp(-likeliest-k*deviation)), q.bad, top - k*k/2 + math.Log(deviation*step)})
	}
	return list, likeliest
}

// worthOf returns the logarithm of the sum of the weights.
func worthOf(list []draw) float64 {
	most := math.Inf(-1)
	for i := range list {
		most = max(most, list[i].weight)
	}
	sum := 0.0
	for i := range list {
		sum += math.Exp(list[i].weight - most)
	}
	return most + math.Log(sum)
}

// middle returns the weighted mean of a value of draws, and the bounds that hold nine of ten.
func middle(list []draw, value func(*draw) float64) (mean, low, high float64) {
	type weighted struct{ value, weight float64 }
	all, most, sum := make([]weighted, len(list)), worthOf(list), 0.0
	for i := range list {
		all[i] = weighted{value(&list[i]), math.Exp(list[i].weight - most)}
		sum += all[i].weight
		mean += all[i].weight * all[i].value
	}
	slices.SortFunc(all, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	const outside = 0.05
	low, high = all[0].value, all[len(all)-1].value
	below := 0.0
	for _, x := range all {
		if below <= outside*sum {
			low = x.value
		}
		below += x.weight
		if below >= (1-outside)*sum {
			high = x.value
			break
		}
	}
	return mean / sum, low, high
}
