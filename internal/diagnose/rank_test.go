package diagnose

import (
	"slices"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

// TestRankByHarm plays three faults that are all as sure as anything is claimed to be: the one that loses most is told first, whatever the names; what has
// stopped comes last, and nobody is told to drain it.
func TestRankByHarm(t *testing.T) {
	p := newPlay(t, 120)
	rates := map[string]float64{"leaf1:swp1>spine1:swp1": 0.05, "spine2:swp3>leaf3:swp2": 0.4, "leaf4:swp4>spine4:swp4": 0.15}
	const mended = "leaf2:swp3>spine3:swp2"
	p.run(24, func(a graphs.ArcID, w int) float64 {
		if name := p.f.ArcName(a); name != mended {
			return rates[name]
		}
		if w < 12 {
			return 0.6
		}
		return 0
	})
	d := p.store.Diagnose()
	var got []string
	for _, x := range d.Suspects {
		if x.Probability >= Named {
			got = append(got, x.ID)
		}
	}
	want := []string{"spine2:swp3>leaf3:swp2", "leaf4:swp4>spine4:swp4", "leaf1:swp1>spine1:swp1", mended}
	if !slices.Equal(got, want) {
		t.Fatalf("the order is\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	last := d.Suspects[3]
	if until := p.start.Add(6 * time.Second); last.Until == nil || last.Until.Sub(until).Abs() > time.Second {
		t.Errorf("%s ended at %s, told is %v", mended, until, last.Until)
	}
	if slices.ContainsFunc(last.Next, func(x Step) bool { return strings.Contains(x.Do, "drain") }) {
		t.Errorf("what is over is to be drained: %v", last.Next)
	}
}

// TestRankByTraffic plays two faults of which the one with the lower rate loses more, for the load that its port counts.
func TestRankByTraffic(t *testing.T) {
	p := newPlay(t, 120)
	const busy, idle = "leaf4:swp4>spine4:swp4", "leaf1:swp1>spine1:swp1"
	p.run(24, func(a graphs.ArcID, _ int) float64 { return map[string]float64{busy: 0.1, idle: 0.2}[p.f.ArcName(a)] })
	if d := p.store.Diagnose(); d.Suspects[0].ID != idle {
		t.Fatalf("without loads the first is %s", d.Suspects[0].ID)
	}
	for _, arc := range []struct {
		name   string
		octets uint64
	}{{busy, 1e9}, {idle, 1e8}} {
		port, _, _ := strings.Cut(arc.name, ">")
		p.store.Add(&evidence.Record{V: 1, Time: p.start.Add(12 * time.Second), Source: evidence.SourceSNMP, By: port, Kind: evidence.KindCounters,
			PortState: evidence.PortState{Port: port, Oper: "up", Admin: "up", IntervalMS: 10_000, Speed: 100_000_000_000, Out: &evidence.Counters{Octets: &arc.octets}}})
	}
	if d := p.store.Diagnose(); d.Suspects[0].ID != busy {
		t.Errorf("the first is %s: %s", d.Suspects[0].ID, d.Summary)
	}
}

// TestRankKeepsCauses: a link that is down stands before a full queue that follows from it, though that loses more.
func TestRankKeepsCauses(t *testing.T) {
	p := newPlay(t, 1)
	little, much := 0.05, 0.2
	d := &Diagnosis{Suspects: []Suspect{
		{ID: "leaf1:swp1--spine1:swp1", Symptom: Down, Probability: surest, Loss: &little},
		{ID: "leaf4:swp4>spine4:swp4", Symptom: Slow, Probability: surest, Loss: &much},
	}}
	if p.store.rank(d); d.Suspects[0].Symptom != Down {
		t.Errorf("the first is %s", d.Suspects[0].ID)
	}
}
