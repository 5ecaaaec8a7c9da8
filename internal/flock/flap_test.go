package flock

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/flaps"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/rhythm"
)

// flapScore sums up how well flapping arcs were found.
type flapScore struct {
	traces                    int
	precision, recall         float64
	right, held, arcs         int // suspects named with a flapping arc in their class, flapping arcs in the class of a suspect, and all flapping arcs
	all                       int // suspects named
	known                     int // flapping arcs that the oracle can tell, in a class
	named, flapping, misnamed int // suspects, those said to flap, and those said to flap that do not
	windows, found, extra     int // bad windows of found arcs, those of which an episode tells, and episodes that are of none
	duties                    int // of the suspects said to flap that do, those whose duty cycle is told within a factor of 1.5
	held90                    int // of these, those whose duty cycle is in the interval told
	edges                     []float64
}

// TestFlaps prints how well the flapping arcs of traces, and the windows in which they were bad, are found:
//
//	go test ./internal/flock -run Flaps -v -traces traces
//
// Of every set in the directory the traces are scored, those without flaps by what is wrongly said to flap. See TestScore.
func TestFlaps(t *testing.T) {
	if *tracesDir == "" {
		t.Skip("no traces given (-traces DIR)")
	}
	sets, err := os.ReadDir(*tracesDir)
	if err != nil {
		t.Fatal(err)
	}
	kinds := Kinds
	if *onlyModes != "" {
		kinds = nil
		for m := range strings.SplitSeq(*onlyModes, ",") {
			kinds = append(kinds, Evidence(m))
		}
	}
	fmt.Println("| set | evidence | traces | precision | recall | right by class | held by class | one could | said to flap | wrongly | windows told | extra | duty told | in the interval | edge error, median (p90) ms |")
	fmt.Println("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, set := range sets {
		files, _ := filepath.Glob(filepath.Join(*tracesDir, set.Name(), "*.trace"))
		if len(files) == 0 || *onlySets != "" && !slices.Contains(strings.Split(*onlySets, ","), set.Name()) {
			continue
		}
		for _, seen := range kinds {
			var s flapScore
			for _, file := range files {
				s.add(t, file, seen)
			}
			n := float64(s.traces)
			fmt.Printf("| %s | %s | %d | %.3f | %.3f | %d of %d | %d of %d | %d | %d of %d | %d | %d of %d | %d | %d of %d | %d of %d | %.1f (%.1f) |\n", set.Name(), seen, s.traces, s.precision/n, s.recall/n,
				s.right, s.all, s.held, s.arcs, s.known, s.flapping, s.named, s.misnamed, s.found, s.windows, s.extra, s.duties, s.flapping-s.misnamed, s.held90, s.flapping-s.misnamed,
				quantile(s.edges, 0.5), quantile(s.edges, 0.9))
		}
	}
}

func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return x[int(q*float64(len(x)-1)+0.5)]
}

// badWindows reads when the arcs of a trace were bad, overlapping windows joined.
func badWindows(t *testing.T, trace string) map[string][][2]float64 {
	t.Helper()
	text, err := os.ReadFile(strings.TrimSuffix(trace, ".trace") + ".truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Links []struct {
			A, B    int
			Windows [][2]float64 `json:"windows_ms"`
		}
	}
	if err := json.Unmarshal(text, &told); err != nil {
		t.Fatal(err)
	}
	bad := map[string][][2]float64{}
	for _, l := range told.Links {
		slices.SortFunc(l.Windows, func(a, b [2]float64) int { return int(math.Copysign(1, a[0]-b[0])) })
		var joined [][2]float64
		for _, w := range l.Windows {
			if n := len(joined); n > 0 && w[0] <= joined[n-1][1] {
				joined[n-1][1] = max(joined[n-1][1], w[1])
			} else {
				joined = append(joined, w)
			}
		}
		bad[fmt.Sprintf("%d>%d", l.A, l.B)] = joined
	}
	return bad
}

