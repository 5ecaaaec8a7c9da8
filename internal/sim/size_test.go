package sim

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/plan"
)

var (
	full   = flag.Bool("full", false, "measure at full size: minutes")
	trials = flag.Int("trials", 20, "with -full, how often each case is played")
	first  = flag.Uint64("first", 0, "with -full, the first seed")
	only   = flag.String("only", "", "with -full, play only what has this in its name")
)

// A setting is a fabric, how it forwards, and what is known of paths.
type setting struct {
	name   string
	routes func(testing.TB) *Routes // nil: as in the setting before
	config Config
}

// meshed lets every host probe others at random, as many as a plan gives it at most.
func meshed(f *graphs.Fabric) []plan.Flow {
	const flowsPerHost = plan.DefaultMaxFlows
	rng := rand.New(rand.NewPCG(7, 'f'))
	hosts := f.Hosts()
	var flows []plan.Flow
	for _, h := range hosts {
		for n := 0; n < flowsPerHost; {
			if d := hosts[rng.IntN(len(hosts))]; d != h {
				flows = append(flows, plan.Flow{Src: h, Dst: d, SrcPort: uint16(plan.FirstPort + n)})
				n++
			}
		}
	}
	return flows
}

// planned returns the flows that whichlink probe would send from all hosts. Planning knows shortest paths only, whatever the switches do.
func planned(t testing.TB, f *graphs.Fabric) []plan.Flow {
	p, err := plan.Make(pathfind.NewECMP(f), plan.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var flows []plan.Flow
	for _, h := range p.Hosts() {
		flows = append(flows, p.Flows(h)...)
	}
	return flows
}

func rng1000(t testing.TB) *graphs.Fabric {
	p, err := generate.RNG(generate.RNGConfig{Routers: 1000, Degree: 64, Hosts: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return p.Fabric()
}

// gpus32k is the cluster of 32,256 GPUs of Gangidi et al. (SIGCOMM 2024).
func gpus32k(t testing.TB) *graphs.Fabric {
	f, err := generate.ThreeTier(generate.ThreeTierConfig{Zones: 8, Racks: 252, ClusterSwitches: 18, Aggregation: 36, Hosts: 2, NICs: 8})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// noise is what every measurement at size has: arcs whose losses are spread over orders of magnitude, and flows that lose packets by themselves.
var noise = Config{Background: 1e-6, Spread: 1.5, Outliers: 0.0005, OutlierLoss: 0.01}

func sprayed(t testing.TB) *Routes {
	f := rng1000(t)
	return Route(pathfind.NewSpraypoint(f, nil, pathfind.SpraypointConfig{}), planned(t, f), 1)
}

func shortest(f func(testing.TB) *graphs.Fabric) func(testing.TB) *Routes {
	return func(t testing.TB) *Routes {
		f := f(t)
		return Route(pathfind.NewECMP(f), planned(t, f), 1)
	}
}

// settings are in the order of their fabrics, so that those of one follow each other. What Spraypoint may do with a flow is too much to be listed:
// where nothing is traced under it, nothing is known.
func settings() []setting {
	untraced := noise
	untraced.SwitchRate = -1
	cluster := shortest(gpus32k)
	return []setting{
		{name: "RNG Spraypoint, traced", routes: sprayed, config: noise},
		{name: "32k GPUs ECMP, traced", routes: cluster, config: noise},
		{name: "32k GPUs ECMP, untraced", config: untraced},
		{name: "RNG ECMP, untraced", routes: shortest(rng1000), config: untraced},
	}
}

// A scenario draws faults.
type scenario struct {
	name   string
	faults func(f *graphs.Fabric, rng *rand.Rand) []Fault
	after  []time.Duration
	// Nobody can be asked behind what is dead: then paths are known from the time before, of which nothing else is.
	before time.Duration
}

// scenarios are what is played. Of each the evidence of some stretches of time is judged.
func scenarios() []scenario {
	const traced = 30 * time.Second
	volumes := []time.Duration{10 * time.Second, 30 * time.Second, time.Minute}
	return []scenario{
		{name: "1 arc 1 %", faults: arcFaults(1, 0.01, 0.01), after: volumes},
		{name: "1 arc 0.5-5 %", faults: arcFaults(1, 0.005, 0.05), after: volumes},
		{name: "4 arcs 0.5-5 %", faults: arcFaults(4, 0.005, 0.05), after: volumes},
		{name: "16 arcs 0.5-5 %", faults: arcFaults(16, 0.005, 0.05), after: volumes},
		{name: "cable 1 %", faults: cableFault(0.01, 0), after: volumes},
		{name: "cable dead", faults: cableFault(1, traced), after: volumes, before: traced},
	}
}

// arcFaults draws arcs between switches, with losses spread evenly by their logarithm.
func arcFaults(n int, low, high float64) func(*graphs.Fabric, *rand.Rand) []Fault {
	return func(f *graphs.Fabric, rng *rand.Rand) []Fault {
		var faults []Fault
		used := map[graphs.LinkID]bool{} // both directions would be a link
		for len(faults) < n {
			if a := graphs.ArcID(rng.IntN(f.NumArcs())); !f.IsHostArc(a) && !used[a.Link()] {
				used[a.Link()] = true
				faults = append(faults, Fault{Cause: localize.Cause{Kind: localize.Arc, ID: int32(a)}, Loss: low * math.Pow(high/low, rng.Float64())})
			}
		}
		return faults
	}
}

// cableFault draws a trunk between the c-ports of two ShuffleBoxes; where there are none a cable is a link, and it draws one between two switches.
func cableFault(loss float64, from time.Duration) func(*graphs.Fabric, *rand.Rand) []Fault {
	return func(f *graphs.Fabric, rng *rand.Rand) []Fault {
		isTrunk := func(g graphs.GroupID) bool {
			a, b, ok := strings.Cut(f.Group(g).Name, "--")
			return ok && strings.Contains(a, "/c") && strings.Contains(b, "/c")
		}
		trunks := 0
		for g := range graphs.GroupID(f.NumGroups()) {
			if isTrunk(g) {
				trunks++
			}
		}
		for {
			if trunks > 0 {
				if g := graphs.GroupID(rng.IntN(f.NumGroups())); isTrunk(g) {
					return []Fault{{Cause: localize.Cause{Kind: localize.Group, ID: int32(g)}, Loss: loss, From: from}}
				}
			} else if l := graphs.LinkID(rng.IntN(f.NumLinks())); !f.IsHostArc(l.Forward()) {
				return []Fault{{Cause: localize.Cause{Kind: localize.Link, ID: int32(l)}, Loss: loss, From: from}}
			}
		}
	}
}

// A score is what became of a case, over its trials.
type score struct {
	trials, faults, found, alone, innocents, named int
	doubt                                          float64 // how many of those named are innocents, by their probabilities
	class                                          []int
	cpu, clock                                     []time.Duration
	heap                                           uint64
}

// judge adds a result. A fault is found if a class that holds it is named with more than half the probability; each finds one, the first suspect itself if it is.
func (s *score) judge(m *Measurement, r *localize.Result, t testing.TB) {
	s.trials++
	s.faults += len(m.cfg.Faults)
	found := map[localize.Cause]bool{}
	for _, x := range r.Suspects {
		if x.Probability <= 0.5 {
			continue
		}
		s.named++
		s.doubt += 1 - x.Probability
		fault := func(c localize.Cause) bool {
			return !found[c] && slices.ContainsFunc(m.cfg.Faults, func(f Fault) bool { return f.Cause == c })
		}
		i := slices.IndexFunc(x.Class, fault) // itself is the first of them
		if i < 0 {
			s.innocents++
			t.Logf("innocent: %+v", x)
			continue
		}
		s.found++
		s.class = append(s.class, len(x.Class))
		if i == 0 && x.Alone > 0.5 {
			s.alone++
		}
		found[x.Class[i]] = true
	}
}

func (s *score) row(setting, scenario string, after time.Duration) string {
	class := "-"
	if slices.Sort(s.class); len(s.class) > 0 {
		class = fmt.Sprintf("%d (%d)", s.class[len(s.class)/2], s.class[len(s.class)-1])
	}
	return fmt.Sprintf("| %s | %s | %.0f s | %d of %d | %d | %d of %d (%.1f) | %s | %s | %s | %d |", setting, scenario, after.Seconds(), s.found, s.faults, s.alone,
		s.innocents, s.named, s.doubt, class, seconds(s.cpu), seconds(s.clock), s.heap>>20)
}

// seconds tells the mean and the greatest of some times.
func seconds(of []time.Duration) string {
	sum := time.Duration(0)
	for _, d := range of {
		sum += d
	}
	return fmt.Sprintf("%.2f (%.2f)", sum.Seconds()/float64(len(of)), slices.Max(of).Seconds())
}

// solve solves, and measures the time of the processors, that by the clock, and the peak of the heap, simulation and evidence included.
func (s *score) solve(m *Measurement) *localize.Result {
	var cfg localize.Config
	obs := m.Observations()
	if slices.ContainsFunc(obs, func(o localize.Observation) bool { return o.From != o.To }) {
		cfg.Paths = pathfind.NewEqualCost(m.f, pathfind.PerHop)
	}
	runtime.GC()
	stop := make(chan struct{})
	peak := make(chan uint64)
	go watchHeap(stop, peak)
	cpu, began := cpuTime(), time.Now()
	r := localize.Solve(m.f, obs, cfg)
	s.cpu, s.clock = append(s.cpu, cpuTime()-cpu), append(s.clock, time.Since(began))
	close(stop)
	s.heap = max(s.heap, <-peak)
	return r
}

// watchHeap sends the greatest size of the heap until it is stopped.
func watchHeap(stop <-chan struct{}, peak chan<- uint64) {
	var m runtime.MemStats
	most := uint64(0)
	for {
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
		select {
		case <-stop:
			peak <- most
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestSize measures how well and how fast faults are found in the largest fabrics, and prints the table of docs/localization-tables.md.
func TestSize(t *testing.T) {
	if !*full {
		t.Skip("takes minutes: -full")
	}
	fmt.Println("| fabric, paths | faults | evidence | found | alone | false (expected) | class, median (max) | CPU s, mean (max) | clock s | MiB |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	var r *Routes
	var of func(testing.TB) *Routes
	for _, x := range settings() {
		if x.routes != nil {
			r, of = nil, x.routes
		}
		for _, y := range scenarios() {
			if !strings.Contains(x.name+": "+y.name, *only) {
				continue
			}
			if r == nil {
				r = of(t)
				debug.FreeOSMemory()
			}
			play(t, r, &x, &y)
		}
	}
}

// play plays a case of a setting over and over, with other faults and other losses each time. Routes, and what is listed of them, serve all of them.
func play(t *testing.T, r *Routes, x *setting, y *scenario) {
	scores := make([]score, len(y.after))
	for seed := *first; seed < *first+uint64(*trials); seed++ {
		cfg := x.config
		cfg.Seed = seed
		cfg.Faults = y.faults(r.f, rand.New(rand.NewPCG(seed, 'F')))
		m := r.Measure(cfg)
		m.Run(y.before)
		m.Forget()
		for i, after := range y.after {
			m.Run(y.before + after)
			scores[i].judge(m, scores[i].solve(m), t)
		}
	}
	for i, after := range y.after {
		fmt.Println(scores[i].row(x.name, y.name, after))
	}
}
