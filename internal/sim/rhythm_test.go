package sim

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/internal/evidence"
	"whichlink/pathfind"
	"whichlink/pathfind/localize"
	"whichlink/pathfind/plan"
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
	var flows []plan.Flow
	all := planned(t, f)
	for i := 0; i < len(all); i += 1 + len(all)/500 { // enough
		flows = append(flows, all[i])
	}
	return Route(pathfind.NewECMP(f), flows, seed).Measure(cfg), f.LinkName(l)
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

// TestFewPacketsInOutages: of ten packets a second and host, on ways that nobody knows, some come together in outages of half a second and more, which then tell of the link, or of all that may be
// it, and not of the switches at its ends.
func TestFewPacketsInOutages(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 2, Spines: 2, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	const worlds = 12
	held := 0
	for seed := range uint64(worlds) {
		rng := rand.New(rand.NewPCG(seed, 'F'))
		sick := fabricLink(f, rng)
		cfg := noise
		cfg.Rate, cfg.SwitchRate, cfg.Seed = 10, -1, seed
		cfg.Faults = []Fault{{
			Cause: localize.Cause{Kind: localize.Link, ID: int32(sick)}, Loss: 1, From: 3 * time.Second,
			Period: time.Duration(4000+rng.IntN(4000)) * time.Millisecond, Down: time.Duration(500+rng.IntN(500)) * time.Millisecond,
		}}
		d := diagnosed(t, Route(pathfind.NewECMP(f), planned(t, f), seed).Measure(cfg), 20*time.Second)
		if len(d.Suspects) > 0 && slices.Contains(d.Suspects[0].Class, f.LinkName(sick)) {
			held++
		} else {
			t.Logf("seed %d: %s flaps, told is %s", seed, f.LinkName(sick), d.Summary)
		}
	}
	if held < worlds-1 {
		t.Errorf("%d of %d links that flap are in the class that is named", held, worlds)
	}
}

// TestSpineDies: that flows of ways nobody knows all die at the same moment is not laid to flows that lose packets by themselves, as many as there are, but to any one of the spines.
func TestSpineDies(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	spine, _ := f.NodeByName("spine2")
	for _, seed := range []uint64{1, 4, 33} {
		cfg := noise
		cfg.Rate, cfg.SwitchRate, cfg.Seed = 100, -1, seed
		cfg.Faults = []Fault{{Cause: localize.Cause{Kind: localize.Node, ID: int32(spine)}, Loss: 1, From: time.Duration(2000+137*seed%4000) * time.Millisecond, Period: time.Hour, Down: time.Hour}}
		d := diagnosed(t, Route(pathfind.NewECMP(f), planned(t, f), seed).Measure(cfg), time.Duration(8+seed%12)*time.Second)
		if len(d.Suspects) == 0 || d.Suspects[0].Probability < 0.9 || len(d.Suspects[0].Class) != 4 || !slices.Contains(d.Suspects[0].Class, "spine2") {
			t.Errorf("seed %d: spine2 died, told is %s", seed, d.Summary)
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

// clockOff makes the records of a host those of one whose clock is ahead.
func clockOff(f *graphs.Fabric, r *evidence.Record, host string, ahead time.Duration) *evidence.Record {
	x, ms := *r, 0
	if dst, _ := f.Owner(r.Flow.Dst); f.NodeName(dst.Node) == host {
		ms = int(ahead.Milliseconds())
	}
	if r.By == host {
		ms -= int(ahead.Milliseconds())
		x.Time = x.Time.Add(ahead)
		if r.PreviousTime != nil {
			previous := r.PreviousTime.Add(ahead)
			x.PreviousTime = &previous
		}
	}
	if r.Kind == evidence.KindEcho && *r.Sent > *r.Lost {
		x.AheadMS = &ms
	}
	return &x
}

// TestClockOff: that one host's clock is off hides no outage and makes none, in whatever order its records come, and is told.
func TestClockOff(t *testing.T) {
	f, err := generate.LeafSpine(generate.LeafSpineConfig{Leaves: 4, Spines: 4, Hosts: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, ahead := range []time.Duration{0, 1400 * time.Millisecond, -90 * time.Second} {
		store := diagnose.NewStore(f, diagnose.Config{})
		m, sick := flapping(t, f, 1e6, 2)
		const host = "h1-2"
		m.Record(time.Unix(1e9, 0), func(r *evidence.Record) { store.Add(clockOff(f, r, host, ahead)) })
		m.Run(10 * time.Second)
		store.Diagnose() // what comes later is of the same clock
		m.Run(20 * time.Second)
		d := store.Diagnose()
		note := slices.ContainsFunc(d.Notes, func(n string) bool { return strings.HasPrefix(n, "the clock of "+host+" is ") })
		if !told(d, sick, 5) || note != (ahead != 0) || d.To.Sub(d.From) != 20*time.Second || !d.From.Equal(time.Unix(1e9, 0)) {
			t.Errorf("ahead by %v: %s flaps; from %v to %v it is told\n%s", ahead, sick, d.From, d.To, d.Text())
		}
	}
}
