package flock

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/delay"
)

// TestDelayScore prints, for each set of traces that tell delays, how well and how fast slow arcs are found, with each kind of evidence, and how
// often suspects of a probability were right.
//
//	go test ./internal/flock -run DelayScore -v -traces traces -sets lat
func TestDelayScore(t *testing.T) {
	if *tracesDir == "" || *onlySets == "" {
		t.Skip("no traces given (-traces DIR -sets SET,...)")
	}
	kinds := []Evidence{INT, A1, A1P, P}
	if *onlyModes != "" {
		kinds = nil
		for k := range strings.SplitSeq(*onlyModes, ",") {
			kinds = append(kinds, Evidence(k))
		}
	}
	bounds := []float64{0.01, 0.1, 0.5, 0.9, 0.99, 1.1}
	said, right, claimed := make([]int, len(bounds)), make([]int, len(bounds)), make([]float64, len(bounds))
	fmt.Println("| set | evidence | traces | F | precision | recall | solve ms |")
	fmt.Println("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
	for set := range strings.SplitSeq(*onlySets, ",") {
		files, _ := filepath.Glob(filepath.Join(*tracesDir, set, "*.trace"))
		for _, kind := range kinds {
			var precision, recall float64
			var took time.Duration
			told := 0
			for _, file := range files {
				x := solveDelays(t, file, kind)
				if x.result == nil {
					continue
				}
				told++
				took += x.took
				p, r := x.truth.score(nil, x.named, nil)
				precision, recall = precision+p, recall+r
				if *misses && (p < 1 || r < 1) {
					fmt.Printf("%s %s: truth %v, said %v\n%+v\n", file, kind, x.truth.arcs, x.named, x.result.Suspects)
				}
				for _, s := range x.result.Suspects {
					i := 0
					for s.Probability >= bounds[i] {
						i++
					}
					said[i]++
					claimed[i] += s.Probability
					if slices.ContainsFunc(s.Class, func(c delay.Cause) bool { return slices.Contains(x.truth.arcs, x.name(c)) }) {
						right[i]++
					}
				}
			}
			if told == 0 {
				t.Logf("of %s no trace tells delays", set)
				continue
			}
			n := float64(told)
			precision, recall = precision/n, recall/n
			fmt.Printf("| %s | %s | %d | %.3f | %.3f | %.3f | %.0f |\n", set, kind, told, 2*precision*recall/(precision+recall), precision, recall, took.Seconds()*1e3/n)
		}
	}
	for i := 1; i < len(bounds); i++ {
		if said[i] > 0 {
			fmt.Printf("said %.2f to %.2f: %d, mean %.3f, right %.3f\n", bounds[i-1], min(1, bounds[i]), said[i], claimed[i]/float64(said[i]), float64(right[i])/float64(said[i]))
		}
	}
}

type solved struct {
	result *delay.Result // nil if the trace tells no delays
	truth  truth
	named  []string
	name   func(delay.Cause) string
	took   time.Duration
}

func solveDelays(t *testing.T, file string, kind Evidence) solved {
	t.Helper()
	f, trace := openTrace(t, file)
	var delays Delays
	seen, err := Observe(trace, file, f, kind, delays.Add)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	start := cpuTime()
	x := solved{result: delays.Solve(f, seen, pathfind.PerPath), truth: readTruth(t, file)}
	x.took = cpuTime() - start
	if x.result == nil {
		return x
	}
	x.name = func(c delay.Cause) string {
		if c.Kind == delay.Arc {
			return f.NodeName(f.Tail(graphs.ArcID(c.ID))) + ">" + f.NodeName(f.Head(graphs.ArcID(c.ID)))
		}
		return f.NodeName(graphs.NodeID(c.ID))
	}
	for _, s := range x.result.Suspects {
		if s.Probability >= 0.5 {
			x.named = append(x.named, x.name(s.Cause))
		}
	}
	return x
}
