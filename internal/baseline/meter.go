// Package baseline holds what round trips take now against what they took when all was well, by pair of hosts, length of the path and load, and
// finds steps of the round trip that come back by a timer.
//
// A [Meter] takes echoes. [Baseline.Learn] keeps what a meter saw as one run; [Baseline.Compare] says which pairs are slower, by how much, since
// when, and how probably; [Meter.Steps] needs no baseline. [Join] puts both into a diagnosis. Times are microseconds.
//
// Each pair has three numbers: the floor, the median and the tail, which are the medians over all windows of the least, the median and the 90th
// percentile round trip of a window. The floor is what the way takes without queues; where only the others rose, queues did.
package baseline

import (
	"cmp"
	"math"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// A Key is what is compared with its like: flows of a pair whose paths are as long, under the same load.
type Key struct {
	// Pair is the prober and the host that it probes, as src>dst.
	Pair string `json:"pair"`
	// Arcs is how many arcs the way there and back have together, 0 where that is not known.
	Arcs int `json:"arcs"`
	// Load is a word for what the fabric carries meanwhile, chosen by who measures; it may be empty.
	Load string `json:"load,omitempty"`
}

// A window is one echo record with answers.
type window struct {
	flow     evidence.Flow
	from, to time.Time
	rtt      evidence.Delay
}

// A Meter keeps the round trips of one run, about 150 bytes for an echo, at most [MaxWindows] for a key.
type Meter struct {
	fabric *graphs.Fabric
	load   string
	keys   map[Key][]window
}

// MaxWindows is the most windows that are kept of a key. A check has some tens; what goes on for longer keeps the newest.
const MaxWindows = 4096

// NewMeter makes a meter. Load is a word for what the fabric carries meanwhile, or "".
func NewMeter(f *graphs.Fabric, load string) *Meter {
	return &Meter{fabric: f, load: graphs.Clean(load), keys: map[Key][]window{}}
}

// Add takes in a record. Only echoes that were answered by reflectors, of the usual size, tell anything.
func (m *Meter) Add(r *evidence.Record) {
	if r.Kind != evidence.KindEcho || r.Flow == nil || r.RTT == nil || r.Method != "" || r.Size != 0 || r.Sent == nil || r.Lost == nil || *r.Sent <= *r.Lost {
		return
	}
	d := *r.RTT
	for _, v := range []float64{d.Min, d.P50, d.P90} {
		if !(v > 0 && v < 1e12) {
			return
		}
	}
	src, ok1 := m.fabric.Owner(r.Flow.Src)
	dst, ok2 := m.fabric.Owner(r.Flow.Dst)
	if !ok1 || !ok2 {
		return
	}
	k := Key{Pair: m.fabric.NodeName(src.Node) + ">" + m.fabric.NodeName(dst.Node), Load: m.load}
	if len(r.Path) > 0 && len(r.Back) > 0 {
		k.Arcs = len(r.Path) + len(r.Back)
	}
	w := append(m.keys[k], window{*r.Flow, r.Start(), r.Time, d})
	if len(w) > MaxWindows {
		w = w[1:]
	}
	m.keys[k] = w
}

// Fabric returns the fabric that is measured.
func (m *Meter) Fabric() *graphs.Fabric { return m.fabric }

// A KeyedRun is a run with its key.
type KeyedRun struct {
	Key
	Run
}

// Runs returns what was seen up to now of each key with enough windows, by pair and path length.
func (m *Meter) Runs() []KeyedRun {
	var out []KeyedRun
	for _, k := range m.sorted() {
		if r, ok := run(m.keys[k]); ok {
			out = append(out, KeyedRun{k, r})
		}
	}
	return out
}

// sorted returns the keys in an order of their own.
func (m *Meter) sorted() []Key {
	var keys []Key
	for k := range m.keys {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, Key.compare)
	return keys
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Pair, o.Pair), cmp.Compare(k.Arcs, o.Arcs), cmp.Compare(k.Load, o.Load))
}

// A Run is what one run found of one key.
type Run struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Windows int       `json:"windows"`
	Floor   Level     `json:"floor"`
	Median  Level     `json:"median"`
	Tail    Level     `json:"tail"`
}

// A Level is a round trip in microseconds: the median over windows, and how far these are spread around it (1.4826 times the median deviation).
type Level struct {
	At     float64 `json:"at_us"`
	Spread float64 `json:"spread_us"`
}

// parts are the numbers that a run has, from the one that says most: the least rise in microseconds that is worth a name, since hosts wake up
// late by tens of microseconds and now and then by more, and what runs differ by at least, as a share.
var parts = []struct {
	name  string
	rise  float64
	grain float64
	of    func(*Run) *Level
	value func(*window) float64
}{
	{"floor", 15, 0.03, func(r *Run) *Level { return &r.Floor }, func(w *window) float64 { return w.rtt.Min }},
	{"median", 50, 0.1, func(r *Run) *Level { return &r.Median }, func(w *window) float64 { return w.rtt.P50 }},
	{"tail", 150, 0.5, func(r *Run) *Level { return &r.Tail }, func(w *window) float64 { return w.rtt.P90 }},
}

// leastWindows is how many windows make a run of a key.
const leastWindows = 5

// run sums up the windows of a key. It is false for too few.
func run(windows []window) (Run, bool) {
	if len(windows) < leastWindows {
		return Run{}, false
	}
	r := Run{From: windows[0].from, To: windows[0].to, Windows: len(windows)}
	for i := range windows {
		if windows[i].from.Before(r.From) {
			r.From = windows[i].from
		}
		if windows[i].to.After(r.To) {
			r.To = windows[i].to
		}
	}
	for _, p := range parts {
		values := make([]float64, len(windows))
		for i := range windows {
			values[i] = p.value(&windows[i])
		}
		*p.of(&r) = level(values)
	}
	return r, true
}

func level(values []float64) Level {
	at := median(values)
	off := make([]float64, len(values))
	for i, v := range values {
		off[i] = math.Abs(v - at)
	}
	return Level{at, 1.4826 * median(off)}
}

// median sorts values and returns the one in their middle.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n%2 == 1 {
		return values[n/2]
	}
	return (values[n/2-1] + values[n/2]) / 2
}
