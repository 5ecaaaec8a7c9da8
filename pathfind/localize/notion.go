package localize

import "math"

// A notion is what is thought of demand: a share of it is so many times what is usual, log-normally with a deviation; the rest is usual.
type notion struct{ share, deviation float64 }

var notions = [...]notion{{0.01, 2}, {0.03, 2}, {0.1, 2}, {0.03, 1}, {0.1, 1}, {0.3, 1}, {0.3, 2}, {1, 0.25}, {1, 0.5}, {1, 1}, {1, 2}, {1, 4}}

const (
	// A log of a factor is from least to greatest.
	leastFactor, factorStep, factorSteps = -7, 0.5, 25
	// unevenly is how many nats likelier a notion must be for demand not to be even, since there are many of them.
	unevenly = 2.
	// rescalings bounds how often it is worked out anew how much is usual.
	rescalings = 6
)

// factors finds, by the notion that is likeliest, how many times what it was taken to be demand is at each place, by how many flows were seen there that are a sample of all,
// and how many were expected. It returns how many nats likelier that is than that demand is what it was taken to be: 0, and no factors, where no notion is.
func factors(seen, expected []float64) (by []float64, gained float64) {
	if nearlyEven(seen, expected) {
		return nil, 0
	}
	for _, n := range notions {
		// Where some get more, the others get less of what there is.
		usual := 1.0
		for range rescalings {
			means, sum := n.means(seen, expected, usual)
			if sum -= unevenly; sum > gained {
				gained, by = sum, means
			}
			some, all := 0.0, 0.0
			for i, x := range means {
				some, all = some+seen[i], all+expected[i]*x
			}
			if !(all > 0) || math.Abs(some/all-1) < 0.01 {
				break
			}
			usual *= some / all
		}
	}
	return by, gained
}

// means returns the mean factors under a notion, and how many nats likelier what was seen is under it than if all are 1.
func (n notion) means(seen, expected []float64, usual float64) (means []float64, gained float64) {
	var logs, factors, prior [factorSteps]float64
	all := 0.0
	for j := range logs {
		x := leastFactor + factorStep*float64(j)
		z := x / n.deviation
		logs[j], factors[j], prior[j] = x+log(usual), exp(x)*usual, exp(-z*z/2)
		all += prior[j]
	}
	means = make([]float64, len(expected))
	for i := range expected {
		if seen[i] == 0 && expected[i] == 0 {
			means[i] = 1 // nothing begins or ends there
			continue
		}
		like := func(log, by float64) float64 { return exp(min(seen[i]*log-expected[i]*(by-1), 600)) }
		p := (1 - n.share) * like(log(usual), usual)
		mean := p * usual
		for j, by := range factors {
			w := n.share * prior[j] / all * like(logs[j], by)
			p, mean = p+w, mean+w*by
		}
		gained += log(p)
		means[i] = mean / p
	}
	return means, gained
}

// nearlyEven reports whether what was seen scatters no more than it may where it is a sample of what was expected: a look that costs little (Dean and Lawless 1989).
func nearlyEven(seen, expected []float64) bool {
	beyond, squares := 0.0, 0.0
	for i, n := range expected {
		x := seen[i] - n
		beyond += x*x - seen[i]
		squares += n * n
	}
	return beyond < 2*math.Sqrt(2*squares)
}