func (s *flapScore) add(t *testing.T, file string, seen Evidence) {
	t.Helper()
	f, trace := openTrace(t, file)
	x, err := Observe(trace, file, f, seen)
	if err != nil {
		t.Fatal(err)
	}
	r := x.Solve(f, pathfind.PerPath)
	tr := readTruth(t, file)
	bad := badWindows(t, file)
	s.classes(t, file, f, bad, r, x, seen)
	arcs, devices := named(f, r)
	precision, recall := tr.score(f, arcs, devices)
	s.traces++
	s.precision += precision
	s.recall += recall
	if *misses && (precision < 1 || recall < 1) {
		fmt.Printf("%s %s %s: truth %v, said %v %v\n", filepath.Base(filepath.Dir(file)), filepath.Base(file), seen, tr.arcs, arcs, devices)
	}
	for i := range r.Suspects {
		x := &r.Suspects[i]
		if x.Probability < 0.5 {
			continue
		}
		s.named++
		if x.Rhythm.Kind != rhythm.Flapping && x.Rhythm.Kind != rhythm.Once {
			continue
		}
		s.flapping++
		var windows [][2]float64
		for _, c := range x.Class {
			if a := graphs.ArcID(c.ID); c.Kind == localize.Arc && len(windows) == 0 {
				windows = bad[f.NodeName(f.Tail(a))+">"+f.NodeName(f.Head(a))]
			}
		}
		if len(windows) == 0 {
			s.misnamed++
			continue
		}
		s.compare(windows, &x.Rhythm)
	}
}

// compare matches episodes with the windows of which they tell.
func (s *flapScore) compare(windows [][2]float64, r *rhythm.Rhythm) {
	eps := r.Episodes
	s.windows += len(windows)
	duty := 0.0
	for _, w := range windows {
		duty += max(0, min(w[1], r.To)-max(w[0], r.From)) / (r.To - r.From)
	}
	if r.Duty < 1.5*duty && duty < 1.5*r.Duty {
		s.duties++
	}
	if r.DutyLow <= duty && duty <= r.DutyHigh {
		s.held90++
	}
	for _, w := range windows {
		if i := slices.IndexFunc(eps, func(e rhythm.Episode) bool { return e.From < w[1] && w[0] < e.To }); i >= 0 {
			s.found++
			s.edges = append(s.edges, math.Abs(eps[i].From-w[0]), math.Abs(eps[i].To-w[1]))
		}
	}
	for _, e := range eps {
		if !slices.ContainsFunc(windows, func(w [2]float64) bool { return e.From < w[1] && w[0] < e.To }) {
			s.extra++
		}
	}
}

// classes counts by the classes of suspects, and asks the oracle.
func (s *flapScore) classes(t *testing.T, file string, f *graphs.Fabric, bad map[string][][2]float64, r *flaps.Result, observed *Observed,
	seen Evidence) {
	truth := map[graphs.ArcID][][2]float64{}
	for a := range graphs.ArcID(f.NumArcs()) {
		if w := bad[f.NodeName(f.Tail(a))+">"+f.NodeName(f.Head(a))]; len(w) > 0 {
			truth[a] = w
		}
	}
	held := map[graphs.ArcID]bool{}
	for i := range r.Suspects {
		x := &r.Suspects[i]
		if x.Probability < 0.5 {
			continue
		}
		s.all++
		right := false
		for _, c := range x.Class {
			if a := graphs.ArcID(c.ID); c.Kind == localize.Arc && len(truth[a]) > 0 {
				right, held[a] = true, true
			}
		}
		if right {
			s.right++
		}
	}
	s.held += len(held)
	s.arcs += len(truth)
	_, trace := openTrace(t, file)
	every, err := Observe(trace, file, f, INT)
	if err != nil {
		t.Fatal(err)
	}
	x := newFlapOracle(f, truth, every.Observations, every.Spans)
	x.obs, x.spans, x.only = observed.Observations, observed.Spans, seen == A2
	for a := range truth {
		if p, class := x.posterior(a); p*float64(class) >= 0.5 {
			s.known++
		}
	}
}
