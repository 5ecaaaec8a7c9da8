package tui

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"whichlink/internal/evidence"
)

func echoOf(at time.Time, sport uint16, path, back []string, sent, lost int) *evidence.Record {
	return &evidence.Record{Time: at, Source: evidence.SourceProbe, Kind: evidence.KindEcho, WindowMS: 1000, Path: path, Back: back,
		Flow: &evidence.Flow{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), Proto: "udp", SrcPort: sport, DstPort: 862},
		Sent: evidence.Int(sent), Lost: evidence.Int(lost)}
}

func TestTape(t *testing.T) {
	f := leafSpine(t, "f", 2, 2, 1)
	link, _ := f.LinkByName("leaf1:swp1--spine1:swp1")
	out := []string{"h1-1:eth1>leaf1:swp3", "leaf1:swp1>spine1:swp1", "spine1:swp2>leaf2:swp1", "leaf2:swp3>h2-1:eth1"}
	home := []string{"h2-1:eth1>leaf2:swp3", "leaf2:swp1>spine1:swp2", "spine1:swp1>leaf1:swp1", "leaf1:swp3>h1-1:eth1"}
	tape := NewTape(f, time.Minute)

	if d := tape.History().Link(link); d != nil {
		t.Errorf("an empty tape shows %v", d)
	}
	tape.Add(echoOf(noon, 1, out, home, 10, 2))
	split := echoOf(noon.Add(3*time.Second), 1, out, home, 10, 3)
	split.LostForward, split.LostBack = evidence.Int(1), evidence.Int(2)
	split.RTT = &evidence.Delay{P50: 70}
	view := tape.History()
	tape.Add(split)
	tape.Add(echoOf(noon, 2, []string{"leaf1:swp1>nowhere:1"}, nil, 10, 2)) // not this fabric
	tape.Add(&evidence.Record{Kind: evidence.KindHop})
	maybe := echoOf(noon.Add(time.Second), 3, nil, nil, 5, 0)
	maybe.Candidates = [][]string{out, {"h1-1:eth1>leaf1:swp3", "leaf1:swp2>spine2:swp1"}}
	tape.Add(maybe)

	if d := view.Link(link); len(d.Flows) != 2 || len(d.Flows[0].Sent) != 1 {
		t.Errorf("a view changed after it was taken: %+v", d)
	}
	d := tape.History().Link(link)
	if d.Bin != time.Second || len(d.Flows) != 3 {
		t.Fatalf("got %+v", d)
	}
	there, answers, third := d.Flows[0], d.Flows[1], d.Flows[2]
	if there.Arc != link.Forward() || there.Answers || !there.Whole || there.Maybe {
		t.Errorf("the flow's own crossing is %+v", there)
	}
	if answers.Arc != link.Backward() || !answers.Answers {
		t.Errorf("the answers' crossing is %+v", answers)
	}
	if !third.Maybe || third.Arc != link.Forward() {
		t.Errorf("a flow with two candidates is %+v", third)
	}
	for i, want := range []struct {
		sent, lost, back int
		rtt              float64
	}{{10, 2, 2, math.NaN()}, {0, 0, 0, math.NaN()}, {0, 0, 0, math.NaN()}, {10, 1, 2, 70}} {
		same := there.RTT[i] == want.rtt || math.IsNaN(there.RTT[i]) && math.IsNaN(want.rtt)
		if there.Sent[i] != want.sent || there.Lost[i] != want.lost || answers.Lost[i] != want.back || !same {
			t.Errorf("bin %d: sent %d, lost %d there and %d back, rtt %v; want %+v", i, there.Sent[i], there.Lost[i], answers.Lost[i], there.RTT[i], want)
		}
	}
	both, _ := f.LinkByName("h1-1:eth1--leaf1:swp3")
	if d := tape.History().Link(both); len(d.Flows) != 3 || d.Flows[2].Maybe {
		t.Errorf("what all candidates cross is in doubt: %+v", d)
	}

	tape.Add(echoOf(noon.Add(2*time.Minute), 1, out, home, 1, 0))
	if d := tape.History().Link(link); len(d.Flows[0].Sent) != 1 {
		t.Errorf("what is older than the horizon is still there: %+v", d)
	}
}

func TestTapeIsBounded(t *testing.T) {
	f := leafSpine(t, "f", 2, 2, 1)
	link, _ := f.LinkByName("leaf1:swp1--spine1:swp1")
	tape := NewTape(f, time.Hour)
	r := echoOf(noon, 1, []string{"leaf1:swp1>spine1:swp1"}, nil, 1, 0)
	for i := range maxEntries + 10 {
		r.Flow.SrcPort = uint16(i)
		r.Flow.DSCP = uint8(i >> 16)
		tape.Add(r)
	}
	if len(tape.entries) > maxEntries || len(tape.flows) > maxNames+1 {
		t.Errorf("%d entries of %d flows", len(tape.entries), len(tape.flows))
	}
	if tape.History().Link(link) == nil {
		t.Error("the newest is gone")
	}
}

func TestBinsAreBounded(t *testing.T) {
	for _, all := range []time.Duration{0, time.Second, time.Minute, time.Hour, 100 * 24 * time.Hour, 10000 * time.Hour} {
		for _, window := range []time.Duration{0, 100 * time.Millisecond, 5 * time.Second, 5 * time.Hour} {
			b := binFor(all, window)
			if n := all/b + 2; b < window || b <= 0 || n > maxBins {
				t.Errorf("%v in windows of %v: bins of %v make %d", all, window, b, n)
			}
		}
	}
}

func BenchmarkTapeLink(b *testing.B) {
	f := leafSpine(b, "f", 16, 16, 2)
	tape := NewTape(f, time.Hour)
	for i := range 200_000 {
		leaf, spine := i%15+1, i/7%16+1
		tape.Add(echoOf(noon.Add(time.Duration(i/400)*time.Second), uint16(i%400), []string{
			f.ArcName(f.Out(0)[0].Reverse()),
			portArc(leaf, spine), portArc(leaf+1, spine)}, nil, 20, i%2))
	}
	view := tape.History()
	link, _ := f.LinkByName("leaf1:swp1--spine1:swp1")
	for b.Loop() {
		view.Link(link)
	}
}

func portArc(leaf, spine int) string {
	return "leaf" + count(leaf) + ":swp" + count(spine) + ">spine" + count(spine) + ":swp" + count(leaf)
}
