package diagnose

import (
	"math"
	"strings"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/internal/evidence"
)

func TestPicture(t *testing.T) {
	const sick = "leaf1:swp2>spine2:swp1"
	p := newPlay(t, 128)
	bad, _ := p.f.ArcByName(sick)
	p.run(40, func(a graphs.ArcID, _ int) float64 { return 0.05 * is(a == bad) })
	port := "spine1:swp2"
	at := p.start.Add(10 * time.Second)
	p.store.Add(&evidence.Record{V: 1, Time: at, Source: evidence.SourceSNMP, By: "spine1", Kind: evidence.KindEvent,
		PortState: evidence.PortState{Port: port, Event: "down"}})
	p.store.Add(&evidence.Record{V: 1, Time: at, Source: evidence.SourceSNMP, By: "spine1", Kind: evidence.KindCounters, PortState: evidence.PortState{
		Port: port, IntervalMS: 1000, Speed: 1e9, Out: &evidence.Counters{Octets: evidence.Count(25e6)}}})
	p.store.Add(&evidence.Record{V: 1, Time: p.start.Add(time.Second), Source: evidence.SourceNote, By: "ana", Kind: evidence.KindNote, Text: "drained\x1b[2J"})
	d := p.store.Diagnose()
	pic := p.store.Picture(d)

	// By hand: every flow crosses its own arcs, and what was sent on each follows from the list of flows.
	flows := make([]uint32, p.f.NumArcs())
	for _, fl := range p.flows {
		for _, a := range append(fl.path, fl.back...) {
			flows[a]++
		}
	}
	for a := range pic.Arcs {
		got := &pic.Arcs[a]
		if got.Flows != flows[a] {
			t.Errorf("%s: %d flows, want %d", p.f.ArcName(graphs.ArcID(a)), got.Flows, flows[a])
		}
		if got.Measured != (flows[a] > 0) {
			t.Errorf("%s: measured is %v with %d flows", p.f.ArcName(graphs.ArcID(a)), got.Measured, flows[a])
		}
	}
	x := &pic.Arcs[bad]
	if math.Abs(x.Loss()-0.05) > 0.02 || x.Suspicion < 0.9 || x.Lossy == 0 {
		t.Errorf("the sick arc is %+v", x)
	}
	if y := &pic.Arcs[bad.Reverse()]; y.Loss() != 0 || y.Suspicion > 0.5 {
		t.Errorf("its other direction is %+v", y)
	}
	id, _ := p.f.PortByName(port)
	if y := &pic.Arcs[p.f.ArcFrom(id)]; math.Abs(float64(y.Use)-0.2) > 1e-6 || y.Flaps != 1 || !(y.Expected > 0) {
		t.Errorf("what the port says is %+v", y)
	}
	var said []string
	for i, e := range pic.Events {
		said = append(said, e.Lane+" "+e.What+" "+e.About)
		if i > 0 && e.At.Before(pic.Events[i-1].At) {
			t.Errorf("events are not in the order of time: %v", pic.Events)
		}
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{"note drained\ufffd[2J ana", "snmp port went down spine1:swp2", "verdict loss suspected, p 0.9"} {
		if !strings.Contains(all, want) {
			t.Errorf("no event says %q:\n%s", want, all)
		}
	}
}

// What was published never changes, and there is a bound to what is kept.
func TestChronicle(t *testing.T) {
	var c chronicle
	start := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	event := func(i int) *evidence.Record {
		return &evidence.Record{Time: start.Add(time.Duration(i) * time.Second), Source: evidence.SourceSNMP, Kind: evidence.KindEvent,
			PortState: evidence.PortState{Port: "a:1", Event: "down"}}
	}
	c.add(event(5))
	first, _ := c.list()
	for _, i := range []int{1, 9, 3} {
		c.add(event(i))
	}
	if len(first) != 1 || !first[0].At.Equal(start.Add(5*time.Second)) {
		t.Errorf("what was published changed: %v", first)
	}
	for i := range 3 * maxEvents {
		c.add(event(10 + i))
	}
	all, forgotten := c.list()
	if len(all) != maxEvents || forgotten != 2*maxEvents+4 {
		t.Errorf("%d events are kept and %d forgotten", len(all), forgotten)
	}
	moved := &evidence.Record{Time: start.Add(time.Hour * 3), Source: evidence.SourceProbe, Kind: evidence.KindPath, Changed: true, Flow: &evidence.Flow{}}
	for range 5 {
		m := *moved
		c.add(&m)
		moved.Time = moved.Time.Add(10 * time.Millisecond)
	}
	all, _ = c.list()
	if last := all[len(all)-1]; last.Count != 5 || last.About != "5 flows" {
		t.Errorf("five flows that move at once are %+v", last)
	}
}
