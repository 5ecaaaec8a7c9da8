package tui

import (
	"math"
	"testing"
	"time"

	"whichlink/graphs"
	"whichlink/graphs/generate"
	"whichlink/internal/diagnose"
	"whichlink/pathfind"
)

// pictured gives a snapshot a picture: every arc that is not said to be unmeasured was crossed by flows, and those of suspects lose.
func pictured(s *Snapshot) *Snapshot {
	f := s.Fabric
	p := &diagnose.Picture{Diagnosis: s.Diagnosis, Fabric: f, Model: pathfind.NewECMP(f), Arcs: make([]diagnose.ArcTally, f.NumArcs())}
	dark := map[string]bool{}
	for _, n := range s.Diagnosis.Coverage.Unmeasured {
		dark[n] = true
	}
	for a := range p.Arcs {
		t := &p.Arcs[a]
		nan := float32(math.NaN())
		t.Late, t.Use, t.Expected = nan, nan, nan
		if id := graphs.ArcID(a); !dark[f.ArcName(id)] {
			t.Measured, t.Flows, t.Sent, t.Late = true, uint32(30+a%17), uint32(20*(30+a%17)), float32(a%9)
		}
	}
	for i := range s.Diagnosis.Suspects {
		x := &s.Diagnosis.Suspects[i]
		for _, a := range p.ArcsOf(x.ID) {
			t := &p.Arcs[a]
			t.Suspicion = max(t.Suspicion, float32(x.Probability))
			if x.Loss != nil {
				t.Lost, t.Lossy = uint32(*x.Loss*float64(t.Sent)), t.Flows-2
			}
		}
	}
	if id, ok := f.LinkByName(sickLink); ok {
		for _, a := range [2]graphs.ArcID{id.Forward(), id.Backward()} {
			p.Arcs[a].Use, p.Arcs[a].Expected, p.Arcs[a].Flaps = 0.31, 0.28, 2
		}
	}
	event := func(ago time.Duration, lane, what, about string, n int) {
		p.Events = append(p.Events, diagnose.Event{At: noon.Add(-ago), Lane: lane, What: what, About: about, Count: n})
	}
	event(61*time.Second, "note", "drained by ana, INC-4471", "h1-1", 1)
	event(40*time.Second, "snmp", "port went down", "spine3:swp1", 1)
	event(39500*time.Millisecond, "probe", "took another path", "14 flows", 14)
	event(38*time.Second, "snmp", "port went up", "spine3:swp1", 1)
	event(20*time.Second, "snmp", "port went down", "spine3:swp1", 1)
	event(12*time.Second, diagnose.LaneVerdict, "loss suspected, p 0.97", sickArc, 1)
	s.Picture = p
	return s
}

// on gives a snapshot another fabric with one lossy link on it.
func on(tb testing.TB, f *graphs.Fabric, sick graphs.LinkID) *Snapshot {
	arc := sick.Forward()
	dark := graphs.LinkID(f.NumLinks() / 3)
	s := &Snapshot{Fabric: f, Now: noon, Live: true, Status: "test", Diagnosis: &diagnose.Diagnosis{
		Fabric: f.Name(), From: noon.Add(-time.Minute), To: noon, Verdict: diagnose.Suspects, Summary: f.ArcName(arc) + " drops 2.0 % of packets (p 0.97)",
		Coverage: diagnose.Coverage{Arcs: f.NumArcs(), Measured: f.NumArcs() - 2, Unmeasured: []string{f.ArcName(dark.Forward()), f.ArcName(dark.Backward())}},
		Suspects: []diagnose.Suspect{{Rank: 1, Kind: "arc", ID: f.ArcName(arc), Link: f.LinkName(sick), Symptom: diagnose.Loss, Probability: 0.97,
			Class: []string{f.ArcName(arc)}, Loss: ptr(0.02), LossLow: ptr(0.015), LossHigh: ptr(0.026), For: "38 of 40 flows that cross it lose packets", Against: "2 flows cross it clean"}},
	}}
	return pictured(s)
}

func fatTree(tb testing.TB) *Snapshot {
	f, err := generate.FatTree(generate.FatTreeConfig{K: 8})
	if err != nil {
		tb.Fatal(err)
	}
	l := newLayout(f)
	for id := range graphs.LinkID(f.NumLinks()) {
		if r, c, ok := l.pods[3].at(id); ok && r == 2 && c == 1 {
			return on(tb, f, id)
		}
	}
	tb.Fatal("no link of pod 3 between leaf 2 and aggregation 1")
	return nil
}

