package flock

import (
	"bufio"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/pathfind"
	"whichlink/pathfind/flaps"
	"whichlink/pathfind/localize"
)

var (
	tracesDir = flag.String("traces", "", "directory of sets of traces: SET/NAME.trace and SET/NAME.edgelist")
	onlySets  = flag.String("sets", "", "sets to score, separated by commas; all that the directory has by default")
	onlyModes = flag.String("evidence", "", "kinds of evidence to score; those of the table by default")
	misses    = flag.Bool("misses", false, "list the traces in which something was missed or wrongly named")
	perHop    = flag.Bool("hop", false, "take the flows of sets that the table does not have to be spread evenly over next hops, not over paths")
)

// A row is a set, with the evidence that it is scored with, and what the best tuned peer and a first prototype reached; zero where they were not tried.
type row struct {
	set             string
	evidence        Evidence
	peer, prototype float64
	spread          pathfind.Spread
}

// rows are those of the table.
var rows = []row{
	{"small", INT, .990, .997, pathfind.PerPath},
	{"small", A1A2P, .990, .997, pathfind.PerPath},
	{"small", A1, .916, .916, pathfind.PerPath},
	{"low", INT, .902, .924, pathfind.PerPath},
	{"soft", INT, .927, .938, pathfind.PerPath},
	{"irr", INT, .986, .979, pathfind.PerPath},
	{"rrg", INT, .992, .972, pathfind.PerPath},
	{"rrg", A1A2P, .992, .972, pathfind.PerPath},
	{"rrg", P, .985, .944, pathfind.PerPath},
	{"rrg", A1P, .992, .935, pathfind.PerPath},
	{"mixed", A1A2P, .952, .955, pathfind.PerPath},
	{"mixed", A1, .872, .848, pathfind.PerPath},
	{"rrg", A1, .902, .898, pathfind.PerPath},
	{"mixedrrg", A1, .834, .834, pathfind.PerHop},
	{"mixed", INT, .956, .974, pathfind.PerPath},
	{"mixedrrg", INT, .926, .962, pathfind.PerHop},
	{"mixedrrg", A1A2P, .945, .949, pathfind.PerHop},
	{"dev", INT, .962, .980, pathfind.PerPath},
	{"devrrg", INT, 1, 1, pathfind.PerPath},
	{"none", INT, 1, 1, pathfind.PerPath},
	{"large", INT, 1, 1, pathfind.PerPath},
	{"large", A1A2P, 1, 1, pathfind.PerPath},
}

// asked returns the rows that the flags ask for: those of the table, and for sets that it does not have one with each kind of evidence.
func asked() []row {
	wanted := rows
	for set := range strings.SplitSeq(*onlySets, ",") {
		if set == "" || slices.ContainsFunc(rows, func(r row) bool { return r.set == set }) {
			continue
		}
		for _, kind := range Kinds {
			r := row{set: set, evidence: kind, spread: pathfind.PerPath}
			if *perHop {
				r.spread = pathfind.PerHop
			}
			wanted = append(wanted[:len(wanted):len(wanted)], r)
		}
	}
	return slices.DeleteFunc(slices.Clone(wanted), func(r row) bool {
		return *onlySets != "" && !slices.Contains(strings.Split(*onlySets, ","), r.set) ||
			*onlyModes != "" && !slices.Contains(strings.Split(*onlyModes, ","), string(r.evidence))
	})
}

// TestScore prints a Markdown table of how well, and how fast, faults of traces with known truth are found:
//
//	T=traces G=./flowgen ./mktrain.sh
//	go test ./internal/flock -run Score -v -traces traces
//
// flowgen draws flows over a fat-tree or a random graph, gives each arc a small loss and some a great one, and writes the packets sent and lost of
// each flow in the form that this package reads; mktrain.sh is its recipe for the sets. What both take is told in docs/localization-tables.md.
// The oracle knows from what the generator draws everything, but nothing of what it drew (see oracle); the other two columns were reached on other traces of the
// same sets. A faulty arc counts as found if it or a bad device at it is named with a probability of a half or more.
func TestScore(t *testing.T) {
	if *tracesDir == "" {
		t.Skip("no traces given (-traces DIR)")
	}
	fmt.Println("| set | evidence | traces | F | precision | recall | oracle F | best peer | prototype | solve ms, processor | solve ms, wall |")
	fmt.Println("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, row := range asked() {
		files, err := filepath.Glob(filepath.Join(*tracesDir, row.set, "*.trace"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			continue
		}
		var ours, best tally
		var took solveTime
		for _, file := range files {
			one := scoreTrace(t, file, row.set, row.evidence, row.spread, &ours, &best)
			took.cpu, took.wall = took.cpu+one.cpu, took.wall+one.wall
		}
		ceiling := ""
		if best.traces > 0 {
			ceiling = fmt.Sprintf("%.3f", best.f())
		}
		peer, prototype := "", ""
		if row.peer > 0 {
			peer, prototype = fmt.Sprintf("%.3f", row.peer), fmt.Sprintf("%.3f", row.prototype)
		}
		n := float64(len(files))
		fmt.Printf("| %s | %s | %d | %.3f | %.3f | %.3f | %s | %s | %s | %.1f | %.1f |\n", row.set, row.evidence, len(files),
			ours.f(), ours.precision/n, ours.recall/n, ceiling, peer, prototype, took.cpu.Seconds()*1e3/n, took.wall.Seconds()*1e3/n)
	}
}

// A tally sums up the scores of traces.
type tally struct{ precision, recall, traces float64 }

func (x *tally) add(precision, recall float64) {
	x.precision, x.recall, x.traces = x.precision+precision, x.recall+recall, x.traces+1
}

// f is the harmonic mean of the mean precision and recall.
func (x *tally) f() float64 { return 2 * x.precision * x.recall / (x.precision + x.recall) / x.traces }

// A truth is the faults of a trace.
type truth struct {
	arcs    []string // a>b
	devices []string
}

func readTruth(t *testing.T, trace string) truth {
	t.Helper()
	file, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var tr truth
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		w := strings.Fields(lines.Text())
		if len(w) < 3 || w[0] != "Failing_link" {
			break
		}
		if w[1] == w[2] {
			tr.devices = append(tr.devices, w[1])
		} else {
			tr.arcs = append(tr.arcs, w[1]+">"+w[2])
		}
	}
	return tr
}

