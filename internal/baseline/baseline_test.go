package baseline

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func fabric(t testing.TB) *graphs.Fabric {
	t.Helper()
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// measure plays a run: each pair of hosts probes along four flows in windows of half a second. Hosts and runs differ in how fast they wake up, and late
// is what a fault adds to a pair at a moment of the run.
func measure(f *graphs.Fabric, rng *rand.Rand, at time.Time, length time.Duration, late func(src, dst int, since time.Duration) float64) *Meter {
	m := NewMeter(f, "")
	hosts := f.Hosts()
	drift := 1 + 0.02*rng.NormFloat64()
	for i, src := range hosts {
		for j, dst := range hosts {
			if i == j {
				continue
			}
			for flow := range uint16(4) {
				for since := time.Duration(0); since < length; since += 500 * time.Millisecond {
					base := (60 + float64(10*i) + float64(5*j)) * drift
					noise := 3 * math.Abs(rng.NormFloat64())
					if rng.Float64() < 0.01 {
						noise += 200 * rng.Float64() // a host that woke up late
					}
					add := 0.0
					if late != nil {
						add = late(i, j, since)
					}
					m.Add(&evidence.Record{
						Time: at.Add(since + 500*time.Millisecond), WindowMS: 500, Source: evidence.SourceProbe, Kind: evidence.KindEcho,
						Flow: &evidence.Flow{Src: f.Address(src, false), Dst: f.Address(dst, false), Proto: "udp", SrcPort: 50000 + flow, DstPort: 862},
						Sent: evidence.Int(20), Lost: evidence.Int(0), RTT: &evidence.Delay{Min: base + add, P50: base + noise + add, P90: base + 4*noise + add, P99: base + 9*noise + add, Max: 1e3},
					})
				}
			}
		}
	}
	return m
}

// learned makes a baseline of some healthy runs, through its file.
func learned(t testing.TB, f *graphs.Fabric, rng *rand.Rand, runs int) *Baseline {
	t.Helper()
	b := New(f)
	for i := range runs {
		if n, err := b.Learn(measure(f, rng, noon.Add(time.Duration(i-runs)*time.Hour), 10*time.Second, nil)); err != nil || n != 12 {
			t.Fatalf("%d keys learned: %v", n, err)
		}
	}
	var file bytes.Buffer
	if err := b.Write(&file); err != nil {
		t.Fatal(err)
	}
	b, err := Read(&file, "b.json")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCase16 plays a regression of one pair: from the beginning, or from a moment of the run on; and runs in which nothing changed.
func TestCase16(t *testing.T) {
	f := fabric(t)
	const plays = 40
	innocent := 0
	for seed := range uint64(plays) {
		rng := rand.New(rand.NewPCG(seed, 16))
		runs := 1 + int(seed%6)
		b := learned(t, f, rng, runs)
		c, err := b.Compare(measure(f, rng, noon, 10*time.Second, nil))
		if err != nil || c.Compared != 12 {
			t.Fatalf("%+v, %v", c, err)
		}
		for _, x := range c.Regressions {
			if x.Probability >= diagnose.Named {
				innocent++
			}
		}
		from := time.Duration(seed%2) * 4 * time.Second
		c, err = b.Compare(measure(f, rng, noon, 10*time.Second, func(i, j int, since time.Duration) float64 {
			if i == 1 && j == 2 && since >= from {
				return 60
			}
			return 0
		}))
		if err != nil || len(c.Regressions) == 0 {
			t.Errorf("seed %d, %d runs: no regression: %v", seed, runs, err)
			continue
		}
		x := c.Regressions[0]
		if want := f.NodeName(f.Hosts()[1]) + ">" + f.NodeName(f.Hosts()[2]); x.Pair != want || x.Probability < 0.5 || math.Abs(x.Now-x.Before-60) > 15 {
			t.Errorf("seed %d, %d runs: %+v", seed, runs, x)
		}
		if off := x.Since.Sub(noon.Add(from)).Abs(); from > 0 && off > time.Second || from == 0 && !x.Since.IsZero() {
			t.Errorf("seed %d: since %s, not %s after noon", seed, x.Since, from)
		}
		if len(c.Regressions) > 1 && c.Regressions[1].Probability >= diagnose.Named {
			innocent++
		}
	}
	if innocent > 2 {
		t.Errorf("%d innocent pairs named in %d plays of 12 pairs", innocent, 2*plays)
	}
}

// TestCase17 plays a step of the round trip each 15 s, and none.
func TestCase17(t *testing.T) {
	f := fabric(t)
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 17))
		if steps := measure(f, rng, noon, 2*time.Minute, nil).Steps(); len(steps) > 0 {
			t.Errorf("seed %d: a period where there is none: %+v", seed, steps)
		}
		steps := measure(f, rng, noon, 2*time.Minute, func(i, j int, since time.Duration) float64 {
			if i == 0 && (since+11*time.Second)%(15*time.Second) < time.Second {
				return 80
			}
			return 0
		}).Steps()
		if len(steps) != 3 {
			t.Errorf("seed %d: %d pairs step, not 3", seed, len(steps))
		}
		for _, s := range steps {
			phase := noon.Add(4*time.Second).UnixNano() % int64(15*time.Second)
			if (s.Period-15*time.Second).Abs() > 200*time.Millisecond || (s.Phase-time.Duration(phase)).Abs() > time.Minute || math.Abs(s.Height-80) > 20 {
				t.Errorf("seed %d: %+v", seed, s)
			}
			if off := s.Episodes[0].From.Sub(noon.Add(4 * time.Second)).Abs(); off > 600*time.Millisecond {
				t.Errorf("seed %d: the first step is %s off", seed, off)
			}
		}
		d := Join(&diagnose.Diagnosis{Verdict: diagnose.Healthy, Summary: "healthy"}, nil, steps)
		if d.Verdict != diagnose.Suspects || !strings.Contains(d.Summary, "more every 1") || d.Suspects[0].PeriodMS < 14800 {
			t.Errorf("seed %d: %s", seed, d.Summary)
		}
	}
}

