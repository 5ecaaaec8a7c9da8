package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
)

// fabricLink draws a link between switches.
func fabricLink(f *graphs.Fabric, rng *rand.Rand) graphs.LinkID {
	for {
		if l := graphs.LinkID(rng.IntN(f.NumLinks())); !f.IsHostArc(l.Forward()) {
			return l
		}
	}
}

// flapping returns a measurement of a link that is dead for a second of each four, at a rate at which switches answer TTL-expired probes.
func flapping(t testing.TB, f *graphs.Fabric, rate float64, seed uint64) (m *Measurement, sick string) {
	l := fabricLink(f, rand.New(rand.NewPCG(seed, 'F')))
	cfg := noise
	cfg.Rate, cfg.SwitchRate, cfg.Seed = 300, rate, seed
	cfg.Faults = []Fault{{Cause: localize.Cause{Kind: localize.Link, ID: int32(l)}, Loss: 1, From: 1700 * time.Millisecond, Period: 4 * time.Second, Down: time.Second}}
	return Route(pathfind.NewECMP(f), planned(t, f), seed).Measure(cfg), f.LinkName(l)
}

// told reports whether a diagnosis tells of one flap only, and that with its period and its outages.
func told(d *diagnose.Diagnosis, sick string, outages int) bool {
	return len(d.Suspects) > 0 && slices.Contains(d.Suspects[0].Class, sick) && d.Suspects[0].Symptom == diagnose.Flap &&
		(d.Suspects[0].PeriodMS-4000)/100 == 0 && len(d.Suspects[0].Episodes) == outages && (len(d.Suspects) == 1 || d.Suspects[1].Probability < diagnose.Named)
}

// TestFlapUntraced: where no path was ever traced, of a link that flaps, or of all that may be it, it is told that it does, and how often.
func TestFlapUntraced(t *testing.T) {
	for _, k := range []int{4, 10} { // pairs whose paths are listed, and pairs of which it is known only where flows spread
		f, err := generate.FatTree(generate.FatTreeConfig{K: k})
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(max(1, 8/k)) {
			m, sick := flapping(t, f, -1, seed)
			if d := diagnosed(t, m, 20*time.Second); !told(d, sick, 5) {
				t.Errorf("k=%d, seed %d: %s flaps, told is %s", k, seed, sick, d.Text())
			}
		}
	}
}

// TestHealedWhileTraced: of what was dead when the evidence began and is well now, flows that are traced only since acquit nothing, and nobody else is named for it.
func TestHealedWhileTraced(t *testing.T) {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range []uint64{1, 7, 10} {
		rng := rand.New(rand.NewPCG(seed, 'F'))
		l := fabricLink(f, rng)
		cfg := noise
		cfg.Rate, cfg.SwitchRate, cfg.Seed = 300, 1, seed
		cfg.Faults = []Fault{{Cause: localize.Cause{Kind: localize.Link, ID: int32(l)}, Loss: 1, Period: time.Hour, Down: 10 * time.Second}}
		d := diagnosed(t, Route(pathfind.NewECMP(f), planned(t, f), seed).Measure(cfg), 20*time.Second)
		for i, x := range d.Suspects {
			if right := x.Link == f.LinkName(l); right != (i == 0) && x.Probability >= diagnose.Named || right && (*x.Loss < 0.9 || len(x.Episodes) != 1) {
				t.Errorf("seed %d: %s was dead, told is %s", seed, f.LinkName(l), d.Text())
			}
		}
		if len(d.Suspects) == 0 || d.Suspects[0].Probability < diagnose.Named {
			t.Errorf("seed %d: %s", seed, d.Summary)
		}
	}
}