// score is precision and recall as Flock counts them.
func (tr truth) score(f *graphs.Fabric, arcs, devices []string) (precision, recall float64) {
	good := 0
	for _, l := range arcs {
		a, b, _ := strings.Cut(l, ">")
		if slices.Contains(tr.arcs, l) || slices.Contains(tr.devices, a) || slices.Contains(tr.devices, b) {
			good++
		}
	}
	for _, d := range devices {
		if slices.Contains(tr.devices, d) {
			good++
		}
	}
	precision, recall = 1, 1
	if n := len(arcs) + len(devices); n > 0 {
		precision = float64(good) / float64(n)
	}
	n := len(tr.arcs) + len(tr.devices)
	if n == 0 {
		return precision, recall
	}
	found := 0.0
	for _, l := range tr.arcs {
		if slices.Contains(arcs, l) {
			found++
		}
	}
	for _, d := range tr.devices {
		if slices.Contains(devices, d) {
			found++
			continue
		}
		node, _ := f.NodeByName(d)
		for _, l := range arcs {
			if a, b, _ := strings.Cut(l, ">"); a == d || b == d {
				found += 1 / float64(2*f.Degree(node)+1)
			}
		}
	}
	return precision, found / float64(n)
}

// openTrace opens a trace and reads its topology, which lies beside it.
func openTrace(t *testing.T, file string) (*graphs.Fabric, *os.File) {
	t.Helper()
	open := func(name string) *os.File {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	top := strings.TrimSuffix(file, ".trace") + ".edgelist"
	f, err := ReadTopology(open(top), top)
	if err != nil {
		t.Fatal(err)
	}
	return f, open(file)
}

// A solveTime is how long a trace was solved, by the processors' time and by the clock.
type solveTime struct{ cpu, wall time.Duration }

// turns is how often each trace is solved. The least time counts: that in which the machine was least busy with other work.
const turns = 3

func scoreTrace(t *testing.T, file, set string, seen Evidence, spread pathfind.Spread, ours, best *tally) (took solveTime) {
	t.Helper()
	f, trace := openTrace(t, file)
	x, err := Observe(trace, file, f, seen)
	if err != nil {
		t.Fatal(err)
	}
	took = solveTime{math.MaxInt64, math.MaxInt64}
	var result *flaps.Result
	for range turns {
		runtime.GC()
		cpu, wall := cpuTime(), time.Now()
		result = x.Solve(f, spread)
		took.wall, took.cpu = min(took.wall, time.Since(wall)), min(took.cpu, cpuTime()-cpu)
	}
	arcs, devices := named(f, result)
	tr := readTruth(t, file)
	precision, recall := tr.score(f, arcs, devices)
	ours.add(precision, recall)
	if p, ok := priorOf(t, set, file); ok && (seen == INT || seen == A1) {
		best.add(tr.score(f, newOracle(f, x.Observations, p, tr.arcs).named(f), nil))
	}
	if *misses && (precision < 1 || recall < 1) {
		fmt.Printf("%s %s %s: truth %v %v, said %v %v\n", filepath.Base(filepath.Dir(file)), filepath.Base(file), seen, tr.arcs, tr.devices, arcs, devices)
	}
	return took
}

// named returns the arcs and devices that are named with a probability of a half or more.
func named(f *graphs.Fabric, r *flaps.Result) (arcs, devices []string) {
	for _, s := range r.Suspects {
		switch {
		case s.Probability < 0.5:
		case s.Kind == localize.Arc:
			arcs = append(arcs, arcName(f, graphs.ArcID(s.ID)))
		case s.Kind == localize.Link:
			l := graphs.LinkID(s.ID)
			arcs = append(arcs, arcName(f, l.Forward()), arcName(f, l.Backward()))
		default:
			devices = append(devices, f.NodeName(graphs.NodeID(s.ID)))
		}
	}
	return arcs, devices
}

// arcName names an arc as traces do, by its nodes.
func arcName(f *graphs.Fabric, a graphs.ArcID) string {
	return f.NodeName(f.Tail(a)) + ">" + f.NodeName(f.Head(a))
}
