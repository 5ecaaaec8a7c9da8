package diagnose

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
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
}

// A path that is found for the first time, after the host has no agent for a while, or better than before, is no event; flows that leave one for another at
// the same moment are one; and flows that go to and fro between paths are one, which is counted.
func TestFlowsThatMove(t *testing.T) {
	start := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	var c chronicle
	see := func(at time.Duration, port uint16, path []string, candidates ...[]string) {
		c.add(&evidence.Record{Time: start.Add(at), Source: evidence.SourceProbe, By: "h1", Kind: evidence.KindPath, Changed: true, Path: path, Candidates: candidates,
			Flow: &evidence.Flow{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: port}})
	}
	said := func() (out []string) {
		all, _ := c.list()
		for _, e := range all {
			out = append(out, fmt.Sprintf("%s %s, %s x%d", e.At.Sub(start), e.What, e.About, e.Count))
		}
		return out
	}
	hold := func(want ...string) {
		t.Helper()
		if got := said(); !slices.Equal(got, want) {
			t.Fatalf("events %q\nnot    %q", got, want)
		}
	}
	a, b, d := []string{"x>a", "a>y"}, []string{"x>b", "b>y"}, []string{"x>d", "d>y"}
	for i := range uint16(20) { // as an agent is missed, three flows every three seconds
		see(time.Duration(i/3)*3*time.Second, i, nil)
		see(time.Duration(i/3)*3*time.Second, i, nil, a, b, d)
		see(time.Duration(i/3)*3*time.Second, i, nil, a, b)
		see(time.Duration(i/3)*3*time.Second, i, a)
		see(time.Duration(i/3)*3*time.Second, i, nil)
		see(time.Duration(i/3)*3*time.Second, i, a)
	}
	hold()
	for i := range uint16(5) {
		see(time.Minute+time.Duration(i)*10*time.Millisecond, i, b)
	}
	moved := "1m0s took another path, 5 flows x5"
	hold(moved)
	list, _ := c.list()
	for i := range 40 { // every three seconds one of two flows is elsewhere
		see(2*time.Minute+time.Duration(i)*3*time.Second, uint16(10+i%2), [][]string{b, a}[i/2%2])
	}
	hold(moved, "2m0s took another path, 10.0.0.1 to 10.0.0.2 x1", "2m3s took another path, 10.0.0.1 to 10.0.0.2 x1", "2m6s to and fro between paths, 2 flows x38")
	see(time.Hour, 10, b) // much later that is news, and so is a path that it never was on
	see(time.Hour+2*time.Second, 10, d)
	if got := said(); len(got) != 6 || !strings.HasPrefix(got[4], "1h0m0s took another path") || !strings.HasPrefix(got[5], "1h0m2s took another path") {
		t.Errorf("%q", got)
	}
	if len(list) != 1 || list[0].Count != 5 {
		t.Errorf("what was published changed: %v", list)
	}
}