func randomGraph(tb testing.TB) *Snapshot {
	f, err := generate.RandomRegular(generate.RandomRegularConfig{Switches: 60, Degree: 6, Hosts: 1, Seed: 7})
	if err != nil {
		tb.Fatal(err)
	}
	for id := range graphs.LinkID(f.NumLinks()) {
		if !f.IsHostArc(id.Forward()) && id > 40 {
			return on(tb, f, id)
		}
	}
	tb.Fatal("no link between switches")
	return nil
}

// Nothing but distances from hosts tells the shape of a fabric, and every link between switches stands in some matrix.
func TestLayout(t *testing.T) {
	for name, s := range map[string]*Snapshot{"leaf-spine": sick(t), "fat tree": fatTree(t), "random": randomGraph(t)} {
		l := newLayout(s.Fabric)
		if want := name != "random"; l.clos != want {
			t.Errorf("%s: taken for a Clos: %v", name, l.clos)
		}
		grids := append([]grid{l.main}, l.pods...)
		if !l.clos {
			grids = []grid{l.adjacency(make([]float64, s.Fabric.NumNodes()), false)}
		}
		for id := range graphs.LinkID(s.Fabric.NumLinks()) {
			n := 0
			for i := range grids {
				if r, c, ok := grids[i].at(id); ok {
					n++
					if r >= len(grids[i].rows) || c >= len(grids[i].cols) {
						t.Errorf("%s: %s stands outside of its matrix", name, s.Fabric.LinkName(id))
					}
				}
			}
			if want := map[bool]int{true: 0, false: 1}[s.Fabric.IsHostArc(id.Forward())]; n != want {
				t.Errorf("%s: %s stands in %d matrices, want %d", name, s.Fabric.LinkName(id), n, want)
			}
		}
	}
	for name, s := range map[string]*Snapshot{"leaf-spine": sick(t), "fat tree": fatTree(t), "random": randomGraph(t)} {
		g := newLayout(s.Fabric)
		hosts := g.hostGrid()
		for id := range graphs.LinkID(s.Fabric.NumLinks()) {
			r, c, ok := hosts.at(id)
			if ok != s.Fabric.IsHostArc(id.Forward()) || ok && (r >= len(hosts.rows) || c >= len(hosts.cols)) {
				t.Errorf("%s: %s stands at %d, %d of the links of hosts: %v", name, s.Fabric.LinkName(id), r, c, ok)
			}
		}
	}
	if l := newLayout(fatTree(t).Fabric); len(l.main.rows) != 4 || len(l.main.cols) != 8 || len(l.pods) != 8 {
		t.Errorf("a fat tree of 8 has %d planes, %d pods", len(l.main.rows), len(l.main.cols))
	}
}

// H turns to the links of hosts and back, and whatever leads to one turns there, too.
func TestHostsOnTheMap(t *testing.T) {
	s := newStage(t, sick(t), 120, 40)
	s.press("2", "H")
	s.sees(t, "Hosts by switch")
	s.press("H")
	s.sees(t, "Spine by leaf")
	s.press("/")
	s.word("h3-2")
	s.press("enter")
	s.sees(t, "Hosts by switch")
	s.sees(t, "h3-2:eth1--leaf3:swp6")
	s.press("esc", "n")
	s.sees(t, "Spine by leaf")
	s.press("3", "/")
	s.word("h2-1")
	s.press("enter", "enter", "m")
	s.sees(t, "h2-1:eth1--leaf2:swp5")
	s.sees(t, "Hosts by switch")
}

// One bad link shows however many links a cell holds.
func TestHeatKeepsTheWorst(t *testing.T) {
	s := randomGraph(t)
	bad, _ := s.Fabric.LinkByName(s.Diagnosis.Suspects[0].Link)
	l := newLayout(s.Fabric)
	g := l.adjacency(make([]float64, s.Fabric.NumNodes()), true)
	layer := layers()[0]
	for _, size := range [][2]int{{60, 60}, {20, 30}, {7, 7}, {1, 1}} {
		h := g.fill(&layer, s.Picture, size[0], size[1])
		if h.rows > size[0] || h.cols > size[1] {
			t.Errorf("%v: %d x %d cells", size, h.rows, h.cols)
		}
		r, c, ok := h.find(bad)
		if !ok || h.worst[r*h.cols+c] != bad {
			t.Errorf("%v: the cell of the bad link shows another", size)
		}
	}
}
