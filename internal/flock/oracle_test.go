package flock

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"whichlink/graphs"
	"whichlink/pathfind/localize"
)

// prior is what the generator draws the rates of a set's faults and of its good arcs from: even between low and high, or evenly in their logarithm and
// with a tail.
type prior struct {
	low, high float64
	tailed    bool
}

func priorOf(set string) (prior, bool) {
	switch set {
	case "small", "low", "irr", "rrg", "large":
		return prior{low: 0.002, high: 0.02}, true
	case "soft":
		return prior{low: 0.001, high: 0.014}, true
	case "mixed", "mixedrrg":
		return prior{low: 0.001, high: 0.5, tailed: true}, true
	}
	return prior{}, false
}

// bad and good return the rate that a share u of all is below.
func (p prior) bad(u float64) float64 {
	if p.tailed {
		return p.low * math.Pow(p.high/p.low, u)
	}
	return p.low + u*(p.high-p.low)
}

func (p prior) good(u float64) float64 {
	if p.tailed {
		return min(1e-4/4*math.Exp(math.Sqrt2*math.Erfinv(2*u-1)), 4e-4)
	}
	return u * 1e-4
}

// oracle names the arcs that one would who knows what no tool can: from what the generator draws rates, how many faults to expect, and the true rate
// of every other arc. It judges each arc by its odds, given all flows, whose paths must be known. What it misses hardly anyone can find.
func oracle(t *testing.T, trace string, f *graphs.Fabric, obs []localize.Observation, p prior) []string {
	t.Helper()
	var truth struct {
		Links []struct {
			A, B int
			Rate float64
		}
	}
	text, err := os.ReadFile(strings.TrimSuffix(trace, ".trace") + ".truth.json")
	if err == nil {
		err = json.Unmarshal(text, &truth)
	}
	if err != nil {
		t.Fatal(err)
	}
	hazard := make([]float64, f.NumArcs())
	name := func(a int) string {
		return f.NodeName(f.Tail(graphs.ArcID(a))) + ">" + f.NodeName(f.Head(graphs.ArcID(a)))
	}
	byName := map[string]int{}
	for a := range hazard {
		hazard[a] = 4.5e-5
		byName[name(a)] = a
	}
	for _, l := range truth.Links {
		hazard[byName[strconv.Itoa(l.A)+">"+strconv.Itoa(l.B)]] = -math.Log1p(-l.Rate)
	}
	type loss struct{ other, lost float64 }
	losses, passed := make([][]loss, len(hazard)), make([]float64, len(hazard))
	for i := range obs {
		sum := 0.0
		for _, a := range obs[i].Path {
			sum += hazard[a]
		}
		for _, a := range obs[i].Path {
			passed[a] += float64(obs[i].Sent - obs[i].Lost)
			if obs[i].Lost > 0 {
				losses[a] = append(losses[a], loss{sum - hazard[a], float64(obs[i].Lost)})
			}
		}
	}
	var named []string
	for a := range hazard {
		const points = 60
		var bad, good [points]float64
		for i := range points {
			likelihood := func(rate float64) float64 {
				h := -math.Log1p(-rate)
				v := -h * passed[a]
				for _, l := range losses[a] {
					v += l.lost * math.Log(-math.Expm1(-l.other-h))
				}
				return v
			}
			u := (float64(i) + 0.5) / points
			bad[i], good[i] = likelihood(p.bad(u)), likelihood(p.good(u))
		}
		const faults = 4.5 // 1 to 8
		if logMean(bad[:])-logMean(good[:])+math.Log(faults/float64(len(hazard))) > 0 {
			named = append(named, name(a))
		}
	}
	return named
}

func logMean(x []float64) float64 {
	most, sum := slices.Max(x), 0.0
	for _, v := range x {
		sum += math.Exp(v - most)
	}
	return most + math.Log(sum/float64(len(x)))
}
