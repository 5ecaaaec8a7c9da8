package localize

import "math"

// Whether traffic is even is told by the flows that lost packets by no fault: they are a sample of all. If it is not, what comes from a switch or its hosts, what goes
// to one, and what goes by an arc of a host, is so many times what it would be: of some of them or of all, by factors of which the logarithms are normally distributed.

// Demand is what of the traffic comes from somewhere, or goes there: by switch, or by arc of a host.
type demand struct {
	innocent []float64 // flows that are known and lost packets by no fault
	even     []float64 // how many these would be
	factor   []float64 // by how much the traffic differs from that, once found
}

func newDemand(n int) demand {
	d := demand{make([]float64, n), make([]float64, n), make([]float64, n)}
	for i := range d.factor {
		d.factor[i] = 1
	}
	return d
}

// A notion is what is thought of demand: a share of it is so many times what it would be if all were even, log-normally with a deviation.
type notion struct{ share, deviation float64 }

var notions = [...]notion{{0.01, 4}, {0.03, 4}, {0.1, 4}, {0.03, 1}, {0.1, 1}, {0.3, 1}, {0.3, 2}, {1, 0.25}, {1, 0.5}, {1, 1}, {1, 2}, {1, 4}}

// A log of a factor is from least to greatest.
const leastFactor, factorStep, factorSteps = -7, 0.5, 25

// unevenly is how many nats likelier a notion must be for demand not to be even, since there are many of them.
const unevenly = 2.

// find finds the factors by the notion that is likeliest. It returns how many nats likelier that is than that all is even.
func (d *demand) find() (gained float64) {
	if d.nearlyEven() {
		return 0
	}
	var by [factorSteps]float64
	for j := range by {
		by[j] = exp(leastFactor + factorStep*float64(j))
	}
	like := make([][factorSteps]float64, len(d.even)) // by how much likelier a factor makes what is seen
	for i, even := range d.even {
		for j := range by {
			like[i][j] = exp(min(d.innocent[i]*log(by[j])-even*(by[j]-1), 600))
		}
	}
	for _, n := range notions {
		var prior [factorSteps]float64
		all := 0.0
		for j := range prior {
			z := log(by[j]) / n.deviation
			prior[j] = exp(-z * z / 2)
			all += prior[j]
		}
		sum, factor := -unevenly, make([]float64, len(d.even))
		for i := range like {
			p, mean := 1-n.share, 1-n.share
			for j, l := range like[i] {
				w := n.share * prior[j] / all * l
				p, mean = p+w, mean+w*by[j]
			}
			sum, factor[i] = sum+log(p), mean/p
		}
		if sum > gained {
			gained, d.factor = sum, factor
		}
	}
	return gained
}

// nearlyEven reports whether what was seen scatters no more than it may if demand is even: a look that costs little (Dean and Lawless 1989).
func (d *demand) nearlyEven() bool {
	beyond, squares := 0.0, 0.0
	for i, even := range d.even {
		x := d.innocent[i] - even
		beyond += x*x - d.innocent[i]
		squares += even * even
	}
	return beyond < 2*math.Sqrt(2*squares)
}
