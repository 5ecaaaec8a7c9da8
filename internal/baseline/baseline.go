package baseline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"whichlink/graphs"
	"whichlink/internal/diagnose"
)

// Schema names the form of the file.
const Schema = "whichlink/baseline/v1"

// A Baseline is what round trips took when all was well.
type Baseline struct {
	Schema  string  `json:"schema"`
	Fabric  string  `json:"fabric"`
	Entries []Entry `json:"entries"` // by pair, arcs and load
}

// An Entry is the runs of one key, the newest last.
type Entry struct {
	Key
	Runs []Run `json:"runs"`
}

// MaxRuns is how many runs of a key are kept: what was learned longest ago goes first.
const MaxRuns = 24

// New makes an empty baseline of a fabric.
func New(f *graphs.Fabric) *Baseline { return &Baseline{Schema: Schema, Fabric: f.Name()} }

// Read reads a baseline. Name is what errors call the file.
func Read(in io.Reader, name string) (*Baseline, error) {
	b := &Baseline{}
	dec := json.NewDecoder(in)
	if err := dec.Decode(b); err != nil {
		return nil, fmt.Errorf("%s: byte %d: %w", graphs.Clean(name), dec.InputOffset(), err)
	}
	if b.Schema != Schema {
		return nil, fmt.Errorf("%s: schema is %q, expected %q", graphs.Clean(name), graphs.Clean(b.Schema), Schema)
	}
	for i := range b.Entries {
		e := &b.Entries[i]
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("%s: entry %d (%s): %w", graphs.Clean(name), i+1, graphs.Clean(e.Pair), err)
		}
	}
	slices.SortStableFunc(b.Entries, func(x, y Entry) int { return x.Key.compare(y.Key) })
	return b, nil
}

func (e *Entry) check() error {
	if e.Arcs < 0 {
		return fmt.Errorf("arcs is %d", e.Arcs)
	}
	for i := range e.Runs {
		for _, p := range parts {
			if l := p.of(&e.Runs[i]); !(l.At > 0 && l.At < 1e12 && l.Spread >= 0 && l.Spread < 1e12) {
				return fmt.Errorf("run %d: %s of %g us, spread %g us, is no round trip", i+1, p.name, l.At, l.Spread)
			}
		}
	}
	return nil
}

// Write writes the baseline as JSON.
func (b *Baseline) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(b)
}

// Learn adds what a meter saw as one more run, and returns of how many keys.
func (b *Baseline) Learn(m *Meter) (keys int, err error) {
	if b.Fabric != m.fabric.Name() {
		return 0, b.foreign(m)
	}
	for _, k := range m.sorted() {
		r, ok := run(m.keys[k])
		if !ok {
			continue
		}
		keys++
		i, found := slices.BinarySearchFunc(b.Entries, k, func(e Entry, k Key) int { return e.compare(k) })
		if !found {
			b.Entries = slices.Insert(b.Entries, i, Entry{Key: k})
		}
		e := &b.Entries[i]
		e.Runs = append(e.Runs, r)
		e.Runs = e.Runs[max(0, len(e.Runs)-MaxRuns):]
	}
	if keys == 0 {
		return 0, errors.New("nothing to learn: too few probes were answered")
	}
	return keys, nil
}

func (b *Baseline) foreign(m *Meter) error {
	return fmt.Errorf("the baseline is of the fabric %q, not of %q", graphs.Clean(b.Fabric), m.fabric.Name())
}

// A Regression is a key that takes longer than it did.
type Regression struct {
	Key
	// Part is what rose: floor, median or tail.
	Part string
	// Before and Now are that part in microseconds, Low and High bound what was added with 95 %.
	Before, Now, Low, High float64
	Probability            float64
	Runs                   int       // that were learned
	Windows                int       // of this run
	Learned                time.Time // when the last of them ended
	// Since is when it rose within this run, the zero time if it was so from the beginning.
	Since time.Time
}

const (
	// prior is the probability that a pair has become slower since the baseline, before anything is measured.
	prior = 1e-2
	// leastShare is the least rise that is worth a name, as a share of the round trip.
	leastShare = 0.05
	// grain is the least spread from run to run that is believed, in microseconds.
	grain = 4
	// ownRuns is for how many runs of the pair's own that grain counts: what is known of other pairs.
	ownRuns = 6
	// mostTimes is up to how many times the round trip a fault makes of it.
	mostTimes = 100
	// surest is the most that is ever claimed, leastTold the probability below which a pair is not worth a line.
	surest, leastTold = 0.99, 0.05
)

// A Comparison is what came of holding a run against a baseline.
type Comparison struct {
	Regressions []Regression // the most probable first
	Compared    int          // keys that have a baseline
	Unknown     int          // keys that have none
}