// TestRead refuses what is no baseline, and says where.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"":               "b.json: byte 0: EOF",
		`{"schema":"x"}`: `schema is "x"`,
		`{"schema":"whichlink/baseline/v1","entries":[{"pair":"a>b","arcs":-1}]}`:                           "entry 1 (a>b): arcs is -1",
		`{"schema":"whichlink/baseline/v1","entries":[{"pair":"a\u001b","runs":[{"floor":{"at_us":-1}}]}]}`: "is no round trip",
		`{"schema":"whichlink/baseline/v1","entries":[{"pair":1}]}`:                                         "byte ",
	} {
		if _, err := Read(strings.NewReader(text), "b.json"); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v, not %s", text, err, want)
		}
	}
	if _, err := New(fabric(t)).Compare(NewMeter(fabric(t), "")); err != nil {
		t.Error(err)
	}
	if _, err := (&Baseline{Fabric: "other"}).Compare(NewMeter(fabric(t), "")); err == nil {
		t.Error("a baseline of another fabric is used")
	}
}

// FuzzRead feeds the reader and compares with whatever it takes: nothing panics, and no probability is none.
func FuzzRead(f *testing.F) {
	fab := fabric(f)
	rng := rand.New(rand.NewPCG(1, 1))
	m := measure(fab, rng, noon, 3*time.Second, nil)
	b := New(fab)
	if _, err := b.Learn(m); err != nil {
		f.Fatal(err)
	}
	var file bytes.Buffer
	if err := b.Write(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add([]byte(`{"schema":"whichlink/baseline/v1","fabric":"x","entries":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Read(bytes.NewReader(data), "f")
		if err != nil {
			return
		}
		b.Fabric = fab.Name()
		c, err := b.Compare(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range c.Regressions {
			if !(x.Probability >= 0 && x.Probability <= surest) {
				t.Fatalf("%+v", x)
			}
		}
	})
}
