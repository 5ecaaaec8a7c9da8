package diagnose

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
	"whichlink/pathfind/localize"
)

// TestEpisodes: of a link that is down for half a second every three, it is told when it was, how much of the time, and how often.
func TestEpisodes(t *testing.T) {
	p := newPlay(t, 128)
	sick, ok := p.f.LinkByName("leaf1:swp2--spine2:swp1")
	if !ok {
		t.Fatal("no such link")
	}
	p.run(24, func(a graphs.ArcID, w int) float64 { return is(a.Link() == sick && w%6 == 2) })
	x := p.store.Diagnose().Suspects[0]
	if x.Symptom != Flap || len(x.Episodes) != 4 || math.Abs(float64(x.PeriodMS)-3000) > 60 || math.Abs(x.Duty-1.0/6) > 0.03 {
		t.Fatalf("%s, period %d ms, duty %.3f, episodes %v", x.Symptom, x.PeriodMS, x.Duty, x.Episodes)
	}
	for i, e := range x.Episodes {
		from := p.start.Add(time.Duration(1000+3000*i) * time.Millisecond)
		if d := e.Start.Add(e.From).Sub(from).Abs(); d > 60*time.Millisecond {
			t.Errorf("episode %d begins at %v, want %v", i, e.Start.Add(e.From), from)
		}
		if d := e.Start.Add(e.To).Sub(from.Add(450 * time.Millisecond)).Abs(); d > 60*time.Millisecond {
			t.Errorf("episode %d ends at %v", i, e.Start.Add(e.To))
		}
	}
	text, err := json.Marshal(x)
	if err != nil || !strings.Contains(string(text), `"episodes":[{"from":"`+p.start.Add(time.Second).UTC().Format("2006-01-02T15:04:0")) {
		t.Errorf("%v: %s", err, text)
	}
}

// TestAllLost: of a window in which all probes were lost it is known when: a link that was down for a while is named by records that do not tell, and that it is up
// again is seen where echoes alone tell the paths. It went down both ways: its arcs are no other answers.
func TestAllLost(t *testing.T) {
	for flows := 16; flows <= 48; flows += 8 {
		for _, twice := range []bool{false, true} {
			p := newPlay(t, flows)
			p.plain = true
			sick, ok := p.f.LinkByName("leaf1:swp2--spine2:swp1")
			if !ok {
				t.Fatal("no such link")
			}
			p.run(48, func(a graphs.ArcID, w int) float64 {
				return is(a.Link() == sick && (w >= 20 && w < 24 || twice && w >= 32 && w < 36))
			})
			d := p.store.Diagnose()
			if len(d.Suspects) == 0 || d.Suspects[0].Link != p.f.LinkName(sick) || d.Suspects[0].Probability < Named || d.Suspects[0].Symptom != Flap {
				t.Errorf("%d flows, twice %v: %s", flows, twice, d.Text())
				continue
			}
			x := &d.Suspects[0]
			if class := slices.Sorted(slices.Values(x.Class)); len(slices.Compact(class)) < len(x.Class) || x.Class[0] != x.ID || strings.Contains(strings.Join(class, " "), ">") {
				t.Errorf("%d flows, twice %v: the class of %s is %q", flows, twice, x.ID, x.Class)
			}
		}
	}
}

// TestSteadyLossIsNoFlap: a loss that is always there is told as one, whatever its size.
func TestSteadyLossIsNoFlap(t *testing.T) {
	for _, rate := range []float64{0.01, 0.05, 0.3, 1} {
		p := newPlay(t, 128)
		sick, _ := p.f.ArcByName("leaf1:swp2>spine2:swp1")
		p.run(16, func(a graphs.ArcID, _ int) float64 { return rate * is(a == sick) })
		for _, x := range p.store.Diagnose().Suspects {
			if x.Symptom != Loss || len(x.Episodes) > 0 {
				t.Errorf("rate %g: %s is said to show %s, %v", rate, x.ID, x.Symptom, x.Episodes)
			}
		}
	}
}

// TestNotOver: a loss that began is not told as over where all that speaks for it is that the last packets of the evidence arrived.
func TestNotOver(t *testing.T) {
	for _, rate := range []float64{0.1, 0.3, 0.6, 0.9} {
		p := newPlay(t, 128)
		sick, _ := p.f.ArcByName("leaf1:swp2>spine2:swp1")
		p.run(16, func(a graphs.ArcID, w int) float64 { return rate * is(a == sick && w >= 2) })
		text := p.store.Diagnose().Suspects[0].For
		if strings.Contains(text, "is over") {
			t.Errorf("rate %g: %s", rate, text)
		}
		// What comes the other way is well and tells nothing of it.
		if r := p.store.rhythmOf(localize.Cause{Kind: localize.Arc, ID: int32(sick)}); math.Abs(r.Loss-rate) > 0.05 {
			t.Errorf("rate %g: in its time %.2f were lost", rate, r.Loss)
		}
	}
}