// Compare holds what a meter saw against the baseline.
func (b *Baseline) Compare(m *Meter) (*Comparison, error) {
	if b.Fabric != m.fabric.Name() {
		return nil, b.foreign(m)
	}
	c := &Comparison{}
	for _, k := range m.sorted() {
		now, ok := run(m.keys[k])
		if !ok {
			continue
		}
		i, found := slices.BinarySearchFunc(b.Entries, k, func(e Entry, k Key) int { return e.compare(k) })
		if !found || len(b.Entries[i].Runs) == 0 {
			c.Unknown++
			continue
		}
		c.Compared++
		if x, ok := compare(&b.Entries[i], &now, m.keys[k]); ok {
			c.Regressions = append(c.Regressions, x)
		}
	}
	slices.SortStableFunc(c.Regressions, func(a, b Regression) int {
		switch {
		case a.Probability != b.Probability:
			return int(math.Copysign(1, b.Probability-a.Probability))
		case a.Now-a.Before != b.Now-b.Before:
			return int(math.Copysign(1, (b.Now-b.Before)-(a.Now-a.Before)))
		}
		return a.Key.compare(b.Key)
	})
	return c, nil
}

// compare says which part of a key rose, the most probable first; of those that are as probable the one that says most.
func compare(e *Entry, now *Run, windows []window) (best Regression, found bool) {
	for _, p := range parts {
		before := make([]float64, len(e.Runs))
		within := make([]float64, len(e.Runs))
		for i := range e.Runs {
			before[i], within[i] = p.of(&e.Runs[i]).At, p.of(&e.Runs[i]).Spread
		}
		at, spread := p.of(now).At, p.of(now).Spread
		x := Regression{Key: e.Key, Part: p.name, Now: at, Runs: len(e.Runs), Windows: now.Windows, Learned: e.Runs[len(e.Runs)-1].To}
		var scale float64
		x.Probability, x.Before, scale = rose(before, Level{at, max(spread, median(within))}, now.Windows, p.rise, p.grain)
		x.Low, x.High = max(0, at-x.Before-2*scale), at-x.Before+2*scale
		if x.Probability < leastTold || found && x.Probability <= best.Probability {
			continue
		}
		x.Since = since(windows, p.value, x.Before, at)
		best, found = x, true
		if x.Probability >= diagnose.Named {
			break // what rose with it says less
		}
	}
	return best, found
}

// rose returns the probability that a level is higher than it was in earlier runs. What runs differ by anyway is Student's t around their median, as
// wide as they are spread and with as many degrees of freedom as there are; a fault makes of it anything up to mostTimes as much, each order of
// magnitude as likely. Least is the least rise that counts, share what runs differ by at least.
func rose(before []float64, now Level, windows int, least, share float64) (p, typical, scale float64) {
	at := now.At
	l := level(slices.Clone(before))
	typical = l.At
	n := float64(len(before))
	// The spread within a run counts whole as long as there is no second one: nothing is known of how runs differ.
	own := now.Spread / math.Sqrt(min(n, float64(windows)))
	scale = math.Sqrt((1+1/n)*l.Spread*l.Spread+own*own) + max(share*typical, grain)
	if at-typical < max(least, leastShare*typical) {
		return 0, typical, scale
	}
	z, nu := (at-typical)/scale, n+ownRuns
	lg := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	same := lg((nu+1)/2) - lg(nu/2) - 0.5*math.Log(nu*math.Pi) - (nu+1)/2*math.Log1p(z*z/nu) - math.Log(scale)
	other := -math.Log(at) - math.Log(math.Log(mostTimes))
	odds := prior / (1 - prior) * math.Exp(other-same)
	return min(odds/(1+odds), surest), typical, scale
}

// since returns when a level rose within a run: the moment that parts the windows best into lower and higher ones by their order (a rank test), if
// what comes before it is nearer to the baseline. The zero time says that it was high from the beginning.
func since(windows []window, value func(*window) float64, before, now float64) time.Time {
	byTime := slices.Clone(windows)
	slices.SortStableFunc(byTime, func(a, b window) int { return a.from.Compare(b.from) })
	n := len(byTime)
	high := make([]bool, n)
	total := 0
	for i := range byTime {
		high[i] = value(&byTime[i]) > (before+now)/2
		if high[i] {
			total++
		}
	}
	// The best moment has the most low windows before it and high ones behind it.
	best, at, low := total, 0, 0
	left := total
	for i := range high {
		if high[i] {
			left--
		} else {
			low++
		}
		if low+left > best {
			best, at = low+left, i+1
		}
	}
	if at < 3 || n-at < 3 || float64(best) < 0.8*float64(n) {
		return time.Time{}
	}
	return byTime[at].from
}