// TestEpisodesOfTwoRuns: the share of the time is that of the time in which anybody looked; what was not seen between two runs is not said to be irregular.
func TestEpisodesOfTwoRuns(t *testing.T) {
	p := newPlay(t, 128)
	sick, _ := p.f.LinkByName("leaf1:swp2--spine2:swp1")
	for range 2 {
		p.run(24, func(a graphs.ArcID, w int) float64 { return is(a.Link() == sick && w%6 == 2) })
		p.start = p.start.Add(5 * time.Minute)
	}
	x := p.store.Diagnose().Suspects[0]
	if x.Symptom != Flap || len(x.Episodes) != 8 || math.Abs(x.Duty-1.0/6) > 0.03 || strings.Contains(x.For, "regular") {
		t.Errorf("%s, duty %.3f, %d episodes: %s", x.Symptom, x.Duty, len(x.Episodes), x.For)
	}
	p = newPlay(t, 128)
	for range 5 {
		p.run(12, func(a graphs.ArcID, w int) float64 { return is(a.Link() == sick && w == 2) })
		p.start = p.start.Add(5 * time.Minute)
	}
	if x = p.store.Diagnose().Suspects[0]; x.Symptom != Flap || len(x.Episodes) != 5 || x.PeriodMS != 0 {
		t.Errorf("%s, %d episodes, the period of the runs is told: %d ms", x.Symptom, len(x.Episodes), x.PeriodMS)
	}
}

// TestOthersLosses: an arc that loses packets all the time is not said to flap since some of its flows, measured at times of their own, lose many more elsewhere.
func TestOthersLosses(t *testing.T) {
	const sent = 200
	for _, flows := range []int{150, 200, 300} {
		p := newPlay(t, flows)
		rates := map[string]float64{"leaf1:swp1>spine1:swp1": 0.02, "spine1:swp3>leaf3:swp1": 0.8}
		lost := func(n int, arcs []graphs.ArcID) (k int) {
			for range n {
				k += int(is(slices.ContainsFunc(arcs, func(a graphs.ArcID) bool { return p.rng.Float64() < rates[p.f.ArcName(a)] })))
			}
			return k
		}
		for i := range p.flows {
			fl := &p.flows[i]
			for w := i % 6; w < i%6+4; w++ {
				there := lost(sent, fl.path)
				home := lost(sent-there, fl.back)
				p.store.Add(&evidence.Record{V: 1, Time: p.start.Add(time.Duration(w+1) * 5 * time.Second), Source: evidence.SourceProbe, By: fl.by,
					Kind: evidence.KindEcho, Flow: &fl.flow, Path: p.names(fl.path), Back: p.names(fl.back), WindowMS: 5000,
					Sent: evidence.Int(sent), Lost: evidence.Int(there + home), LostForward: evidence.Int(there), LostBack: evidence.Int(home)})
			}
		}
		d := p.store.Diagnose()
		for _, x := range d.Suspects {
			if x.Probability >= Named && (x.Symptom != Loss || x.Until != nil || len(x.Episodes) > 0) {
				t.Errorf("%d flows: %s is said to show %s:\n%s", flows, x.ID, x.Symptom, d.Text())
			}
		}
	}
}

// TestLossWhileItLasts: beside a link that flaps, one that is bad both ways since some moment loses as much as it loses since then, each way.
func TestLossWhileItLasts(t *testing.T) {
	p := newPlay(t, 300)
	p.downs(t, map[string]downTime{"leaf1:swp1--spine1:swp1": {every: 70, from: 20, lasts: 10}})
	second, _ := p.f.LinkByName("leaf3:swp2--spine2:swp3")
	p.run(80, func(a graphs.ArcID, w int) float64 { return 0.2 * is(a.Link() == second && w >= 30) })
	d := p.store.Diagnose()
	i := slices.IndexFunc(d.Suspects, func(x Suspect) bool { return x.Link == p.f.LinkName(second) && x.Probability >= Named })
	if i < 0 || math.Abs(*d.Suspects[i].Loss-0.2) > 0.03 {
		t.Error(d.Text())
	}
}
